"""Arrays that a careless or hostile caller gives: each is refused, or stays valid as long as the library uses it."""
import gc
import weakref

import pytest

import gcbench

np = pytest.importorskip("numpy")
N = 1000


def gradient(seed=0):
    return np.random.default_rng(seed).laplace(size=N).astype(np.float32)


def test_floats_at_odd_addresses_are_refused():
    odd = np.frombuffer(bytearray(4 * N + 1), np.float32, offset=1)
    message = gcbench.Encoder("topk", N).encode(gradient())
    for call in (lambda: gcbench.Encoder("topk", N).encode(odd), lambda: gcbench.Sum("topk", N, into=odd),
                 lambda: gcbench.Decoder("topk", N).decode(message, odd)):
        with pytest.raises(ValueError, match="not a multiple of 4"):
            call()
    exchange = gcbench.Exchange("identity:collective=allreduce", N, worker=0, workers=1)
    exchange.begin(0, gradient())
    exchange.next()
    for call in (lambda: exchange.receive(0, odd.view(np.uint8)),
                 lambda: gcbench.combine(gcbench.SUM_F32, odd.view(np.uint8), bytes(4 * N))):
        with pytest.raises(ValueError, match="not aligned"):
            call()


def test_a_refused_step_keeps_the_tensor_of_the_step_before():
    exchange, x = gcbench.Exchange("topk:collective=oktopk", N, worker=0, workers=1), gradient()
    exchange.begin(0, x)
    alive = weakref.ref(x)
    del x
    for step, wrong in ((-1, gradient()), (1, np.zeros(3, np.float32))):
        with pytest.raises(ValueError):
            exchange.begin(step, wrong)
    gc.collect()
    assert alive() is not None  # the step goes on, and reads it
    exchange.begin(1, gradient(1))
    assert alive() is None


def test_arrays_that_overlap_are_refused():
    message = gcbench.Encoder("topk", N).encode(gradient())
    room = np.zeros(2 * N, np.float32)
    room.view(np.uint8)[:len(message)] = np.frombuffer(message, np.uint8)
    total = gcbench.Sum("topk", N, into=room[N // 2:N // 2 + N])
    total.add(message)
    for call in (lambda: total.finish(room[:N]), lambda: gcbench.Sum("topk", N, into=room[:N]).add(room.view(np.uint8)[:len(message)])):
        with pytest.raises(ValueError, match="share memory"):
            call()
    exchange = gcbench.Exchange("identity:collective=allreduce", N, worker=0, workers=1)
    exchange.begin(0, room[:N])
    exchange.receive(0, bytes(exchange.next().data))
    assert exchange.next() is None
    with pytest.raises(ValueError, match="share memory"):
        exchange.finish(room[N // 2:N // 2 + N])


class Meddling:
    """The library, and a thread that overwrites an array as soon as a call has begun."""

    def __init__(self, lib, held):
        self.lib, self.held = lib, held

    def __getattr__(self, name):
        def call(*arguments):
            self.held[:] = bytes(len(self.held))
            return getattr(self.lib, name)(*arguments)
        return call


def test_a_message_may_change_during_a_call(monkeypatch):
    """The library checks a message before it uses it: what was checked must not change."""
    good, want = gcbench.Encoder("topk", N).encode(gradient()), gcbench.Decoder("topk", N)
    encoder = gcbench.Encoder("powersgd:rank=1", N, shape=(10, 100))
    encoder.encode(gradient())
    state = encoder.save()
    exchange = gcbench.Exchange("topk", N, worker=0, workers=1)
    exchange.begin(0, gradient())
    assert bytes(exchange.next().data) == good
    decoder, total = gcbench.Decoder("topk", N), gcbench.Sum("topk", N)
    held = bytearray()
    for module in (gcbench._objects, gcbench._exchange):
        monkeypatch.setattr(module, "lib", Meddling(gcbench.lib, held))
    for call in (gcbench.describe, gcbench.Decoder.like, gcbench.Sum.like, decoder.decode, total.add,
                 lambda data: exchange.receive(0, data)):
        held[:] = good
        call(held)
        assert not any(held)
    held[:] = state["kept"]
    encoder.restore({**state, "kept": held})
    monkeypatch.undo()
    assert encoder.save()["kept"] == state["kept"] and exchange.next() is None
    for update in (total.finish(), exchange.finish()):
        assert np.array_equal(update, want.decode(good))


@pytest.mark.torch
def test_odd_tensors_are_refused():
    torch = pytest.importorskip("torch")
    encoder = gcbench.Encoder("topk", N)
    with pytest.raises(BufferError, match="negated"):  # DLPack gives the values with the other sign
        encoder.encode(torch._neg_view(torch.ones(N)))
    freed = torch.ones(N)
    freed.storage().resize_(0)
    with pytest.raises((BufferError, RuntimeError), match="no memory|out of bounds"):  # torch 1.13 refuses it itself
        encoder.encode(freed)
    empty = torch.empty(0, 3)[:, ::2]
    assert gcbench.Encoder("identity", 0).encode(empty) == gcbench.Encoder("identity", 0).encode(np.zeros(0, np.float32))


@pytest.mark.torch
def test_a_sum_keeps_the_memory_of_its_tensor():
    torch = pytest.importorskip("torch")
    freed = []
    into = torch.from_numpy(kept(freed))
    total = gcbench.Sum("topk", N, into=into)
    into.data = torch.zeros(3)
    gc.collect()
    assert not freed
    del total, into
    gc.collect()
    assert freed


@pytest.mark.torch
def test_a_tensor_that_was_resized_is_refused():
    torch = pytest.importorskip("torch")
    message = gcbench.Encoder("topk", N).encode(gradient())
    into = torch.empty(N)
    total = gcbench.Sum("topk", N, into=into)
    total.add(message)
    into.resize_(100 * N)
    for call in (lambda: total.add(message), total.finish, lambda: total.finish(torch.empty(N))):
        with pytest.raises(BufferError, match="resized"):
            call()
    for collective in ("allgather", "allreduce"):
        x, out = torch.from_numpy(gradient()).clone(), torch.empty(N)
        exchange = gcbench.Exchange(f"identity:collective={collective}", N, worker=0, workers=1)
        exchange.begin(0, x)
        data = exchange.next().data
        (out if exchange.sum_into(out) else x).resize_(100 * N)
        for call in (exchange.next, lambda: exchange.receive(0, data), exchange.finish):
            with pytest.raises(BufferError, match="resized"):
                call()
        exchange.begin(1, gradient())
        exchange.receive(0, exchange.next().data)
        assert exchange.next() is None and np.array_equal(exchange.finish(), gradient())


def kept(freed):
    """An array that tells when its memory is freed."""
    x = gradient()
    weakref.finalize(x, freed.append, True)
    return x
