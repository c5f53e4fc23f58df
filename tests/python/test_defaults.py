"""The default dtype and device change nothing: with two ranks on this machine (this file is also the program of a rank)."""
import pytest

torch = pytest.importorskip("torch")
if not torch.distributed.is_available():
    pytest.skip("torch has no torch.distributed", allow_module_level=True)

import torch.distributed as dist
from torch import nn

import gcbench.outer
import gcbench.torch
from gloo_ranks import be_rank, run_ranks


def sample(step):
    """This rank's input, and the mean of all ranks' as float64."""
    draw = torch.Generator(device="cpu").manual_seed(10 * step + dist.get_rank())
    x = torch.randn(8, 60, generator=draw, dtype=torch.float32, device="cpu")
    mean = x.sum(0).double()
    dist.all_reduce(mean)
    return x, mean / dist.get_world_size()


def linear():
    return nn.Linear(60, 20, bias=False, dtype=torch.float32, device="cpu")


def ddp_means(spec, overlap):
    ddp = nn.parallel.DistributedDataParallel(linear())
    state = gcbench.torch.Compression(spec, model=ddp, overlap=overlap, schedule=None if overlap else {"theta": lambda step: 0})
    ddp.register_comm_hook(state, gcbench.torch.hook)
    for step in range(4):
        x, mean = sample(step)
        ddp.zero_grad()
        ddp(x).sum().backward()
        yield ddp.module.weight.grad, mean
    saved = state.state_dict()
    state.load_state_dict(saved)
    assert all(x.dtype is torch.float32 and x.device.type == "cpu" for x in saved["parameters"]["weight"].values())


def fsdp_means(spec, dtype):
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
    model = fully_shard(linear(), mp_policy=MixedPrecisionPolicy(reduce_dtype=dtype))
    state = gcbench.fsdp.Compression(spec, model=model)
    for step in range(2):
        x, mean = sample(step)
        model.zero_grad()
        model(x).sum().backward()
        yield model.weight.grad.full_tensor(), mean
    state.load_state_dict(state.state_dict())


def outer_means(spec):
    model = linear()
    outer = gcbench.outer.Outer(spec, model=model, inner_steps=1, optimizer=lambda anchor: torch.optim.SGD(anchor, 1.0))
    for step in range(2):
        x, mean = sample(step)
        before = model.weight.detach().clone()
        model.zero_grad()
        model(x).sum().backward()
        with torch.no_grad():
            model.weight -= model.weight.grad
        outer.step()
        yield before - model.weight.detach(), mean
    outer.load_state_dict(outer.state_dict())


def defaults(folder):
    devices = ["cpu", "meta"] if hasattr(torch, "set_default_device") else ["cpu"]
    dtypes = [torch.float32, torch.bfloat16, torch.float64, torch.float16]
    for dtype, device in [(dtype, "cpu") for dtype in dtypes] + [(torch.float32, one) for one in devices[1:]]:
        cases = {f"hook {spec} {overlap}": lambda spec=spec, overlap=overlap: ddp_means(spec, overlap)
                 for spec, overlap in (("identity:collective=allreduce", True), ("topk:theta=0,memory=ef", False))}
        cases["Outer"] = lambda: outer_means("topk:theta=0,memory=ef")
        if hasattr(gcbench, "fsdp"):
            cases.update({f"FSDP {spec} {own}": lambda spec=spec, own=own: fsdp_means(spec, own)
                          for spec, own in (("identity", None), ("topk:theta=0,memory=ef", torch.bfloat16))})
        if hasattr(torch, "set_default_device"):
            torch.set_default_device(device)
        torch.set_default_dtype(dtype)
        for name, run in cases.items():
            for got, mean in run():
                want = mean.expand(20, 60)
                far = float((got.double() - want).norm() / want.norm())
                assert far < (1e-2 if "bfloat16" in name else 1e-6), (dtype, device, name, far)
        print(f"ok: {dtype} {device}", flush=True)
    if hasattr(torch, "set_default_device"):
        torch.set_default_device("cpu")
    torch.set_default_dtype(torch.float32)


def test_two_ranks(tmp_path):
    run_ranks(__file__, tmp_path, 5 if hasattr(torch, "set_default_device") else 4)


if __name__ == "__main__":
    try:
        import gcbench.fsdp
    except ImportError:
        pass  # torch 1.13 has no FSDP2
    be_rank(defaults)
