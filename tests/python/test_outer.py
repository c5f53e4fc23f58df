"""gcbench.outer: local SGD with two ranks on this machine (this file is also the program of a rank)."""

import copy
import inspect
import re
import sys
import warnings

import pytest

np = pytest.importorskip("numpy")
torch = pytest.importorskip("torch")
h5py = pytest.importorskip("h5py")
if not torch.distributed.is_available():
    pytest.skip("torch has no torch.distributed", allow_module_level=True)

import torch.distributed as dist
from torch import nn

import gcbench.outer
from gcbench._transport import plain_name
from gcbench.dump import GradientDumper
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
    model, sharded = nn.Linear(2, 2), nn.Linear(2, 2)
    sharded.weight = type("DTensor", (nn.Parameter,), {})(torch.zeros(2, 2))  # torch 1.13 has none
    for error, text, options in ((TypeError, "DistributedDataParallel", {"model": nn.parallel.DistributedDataParallel(model)}),
                                 (ValueError, "at least 1", {"model": model, "inner_steps": 0}),
                                 (ValueError, "choose model or tensor", {"model": model, "per": "bucket"}),
                                 (TypeError, "only float32", {"model": nn.Linear(2, 2).double()}),
                                 (TypeError, "weight is a DTensor: .* do not shard it", {"model": sharded}),
                                 (ValueError, "no parameter that is trained", {"model": nn.Tanh()}),
                                 (ValueError, "choose error or skip", {"model": model, "nonfinite": "raw"}),
                                 (gcbench.Error, "nosuch", {"model": model, "spec": "nosuch"})):
        with pytest.raises(error, match=text):
            gcbench.outer.Outer(**{"spec": "identity", "inner_steps": 1, **options})
    other = {"inner_steps": 1 + dist.get_rank()}
    with pytest.raises(ValueError, match="the inner_steps is 1 on rank 0, and 2 on rank 1"):
        gcbench.outer.Outer("identity", model=model, **other)
    outer = gcbench.outer.Outer("identity", model=model, inner_steps=2)
    outer.load_state_dict({**outer.state_dict(), "calls": 2 * dist.get_rank()})
    with pytest.raises(ValueError, match="the step is 2 on rank 0, and 4 on rank 1"):
        outer.step()
        outer.step()
    groups = [dist.new_group([rank], backend="gloo") for rank in range(WORLD)]
    gcbench.outer.Outer("identity", model=model, inner_steps=1, process_group=groups[dist.get_rank()])  # without rank 0
    print("ok: refused")


def recording(folder):
    """Only exchanges that all workers agreed upon are recorded, and counted by the dumpers."""
    def record(name):
        run.outer._dumper = GradientDumper(run.model, str(folder / name), steps="0-9", worker=rank, workers=WORLD)
        return run.outer._dumper

    rank, run = dist.get_rank(), Run("identity", 1, **PLAIN)
    dumper = record("agreed")
    here = lambda: sorted(path.name[7:17] for path in folder.glob(f"agreed_*_rank{rank}.h5"))
    run.steps(0, 1)
    weight = run.model[0].weight
    old = weight.detach().clone()
    with torch.no_grad():
        weight[0, 0] = float("nan") if rank == 1 else 1.0
    with pytest.raises(RuntimeError, match="0.weight of rank 1 has an infinity"):
        run.outer.step()
    with torch.no_grad():
        weight.copy_(old)
    assert here() == ["step000000"] and dumper.next_step == 1
    step = dumper.step
    if rank == 1:
        dumper.step = lambda: {}["disk full"]
    with pytest.raises((KeyError, RuntimeError), match="disk full"):
        run.outer.step()
    assert dumper.next_step == 1
    dumper.step = step
    before = run.values()
    run.steps(1, 3)
    assert here() == ["step000000", "step000001", "step000002"] and run.outer.exchanges == dumper.next_step == 3
    own = h5py.File(folder / f"agreed_step000001_rank{rank}.h5")[f"step_000001/worker_{rank}/0.bias"][()]
    assert np.abs(own).max() > 0  # of the exchange that took place: the one before had not trained
    print("ok: recording")


def tampered(folder):
    """A state that was damaged is refused by the name of what is wrong, and nothing is changed."""
    for spec, make in (("topk:theta=0.9,memory=ef", gcbench.outer.nesterov),
                       ("powersgd:rank=2,memory=ef", lambda anchor: torch.optim.Adam(anchor, 0.01))):
        run = Run(spec, 1, optimizer=make).steps(0, 3)
        right, wrong = run.outer.state_dict(), []
        assert run.outer.state_dict()["optimizer"]["state"][0] is not run.outer._optimizer.state[run.outer._anchor[0]]

        def case(text, change):
            bad = copy.deepcopy(right)
            change(bad)
            wrong.append((text, bad))

        def put(key, value):
            return lambda s: s.update({key: value})

        nan, of = float("nan"), "0.weight" if "powersgd" in spec else "model"
        for bad in (None, 5, [], {}, {"a": 1}, [None], "state"):
            wrong.append(("not a state of gcbench: give each rank", bad))
        for key in right:
            case(f"the state is damaged: it has no '{key}'; give each rank", lambda s: s.pop(key))
        for key in ("method", "per", "parameters"):
            case(f"another training: its {key} is 'else'", put(key, "else"))
        for key, values in (("rank", (-1, 2, "else", None)), ("world", (0, 2.0)), ("calls", (-1, 1.5, nan, "3")), ("exchanges", (-1, None)),
                            ("totals", (None, {}, {**right["totals"], "wire_bytes": nan})), ("anchor", (None, right["anchor"][:1], {})),
                            ("messages", (None, [], 3))):
            for value in values:
                case(f"its {key} cannot be ", put(key, value))
        case("anchor of 0.bias has an infinity or NaN", lambda s: s["anchor"][1][3:4].fill_(nan))
        for dtype in (torch.float64, torch.float16):
            case(f"anchor of 0.bias cannot be torch.float{64 if dtype is torch.float64 else 16} of shape",
                 lambda s: s["anchor"].__setitem__(1, s["anchor"][1].to(dtype)))
        case("anchor of 0.weight has the shape (40, 30), not (30, 40)",
             lambda s: s["anchor"].__setitem__(0, s["anchor"][0].t().contiguous()))
        case("anchor of 2.bias cannot be None", lambda s: s["anchor"].__setitem__(3, None))
        message = lambda s: s["messages"][0]
        for key in right["messages"][0]:
            case(f"the message of {of} has no '{key}'", lambda s: message(s).pop(key))
        for key in ("residual", "momentum"):
            case(f"{key} of the message of {of} has an infinity or NaN", lambda s: message(s)[key][2:3].fill_(float("-inf")))
            case(f"{key} of the message of {of} cannot be torch.float64", lambda s: message(s).update({key: message(s)[key].double()}))
            case(f"{key} of the message of {of} has 3 elements, not", lambda s: message(s).update({key: torch.zeros(3)}))
        case(f"counters of the message of {of}", lambda s: message(s).update(counters=[0] * 7))
        case(f"the message of {of} is damaged", lambda s: message(s).update(kept=torch.ones(3, dtype=torch.uint8)))
        case(f"kept of the message of {of}", lambda s: message(s).update(kept=b"123"))
        inner = lambda s: s["optimizer"]
        for key in ("state", "param_groups"):
            case(f"the optimizer has no '{key}'", lambda s: inner(s).pop(key))
        case("its optimizer's state cannot be", lambda s: inner(s).update(state=3))
        case("its param_groups have [] tensors", lambda s: inner(s).update(param_groups=[]))
        case("its param_groups have [3] tensors, not [4]", lambda s: inner(s)["param_groups"][0]["params"].pop())
        case("optimizer's lr cannot be nan", lambda s: inner(s)["param_groups"][0].update(lr=nan))
        case("optimizer's param_groups", lambda s: inner(s)["param_groups"][0].pop("lr"))
        key = "exp_avg" if "powersgd" in spec else "momentum_buffer"
        row = lambda s: inner(s)["state"][2]
        case(f"optimizer's {key} of 2.weight has an infinity or NaN", lambda s: row(s)[key][1, 2:3].fill_(nan))
        case(f"optimizer's {key} of 2.weight has the shape (3,), not (4, 30)", lambda s: row(s).update({key: torch.zeros(3)}))
        case(f"optimizer's {key} of 2.weight cannot be torch.float64", lambda s: row(s).update({key: row(s)[key].double()}))
        case(f"optimizer's state of 2.weight has no '{key}'", lambda s: row(s).pop(key))
        case("optimizer's state of 2.weight cannot be 3", lambda s: inner(s)["state"].update({2: 3}))
        if "powersgd" in spec:
            case("optimizer's step of 2.weight cannot be", lambda s: row(s).update(step=torch.tensor(nan)))
        before = memory(run), repr(run.outer.state_dict())
        for text, bad in wrong:
            try:
                with pytest.raises(ValueError, match=re.escape(text)):
                    run.outer.load_state_dict(bad)
            except BaseException as error:
                raise AssertionError(f"{spec}: {text}") from error
        assert (memory(run), repr(run.outer.state_dict())) == before
        model = copy.deepcopy(run.model.state_dict())
        after = run.steps(3, 5).values()
        run.model.load_state_dict(model)
        run.outer.load_state_dict(right)  # what was saved did not change with the training
        run.inner = torch.optim.SGD(run.model.parameters(), 0.1)
        assert torch.equal(run.steps(3, 5).values(), after), spec
    print("ok: tampered")


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
    with pytest.raises(RuntimeError, match="rank 1 failed: ValueError: this exchange is closed"):
        run.steps(2, 3)
    with pytest.raises(RuntimeError, match="ended earlier: gcbench: rank 1 failed"):
        run.steps(3, 4)
    dist.barrier()
    print("ok: failed")


def memory(run):
    return [run.outer.calls, run.outer.exchanges, dict(run.outer._transport.totals),
            [[saved[key].tolist() for key in ("residual", "momentum")] for saved in run.outer.state_dict()["messages"]],
            run.values().tolist(), [a.tolist() for a in run.outer._anchor]]


def changed(folder):
    """Parameters that are not those of the beginning are refused by name, on all ranks, also if only one has them. Nothing is
    changed, so that the training may go on after a repair."""
    run = Run("topk:theta=0.9,memory=ef", 1).steps(0, 2)
    first, before, mine = run.model[0], memory(run), dist.get_rank() == 1
    weight = first.weight

    def load():
        state = {name: torch.zeros_like(p) for name, p in run.model.state_dict().items()}
        if "assign" in inspect.signature(run.model.load_state_dict).parameters:
            run.model.load_state_dict(state, assign=True)
        else:  # torch 1.13
            first.weight, first.bias = nn.Parameter(state["0.weight"]), nn.Parameter(state["0.bias"])

    parameters = dict(run.model.named_parameters())
    for change, text in ((load, "0.weight was replaced"), (lambda: first.register_parameter("bias", None), "0.bias was removed"),
                         (lambda: first.register_parameter("scale", nn.Parameter(torch.ones(3))), "0.scale is trained, but"),
                         (lambda: setattr(weight, "data", weight.data.double()),
                          "0.weight was torch.float32 .* now is torch.float64")):
        for both in (True, False):
            values = weight.data.clone()
            if both or mine:
                change()
            error, prefix = (ValueError, "") if both or mine else (RuntimeError, "rank 1 failed: ValueError: ")
            with pytest.raises(error, match=prefix + text):
                run.outer.step()
            for name, p in parameters.items():
                setattr(run.model[int(name[0])], name[2:], p)
            if hasattr(first, "scale"):
                del first.scale
            weight.data = values.float()
            assert memory(run) == before, text
    run.steps(2, 3)
    assert torch.equal(*gathered(run.values()))
    torch.manual_seed(0)
    model = nn.Linear(3, 3)
    model.bias.requires_grad_(False)
    outer = gcbench.outer.Outer("identity", model=model, inner_steps=2)
    model.bias.requires_grad_(True)
    with pytest.raises(ValueError, match="bias is trained, but was frozen"):
        outer.step()  # also if it would not exchange
    print("ok: changed")


def nonfinite(folder):
    for spec, options in (("topk:theta=0.9,memory=ef", {}), ("qsgd:collective=allreduce", {"per": "tensor"}),
                          ("powersgd:rank=2,memory=ef", {}), ("topk:theta=0.9,collective=oktopk,memory=ef", {})):
        run = Run(spec, 1, **options).steps(0, 2)
        for bad, text in (([1], "0.weight of rank 1 has"), ([0, 1], "0.weight of rank 0, 0.weight of rank 1 has")):
            run.outer._nonfinite = "error" if len(bad) == 1 else "skip"  # nobody is left: an error
            weights, before = run.values(), memory(run)[:4]
            with torch.no_grad():
                old = run.model[0].weight[0, 0].clone()
                run.model[0].weight[0, 0] = float("nan") if dist.get_rank() in bad else 1.0
            with pytest.raises(RuntimeError, match="exchange 2: " + text):
                run.outer.step()
            with torch.no_grad():
                run.model[0].weight[0, 0] = old
            assert memory(run)[:4] == before and torch.equal(run.values(), weights), spec
        run.outer._nonfinite = "skip"
        before = memory(run)
        with torch.no_grad():
            run.model[2].bias[1] += float("inf") if dist.get_rank() == 1 else 1.0
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            assert run.outer.step()
        assert "exchange 2: 2.bias of rank 1 has an infinity" in str(said[0].message)
        if dist.get_rank() == 1:
            assert memory(run)[3] == before[3], spec  # its memory stays
        assert bool(run.values().isfinite().all()) and torch.equal(*gathered(run.values())), spec
        run.steps(2, 4)
        assert bool(run.values().isfinite().all()) and torch.equal(*gathered(run.values())), spec
    mean = Run("identity", 1, nonfinite="skip", **PLAIN)
    begin = mean.values()
    with torch.no_grad():
        for p in mean.model.parameters():
            p.add_(0.5 if dist.get_rank() == 0 else float("nan"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mean.outer.step()
    assert torch.allclose(mean.values(), begin + 0.5, atol=1e-6)  # of the other alone
    print("ok: nonfinite")


def failing_dumper(folder):
    """Its error reaches all ranks; gradients, counters and memory are as before; the training may go on."""
    run = Run("topk:theta=0.9,memory=ef", 1).steps(0, 2)
    before, grads = memory(run), [p.grad for p in run.model.parameters()]
    run.outer._dumper = type("Full", (), {"step": lambda self: {}["disk full"]})() if dist.get_rank() == 1 else None
    mine = dist.get_rank() == 1
    with pytest.raises(KeyError if mine else RuntimeError, match="disk full" if mine else "rank 1 failed: KeyError: 'disk full'"):
        run.outer.step()
    assert memory(run) == before and all(p.grad is grad for p, grad in zip(run.model.parameters(), grads))
    run.outer._dumper = None
    run.steps(2, 4)
    assert run.outer.exchanges == 4 and torch.equal(*gathered(run.values()))
    print("ok: failing dumper")


def failing_midway(folder):
    """The second of four messages fails on rank 1. What is kept stays; own groups end too, though the test holds them."""
    for group in (None, dist.new_group(backend="gloo")):
        run = Run("topk:theta=0.9,memory=ef", 1, per="tensor", process_group=group).steps(0, 2)
        before = memory(run)
        if dist.get_rank() == 1:
            run.outer._messages[1].finish = lambda out: {}["no memory"]
        with pytest.raises(RuntimeError, match="rank 1 failed: KeyError: 'no memory'"):
            run.outer.step()
        assert memory(run)[:4] == before[:4]
        dist.barrier()
    print("ok: failed midway")


def narrow(folder):
    """Weights of 16 bits: without training nothing moves, though they are the rounded anchor; with it, all get the same."""
    for dtype in (torch.bfloat16, torch.float16):
        torch.manual_seed(dist.get_rank())
        model = nn.Linear(40, 5).to(dtype)
        outer = gcbench.outer.Outer("identity", model=model, inner_steps=1, **PLAIN)
        anchor = [a.detach().clone() for a in outer._anchor]
        for a in outer._anchor:
            a.data.add_(1e-5)  # so that the anchor is not of 16 bits
        outer._copy_weights()
        moved = [a.detach().clone() for a in outer._anchor]
        outer.step()
        assert all(torch.equal(a, b) for a, b in zip(outer._anchor, moved)) and not torch.equal(anchor[0], moved[0])
        with torch.no_grad():
            model.weight += 0.25 + 0.5 * dist.get_rank()
        outer.step()
        assert torch.allclose(outer._anchor[0], moved[0] + 0.5, atol=0.01) and model.weight.dtype is dtype
        assert torch.equal(*gathered(model.weight.detach().float()))
    print("ok: 16 bits")


def other_workers(folder):
    run, rank = Run("topk:theta=0.9,memory=ef", 2).steps(0, 4), dist.get_rank()
    states = []
    for worker in range(4):  # as if four workers had been saved
        states.append({**copy.deepcopy(run.outer.state_dict()), "rank": worker, "world": 4})
        for message in states[-1]["messages"]:
            message["residual"] = torch.full_like(message["residual"], float(worker + 1))
    again = Run("topk:theta=0.9,memory=ef", 2)
    with pytest.raises(ValueError, match="of 4 workers, and there are 2 now: give a list of all 4 states"):
        again.outer.load_state_dict(states[0])
    with pytest.raises(ValueError, match=r"of ranks \[1, 0, 2, 3\]: give a list of all 4"):
        again.outer.load_state_dict([states[1], states[0], *states[2:]])
    with pytest.raises(ValueError, match=r"of steps \[4, 6\]"):
        again.outer.load_state_dict([*states[:3], {**states[3], "calls": 6}])
    with pytest.raises(ValueError, match="residual of the message of model has 3 elements, not 1354"):
        bad = {**states[1], "messages": [{**states[1]["messages"][0], "residual": torch.zeros(3)}]}
        again.outer.load_state_dict([states[0], bad, *states[2:]])
    again.outer.load_state_dict(states)
    again.model.load_state_dict(run.model.state_dict())
    got = again.outer.state_dict()["messages"][0]["residual"]
    assert torch.equal(got, torch.full_like(got, (1 + 3 if rank == 0 else 2 + 4) / 2)) and again.outer.exchanges == 2
    again.steps(4, 6)
    assert torch.equal(*gathered(again.values()))
    one = Run("topk:theta=0.9,memory=ef", 2)
    one.outer.load_state_dict([{**run.outer.state_dict(), "rank": 0, "world": 1}])
    got = one.outer.state_dict()["messages"][0]["residual"]
    want = run.outer.state_dict()["messages"][0]["residual"] * 2 if rank == 0 else torch.zeros_like(got)
    assert torch.equal(got, want)
    print("ok: another number of workers")


def out_of_step(folder):
    run = Run("identity", 2)
    with pytest.raises(ValueError, match="the batch is 3 on rank 0, and 4 on rank 1"):
        for batch in (0, 1, 2, 3) if dist.get_rank() == 0 else (0, 1, 3, 4):  # rank 1 leaves a batch out
            run.outer.step(batch)
    again = Run("identity", 1)
    again.outer.exchanges += dist.get_rank()
    with pytest.raises(ValueError, match="the number of exchanges is 0 on rank 0, and 1 on rank 1"):
        again.outer.step()
    print("ok: out of step")


def test_names_are_those_of_the_dumper():
    for name in ("_orig_mod", "_orig_mod.a._orig_mod.b", "my_orig_mod.a", "a._orig_mod_2.b", "", "a"):
        assert gcbench.dump._plain_name(name) == plain_name(name)


def test_two_ranks(tmp_path):
    run_ranks(__file__, tmp_path, len(ALL) + 3)  # methods has four


def long_name(folder):
    """A worker may have more to say than the others expect."""
    model = nn.Sequential()
    model.add_module("layer" * 60, nn.Linear(4, 4))
    outer = gcbench.outer.Outer("identity", model=model, inner_steps=1)
    for exchange in range(12):
        with torch.no_grad():
            model[0].bias[0] = float("nan") if exchange == 11 and dist.get_rank() == 1 else 1.0
        if exchange < 11:
            assert outer.step()
    with pytest.raises(RuntimeError, match="exchange 11: (layer){60}.bias of rank 1 has an infinity or NaN"):
        outer.step()
    print("ok: long name", flush=True)


ALL = [as_ddp, methods, dump, refusals, recording, tampered, copied, changed, nonfinite, long_name, failing_dumper, narrow,
       other_workers, out_of_step, failing, failing_midway]

if __name__ == "__main__":
    be_rank(*([one for one in ALL if one.__name__ in sys.argv[3:]] or ALL))
