"""Gradient compressors that produce real messages: the library of gcbench for Python.

    import gcbench
    encoder = gcbench.Encoder("topk:theta=0.99,memory=ef", n)
    message = encoder.encode(gradient, step)         # NumPy, CPU tensors, anything with the buffer protocol or DLPack
    total = gcbench.Sum("topk", n)
    total.add(message, 0.5)
    mean = total.finish()

Encoder, Decoder, Sum and Exchange are those of src/gcbench.h; they raise gcbench.Error with the library's own text.
gcbench.method and gcbench.compare take compressors of your own. gcbench.dump records gradients of a PyTorch training (it needs torch, h5py and numpy). Nothing else is needed.
"""
from ._exchange import Exchange, Sending, combine
from ._library import (GATHER, MAX_F32, REDUCE, SCATTER, SHIFT, SUM_BF16, SUM_F16, SUM_F32, SUM_I8, SUM_I16, Error, lib)
from ._objects import Decoder, Encoder, Message, Sum, describe
from ._own import compare, method
from ._tables import Method, methods, read

__all__ = ["Decoder", "Encoder", "Error", "Exchange", "Message", "Method", "Sending", "Sum", "combine", "compare",
           "describe", "method", "methods", "read", "GATHER", "SCATTER", "REDUCE", "SHIFT", "SUM_F32", "SUM_F16", "SUM_BF16", "SUM_I8", "SUM_I16",
           "MAX_F32"]
__version__: str = lib.gcb_version().decode()
