"""gcbench.fsdp: FSDP2 with two ranks on this machine (this file is also the program of a rank)."""
import copy
import re
import sys
import types
from pathlib import Path

import pytest

np = pytest.importorskip("numpy")
torch = pytest.importorskip("torch")
h5py = pytest.importorskip("h5py")
try:
    import gcbench.fsdp
except ImportError as error:
    if "set_custom_reduce_scatter" not in str(error):
        raise
    pytest.skip(str(error), allow_module_level=True)

import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

from gcbench.dump import GradientDumper
from gloo_ranks import WORLD, be_rank, run_ranks


class Net(nn.Module):
    """Two FSDP modules, lengths that two ranks cannot share evenly, and a layer that only some steps use."""

    def __init__(self, dtype=None):
        super().__init__()
        self.first, self.spare, self.last = nn.Linear(40, 51), nn.Linear(51, 51), nn.Linear(51, 5)
        policy = MixedPrecisionPolicy(reduce_dtype=dtype)
        for module in (self.first, self):  # the root has the others
            fully_shard(module, mp_policy=policy)

    def forward(self, x, spare):
        x = torch.tanh(self.first(x))
        return self.last(torch.tanh(self.spare(x)) if spare else x)


class Run:
    def __init__(self, spec, dtype=None, factor=None, seed=0):
        torch.manual_seed(seed)
        self.model = Net(dtype)
        self.state = gcbench.fsdp.Compression(spec, model=self.model) if spec else None
        if factor:
            for module in (self.model, self.model.first):
                module.set_gradient_divide_factor(factor)
        self.optimizer = torch.optim.SGD(self.model.parameters(), 0.1, momentum=0.5)
        self.losses = []

    def steps(self, first, last, spare=lambda step: True, poison=None):
        for step in range(first, last):
            x = torch.randn(16, 40, generator=torch.Generator().manual_seed(10 * step + dist.get_rank()))
            self.optimizer.zero_grad()
            loss = (self.model(x, spare(step)) - x[:, :5]).square().mean()
            (loss * (float("nan") if step == poison and dist.get_rank() == 1 else 1.0)).backward()
            self.losses.append(loss.item())
            if step != poison:
                self.optimizer.step()
        return self

    def values(self):
        return torch.cat([p.detach().full_tensor().flatten() for p in self.model.parameters()])


def everywhere(x):
    rows = [torch.empty_like(x) for _ in range(WORLD)]
    dist.all_gather(rows, x)
    return all(torch.equal(row, x) for row in rows)


def as_fsdp(folder):
    """With two ranks identity is FSDP2's own reduce-scatter bit for bit, if that sums in the type of its buffer."""
    plain = Run(None).steps(0, 6).values()
    mine = Run("identity").steps(0, 6)
    assert torch.equal(mine.values(), plain) and not torch.equal(plain, Run(None).values())
    numbers = 2 * sum(-(-p.shape[0] // 2) * p[0].numel() for p in mine.model.parameters())  # with padding
    overhead = 6 * 2 * WORLD * 16
    assert 6 * 4 * numbers < mine.state.wire_bytes <= 6 * 4 * numbers + overhead, (mine.state.wire_bytes, numbers)
    assert mine.state.link_bytes == mine.state.wire_bytes * (WORLD - 1) / WORLD
    for dtype in (torch.bfloat16, torch.float16):
        far = (Run("identity", dtype).steps(0, 6).values() - Run(None, dtype).steps(0, 6).values()).abs().max()
        assert far < 1e-3, far
    doubled = Run("identity", factor=1.0).steps(0, 1)  # PREMUL_SUM, which gloo does not have
    step = doubled.values() - Run(None).values()
    assert torch.allclose(step, 2 * (Run(None).steps(0, 1).values() - Run(None).values()), atol=1e-6)
    print("ok: as FSDP2")


def methods(folder):
    for spec, fewer in (("qsgd", 3), ("terngrad", 5), ("topk:theta=0.9,memory=ef", 3), ("fft:theta=0.5", 1),
                        ("sbc:delay=2,momentum=0", 20)):
        run = Run(spec).steps(0, 30)
        assert everywhere(run.values()), spec
        assert sum(run.losses[-5:]) < 0.9 * sum(run.losses[:5]), (spec, run.losses)
        dense = 30 * 4 * run.values().numel()
        assert run.state.wire_bytes < dense / fewer, (spec, dense / run.state.wire_bytes)
        print("ok: trained:", spec)


def resume(folder):
    """Also over steps that leave a layer out."""
    spare = lambda step: step % 3 != 1
    for spec in ("topk:theta=0.95,memory=ef", "qsgd"):
        whole = Run(spec).steps(0, 4, spare)
        path = folder / f"checkpoint_{dist.get_rank()}"
        torch.save([whole.model.state_dict(), whole.optimizer.state_dict(), whole.state.state_dict()], path)
        again = Run(spec, seed=1)
        for part, saved in zip((again.model, again.optimizer, again.state), torch.load(path, weights_only=False)):
            part.load_state_dict(saved)
        assert torch.equal(whole.steps(4, 8, spare).values(), again.steps(4, 8, spare).values()), spec
    with pytest.raises(ValueError, match="its spec is 'qsgd', not 'topk'"):
        Run("topk").state.load_state_dict(whole.state.state_dict())
    print("ok: resumed")


class Together(nn.Module):
    """Two modules of which FSDP reduces the gradients together."""

    def __init__(self):
        super().__init__()
        self.first, self.norm, self.last = nn.Linear(10, 21), nn.LayerNorm(21), nn.Linear(21, 3)
        fully_shard([self.norm, self.last])
        fully_shard(self)

    def forward(self, x):
        return self.last(self.norm(self.first(x)))


def together(folder):
    """Modules that fully_shard() was given in a list have one message, and a state of it is taken back."""
    torch.manual_seed(4)
    model = Together()
    state = gcbench.fsdp.Compression("topk:theta=0.5,memory=ef", model=model)
    model(torch.ones(3, 10)).sum().backward()
    kept = state.state_dict()
    assert kept["modules"] == ["", "norm"]
    shard = sum(-(-p.shape[0] // WORLD) * (p.numel() // p.shape[0]) for part in (model.norm, model.last) for p in part.parameters())
    assert [len(message["residual"]) for message in kept["parts"][1]["messages"]] == [shard] * WORLD
    again = gcbench.fsdp.Compression("topk:theta=0.5,memory=ef", model=model)
    again.load_state_dict(kept)
    assert repr(again.state_dict()) == repr(kept)
    print("ok: together")


def test_tensor_parallel():
    """A tensor that is divided in two ways has no length that could be checked."""
    from torch.distributed.tensor.placement_types import Replicate, Shard, _StridedShard
    module = nn.Linear(8, 8, bias=False)
    module.weight.device_mesh = types.SimpleNamespace(shape=(2, 2))
    for placements, found in (((_StridedShard(0, split_factor=2), Shard(0)), None), ((Shard(0), Shard(1)), None),
                              ((Replicate(), Shard(0)), (32, 2))):
        module.weight.placements = placements
        assert gcbench.fsdp._shard([module]) == found, placements


def tampered(folder):
    """A state that was damaged is refused by the name of what is wrong, at once, and nothing is changed."""
    run = Run("topk:theta=0.95,memory=ef").steps(0, 2)
    right = run.state.state_dict()
    assert right["modules"] == ["", "first"]
    run.state.load_state_dict({**right, "modules": ["_orig_mod", "_orig_mod.first"]})  # of torch.compile
    wrong = [("not a state of gcbench", bad) for bad in (None, 5, [], {}, "state", {"step": 1})]

    def case(text, change):
        bad = copy.deepcopy(right)
        change(bad)
        wrong.append((text, bad))

    part = lambda s: s["parts"][1]
    message = lambda s: part(s)["messages"][1]
    for key in right:
        case(f"the state is damaged: it has no '{key}'; give each rank", lambda s: s.pop(key))
    for key in ("spec", "rank", "world", "modules"):
        case(f"another training: its {key} is 9", lambda s: s.update({key: 9}))
    for bad in (None, [], right["parts"][:1], 3):
        case("its parts cannot be", lambda s: s.update(parts=bad))
    for key in ("step", "messages"):
        case(f"the state of module 'first' has no '{key}'", lambda s: part(s).pop(key))
    for bad in (-1, 1.0, None):
        case("step of module 'first' cannot be", lambda s: part(s).update(step=bad))
    case("messages of module 'first' cannot be None", lambda s: part(s).update(messages=None))
    case("number of messages of module 'first' for 2 ranks cannot be 1", lambda s: part(s)["messages"].pop())
    case("message 1 of module 'first' is not a state", lambda s: part(s)["messages"].__setitem__(1, None))
    for key in right["parts"][1]["messages"][1]:
        case(f"message 1 of module 'first' has no '{key}'", lambda s: message(s).pop(key))
    for key in ("residual", "momentum"):
        case(f"{key} of message 1 of module 'first' has an infinity or NaN", lambda s: message(s)[key][5:6].fill_(float("nan")))
        case(f"{key} of message 1 of module 'first' cannot be torch.float64", lambda s: message(s).update({key: message(s)[key].double()}))
        case(f"{key} of message 1 of module 'first' has 3 elements, not 1066", lambda s: message(s).update({key: torch.zeros(3)}))
    case("counters of message 1 of module 'first'", lambda s: message(s).update(counters=[0] * 3))
    case("message 1 of module 'first' is damaged", lambda s: message(s).update(kept=torch.ones(3, dtype=torch.uint8)))
    before = repr(right)
    for text, bad in wrong:
        try:
            with pytest.raises(ValueError, match=text):
                run.state.load_state_dict(bad)
        except BaseException as error:
            raise AssertionError(text) from error
    assert repr(run.state.state_dict()) == before
    run.steps(2, 4)
    run.state.load_state_dict({**right, "parts": [{"step": 0, "messages": []} for _ in right["parts"]]})
    assert all(not one["messages"] for one in run.state.state_dict()["parts"])
    for bad in ({"step": 2}, {"step": 2, "messages": [{"residual": torch.zeros(3)}] * WORLD}):
        alone = gcbench.fsdp.ReduceScatter("topk:memory=ef")
        with pytest.raises(ValueError, match="of module '' has no '(messages|momentum)'"):
            alone.load_state_dict(bad)
            alone(torch.zeros(10), torch.zeros(10 * WORLD), dist.group.WORLD, dist.ReduceOp.SUM)
    print("ok: tampered")


def not_counted(folder):
    """A reduce-scatter that a rank refuses is no step on any rank, so that the next one finds all ranks in the same step."""
    group, bad = dist.group.WORLD, dist.get_rank() == 1
    scatter = gcbench.fsdp.ReduceScatter("topk:theta=0.5,memory=ef")
    for step in range(3):
        scatter(torch.zeros(10), torch.ones(20), group, dist.ReduceOp.SUM)
        with pytest.raises(ValueError if bad else RuntimeError, match="async_op=True is not supported"):
            scatter(torch.zeros(10), torch.ones(20), group, dist.ReduceOp.SUM, async_op=bad)
        assert scatter.step == step + 1
    print("ok: not counted")


def evaluated(folder):
    """After a pass without a backward pass the parameters of the root are whole. The state and the replicas are found anyway."""
    run = Run("topk:theta=0.95,memory=ef").steps(0, 2)
    kept = run.state.state_dict()
    again = Run("topk:theta=0.95,memory=ef")
    with torch.no_grad():
        again.model(torch.ones(3, 40), True)
    bad = copy.deepcopy(kept)
    for key in ("residual", "momentum"):
        bad["parts"][0]["messages"][0][key] = torch.zeros(3)
    with pytest.raises(ValueError, match="residual of message 0 of module '' has 3 elements, not 1508"):
        again.state.load_state_dict(bad)
    again.state.load_state_dict(kept)
    assert repr(again.state.state_dict()) == repr(kept)
    print("ok: evaluated")


class Turns(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.spare = nn.Linear(30, 12, bias=False), nn.Linear(12, 6, bias=False)

    def forward(self, x, spare):
        x = torch.tanh(self.first(x))
        return (self.spare(x) if spare else x).square().sum()


def replicas(folder):
    """HSDP, two replicas of two shards: what was applied, and what the ranks keep, are the means of the local gradients; also if
    a layer has no gradient in some steps, and with a GradScaler. All ranks have the same weights."""
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("replicas", "shards"))
    torch.manual_seed(0)
    model, alone = Turns(), Turns()
    alone.load_state_dict(model.state_dict())
    for module in (model.first, model.spare, model):
        fully_shard(module, mesh=mesh)
    state = gcbench.fsdp.Compression("topk:theta=0.8,memory=ef", model=model)
    optimizer, scaler = torch.optim.SGD(model.parameters(), 0.01), torch.amp.GradScaler("cpu", init_scale=8.0, growth_interval=1000)
    total = {name: torch.zeros(p.shape, dtype=torch.float64) for name, p in alone.named_parameters()}
    for step in range(9):
        x = torch.randn(5, 30, generator=torch.Generator().manual_seed(10 * step + dist.get_rank()))
        with torch.no_grad():
            for own, p in zip(alone.parameters(), model.parameters()):
                own.copy_(p.full_tensor())
        for one in (model, alone):
            one.zero_grad()
            scaler.scale(one(x, step % 3 != 1)).backward()
        for (name, p), own in zip(model.named_parameters(), alone.parameters()):
            mean = torch.zeros(own.shape, dtype=torch.float64) if own.grad is None else own.grad.double()
            dist.all_reduce(mean)
            total[name] += (mean / WORLD - (p.grad.full_tensor().double() if p.grad is not None else 0.0)) / 8.0
        scaler.step(optimizer)
        scaler.update()
    for (name, p), part in zip(model.named_parameters(), (state._parts["first"], state._parts["spare"])):
        left = torch.cat([message["residual"] for message in part.state_dict()["messages"]]).double().view(p.shape) / 8.0
        dist.all_reduce(left)
        error = float((total[name] - left / WORLD).norm() / total[name].norm())
        assert error < 1e-5 and float(total[name].norm()) > 0, (name, error)
        assert everywhere(p.detach().full_tensor())
    kept = state.state_dict()
    state.load_state_dict(kept)
    assert repr(state.state_dict()) == repr(kept)
    print("ok: replicas")


def nan(folder):
    run = Run("topk:theta=0.9,memory=ef").steps(0, 3)
    before = run.values()
    run.steps(3, 4, poison=3)
    grads = torch.cat([p.grad.full_tensor().flatten() for p in run.model.parameters()])
    assert not bool(grads.isfinite().all()) and torch.equal(before, run.values())
    assert bool(run.steps(4, 6).values().isfinite().all())
    print("ok: NaN on one rank")


def recorded(folder):
    """The dump has what each rank sends: its rows are the messages' tensors, and their mean is the shard that it brings."""
    rank = dist.get_rank()
    for spec in (None, "identity"):
        run = Run(spec).steps(0, 1)
        dumpers = [GradientDumper(run.model, str(folder / kind), steps=range(3), sample=sample, fsdp=kind.strip("1"),
                                  overwrite=True)
                   for kind, sample in (("input", None), ("input1", 100), ("shard", None))]
        losses = len(run.losses)
        plain = Run(spec).steps(0, 1)
        for step in range(1, 4):
            run.steps(step, step + 1, lambda step: step != 2)
            plain.steps(step, step + 1, lambda step: step != 2)
            assert [bool(dumper.step()) for dumper in dumpers] == [True] * 3
        assert torch.equal(run.values(), plain.values()) and len(run.losses) == losses + 3  # the training is the same
        dist.barrier()  # all files are there
        for step in range(3):
            opened = {kind: [h5py.File(folder / f"{kind}_step{step:06d}_rank{r}.h5")[f"step_{step:06d}/worker_{r}"]
                             for r in (0, 1)] for kind in ("input", "input1", "shard")}
            for kind, ranks in opened.items():
                assert set(ranks[0]) == {"first", "(root)"}, kind
            for name in ("first", "(root)"):
                sent = [ranks[name] for ranks in opened["input"]]
                shards = [ranks[name] for ranks in opened["shard"]]
                assert sent[0].attrs["part"] == "reduce-scatter" and shards[0].attrs["part"] == "shard"
                assert sent[0].shape == (WORLD, shards[0].shape[0]) and not np.array_equal(sent[0], sent[1])
                mean = (sent[0][()] + sent[1][()]) / 2
                for r in range(WORLD):
                    assert np.allclose(mean[r], shards[r][()], atol=1e-7), (name, r)
                small, count = opened["input1"][1][name], sent[1].size
                begin = (count - 100) // 2
                assert small.shape == (100,) and small.attrs["sampled_from"] == count and small.attrs["slice"] == 100
                assert np.array_equal(small, sent[1][()].reshape(-1)[begin:begin + 100])
            assert sent[rank].attrs["parameters"].splitlines() == ["spare.weight", "spare.bias", "last.weight", "last.bias"]
        dist.barrier()  # before the files are written again
    # The rows have the rank's own gradients, which the parameters' shapes tell apart.
    torch.manual_seed(3 + rank)
    model, alone = nn.Linear(6, 4), nn.Linear(6, 4)
    alone.load_state_dict(model.state_dict())
    fully_shard(model)
    dist.barrier()
    dumper = GradientDumper(model, str(folder / "own"), steps=0)
    x = torch.randn(5, 6)
    with torch.no_grad():
        for own, p in zip(alone.parameters(), model.parameters()):
            own.copy_(p.full_tensor())
    for one in (model, alone):
        one(x).square().sum().backward()
    rows = h5py.File(dumper.step())[f"step_000000/worker_{rank}/(root)"][()]
    weight, bias = np.split(rows, [12], axis=1)
    assert np.allclose(weight.reshape(4, 6), alone.weight.grad, atol=1e-5)
    assert np.allclose(bias.reshape(4), alone.bias.grad, atol=1e-5)
    model(x).sum().backward()
    model(x).sum().backward()
    assert dumper.step() is None  # averages mix with the rank's own
    with pytest.raises(ValueError, match="one rank has the only shard"):
        single = nn.Linear(3, 3)
        fully_shard(single, mesh=init_device_mesh("cpu", (WORLD, 1), mesh_dim_names=("replicas", "shards")))
        GradientDumper(single, str(folder / "one"), steps=0)
    print("ok: recorded")


def documented(folder):
    text = (Path(__file__).resolve().parents[2] / "docs" / "training.md").read_text(encoding="utf-8")
    model = nn.Module()
    model.layers = nn.Sequential(nn.Linear(40, 30), nn.Linear(30, 4))
    names = {"model": model, "fully_shard": fully_shard}
    exec(re.search(r"^```python\n(import gcbench\.fsdp\n.*?)^```", text, re.M | re.S).group(1), names)
    model.layers(torch.ones(2, 40)).sum().backward()
    assert 0 < names["state"].link_bytes < 0.1 * 4 * (41 * 30 + 31 * 4)
    print("ok: documented")


def refusals(folder):
    for error, text, make in ((ValueError, "powersgd needs matrices", lambda: Run("powersgd:rank=2")),
                              (gcbench.Error, "nosuch", lambda: Run("nosuch")),
                              (gcbench.Error, "cannot use collective=twoshot", lambda: Run("qsgd:collective=twoshot")),
                              (UserWarning, "topk:theta=0.99 sends 1 % of the values or less", lambda: Run("topk:theta=0.99")),
                              (TypeError, "is a Linear without FSDP modules",
                               lambda: gcbench.fsdp.Compression("qsgd", model=nn.Linear(2, 2)))):
        with pytest.warns(error, match=text) if error is UserWarning else pytest.raises(error, match=text):
            make()
    group, own = dist.group.WORLD, lambda: torch.zeros(10)
    with pytest.raises(TypeError, match="are torch.float64 on cpu"):
        gcbench.fsdp.ReduceScatter("qsgd")(own().double(), torch.zeros(20).double(), group, dist.ReduceOp.SUM)
    with pytest.raises(ValueError, match="only SUM, AVG and PREMUL_SUM"):
        gcbench.fsdp.ReduceScatter("qsgd")(own(), torch.zeros(20), group, dist.ReduceOp.MAX)
    grown = {spec: gcbench.fsdp.ReduceScatter(spec) for spec in ("qsgd", "dgc", "topk:memory=ef")}
    for spec, scatter in grown.items():
        scatter(own(), torch.zeros(20), group, dist.ReduceOp.SUM)
        if spec == "qsgd":
            scatter(torch.zeros(11), torch.zeros(22), group, dist.ReduceOp.SUM)
        else:
            with pytest.raises(ValueError, match="a shard had 10 elements of torch.float32, and now has 11"):
                scatter(torch.zeros(11), torch.zeros(22), group, dist.ReduceOp.SUM)
    bad = dist.get_rank() == 1
    with pytest.raises(TypeError if bad else RuntimeError, match="float64" if bad else "rank 1 failed: TypeError: .*float64"):
        dtype = torch.float64 if bad else torch.float32
        gcbench.fsdp.ReduceScatter("qsgd")(own().to(dtype), torch.zeros(20, dtype=dtype), group, dist.ReduceOp.SUM)
    for settings in ((f"topk:theta=0.{5 + dist.get_rank()}", 1), ("qsgd", 1 + dist.get_rank())):
        with pytest.raises(ValueError, match="all ranks need the same settings"):
            gcbench.fsdp.ReduceScatter(settings[0], seed=settings[1])(own(), torch.zeros(20), group, dist.ReduceOp.SUM)
    print("ok: refused")


TWO = [as_fsdp, methods, resume, together, tampered, not_counted, evaluated, nan, recorded, documented, refusals]


def test_two_ranks(tmp_path):
    run_ranks(__file__, tmp_path, len(TWO) + 4)  # methods has five


def test_four_ranks(tmp_path):
    run_ranks(__file__, tmp_path, 1, "replicas", world=4)


if __name__ == "__main__":
    be_rank(*([one for one in (*TWO, replicas) if one.__name__ in sys.argv[3:]] or TWO))
