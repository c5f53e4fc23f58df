"""What a step leaves that did not count, and a parameter that no rank used: with two ranks on this machine (this file is
also the program of a rank). src/lib/memory/memory.h states the law of each memory."""
import os
import sys

import pytest

np = pytest.importorskip("numpy")
torch = pytest.importorskip("torch")
if not torch.distributed.is_available():
    pytest.skip("torch has no torch.distributed", allow_module_level=True)

import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import gcbench.torch
from gcbench._tables import settings
from gcbench._transport import plain_name, saved
from gloo_ranks import WORLD, be_rank, run_ranks

SIZES = {"a": (30, 10), "b": (200,), "c": (25, 10), "d": (150,)}
STEPS, START = 22, 2
SKIPPED = {6: "d", 10: None, 14: "a", 21: "c"}  # steps that the scaler skips: where rank 1 has an infinity, None: somewhere else
MARKS = int(torch.__version__.partition(".")[0]) >= 2  # 1.13 does not average what only a pass in no_sync() used
THETA = gcbench.torch.stepwise({0: 0.5, 8: 0.9, 14: 0.75})


class Net(nn.Module):
    """The gradient of a parameter is its input."""

    def __init__(self, dtype):
        super().__init__()
        for name, shape in SIZES.items():
            setattr(self, name, nn.Parameter(torch.ones(shape, dtype=dtype)))

    def forward(self, inputs):
        return sum((getattr(self, name) * x).sum() for name, x in inputs.items())


class Scaler:
    """torch.amp.GradScaler as far as the hook can see it. torch 1.13 has none for the CPU."""

    def __init__(self, scale=64.0):
        self.scale = scale

    def get_scale(self):
        return self.scale


def passes(step, rank):
    """The parameters that a rank uses in each backward pass of a step: all but the last pass are in no_sync()."""
    names = set(SIZES)
    if step % 3 == 1:
        names -= {"b"}
    if step % 5 == 2:
        names -= {"c", "d"}
    if step % 4 == 0 and rank == 1:
        names -= {"a"}
    also = {"b"} if step % 8 == 3 and MARKS else set()
    return [{"a"} | also, names] if step % 4 == 3 else [names]


def inputs(step, rank, dtype):
    """What each pass gives each parameter. The values of float16 are on a grid, so that all sums are exact."""
    draw = torch.Generator().manual_seed(10 * step + rank)
    for names in passes(step, rank):
        some = {name: torch.randn(shape, generator=draw) if dtype is torch.float32 else
                torch.randint(-32, 33, shape, generator=draw) / 8 for name, shape in SIZES.items()}
        yield {name: some[name].to(dtype) for name in sorted(names)}


def changes_theta(spec):
    return "theta" in settings(spec) and "countsketch" not in spec  # a sketch of so many values diverges


class Run:
    """All steps of a training. Keeps for each step what all ranks gave (`grads`, unscaled) and what was applied."""

    def __init__(self, spec, dtype=torch.float32, group=None, poison=True, compiled="", backend=None, **options):
        self.spec, self.scaler = spec, Scaler()
        wrap = (lambda module: torch.compile(module, backend=backend)) if compiled else None
        net = wrap(Net(dtype)) if compiled == "module" else Net(dtype)
        ddp = DistributedDataParallel(net, find_unused_parameters=True, bucket_cap_mb=0.002)
        self.state = gcbench.torch.Compression(spec, model=ddp, scaler=self.scaler, process_group=group, start=START,
                                               schedule={"theta": THETA} if changes_theta(spec) else None, **options)
        ddp.register_comm_hook(self.state, gcbench.torch.hook)
        model = wrap(ddp) if compiled == "ddp" else ddp
        self.steps = []
        for step in range(STEPS):
            ddp.zero_grad(set_to_none=True)
            mine = list(inputs(step, dist.get_rank(), dtype))
            if poison and SKIPPED.get(step) and dist.get_rank() == 1:
                mine[-1][SKIPPED[step]].view(-1)[3] = float("inf")
            for number, some in enumerate(mine):
                if number + 1 < len(mine):
                    with ddp.no_sync():
                        (model(some) * self.scaler.scale).backward()
                else:
                    (model(some) * self.scaler.scale).backward()
            grads = {name: [sum(some[name].float() for some in inputs(step, rank, dtype) if name in some) +
                            torch.zeros(shape) for rank in range(WORLD)] for name, shape in SIZES.items()}
            used = {name for name in SIZES for rank in range(WORLD) if any(name in names for names in passes(step, rank))}
            counted = step not in SKIPPED
            applied = {}
            for name, p in ddp.module.named_parameters():
                name = plain_name(name)
                assert (p.grad is not None) == (name in used), (step, name)
                if p.grad is not None:
                    applied[name] = (p.grad.double() / self.scaler.scale).flatten().numpy()
            if SKIPPED.get(step) and poison and "delay" not in spec:  # with a delay the infinity is left out
                assert not all(np.isfinite(x).all() for x in applied.values())
            flat = {name: [g.flatten().numpy() for g in both] for name, both in grads.items()}
            self.steps.append((step, counted, used, flat, applied))
            with torch.no_grad():
                for p in ddp.parameters() if counted else ():
                    p.add_(0.0)  # an optimizer
            self.scaler.scale *= 0.5 if not counted else 4.0 if step in (8, 16) else 1.0

    def residuals(self):
        """The unscaled mean over the ranks."""
        saved, found = self.state.state_dict(), {}
        for name, arrays in saved["parameters"].items():
            rows = [torch.empty_like(arrays["residual"]) for _ in range(WORLD)]
            dist.all_gather(rows, arrays["residual"] / saved["scale"])
            found[name] = [row.double().numpy() for row in rows]
        return found


def far(got, want, of):
    return np.linalg.norm(got - want) / np.linalg.norm(of)


def check_law(run):
    """ef: what was applied, and the mean of what is left, are the mean of what came in."""
    left = run.residuals()
    for name in SIZES:
        came = sum(np.mean([g.astype(float) for g in grads[name]], 0) for _, counted, used, grads, _ in run.steps
                   if counted and name in used)
        applied = sum(applied[name] for _, counted, used, _, applied in run.steps if counted and name in used)
        error = far(applied + np.mean(left[name], 0), came, came)
        assert error < 1e-5, f"{run.spec} loses {error:.2g} of {name}"


class Twin:
    """What src/lib/memory/memory.h states, in NumPy, for one message of one worker. The codec is the library's."""

    def __init__(self, spec, names, worker):
        found = settings(spec)
        self.kind, self.m = found["memory"], np.float32(found.get("momentum", 0))
        self.delay, self.clears = int(found.get("delay", 1)), found.get("residual") == "clear"
        self.names, self.worker, self.count = names, worker, 0
        self.n = sum(int(np.prod(SIZES[name])) for name in names)
        own = ("memory", "momentum", "delay", "residual", "masking", "nesterov", "clip-norm", "decay")
        kept = {key: value for key, value in found.items() if key not in own}
        codec = ",".join(f"{key}={value}" for key, value in {**kept, "memory": "none"}.items())
        codec = f"{spec.partition(':')[0]}:{codec}"
        self.encoder = gcbench.Encoder(codec, self.n, path=names[0], seed=1, workers=WORLD)
        self.decoder = gcbench.Decoder(codec, self.n)
        self.e, self.u = np.zeros(self.n, np.float32), np.zeros(self.n, np.float32)

    def send(self, step, g, theta):
        """Returns what is sent, or None."""
        if self.kind in ("dgc", "delay"):
            self.u = self.m * self.u + g
            self.e = self.e + self.u
        elif self.kind == "gmc":
            self.e = self.e + (self.m * self.u + g)
        else:
            self.e = (self.m if self.kind == "demo" else np.float32(1)) * self.e + g
        self.count += 1
        if self.kind == "delay" and self.count < self.delay:
            return None
        self.count = 0
        self.encoder.set("theta", theta)
        sent = self.decoder.decode(self.encoder.encode(self.e, step, self.worker))
        self.e = np.where(sent != 0, np.float32(0), self.e) if self.clears else self.e - sent
        if self.kind in ("dgc", "delay"):
            self.u = np.where(sent != 0, np.float32(0), self.u)
        return sent


def twin_step(twins, step, used, grads, theta):
    """The mean of all workers' messages. Parameters that are not used keep what they have."""
    idle = np.concatenate([np.full(grads[name][0].size, name not in used) for name in twins[0].names])
    if idle.all():
        return None
    sent = []
    for twin in twins:
        e, u = twin.e, twin.u
        twin.e, twin.u = np.where(idle, np.float32(0), e), np.where(idle, np.float32(0), u)
        g = np.where(idle, np.float32(0), np.concatenate([grads[name][twin.worker] for name in twin.names]))
        sent.append(twin.send(step, g.astype(np.float32), theta))
        twin.e, twin.u = np.where(idle, e, twin.e), np.where(idle, u, twin.u)
    mean = np.zeros(len(idle), np.float32) if sent[0] is None else sum(sent) / np.float32(WORLD)
    for twin in twins:
        if twin.kind == "gmc":
            twin.u = np.where(idle, twin.u, mean)
    return mean


def check_twin(run):
    left = run.residuals()
    for names in run.state._order:
        twins = [Twin(run.spec, names, worker) for worker in range(WORLD)]
        ends = np.cumsum([np.prod(SIZES[name]) for name in names])[:-1]
        for step, counted, used, grads, applied in run.steps[START:]:
            mean = twin_step(twins, step, used, grads, THETA(step)) if counted else None
            for name, part in zip(names, np.split(mean, ends) if mean is not None else ()):
                if name in used:
                    error = far(applied[name], part, grads[name])
                    assert error < 1e-5, f"{run.spec} applies another {name} in step {step}: {error:.2g}"
        for worker, twin in enumerate(twins):
            for name, part in zip(names, np.split(twin.e, ends)):
                error = far(left[name][worker], part, part)
                assert error < 1e-5, f"{run.spec} keeps another residual of {name}: {error:.2g}"


def usable(spec):
    try:
        gcbench.Encoder(spec, 64).close()
        return True
    except gcbench.Error:
        return "collective" in spec


def with_feedback(name):
    """Adding on the way rounds what is 16 bits wide."""
    return f"{name}:memory=ef,decay=1" + (",collective=allgather" if name in ("fp16", "bf16") else "")


# again: with another PyTorch (run.py)
NAMES = ["topk:memory=ef"] if "GCBENCH_TEST_AGAIN" in os.environ else [with_feedback(method.name) for method in gcbench.methods()]
LAW = [spec for spec in NAMES + [
    "topk:collective=oktopk,memory=ef", "topk:collective=spardl,memory=ef", "qsgd:collective=twoshot,memory=ef",
    "signsgd:scale=mean,memory=ef", "fft:chunk=64,memory=ef"] if usable(spec)]
TWIN = ["topk:memory=ef", "topk:memory=dgc,momentum=0.5", "topk:memory=delay,delay=3,momentum=0.5",
        "topk:memory=demo,momentum=0.8", "topk:memory=gmc,momentum=0.5", "topk:memory=dgc,momentum=0.5,residual=clear", "topk:memory=delay,delay=2,momentum=0",
        "randomk:memory=ef", "demo:chunk=64,momentum=0.5", "redsync:dense-below=0,momentum=0.5", "sbc:delay=2,momentum=0.5",
        "dgc:momentum=0.5"]


def law(folder):
    group = dist.new_group(backend="gloo")
    for number, spec in enumerate(LAW):
        check_law(Run(spec, group=group, overlap=number % 2 == 0, per="tensor" if number % 3 == 0 else None))
    check_law(Run("topk:memory=ef", torch.float16, group=group))
    print("ok: law", len(LAW), flush=True)


def twins(folder):
    group = dist.new_group(backend="gloo")
    for spec in TWIN:
        check_twin(Run(spec, group=group))
    print("ok: twins", flush=True)


def compiled(folder):
    """Also with what torch.compile makes of the module."""
    torch._dynamo.config.optimize_ddp = False  # else it refuses such small buckets
    check_twin(Run("topk:memory=gmc,momentum=0.5", compiled="module", backend="aot_eager"))
    print("ok: compiled", flush=True)


def compiled_more(folder):
    torch._dynamo.config.optimize_ddp = False
    for backend in ("inductor", "aot_eager"):
        for what in ("module", "ddp"):
            for spec, check in (("topk:memory=ef", check_law), ("topk:memory=gmc,momentum=0.5", check_twin)):
                torch._dynamo.reset()
                check(Run(spec, compiled=what, backend=backend))
                print(f"ok: {backend} {what} {spec}", flush=True)


def nothing_changes(folder):
    """A step that does not count leaves all bits as they were, also if only float16 has an infinity; and the state may be asked
    for before the scaler has changed its scale."""
    p = nn.Module()
    p.weight = nn.Parameter(torch.ones(4, dtype=torch.float16))
    p.forward = lambda x: (p.weight * x).sum()
    ddp, scaler = DistributedDataParallel(p), Scaler(1.0)
    state = gcbench.torch.Compression("topk:theta=0.75,memory=ef", model=ddp, scaler=scaler, start=0)
    ddp.register_comm_hook(state, gcbench.torch.hook)
    for x, scale, want in (([60000, 49152, 0, 0], 1.0, [0, 49152, 0, 0]), ([0, 49152, 0, 0], 1.0, [0, 49152, 0, 0]),
                           ([0, 1, 3, 0], 0.5, [0, 0, 1.5, 0]), ([8, 1, 0, 0], 0.5, [0, 0.5, 1.5, 0])):
        ddp.zero_grad()
        scaler.scale = scale
        (ddp(torch.tensor(x, dtype=torch.float16)) * scale).backward()
        assert state.state_dict()["parameters"]["weight"]["residual"].tolist() == want, (x, want)
    scaler.scale = 0.25  # the last step was skipped after all
    assert state.state_dict()["parameters"]["weight"]["residual"].tolist() == [0, 0, 0.75, 0]
    print("ok: nothing changes", flush=True)


def together(folder):
    """The ranks decide together whether a step counts: rank 0 has written to its parameters, as with weights that are exchanged
    for an evaluation, and only rank 1 knows that no optimizer has. Asking for the state changes nothing. Checkpoints between
    which the ranks have not agreed are found in the next step."""
    ddp, scaler = DistributedDataParallel(nn.Linear(50, 1, bias=False)), Scaler()
    state = gcbench.torch.Compression("topk:theta=0.9,memory=ef", model=ddp, scaler=scaler, start=0)
    total = torch.zeros(50, dtype=torch.float64)
    ddp.register_comm_hook(state, gcbench.torch.hook)
    for step in range(8):
        x = torch.randn(1, 50, generator=torch.Generator().manual_seed(10 * step + dist.get_rank()))
        ddp.zero_grad()
        (ddp(x).sum() * scaler.scale).backward()
        grad, falls = ddp.module.weight.grad.double() / scaler.scale, step in (3, 5)
        if not falls:
            total += x.double().flatten() - grad.flatten()
        with torch.no_grad():
            if not falls or dist.get_rank() == 0:
                ddp.module.weight.add_(0.0)
        scaler.scale *= 0.5 if falls else 1.0
        mine = state.state_dict()
        assert mine["skipped"] == (step >= 3) + (step >= 5) - (falls and dist.get_rank() == 0)
        if step == 5:
            kept = mine
        exchange = state._groups[("weight",)].exchange
        before = saved(exchange)["residual"]
        state.residual_norm()
        assert torch.equal(saved(exchange)["residual"], before)
    left = state.state_dict()
    total -= left["parameters"]["weight"]["residual"].double() / left["scale"]
    dist.all_reduce(total)
    assert float(total.norm()) < 1e-4, float(total.norm())
    state.load_state_dict(kept)
    with pytest.raises(RuntimeError, match="the number of steps that did not count is 1 on rank 0, and 2 on rank 1"):
        ddp(torch.ones(1, 50)).sum().backward()
    print("ok: together", flush=True)


def two_optimizers(folder):
    """Two modules with an optimizer each and one scaler: only one of them skips the step in which the scale falls."""
    nets = [DistributedDataParallel(nn.Linear(50, 1, bias=False)) for _ in range(2)]
    scaler = torch.amp.GradScaler("cpu", init_scale=64.0, growth_interval=3)
    states = [gcbench.torch.Compression("topk:theta=0.9,memory=ef", model=net, scaler=scaler, start=0) for net in nets]
    optimizers = [torch.optim.SGD(net.parameters(), 1.0) for net in nets]
    came = [torch.zeros(50, dtype=torch.float64) for _ in nets]
    begin = [net.module.weight.detach().double().flatten().clone() for net in nets]
    for net, state in zip(nets, states):
        net.register_comm_hook(state, gcbench.torch.hook)
    for step in range(8):
        for number, (net, optimizer) in enumerate(zip(nets, optimizers)):
            x = torch.randn(1, 50, generator=torch.Generator().manual_seed(20 * step + 2 * number + dist.get_rank()))
            bad = number == 1 and step == 4
            optimizer.zero_grad()
            scaler.scale(net(x).sum() * (float("inf") if bad and dist.get_rank() == 1 else 1.0)).backward()
            if not bad:
                came[number] += x.flatten().double()
        for optimizer in optimizers:
            scaler.step(optimizer)
        scaler.update()
    for net, state, total, first in zip(nets, states, came, begin):
        saved = state.state_dict()
        total -= saved["parameters"]["weight"]["residual"].double() / saved["scale"]
        dist.all_reduce(total)
        moved = first - net.module.weight.detach().double().flatten()
        assert float((moved - total / WORLD).norm() / total.norm()) < 1e-5
    print("ok: two optimizers", flush=True)


def one_module(folder):
    """The same with one module: what the optimizer that went on has applied counts, also within a message."""
    for spec, poisons in (("topk:theta=0.9,memory=ef", (1,)), ("topk:theta=0.9,memory=ef", (0, 1)), ("topk:theta=0.9,memory=ef", ())):
        net = nn.Linear(50, 50)
        ddp, scaler = DistributedDataParallel(net), torch.amp.GradScaler("cpu", init_scale=64.0, growth_interval=3)
        parts = [net.weight, net.bias]
        state = gcbench.torch.Compression(spec, model=ddp, scaler=scaler, start=0)
        ddp.register_comm_hook(state, gcbench.torch.hook)
        optimizers = [torch.optim.SGD([p], 1.0) for p in parts]
        begin, came = [p.detach().double().clone() for p in parts], [torch.zeros(p.shape, dtype=torch.float64) for p in parts]
        for step in range(9):
            draw = torch.Generator().manual_seed(10 * step + dist.get_rank())
            x, y = torch.randn(1, 50, generator=draw), torch.randn(50, generator=draw)
            ddp.zero_grad()
            handles = [p.register_hook(lambda grad: grad + float("inf")) for number, p in enumerate(parts)
                       if number in poisons and step in (3, 6) and dist.get_rank() == 1]
            scaler.scale((ddp(x) * y).sum()).backward()
            for handle in handles:
                handle.remove()
            for number, grad in enumerate((y.outer(x[0]), y)):
                if step not in (3, 6) or number not in poisons:
                    came[number] += grad.double()
            for optimizer in optimizers:
                scaler.step(optimizer)
            kept = state.state_dict() if step % 2 else None
            scaler.update()
        kept = state.state_dict()
        for name, p, first, total in zip(("weight", "bias"), parts, begin, came):
            total -= kept["parameters"][name]["residual"].double().view(p.shape) / kept["scale"]
            dist.all_reduce(total)
            error = float((first - p.detach().double() - total / WORLD).norm() / total.norm())
            assert error < 1e-5, (poisons, name, error)
    print("ok: one module", flush=True)


REAL = [two_optimizers, one_module] if hasattr(torch, "amp") and hasattr(torch.amp, "GradScaler") else []
COMPILED = [compiled] if hasattr(torch, "compile") else []
ALL = [law, twins, *COMPILED, nothing_changes, *REAL, together]  # the last one ends the exchange


def test_two_ranks(tmp_path):
    run_ranks(__file__, tmp_path, len(ALL))


if __name__ == "__main__":
    be_rank(*([one for one in (*ALL, compiled_more) if one.__name__ in sys.argv[3:]] or ALL))
