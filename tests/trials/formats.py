#!/usr/bin/env python3
"""
Decodes messages of the block formats and compares each value, bit for bit, with the library whose rule the method follows:
torchao 0.18 (MXFP8, MXFP4, NVFP4, the search of blockwise 8 bit) and torch 2.15 (fp8, affine integers). CGX, hivemind 1.1.12 and
Transformer Engine are formulas below. The means of hivemind's bins are compared within 1e-6 of the largest magnitude: it adds
float32 in any order.

    PYTHONPATH=python GCBENCH_LIBRARY=build/src/libgcbench.so python3 tests/trials/formats.py [--record FILE] [N]

--record writes the vectors of tests/lib/codec/formats.txt: the input, then for each method the values of the reference.
"""
import sys

import numpy as np
import torch
from torchao.optim.quant_utils import create_dynamic_map, dequant_with_qmap, quantize_8bit_with_qmap, scale_tensor
from torchao.prototype.mx_formats.config import ScaleCalculationMode
from torchao.prototype.mx_formats.mx_tensor import to_dtype, to_mx
from torchao.prototype.mx_formats.nvfp4_tensor import NVFP4Tensor, per_tensor_amax_to_scale

import gcbench

RULES = {"floor": ScaleCalculationMode.FLOOR, "rceil": ScaleCalculationMode.RCEIL, "even": ScaleCalculationMode.EVEN}
FORMATS = {"e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2, "e2m1": torch.float4_e2m1fn_x2}
LARGEST = {"e4m3": 448.0, "e5m2": 57344.0}


def padded(x, block):
    return torch.nn.functional.pad(x, (0, -len(x) % block)).reshape(-1, block)


def microscaling(format, rule):
    def decode(x):
        scale, code = to_mx(padded(x, 32), FORMATS[format], 32, RULES[rule])
        return to_dtype(code, scale, FORMATS[format], 32, torch.float32).reshape(-1)
    return decode


def plain(format):
    return lambda x: x.clamp(-LARGEST[format], LARGEST[format]).to(FORMATS[format]).float()


def scaled(format):
    """torchft/quantization.py: the scale is largest / amax, or 1 if that is infinite."""
    def decode(x):
        most = x.abs().max().repeat(len(x))  # torch replaces a division by one number with a product, Triton does not
        scale = torch.full_like(most, LARGEST[format]) / most
        scale = torch.where(torch.isinf(scale), torch.ones_like(scale), scale)
        return (x * scale).clamp(-LARGEST[format], LARGEST[format]).to(FORMATS[format]).float() / scale
    return decode


def nvfp4(levels):
    def decode(x):
        tensor = per_tensor_amax_to_scale(x.abs().max()) if levels == 2 else None
        return NVFP4Tensor.to_nvfp4(padded(x, 16), per_tensor_scale=tensor).dequantize().reshape(-1)
    return decode


def nearest(x, mantissa, least, largest):
    """The nearest small float, ties to even."""
    step = np.exp2(np.maximum(np.floor(np.log2(np.abs(x), where=x != 0, out=np.full(x.shape, -200.0))), least) - mantissa)
    return np.clip(np.rint(x / step) * step, -largest, largest).astype(np.float32)


def te_power(mantissa, least, largest, block=32):
    """Transformer Engine's MXFP8 (common/util/ptx.cuh): the scale is amax * (1 / largest), rounded up to a power of two."""
    def decode(x):
        rows = np.pad(x, (0, -len(x) % block)).reshape(-1, block)
        u = (np.abs(rows).max(1, keepdims=True) * (np.float32(1) / np.float32(largest))).view(np.uint32)
        mantissa_bits, code = u & 0x7FFFFF, (u >> 23).astype(np.int64)
        code += (mantissa_bits > 0) & ~((code == 0) & (mantissa_bits <= 0x400000))
        by = np.ldexp(np.float32(1), np.where(code == 0, 0, 127 - code))
        return (nearest(rows * by, mantissa, least, largest) * np.ldexp(1.0, code - 127)).astype(np.float32).reshape(-1)
    return decode


def te_nvfp4(x, block=16):
    """Transformer Engine's NVFP4 (common/cast/nvfp4/core_nvfp4.cuh). The product of both scales is rounded as in our messages."""
    one, amax = np.float32(1), np.abs(x).max()
    rows = np.pad(x, (0, -len(x) % block)).reshape(-1, block)
    encode = np.float32(448 * 6) / amax
    scale = nearest(np.abs(rows).max(1, keepdims=True) * (encode * (one / np.float32(6))), 3, -6, 448)
    with np.errstate(divide="ignore"):
        by = np.where(scale > 0, one / (scale * (one / encode)), np.float32(0))
    return (nearest(rows * by, 1, 0, 6) * (scale * (amax / np.float32(448 * 6)))).reshape(-1)


def of_numpy(decode):
    return lambda x: torch.from_numpy(decode(x.numpy()))


def zero_exact(bits, block):
    """torch/distributed/algorithms/ddp_comm_hooks/quantization_hooks.py with the scale of MinMaxObserver, without its eps."""
    def decode(x):
        rows, top = padded(x, block), 2 ** bits - 1
        low, high = rows.amin(1, True).clamp(max=0), rows.amax(1, True).clamp(min=0)
        scale = (high - low) / top
        zero = (-torch.round(low / scale)).clamp(0, top)
        return (scale * ((torch.round(rows / scale) + zero).clamp(0, top) - zero)).reshape(-1)
    return decode


def minimum_exact(bits, block):
    """CGX: unit = (max - min) / top, level = min(floor((x - min) / unit + .5), top)."""
    def decode(x):
        out = []
        for row in x.split(block):
            low, top = row.min(), 2 ** bits - 1
            unit = (row.max() - low) / top
            out.append(low + unit * torch.floor((row - low) / unit + 0.5).clamp(max=top))
        return torch.cat(out)
    return decode


def book():
    """create_dynamic_map, whose linspace has another last bit on other CPUs, rounded once."""
    up = [(2 ** (i + 1) + 9 * (2 * j + 1)) / (10.0 ** (7 - i) * 2 ** (i + 1)) for i in range(7) for j in range(2 ** i)]
    values = torch.tensor([-v for v in reversed(up)] + [0.0] + up + [1.0])
    assert torch.allclose(values, torch.tensor(create_dynamic_map()), rtol=1.3e-7, atol=0)
    return values


def blockwise(block):
    def decode(x):
        rows, scale = scale_tensor(padded(x, block), block)
        return dequant_with_qmap(quantize_8bit_with_qmap(rows, book()), book(), scale).reshape(-1)
    return decode


def uniform(x):
    """Uniform8BitQuantization, with sums in float64."""
    exact = x.double().numpy()
    mean, width = np.float32(exact.mean()), np.float32(6 * exact.std(ddof=1) / 256)
    code = torch.quantize_per_tensor(x - mean, float(width), 128, torch.quint8).int_repr().numpy()
    return torch.from_numpy((np.bincount(code, exact, 256) / np.maximum(np.bincount(code, minlength=256), 1))[code])


METHODS = {
    "blockwise8": blockwise(4096),
    "blockwise8:block=16": blockwise(16),
    "uniform8": uniform,
    "float:element=e4m3,scale=none": plain("e4m3"),
    "float:element=e5m2,scale=none": plain("e5m2"),
    "fp8": scaled("e4m3"),
    "float:element=e5m2,scale=tensor": scaled("e5m2"),
    "nvfp4": nvfp4(2),
    "float:element=e2m1,scale=block,block=16,scale-format=e4m3": nvfp4(1),
    "int8": zero_exact(8, 512),
    "int4": zero_exact(4, 512),
    "affine:bits=3,block=64": zero_exact(3, 64),
    "cgx": minimum_exact(4, 512),
}
METHODS |= {f"{name}:scale-rule={rule}": microscaling(format, rule)
            for name, format in (("mxfp8", "e4m3"), ("mxfp4", "e2m1")) for rule in RULES}
METHODS |= {"mxfp8": of_numpy(te_power(3, -6, 448)), "mxfp4": of_numpy(te_power(1, 0, 6)),
            "nvfp4:scale-rule=te": of_numpy(te_nvfp4)}
METHODS["float:element=e5m2,scale=block,scale-format=e8m0,scale-rule=floor"] = microscaling("e5m2", "floor")


def values(n):
    """Blocks of 32 of very different magnitude, with zeros of both signs, and exact ties of the formats."""
    rng = np.random.default_rng(36)
    x = rng.standard_normal(n) * np.exp2(np.repeat(rng.integers(-18, 12, -(-n // 32)), 32)[:n])
    x[rng.random(n) < 0.05] = 0.0
    x[rng.random(n) < 0.02] = -0.0
    ties = rng.random(n) < 0.1
    x[ties] = rng.integers(-64, 65, ties.sum()) / 16.0
    return x.astype(np.float32)


def ours(spec, x):
    return np.asarray(gcbench.Decoder(spec, len(x)).decode(gcbench.Encoder(spec, len(x)).encode(x)), np.float32)


def main(arguments):
    record = arguments[1] if arguments[:1] == ["--record"] else None
    x = values(528 if record else int(arguments[0]) if arguments else 1 << 20)
    wrong, lines = 0, [f"x {x.tobytes().hex()}"]
    for spec, decode in METHODS.items():
        want = decode(torch.from_numpy(x)).numpy()[:len(x)].astype(np.float32)
        allowed = 1e-6 * np.abs(x).max() if spec == "uniform8" else 0.0
        differ = np.flatnonzero(~(np.abs(want - ours(spec, x)) <= allowed) if allowed else
                                want.view(np.uint32) != ours(spec, x).view(np.uint32))
        wrong += len(differ)
        print(f"{spec}: {len(differ)} of {len(x)} values differ" +
              (f", first {differ[0]}: {x[differ[0]]!r} becomes {ours(spec, x)[differ[0]]!r}, not {want[differ[0]]!r}"
               if len(differ) else ""))
        lines.append(f"{spec} {want.tobytes().hex()}")
    if record:
        with open(record, "w", encoding="ascii") as out:
            out.write("\n".join(lines) + "\n")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
