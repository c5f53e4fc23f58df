"""Encoder, Decoder, Sum and Exchange of the package, on arrays of several kinds."""
import array
import copy
import pickle
import subprocess
import sys
import threading
import time

import pytest

import gcbench

np = pytest.importorskip("numpy")
N = 5000


def gradient(seed=0, n=N):
    return np.random.default_rng(seed).laplace(size=n).astype(np.float32)


def test_all_methods_decode_and_sum_alike():
    x = gradient()
    for method in gcbench.methods():
        message = gcbench.Encoder(method.name, N).encode(x, 3, 1)
        decoded = gcbench.Decoder(method.name, N).decode(message)
        assert np.isfinite(decoded).all() and decoded.any(), method.name
        total = gcbench.Sum(method.name, N)
        total.add(message, 1.0)
        np.testing.assert_allclose(total.finish(), decoded, atol=1e-5, err_msg=method.name)


def test_a_memory_sends_later_what_it_kept():
    x, encoder, decoder = gradient(), gcbench.Encoder("topk:theta=0.9,memory=ef", N), gcbench.Decoder("topk", N)
    got = sum(decoder.decode(encoder.encode(x, step)).astype(np.float64) for step in range(40))
    kept = encoder.save()["residual"]
    np.testing.assert_allclose(got + kept, 40.0 * x, atol=1e-3)


@pytest.mark.parametrize("spec", ["dgc:density=0.01", "powersgd:rank=2,memory=ef", "sbc:delay=3,momentum=0.5"])
def test_a_restored_encoder_goes_on_alike(spec):
    make = lambda: gcbench.Encoder(spec, N, shape=(50, 100))
    one, other = make(), make()
    for step in range(4):
        one.encode(gradient(step), step)
    other.restore(pickle.loads(pickle.dumps(one.save())))
    for step in range(4, 8):
        assert one.encode(gradient(step), step) == other.encode(gradient(step), step)


def test_arrays_of_the_standard_library():
    x = array.array("f", gradient())
    message = gcbench.Encoder("qsgd", N).encode(x)
    out = array.array("f", bytes(4 * N))
    assert gcbench.Decoder("qsgd", N).decode(message, out) is out
    assert np.array_equal(np.asarray(out), gcbench.Decoder.like(message).decode(message))


@pytest.mark.torch
def test_tensors():
    torch = pytest.importorskip("torch")
    x = torch.from_numpy(gradient())
    encoder, room = gcbench.Encoder("topk", N), torch.empty(8 * N, dtype=torch.uint8)
    length = encoder.encode_into(x, room)
    assert bytes(room[:length].numpy()) == encoder.encode(x.numpy())
    into = torch.empty(N)
    total = gcbench.Sum("topk", N, into=into)
    total.add(room[:length], 2.0)
    assert total.finish() is into and into.any()
    for narrow, name in ((torch.float16, "f16"), (torch.bfloat16, "bf16")):
        message = gcbench.Encoder("identity", N, input=name).encode(x.to(narrow))
        assert np.array_equal(gcbench.Decoder.like(message).decode(message), x.to(narrow).float().numpy())
    with pytest.raises(BufferError, match="contiguous"):
        encoder.encode(torch.stack([x, x], 1)[:, 0])
    with pytest.raises(BufferError, match="host memory"):
        encoder.encode(Far())


class Far:
    """A tensor that says it is on a GPU."""

    def __dlpack__(self):
        import torch
        from gcbench._arrays import _pointer
        self.held = torch.empty(N)
        capsule = self.held.__dlpack__()
        _pointer(capsule, b"dltensor").contents.device = 2
        return capsule


def test_errors_have_the_text_of_the_library():
    with pytest.raises(gcbench.Error, match="did you mean 'topk'") as caught:
        gcbench.Encoder("tokp", N)
    assert caught.value.status == "INVALID"
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    with pytest.raises(gcbench.Error) as caught:
        gcbench.Decoder("topk", N).decode(b"not a message")
    assert caught.value.status == "CORRUPT"
    with pytest.raises(gcbench.Error) as caught:
        gcbench.Encoder("topk", 3).encode(np.float32([1, np.nan, 2]))
    assert caught.value.status == "NONFINITE"
    raw = gcbench.Encoder("topk", 3, nonfinite="raw").encode(np.float32([1, np.nan, 2]))
    assert gcbench.describe(raw).stored


def test_a_parameter_changes_between_steps():
    encoder = gcbench.Encoder("topk:theta=0.9,memory=ef", N)
    long = len(encoder.encode(gradient()))
    encoder.set("theta", 0.99)
    short = encoder.encode(gradient(), 1)
    assert len(short) < long / 5 and len(short) == encoder.length
    with pytest.raises(gcbench.Error, match="theta"):
        encoder.set("theta", 2)


def test_an_object_has_no_copy():
    for kind in (gcbench.Encoder, gcbench.Decoder, gcbench.Sum):
        for make in (copy.copy, copy.deepcopy, pickle.dumps):
            refused(TypeError, f"{kind.__name__} cannot be copied", lambda: make(kind("topk", N)))


def test_numbers_that_do_not_fit_are_refused():
    for wrong in ({"workers": 2**32 + 2}, {"workers": -1}, {"worker": 2**32}, {"seed": -1}, {"n": 2**64 + 5}, {"n": -1},
                  {"threads": 2**32 + 1}, {"threads": -1}, {"shape": (-1, 5)}, {"shape": (2**64 + 50, 100)}):
        refused(ValueError, "out of range", lambda: gcbench.Exchange("topk", **{"n": N, "worker": 0, "workers": 2, **wrong}))
    encoder, total = gcbench.Encoder("topk", N), gcbench.Sum("topk", N)
    for kind in (gcbench.Encoder, gcbench.Decoder, gcbench.Sum):
        refused(ValueError, "n=18446744073709551621 is out of range", lambda: kind("topk", 2**64 + 5))
        refused(TypeError, "n is a float, not an int", lambda: kind("topk", 5.0))
    for at in ({"step": -1}, {"step": 2**64}, {"worker": 2**32}, {"worker": -1}):
        refused(ValueError, "out of range", lambda: encoder.encode(gradient(), **at))
        refused(ValueError, "out of range", lambda: encoder.encode_into(gradient(), bytearray(encoder.bound), **at))
    exchange = gcbench.Exchange("topk", N, worker=0, workers=2)
    refused(ValueError, "out of range", lambda: exchange.begin(2**64, gradient()))
    exchange.begin(0, gradient())
    data = exchange.next().data
    refused(ValueError, "out of range", lambda: exchange.receive(2**32, data))
    refused(ValueError, "max_elements=-1", lambda: gcbench.Decoder.like(encoder.encode(gradient()), max_elements=-1))
    for weight in (1e300, float("nan")):
        refused(gcbench.Error, "finite", lambda: total.add(encoder.encode(gradient()), weight))
    refused(TypeError, "NoneType", lambda: total.add(encoder.encode(gradient()), None))
    state = encoder.save()
    refused(ValueError, "out of range", lambda: encoder.restore({**state, "counters": [-1] + [0] * 7}))
    refused(ValueError, "the state has no 'residual'", lambda: encoder.restore({"kept": b"", "momentum": [], "counters": [0] * 8}))
    refused(ValueError, "counters has 7 values, not 8", lambda: encoder.restore({**state, "counters": [0] * 7}))
    refused(ValueError, "no reduction 6", lambda: gcbench.combine(6, bytearray(8), bytes(8)))


def refused(kind, text, call):
    """One plain line says why."""
    with pytest.raises(kind) as caught:
        call()
    assert text in str(caught.value) and "\n" not in str(caught.value)


def test_arrays_that_do_not_fit_are_refused():
    x, message = gradient(), gcbench.Encoder("topk", N).encode(gradient())
    decoder, total, exchange = gcbench.Decoder("topk", N), gcbench.Sum("topk", N), gcbench.Exchange(
        "identity:collective=allreduce", N, worker=0, workers=1)
    frozen = np.zeros(N, np.float32)
    frozen.flags.writeable = False
    into = {"decode": lambda out: decoder.decode(message, out), "finish": total.finish,
            "into": lambda out: gcbench.Sum("topk", N, into=out)}
    for name, write in into.items():
        refused((BufferError, ValueError), "read-only", lambda: write(frozen))
        refused(BufferError, "not writable", lambda: write(bytes(4 * N)))
        refused((BufferError, ValueError), "contiguous", lambda: write(np.zeros((N, 2), np.float32)[:, 0]))
        for other in (np.int32, np.float64, ">f4"):
            refused(TypeError, "not f32: convert the tensor to float32", lambda: write(np.zeros(N, other)))
        refused(ValueError, "elements, not 5000", lambda: write(np.zeros(N + 1, np.float32)))
    refused((BufferError, ValueError), "contiguous", lambda: exchange.begin(0, gradient(n=2 * N)[::2]))
    refused(TypeError, "a str is not an array", lambda: decoder.decode("a string"))
    both = np.frombuffer(bytearray(message) + bytes(4 * N), np.uint8)
    refused(ValueError, "share memory", lambda: decoder.decode(both[:len(message)], both[:4 * N].view(np.float32)))
    refused(ValueError, "share memory", lambda: gcbench.Encoder("topk", N).encode_into(x, x))
    exchange.begin(0, x)
    assert not exchange.sum_into(x)
    while exchange.next() is not None:
        exchange.receive(0, x)
    refused(ValueError, "share memory", lambda: exchange.finish(x))
    assert np.array_equal(exchange.finish(), x)


def test_a_sum_replaces_the_tensor():
    exchange, want = gcbench.Exchange("topk", N, worker=0, workers=1), gcbench.Decoder("topk", N)
    for step in range(3):
        x = gradient(step)
        expected = want.decode(gcbench.Encoder("topk", N).encode(x, step))
        exchange.begin(step, x)
        assert step == 1 or exchange.sum_into(x)
        exchange.receive(0, exchange.next().data)
        assert exchange.next() is None
        out = exchange.finish()
        assert (out is x) == (step != 1) and np.array_equal(out, expected)
    frozen = gradient()
    frozen.flags.writeable = False
    exchange.begin(3, frozen)
    refused((BufferError, ValueError), "read-only", lambda: exchange.sum_into(frozen))


THREADS = """
import sys, threading, numpy, gcbench
n, failed = 20000, []
x = [numpy.random.default_rng(0).laplace(size=n).astype("f4") * factor for factor in (1, 2, 3)]
encoder = gcbench.Encoder("topk:theta=0.99", n)
whole = [encoder.encode(one) for one in x]
sys.setswitchinterval(1e-6)

def encode(i):
    for _ in range(1000):
        if encoder.encode(x[i]) != whole[i]:
            failed.append("a message of another thread")

def change():
    for i in range(1000):
        encoder.set("theta", (0.5, 0.999)[i % 2])

def grow():
    for _ in range(1000):
        try:
            encoder.encode(x[0])
        except gcbench.Error as error:
            failed.append(str(error))

for works in ([(encode, 0), (encode, 1), (encode, 2)], [(change,), (grow,), (grow,)]):
    threads = [threading.Thread(target=work[0], args=work[1:]) for work in works]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
sys.exit(failed[0] if failed else 0)
"""


def test_threads_share_an_encoder():
    """In a process of its own: with a mistake this ends in a crash."""
    done = subprocess.run([sys.executable, "-c", THREADS], stderr=subprocess.PIPE, text=True)
    assert done.returncode == 0, done.stderr


def test_other_threads_run_during_a_call():
    """A thread gives up Python's lock only where it calls something that releases it, so if this one runs between two lines of
    the other, it ran during the call. Some calls may be over before the system lets this thread run."""
    x, encoder, states = gradient(n=1 << 20), gcbench.Encoder("fft:theta=0.9", 1 << 20), ["new"]

    def call():
        states.append("calling")
        encoder.encode(x)
        states.append("done")

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e4)
    try:
        for _ in range(200):
            thread = threading.Thread(target=call)
            thread.start()
            seen = []
            while thread.is_alive():
                seen.append(states[-1])
                time.sleep(0)
            thread.join()
            if "calling" in seen:
                break
    finally:
        sys.setswitchinterval(interval)
    assert "calling" in seen


def test_a_bucket_takes_few_calls_of_python():
    """An exchange of a bucket takes three calls: encode_into, add, finish."""
    x, room = gradient(n=8), np.empty(1024, np.uint8)
    encoder, total, out = gcbench.Encoder("identity", 8), gcbench.Sum("identity", 8), np.empty(8, np.float32)
    events = []

    def bucket():
        length = encoder.encode_into(x, room)
        total.add(room[:length], 0.5)
        total.finish(out)

    bucket()
    sys.setprofile(lambda frame, event, what: events.append(event))
    bucket()
    sys.setprofile(None)
    assert events.count("call") + events.count("c_call") < 150, events
