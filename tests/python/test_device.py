"""gcbench.device: two ranks joined by gloo, with the stand-in for a GPU, whose memory is the host's (this file is also the
program of a rank)."""
import os
import shutil
import sys

import pytest

torch = pytest.importorskip("torch")
if not torch.distributed.is_available():
    pytest.skip("torch has no torch.distributed", allow_module_level=True)
if not os.environ.get("GCBENCH_STANDIN"):
    pytest.skip("this build has no stand-in for a GPU", allow_module_level=True)

import torch.distributed as dist
from torch import nn

from gloo_ranks import be_rank, run_ranks

STEPS = 6


class Scaler:
    """A GradScaler whose scale is set by hand."""
    scale = torch.tensor(1.0)

    def _get_scale_async(self):
        return self.scale


def train(hook, state_of, steps=STEPS, poison=None):
    """A training of two ranks with several buckets. In step `poison` rank 1 has an infinite gradient of one parameter, and no
    step is taken."""
    torch.manual_seed(3)
    dist._DEFAULT_FIRST_BUCKET_BYTES = 100  # as bucket_cap_mb
    ddp = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(40, 30), nn.Tanh(), nn.Linear(30, 4)), bucket_cap_mb=1e-4)
    state = state_of(ddp)
    ddp.register_comm_hook(state, hook)
    optimizer = torch.optim.SGD(ddp.parameters(), 0.1)
    ddp.module[2].bias.register_hook(lambda g: g * float("inf") if (step, dist.get_rank()) == (poison, 1) else g)
    kept = []
    for step in range(steps):
        x = torch.randn(8, 40, generator=torch.Generator().manual_seed(10 * step + dist.get_rank()))
        optimizer.zero_grad()
        loss = (ddp(x) - x[:, :4]).square().mean()
        loss.backward()
        if step == poison:
            assert ddp.module[2].bias.grad.isnan().all() and ddp.module[0].weight.grad.isfinite().all()
        else:
            optimizer.step()
        if hasattr(state, "_buckets"):
            kept.append(state.state_dict()["residuals"])
    return torch.cat([p.detach().flatten() for p in ddp.parameters()]), kept, state


def as_on_the_cpu(folder):
    """The weights have the same bits as with gcbench.torch, which compresses on the host."""
    import gcbench.device
    import gcbench.torch
    for spec in ("topk:theta=0.9,memory=ef", "qsgd:bits=4", "terngrad", "range:memory=ef", "fp16:collective=allgather"):
        here = train(gcbench.torch.hook, lambda ddp: gcbench.torch.Compression(spec, model=ddp))[0]
        there = train(gcbench.device.hook, lambda ddp: gcbench.device.Compression(spec, model=ddp))[0]
        assert torch.equal(here, there), spec
    print("ok: as on the CPU")


def skipped_step(folder):
    """A step that is not finite on one rank changes no rank's residual, and the residual follows the scale."""
    import gcbench.device
    scaler = Scaler()
    _, kept, state = train(gcbench.device.hook, lambda ddp: gcbench.device.Compression(
        "topk:theta=0.9,memory=ef", model=ddp, scaler=scaler), steps=5, poison=4)
    assert len(kept[3]) == 4 and any(part.any() for part in kept[3].values())
    for name, part in kept[3].items():
        assert torch.equal(part, kept[4][name]), name
    assert len(state._buckets) > 1
    one, scaler.scale, state._skipped = next(iter(state._buckets.values())), torch.tensor(0.5), state._was_skipped()
    before = one.kept(state._skipped).clone()
    for bucket in state._buckets.values():
        state._follow_scale(bucket)
    assert torch.equal(one.residual, before * 0.5) and state.state_dict()["scale"] == 0.5
    print("ok: skipped step")


def checkpoint(folder):
    """A new state goes on with the residuals of the old one."""
    import gcbench.device
    _, kept, state = train(gcbench.device.hook, lambda ddp: gcbench.device.Compression("topk:memory=ef", model=ddp))
    saved = state.state_dict()

    def again(ddp):
        new = gcbench.device.Compression("topk:memory=ef", model=ddp, start=2)
        new.load_state_dict(saved)
        return new
    _, later, new = train(gcbench.device.hook, again, steps=3)
    assert new.step == saved["step"] + 3 and all(torch.equal(part, later[1][name]) for name, part in saved["residuals"].items())
    assert not any(torch.equal(part, later[2][name]) for name, part in saved["residuals"].items())
    new._buckets = {}
    for wrong in ({"spec": "topk"}, {"worker": 2}, {"residuals": {"0.weight": torch.zeros(1)}},
                  {"residuals": {"0.bias": torch.full((30,), float("nan"))}}):
        with pytest.raises(ValueError):
            new.load_state_dict({**saved, **wrong})
    plain = nn.Linear(4, 4)
    for wrong in ({"start": 1}, {"spec": "sbc"}, {"model": plain}):
        settings = {"spec": "topk", "model": nn.parallel.DistributedDataParallel(nn.Linear(4, 4)), **wrong}
        with pytest.raises((TypeError, ValueError, gcbench.Error)):
            gcbench.device.Compression(**settings)
    with pytest.raises(gcbench.Error, match="has no slots"):
        gcbench.device.Slots("sbc", 100)
    print("ok: checkpoint")


SCENARIOS = [as_on_the_cpu, skipped_step, checkpoint]


def test_two_ranks(tmp_path, monkeypatch):
    for name, target in (("GCBENCH_LIBRARY", "libgcbench.so.0"), ("GCBENCH_STANDIN", "libgcbench-cuda.so")):
        shutil.copy(os.environ[name], tmp_path / target)
    monkeypatch.setenv("GCBENCH_LIBRARY", str(tmp_path / "libgcbench.so.0"))
    monkeypatch.setenv("GCB_HOST_MEMORY", "all")
    run_ranks(__file__, tmp_path, len(SCENARIOS))


if __name__ == "__main__":
    be_rank(*SCENARIOS)
