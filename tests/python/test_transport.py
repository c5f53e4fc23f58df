"""gcbench._transport: what ranks hear of each other, with two ranks on this machine (this file is also the program of a rank)."""
import ctypes
import sys

import pytest

torch = pytest.importorskip("torch")
if not torch.distributed.is_available():
    pytest.skip("torch has no torch.distributed", allow_module_level=True)

import torch.distributed as dist

import gcbench
from gcbench._transport import FORWARDS, Disagreement, Failed, Refused, Stopwatch, Transport
from gloo_ranks import WORLD, be_rank, run_ranks


class Late:
    """A collective that is done when it is waited for the second time."""
    calls = 0

    def wait(self, *_):
        self.calls += 1
        if self.calls == 1:
            raise RuntimeError("timed out")

    def is_completed(self):
        return self.calls > 1


def notes(folder):
    """A note is for the ranks of one group. The next one with its name, as after destroy_process_group() and
    init_process_group() with the same store, must not read it."""
    group = dist.new_group(backend="gloo")
    first = Transport(group)
    if dist.get_rank() == 1:
        first.leave_note(ValueError("of yesterday"))
    dist.barrier()
    with pytest.raises(Failed, match="rank 1 failed: ValueError: of yesterday"):
        first._wait(Late())
    second = Transport(group)
    second._wait(Late())
    assert "of yesterday" not in str(second.fail(RuntimeError("Connection closed by peer")))
    print("ok: notes", flush=True)


def lengths(folder):
    """Messages that stay longer than twice their room get more room; a single long one does not."""
    transport, data, calls = Transport(dist.new_group(backend="gloo")), torch.zeros(800, dtype=torch.uint8), []
    gather = transport.all_gather
    transport.all_gather = lambda mine: (calls.append(mine.numel()), gather(mine))[1]
    counts = []
    for length in (8, 8, 800, 8, 800, 800, 800):
        calls.clear()
        transport._gather(data.data_ptr(), length, "key")
        counts.append(len(calls))
    assert counts == [1, 1, 2, 1, 2, 2, 1], counts
    print("ok: lengths", flush=True)


def huge(folder):
    """Rank 1 announces more bytes than a round can have, or fewer than none: all ranks say so, before they take memory for it."""
    data = torch.zeros(64, dtype=torch.uint8)

    def exchange(transport, spec):
        with gcbench.Exchange(spec, 1000, worker=transport.rank, workers=WORLD) as one:
            one.begin(0, torch.ones(1000))
            transport.run(one, "key", Stopwatch())

    for call, place in ((lambda t: t.gather(data.data_ptr(), 64, "key"), 0), (lambda t: t.check_same({"start": 2}), 0),
                        (lambda t: exchange(t, "topk"), 0), (lambda t: exchange(t, "qsgd:collective=twoshot"), 5),
                        (lambda t: t.scatter(data, [32, 32], "key", 64), 4)):
        for length in (1 << 50, 1 << 62, -2):
            transport = Transport(dist.new_group(backend="gloo"))
            gather = transport.all_gather

            def lie(mine):
                if dist.get_rank() == 1:
                    ctypes.c_int64.from_address(mine.data_ptr() + 8 * place).value = length
                return gather(mine)

            transport.all_gather = lie
            with pytest.raises(RuntimeError, match=f"rank 1 announces {length} bytes, and a message of this round has at most [0-9]+: "
                                                   "that rank's memory is damaged.* Start all workers again"):
                call(transport)
    print("ok: huge", flush=True)


def bounded(folder):
    """No method sends as much as the bound of a round, also of few values."""
    transport = Transport(dist.new_group(backend="gloo"))
    for n in (1, 7, 1000):
        x = torch.randn(n, generator=torch.Generator().manual_seed(n + dist.get_rank()))
        for spec in [method.name for method in gcbench.methods()] + [
                "topk:theta=0,values=fp32", "topk:theta=0.5,collective=oktopk", "topk:theta=0.5,collective=spardl",
                "qsgd:collective=twoshot", "qsgd:collective=ring", "natural:collective=tree", "fft:theta=0,chunk=64", "identity:collective=allreduce"]:
            for values in (x, x * float("inf")):
                shape = (1, n) if spec == "powersgd" else None
                with gcbench.Exchange(spec, n, worker=transport.rank, workers=WORLD, shape=shape, nonfinite="raw") as one:
                    one.begin(0, values)
                    transport.run(one, (spec, n), Stopwatch())
                    one.finish()
    print("ok: bounded", flush=True)


def ways_on(folder):
    """An error that names ranks out of step also says how a rank skips a batch."""
    transport, rank = Transport(dist.new_group(backend="gloo")), dist.get_rank()
    for what, text in ((FORWARDS, r"use torch\.no_grad\(\) .*number the batches with state\.batch"),
                       ("batch", "takes part with a loss of 0"), ("step", "checkpoints of the same step")):
        transport.batch_is, transport.batch, transport.step = what, rank, 0
        if what == "step":
            transport.batch_is, transport.batch, transport.step = "batch", 0, rank
        with pytest.raises(Disagreement, match=f"the {what} is 0 on rank 0, and 1 on rank 1; .*{text}"):
            transport.gather(None, 0, "key")
    with pytest.raises(Disagreement, match="the message is 'key0' on rank 0, and 'key1' on rank 1; create the model"):
        transport.step = 0
        transport.gather(None, 0, f"key{rank}")
    failed = KeyError("mine") if rank == 1 else None
    with pytest.raises(KeyError if rank == 1 else Refused, match="mine"):
        transport.gather(None, 0, "key", failed)
    print("ok: ways on", flush=True)


ALL = [notes, lengths, huge, bounded, ways_on]


def test_two_ranks(tmp_path):
    run_ranks(__file__, tmp_path, len(ALL))


if __name__ == "__main__":
    be_rank(*([one for one in ALL if one.__name__ in sys.argv[3:]] or ALL))
