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
    """A training of two ranks. In step `poison` rank 1 has an infinite gradient, and no step is taken."""
    torch.manual_seed(3)
    ddp = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(40, 30), nn.Tanh(), nn.Linear(30, 4)))
    state = state_of(ddp)
    ddp.register_comm_hook(state, hook)
    optimizer = torch.optim.SGD(ddp.parameters(), 0.1)
    kept = []
    for step in range(steps):
        x = torch.randn(8, 40, generator=torch.Generator().manual_seed(10 * step + dist.get_rank()))
        optimizer.zero_grad()
        loss = (ddp(x) - x[:, :4]).square().mean()
        if step == poison:
            loss = loss * (float("inf") if dist.get_rank() == 1 else 1.0)
        loss.backward()
        if step == poison:
            assert all(p.grad.isnan().all() for p in ddp.parameters())
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
    one = next(iter(state._buckets.values()))
    before, scaler.scale = one.residual.clone(), torch.tensor(0.5)
    state._follow_scale(one)
    assert torch.equal(one.residual, before * 0.5)
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
    assert new.step == saved["step"] + 3 and not later[1] and later[2].keys() == saved["residuals"].keys()
    for wrong in ({**saved, "spec": "topk"}, {**saved, "residuals": {}, "spec": "fp16"}):
        with pytest.raises(ValueError):
            gcbench.device.Compression.load_state_dict(new, wrong)
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
