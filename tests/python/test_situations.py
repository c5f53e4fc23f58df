"""Models and states that the hook once got silently wrong, or must stay right with: two ranks on this machine (this file is also
the program of a rank)."""
import copy
import sys
import warnings

import pytest

torch = pytest.importorskip("torch")
if not torch.distributed.is_available():
    pytest.skip("torch has no torch.distributed", allow_module_level=True)

import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import gcbench.torch
from gloo_ranks import WORLD, be_rank, run_ranks

NEW = int(torch.__version__.partition(".")[0]) >= 2


def wrapped(model, spec="topk:theta=0.8,memory=ef", scaler=None, policy=None, per=None, start=2, overlap=False, **options):
    ddp = DistributedDataParallel(model, **options)
    state = gcbench.torch.Compression(spec, model=ddp, scaler=scaler, policy=policy, per=per, start=start, overlap=overlap)
    ddp.register_comm_hook(state, gcbench.torch.hook)
    return ddp, state


def mean(x):
    x = x.double()
    dist.all_reduce(x)
    return x / WORLD


def draw(step, *shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(10 * step + dist.get_rank()))


def check_law(ddp, state, loss, steps=range(6), tolerance=1e-5):
    """ef: what was applied, and the mean of what is left, are the mean of the local gradients."""
    alone, total = copy.deepcopy(ddp.module), {}
    for step in steps:
        ddp.zero_grad()
        loss(ddp, step).backward()
        alone.zero_grad()
        loss(alone, step).backward()
        for (name, p), own in zip(ddp.module.named_parameters(), alone.parameters()):
            if p.requires_grad:
                total[name] = total.get(name, 0) + mean(own.grad) - p.grad.double()
    for name, arrays in state.state_dict()["parameters"].items():
        error = float((total[name].flatten() - mean(arrays["residual"])).norm() / total[name].norm().clamp(min=1e-3))
        assert error < tolerance, (name, error)


class Empty(nn.Module):
    def __init__(self):
        super().__init__()
        shapes = (0,), (4, 50), (0, 7) if NEW else (0,)
        self.none, self.weight, self.nothing = (nn.Parameter(torch.ones(shape)) for shape in shapes)

    def forward(self, x):
        return (self.weight * x).sum() + self.none.sum() + self.nothing.sum()


class Scaler:
    scale = 2.0

    def get_scale(self):
        return self.scale


def empty(folder):
    """Parameters without elements, alone in a message or a bucket too."""
    for per, spec in (("bucket", "topk:theta=0.8,memory=ef"), ("tensor", "topk:theta=0.8,memory=ef"),
                      (None, "powersgd:rank=1,memory=ef")):
        scaler = Scaler()
        ddp, state = wrapped(Empty(), spec, scaler, per=per, bucket_cap_mb=0.0001)
        check_law(ddp, state, lambda model, step: model(draw(step, 4, 50)))
        before, kept = state.residual_norm(), state.state_dict()
        scaler.scale = 4.0
        ddp(draw(6, 4, 50)).backward()
        again = wrapped(Empty(), spec, scaler, per=per)[1]
        again.load_state_dict(kept)
        assert before > 0 and abs(again.residual_norm() - 2 * before) < 1e-4 * before
    print("ok: empty", flush=True)


def said(call):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        call()
    return [str(one.message) for one in found if issubclass(one.category, UserWarning)]


def frozen(folder):
    def net(*trained):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(40, 20), nn.Linear(20, 10), nn.Linear(10, 5))
        for number, layer in enumerate(model):
            layer.requires_grad_(number in trained)
        return model

    loss = lambda model, step: model(draw(step, 8, 40)).square().sum()
    for spec in ("topk:theta=0.8,memory=ef", "powersgd:rank=1,memory=ef"):
        ddp, state = wrapped(net(0, 2), spec, bucket_cap_mb=0.0005)
        for step in range(5):
            loss(ddp, step).backward()
        kept = state.state_dict()
        now, again = wrapped(net(1, 2), spec, bucket_cap_mb=0.0005)
        texts = said(lambda: again.load_state_dict(kept))
        assert any("dropped: they are not trained now: 0.bias, 0.weight" in text for text in texts), texts
        assert any("begin with 0: 1.bias, 1.weight" in text for text in texts), texts
        of = again.state_dict()["parameters"]
        assert set(of) == {"1.bias", "1.weight", "2.bias", "2.weight"} and not bool(of["1.weight"]["residual"].any())
        first = {name: mean(arrays["residual"]) for name, arrays in of.items()}
        assert all(torch.equal(of[name]["residual"], kept["parameters"][name]["residual"]) for name in ("2.bias", "2.weight"))
        total = dict(first)
        for step in range(5, 9):
            now.zero_grad()
            loss(now, step).backward()
            alone = copy.deepcopy(now.module)
            alone.zero_grad()
            loss(alone, step).backward()
            for (name, p), own in zip(now.module.named_parameters(), alone.parameters()):
                if p.requires_grad:
                    total[name] = total[name] + (mean(own.grad) - p.grad.double()).flatten()
        for name, arrays in again.state_dict()["parameters"].items():
            assert torch.allclose(total[name], mean(arrays["residual"]), atol=1e-4), name
        assert not any("parameters that" in text for text in
                       said(lambda: wrapped(net(1, 2), spec)[1].load_state_dict(again.state_dict())))
    print("ok: frozen", flush=True)


def unfrozen(folder):
    """A layer that was frozen when the Compression was made is exchanged from its first step on, and keeps its memory in a step
    in which no rank uses it."""
    torch.manual_seed(0)
    net, total = nn.ModuleList([nn.Linear(40, 40, bias=False), nn.Linear(40, 10)]), 0
    net.forward = lambda x, both: net[1](net[0](x) if both else x).square().sum()
    ddp = DistributedDataParallel(net, find_unused_parameters=True)
    net[0].requires_grad_(False)
    state = gcbench.torch.Compression("topk:theta=0.8,memory=ef", model=ddp, start=0)
    ddp.register_comm_hook(state, gcbench.torch.hook)
    weight = net[0].weight
    for step in range(9):
        net[0].requires_grad_(step >= 3)
        ddp.zero_grad(set_to_none=True)
        ddp(draw(step, 8, 40), step != 6).backward()
        assert (weight.grad is not None) == (step >= 3 and step != 6)
        if step == 5 and NEW:  # what torch.autograd.grad() makes is not used
            torch.autograd.grad(net(draw(step, 8, 40), True), weight)
        if weight.grad is not None:
            alone = copy.deepcopy(net)
            own = torch.autograd.grad(alone[1](alone[0](draw(step, 8, 40))).square().sum(), alone[0].weight)[0]
            total = total + mean(own) - weight.grad.double()
            assert torch.allclose(mean(weight.grad), weight.grad.double()), step
    kept = state.state_dict()
    left = mean(kept["parameters"]["0.weight"]["residual"])
    assert float((total.flatten() - left).norm() / left.norm()) < 1e-5
    assert not any("parameters that" in text for text in said(lambda: state.load_state_dict(kept)))
    print("ok: unfrozen", flush=True)


class Matrix(nn.Module):
    """The mean gradient has rank 1 and a row for each of 12 numbers."""

    def __init__(self, columns):
        super().__init__()
        weight = torch.ones(40, 12).t() if columns else torch.ones(12, 40)
        self.weight = nn.Parameter(weight)

    def forward(self, step):
        rows, columns = (torch.randn(n, generator=torch.Generator().manual_seed(step)) for n in (12, 40))
        return (self.weight * rows.outer(columns)).sum() * (1 + dist.get_rank())


def columns(folder):
    """powersgd reads a weight that is stored by columns as a matrix, and states fit both orders."""
    for by in (True, False):
        ddp = wrapped(Matrix(by), "powersgd:rank=1,memory=ef", start=0)[0]
        assert ddp.module.weight.is_contiguous() != by
        for step in range(4):
            ddp.zero_grad()
            ddp(step).backward()
            rows, across = (torch.randn(n, generator=torch.Generator().manual_seed(step)) for n in (12, 40))
            want = 1.5 * rows.outer(across)
            if step == 0:
                error = float((ddp.module.weight.grad - want).norm() / want.norm())
                assert error < 1e-5, error
    ddp, state = wrapped(Matrix(True), "topk:theta=0.9,memory=ef", start=0)
    ddp(7).backward()
    other = wrapped(Matrix(False), "topk:theta=0.9,memory=ef", start=0)[1]
    other.load_state_dict(state.state_dict())
    rows, across = (torch.randn(n, generator=torch.Generator().manual_seed(7)) for n in (12, 40))
    left = (1 + dist.get_rank()) * rows.outer(across)
    for one in (state, other):
        residual = one.state_dict()["parameters"]["weight"]["residual"].view(12, 40)
        assert torch.allclose(residual[residual != 0], left[residual != 0]) and int((residual != 0).sum()) == 432
    print("ok: columns", flush=True)


class Compiled(nn.Module):
    """What torch.compile makes of a module's names."""

    def __init__(self, module):
        super().__init__()
        self._orig_mod = module

    def forward(self, x):
        return self._orig_mod(x)


def names(folder):
    loss = lambda model, step: model(draw(step, 8, 40)).square().sum()
    net = lambda: nn.Sequential(nn.Linear(40, 20), nn.Linear(20, 4))
    for pattern in ("0.*", "_orig_mod.0._orig_mod.*"):
        inner = net()
        inner[0] = Compiled(inner[0])
        ddp, state = wrapped(Compiled(inner), policy={pattern: "bf16"})
        for step in range(4):
            loss(ddp, step).backward()
        kept = state.state_dict()
        assert set(kept["parameters"]) == {"0.weight", "0.bias", "1.weight", "1.bias"}
        assert {group["spec"] for group in kept["groups"] if "0.weight" in group["names"]} == {"bf16"}
    plain, again = wrapped(net(), policy={"0.*": "bf16"})
    kept["groups"] = [{**group, "names": ["_orig_mod." + name for name in group["names"]]} for group in kept["groups"]]
    kept["parameters"] = {"_orig_mod." + name: arrays for name, arrays in kept["parameters"].items()}
    again.load_state_dict(kept)
    assert again.residual_norm() == state.residual_norm() > 0
    if hasattr(torch, "compile"):
        ddp, state = wrapped(torch.compile(net(), backend="eager"), find_unused_parameters=True)
        for step in range(4):
            loss(ddp, step).backward()
        assert set(state.state_dict()["parameters"]) == {"0.weight", "0.bias", "1.weight", "1.bias"} and state.residual_norm() > 0
    print("ok: names", flush=True)


def refusals(folder):
    if NEW:  # DDP of 1.13 refuses complex numbers itself
        wave = nn.Parameter(torch.ones(3, dtype=torch.complex64))
        model = nn.ParameterDict({"wave": wave, "real": nn.Parameter(torch.ones(3))})
        with pytest.raises(TypeError, match="wave is complex: keep its real"):
            wrapped(model)
    linear = lambda: nn.Linear(40, 10)
    with pytest.raises(ValueError, match=r"policy: no parameter's name matches '\*.biass'; the first names are weight, bias"):
        wrapped(linear(), policy={"weight": "qsgd", "*.biass": "fp16"})
    print("ok: refused", flush=True)


def tampered(folder):
    loss = lambda model, step: model(draw(step, 8, 40)).square().sum()
    for spec in ("topk:theta=0.8,memory=dgc,momentum=0.5", "powersgd:rank=1,memory=ef"):
        ddp, state = wrapped(nn.Linear(40, 10), spec)
        for step in range(5):
            loss(ddp, step).backward()
        right = state.state_dict()
        before = state.state_dict()
        wrong = []

        def case(text, change):
            bad = copy.deepcopy(right)
            change(bad)
            wrong.append((text, bad))

        weight = lambda s: s["parameters"]["weight"]
        for key in right:
            case(f"the state is damaged: it has no '{key}'; give each rank", lambda s: s.pop(key))
        for key, values in (("step", (-2, 1.5, None, "4", 1 << 63)), ("skipped", (-1, None, 10**30)), ("scale", (0.0, -1.0, float("nan"), float("inf"), "1", True, 10**400)),
                            ("worker", (-1, 2, None)),
                            ("workers", (0, 1.5)), ("totals", ({}, None, {**right["totals"], "wire_bytes": float("nan")})),
                            ("parameters", (None, [])), ("groups", (None, {}, [3], [{}]))):
            for value in values:
                case(f"(damaged: its {key}|not a state|has no)", lambda s: s.update({key: value}))
        case("residual of weight has an infinity or NaN", lambda s: weight(s)["residual"].view(-1)[3:4].fill_(float("nan")))
        case("momentum of weight has an infinity or NaN", lambda s: weight(s)["momentum"].view(-1)[3:4].fill_(float("inf")))
        case("residual of weight", lambda s: weight(s).update(residual=weight(s)["residual"].double()))
        case("residual of weight", lambda s: weight(s).update(residual=None))
        case("residual of weight has 7 elements", lambda s: weight(s).update(residual=torch.zeros(7)))
        case("parameter weight has no 'momentum'", lambda s: weight(s).pop("momentum"))
        for key in right["groups"][0]:
            case(f"one of its groups has no '{key}'", lambda s: s["groups"][0].pop(key))
        case("has the parameter other, and this model", lambda s: s["parameters"].update(other=weight(s)))
        case("(names of a group|parameters)", lambda s: s["parameters"].pop("weight"))
        case("names of a group", lambda s: s["groups"][0].update(names=[]))
        case("names of a group", lambda s: s["groups"].append(copy.deepcopy(s["groups"][0])))
        case("parameters", lambda s: s["groups"].pop())
        case("is of qsgd, not", lambda s: s["groups"][0].update(spec="qsgd"))
        case("set of ", lambda s: s["groups"][0].update(set={"theta": "0.8"}))
        case("set of ", lambda s: s["groups"][0].update(set={3: 1.0}))
        case("message of .* is damaged.*nosuch", lambda s: s["groups"][0].update(set={"nosuch": 1}))
        case("counters of ", lambda s: s["groups"][0].update(counters=[0] * 7))
        for count in (-1, 1 << 64):
            case("counters of ", lambda s, count=count: s["groups"][0].update(counters=[count] + [0] * 7))
        case("message of .* is damaged.*", lambda s: s["groups"][0].update(counters=[0] * 7 + [1]))
        case("kept of ", lambda s: s["groups"][0].update(kept=[1, 2]))
        case("message of .* is damaged.*", lambda s: s["groups"][0].update(kept=torch.ones(3, dtype=torch.uint8)))
        if "ef" in spec:
            case("message of .* is damaged.*", lambda s: weight(s)["momentum"].fill_(1.0))
        wrong += [("not a state of gcbench", bad) for bad in (None, [], 5, "state", {}, {"a": 1}, [None], [right, 3])]
        for text, bad in wrong:
            try:
                with pytest.raises(ValueError, match=text):
                    state.load_state_dict(bad)
            except BaseException as error:
                raise AssertionError(f"{spec}: {text}") from error
        assert str(state.state_dict()) == str(before)  # a refused state changes nothing
        state.load_state_dict(right)
    print("ok: tampered", flush=True)


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.out = nn.Embedding(20, 8), nn.Linear(8, 20, bias=False)
        self.out.weight = self.table.weight
        self.narrow = nn.Parameter(torch.ones(8, dtype=torch.float16))
        self.conv = nn.Conv2d(3, 4, 3).to(memory_format=torch.channels_last)

    def forward(self, step):
        x = self.table(torch.arange(20)) * self.narrow.float()
        return (self.out(x) * draw(step, 20, 20)).sum() + self.conv(draw(step, 2, 3, 6, 6)).square().sum()


def still_right(folder):
    """Tied weights, two dtypes, channels_last, static_graph, modules in turn, and ranks with fewer batches (join)."""
    loss = lambda model, step: model(step)
    torch.manual_seed(0)
    check_law(*wrapped(Tied(), start=0), loss, tolerance=5e-3)  # the mean of float16 is rounded
    dense = lambda model, step: model(draw(step, 8, 40)).square().sum()
    deep = nn.Sequential(*[nn.Linear(40, 40) for _ in range(5)])
    for start, cap in ((0, 25), (2, 0.003)):
        check_law(*wrapped(Tied(), start=start, static_graph=True), loss, tolerance=5e-3)
        ddp, state = wrapped(copy.deepcopy(deep), start=start, static_graph=True, bucket_cap_mb=cap)
        check_law(ddp, state, dense)
        assert state.step == 5, (state.step, state._order)
    pairs = [wrapped(nn.Linear(40, 10), overlap=True) for _ in range(2)]
    for step in range(6):
        for ddp, _ in pairs:
            dense(ddp, step).backward()
    assert all(state.residual_norm() > 0 and state.step == 5 for _, state in pairs)
    for unused in (False, True):
        ddp, state = wrapped(nn.Linear(40, 10, bias=False), start=0, find_unused_parameters=unused)
        total = torch.zeros(10, 40, dtype=torch.float64)
        mine = range(7 if dist.get_rank() == 0 else 4)
        with ddp.join():
            for step in mine:
                ddp.zero_grad()
                (ddp(draw(step, 8, 40)).sum()).backward()
                total += draw(step, 8, 40).double().sum(0).expand(10, 40) / WORLD
                total -= ddp.module.weight.grad.double() if dist.get_rank() == 0 else 0
        left = mean(state.state_dict()["parameters"]["weight"]["residual"]).view(10, 40)
        dist.all_reduce(total)
        assert float((total - left).norm() / left.norm()) < 1e-5, (unused, float((total - left).norm() / left.norm()))
    print("ok: still right", flush=True)


ALL = [empty, frozen, unfrozen, columns, names, refusals, tampered, still_right]


def test_two_ranks(tmp_path):
    run_ranks(__file__, tmp_path, len(ALL))


if __name__ == "__main__":
    be_rank(*([one for one in ALL if one.__name__ in sys.argv[3:]] or ALL))
