"""gcbench.outer: local SGD with two ranks on this machine (this file is also the program of a rank)."""

import time

import pytest

np = pytest.importorskip("numpy")
torch = pytest.importorskip("torch")
h5py = pytest.importorskip("h5py")
if not torch.distributed.is_available():
    pytest.skip("torch has no torch.distributed", allow_module_level=True)

import torch.distributed as dist
from torch import nn

import gcbench.outer
from gcbench.dump import GradientDumper
from gcbench._transport import Transport
from gloo_ranks import WORLD, be_rank, run_ranks

PLAIN = {"optimizer": lambda anchor: torch.optim.SGD(anchor, 1.0)}


class Run:
    """Workers whose first weights differ."""

    def __init__(self, spec, inner_steps, **options):
        torch.manual_seed(5 + dist.get_rank())
        self.model = nn.Sequential(nn.Linear(40, 30), nn.Tanh(), nn.Linear(30, 4))
        self.outer = gcbench.outer.Outer(spec, model=self.model, inner_steps=inner_steps, **options) if spec else None
        self.wrapped = self.model if spec else nn.parallel.DistributedDataParallel(self.model)
        self.inner = torch.optim.SGD(self.model.parameters(), 0.1)

    def steps(self, first, last):
        for step in range(first, last):
            x = torch.randn(8, 40, generator=torch.Generator().manual_seed(10 * step + dist.get_rank()))
            self.inner.zero_grad()
            (self.wrapped(x) - x[:, :4]).square().mean().backward()
            self.inner.step()
            if self.outer:
                self.outer.step()
        return self

    def values(self):
        return torch.cat([p.detach().flatten() for p in self.model.parameters()])


def gathered(x):
    rows = [torch.empty_like(x) for _ in range(WORLD)]
    dist.all_gather(rows, x)
    return rows


def as_ddp(folder):
    """H = 1 and plain SGD outside is DistributedDataParallel; with H = 2 it is not, and workers differ in between."""
    begin, ddp = Run(None, 0).values(), Run(None, 0).steps(0, 6).values()
    far = lambda run: float((run.values() - ddp).norm() / (ddp - begin).norm())
    one = Run("identity", 1, **PLAIN).steps(0, 6)
    assert far(one) < 1e-5, far(one)
    assert far(Run("identity", 1).steps(0, 6)) > 1e-2  # DiLoCo's outer optimizer
    two = Run("identity", 2, **PLAIN).steps(0, 6)
    assert far(two) > 1e-4 and torch.equal(*gathered(two.values())), far(two)
    assert not torch.equal(*gathered(two.steps(6, 7).values()))
    assert two.outer.exchanges == 3 and two.outer.wire_bytes == 3 * 4 * len(ddp) == two.outer.link_bytes
    print("ok: as DDP")


def methods(folder):
    for spec, options in (("topk:theta=0.9,memory=ef", {}), ("qgz:bits=4,memory=ef", {}), ("powersgd:rank=2,memory=ef", {}),
                          ("qsgd:collective=allreduce", {"per": "tensor"})):
        whole = Run(spec, 2, **options).steps(0, 5)
        path = folder / f"checkpoint_{dist.get_rank()}"
        torch.save([whole.model.state_dict(), whole.outer.state_dict()], path)
        again = Run(spec, 2, **options).steps(0, 1)
        saved = torch.load(path)
        again.model.load_state_dict(saved[0])
        again.outer.load_state_dict(saved[1])
        assert torch.equal(whole.steps(5, 8).values(), again.steps(5, 8).values()), spec
        assert torch.equal(*gathered(whole.values())), spec
        assert whole.outer.wire_bytes == again.outer.wire_bytes, spec
        assert whole.outer.wire_bytes < 0.6 * 4 * 4 * len(whole.values()), spec
        print("ok: resumed:", spec)


def dump(folder):
    run = Run("identity", 3, **PLAIN)
    run.outer._dumper = GradientDumper(run.model, str(folder / "changes"), steps="0-1", worker=dist.get_rank(), workers=WORLD)
    before = run.values()
    run.steps(0, 3)
    own = h5py.File(folder / f"changes_step000000_rank{dist.get_rank()}.h5")[f"step_000000/worker_{dist.get_rank()}"]
    change = torch.cat([torch.from_numpy(own[name][()]).flatten() for name, _ in run.model.named_parameters()])
    dist.all_reduce(change)
    assert torch.allclose(before - change / WORLD, run.values(), atol=1e-6)
    run.steps(3, 6)
    assert (folder / f"changes_step000001_rank{dist.get_rank()}.h5").exists()
    print("ok: dumped")


def refusals(folder):
    model = nn.Linear(2, 2)
    for error, text, options in ((TypeError, "DistributedDataParallel", {"model": nn.parallel.DistributedDataParallel(model)}),
                                 (ValueError, "at least 1", {"model": model, "inner_steps": 0}),
                                 (ValueError, "choose model or tensor", {"model": model, "per": "bucket"}),
                                 (TypeError, "only float32", {"model": nn.Linear(2, 2).double()}),
                                 (gcbench.Error, "nosuch", {"model": model, "spec": "nosuch"})):
        with pytest.raises(error, match=text):
            gcbench.outer.Outer(**{"spec": "identity", "inner_steps": 1, **options})
    other = {"inner_steps": 1 + dist.get_rank()}
    with pytest.raises(ValueError, match="the inner_steps is 1 on rank 0, and 2 on rank 1"):
        gcbench.outer.Outer("identity", model=model, **other)
    outer = gcbench.outer.Outer("identity", model=model, inner_steps=2)
    with pytest.raises(ValueError, match="not a state of this class"):
        outer.load_state_dict({"calls": 1})
    for key in ("rank", "world", "method", "per", "parameters"):
        with pytest.raises(ValueError, match=f"another training: its {key} is 'else'"):
            outer.load_state_dict({**outer.state_dict(), key: "else"})
    outer.load_state_dict({**outer.state_dict(), "calls": 2 * dist.get_rank()})
    with pytest.raises(ValueError, match="the step is 2 on rank 0, and 4 on rank 1"):
        outer.step()
        outer.step()
    groups = [dist.new_group([rank], backend="gloo") for rank in range(WORLD)]
    gcbench.outer.Outer("identity", model=model, inner_steps=1, process_group=groups[dist.get_rank()])  # without rank 0
    print("ok: refused")


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
    assert counts == [2, 1, 2, 1, 2, 2, 1], counts
    print("ok: lengths")


def copied(folder):
    """Weights on a GPU are compared in the CPU's memory. Here all weights are copied, and the result stays the same."""
    plain, on_host, copies = Run("qgz:bits=4", 2).steps(0, 4), gcbench.outer.on_host, []
    gcbench.outer.on_host = lambda x: (copies.append(x), x.clone())[1]
    assert torch.equal(Run("qgz:bits=4", 2).steps(0, 4).values(), plain.values()) and copies
    gcbench.outer.on_host = on_host
    print("ok: copied")


def failing(folder):
    """Rank 1 cannot encode, and lives on: the other must not wait for it."""
    run = Run("topk:theta=0.9,memory=ef", 1).steps(0, 2)
    if dist.get_rank() == 1:
        run.outer._messages[0].close()
    begin = time.monotonic()
    with pytest.raises(RuntimeError, match="rank 1 failed: ValueError: this exchange is closed"):
        run.steps(2, 3)
    with pytest.raises(RuntimeError, match="ended earlier: gcbench: rank 1 failed"):
        run.steps(3, 4)
    assert time.monotonic() - begin < 10
    dist.barrier()
    print("ok: failed")


def test_two_ranks(tmp_path):
    run_ranks(__file__, tmp_path, 10)


if __name__ == "__main__":
    be_rank(as_ddp, methods, dump, refusals, lengths, copied, failing)
