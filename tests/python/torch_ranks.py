"""One rank of the tests in test_torch.py: torch_ranks.py SCENARIOS RANK WORLD FOLDER. Prints "ok: ..." or fails."""
import copy
import json
import os
import re
import signal
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import gcbench
import gcbench.torch

# Besides all methods with their defaults. A collective with its own rounds, each memory, and fixed
# and varying lengths.
MORE = ["topk:theta=0.99,memory=ef", "topk:theta=0.95,memory=ef,index=golomb", "topk:theta=0.9,collective=oktopk,memory=ef",
        "topk:theta=0.95,collective=spardl,memory=ef", "range:bits=8,collective=ring",
        "mxfp8:collective=twoshot", "int8:collective=ring", "int4:collective=hierarchical,inner=2,memory=ef", "qsgd:collective=tree,memory=ef", "sbc:delay=3,momentum=0.5", "qsgd:collective=twoshot",
        "qsgd:collective=allreduce", "signsgd:scale=mean,memory=ef", "topk:theta=0.95,memory=gmc,momentum=0.9",
        "fft:chunk=64,memory=ef", "bf16:collective=allreduce", "powersgd:rank=2,memory=ef", "dgc:momentum=0", "redsync:memory=ef,dense-below=0",
        "sbc:memory=delay,delay=3,momentum=0", "fp16:collective=allgather",
        "pactrain:every=2", "scape:every=2,density=0.1", "topk:theta=0.95,memory=ef21"]


@gcbench.method
class Halves:
    """A method of our own: float16."""

    @staticmethod
    def encode(x):
        return x.astype(np.float16).tobytes()

    @staticmethod
    def decode(message, n):
        return np.frombuffer(message, np.float16, n).astype(np.float32)


MORE += [Halves, Halves + ":memory=ef"]
SPECS = [method.name for method in gcbench.methods()] + MORE


def specs(world):
    """All with two ranks, once; with other numbers of ranks, and again, those that differ in what the hook does."""
    return MORE if world > 2 or "GCBENCH_TEST_AGAIN" in os.environ else SPECS


class Net(nn.Module):
    """Three layers, which are used in another order than they are declared in: DDP makes its buckets anew."""

    def __init__(self):
        super().__init__()
        self.last, self.first, self.middle = nn.Linear(30, 4), nn.Linear(40, 50), nn.Linear(50, 30)

    def forward(self, x):
        return self.last(torch.tanh(self.middle(torch.tanh(self.first(x)))))


class Run:
    def __init__(self, spec, seed=0, cap=0.004, **options):
        torch.manual_seed(seed)
        self.ddp = DistributedDataParallel(Net(), bucket_cap_mb=cap)
        self.seen = {}
        self.state = gcbench.torch.Compression(spec, model=self.ddp, **options) if spec else None
        if self.state:
            self.ddp.register_comm_hook(self.state, gcbench.torch.hook)
        self.optimizer = torch.optim.SGD(self.ddp.parameters(), lr=0.1, momentum=0.5)

    def loss(self, step, part=0):
        generator = torch.Generator().manual_seed(1000 * step + 10 * dist.get_rank() + part)
        x = torch.randn(8, 40, generator=generator)
        return (self.ddp(x) - x[:, :4]).square().mean()

    def steps(self, first, last, poison=None):
        for step in range(first, last):
            self.optimizer.zero_grad()
            (self.loss(step) * (float("nan") if step == poison and dist.get_rank() == 1 else 1.0)).backward()
            if all(bool(p.grad.isfinite().all()) for p in self.ddp.parameters()):
                self.optimizer.step()

    def values(self):
        return torch.cat([p.detach().flatten() for p in self.ddp.parameters()])


def equal_everywhere(x):
    rows = [torch.empty_like(x) for _ in range(dist.get_world_size())]
    dist.all_gather(rows, x)
    return all(torch.equal(row, x) for row in rows)


def all_methods(folder):
    """Ranks are equal; what goes into the hook and what comes out is kept for test_torch.py, which asks replay."""
    for number, spec in enumerate(specs(dist.get_world_size())):
        run = Run(spec, overlap=number % 2 == 0)
        kept, inner = {}, run.state._exchange

        def record(group, job, jobs, inner=inner, kept=kept):
            flats = {piece.name: piece.flat for one in jobs for piece in one.pieces}
            join = lambda: np.concatenate([flats[name].numpy() for name in group.names])
            before = join().copy()
            inner(group, job, jobs)
            kept[f"{group.names[0]}/{job.step}"] = np.stack([before, join()])

        run.state._exchange = record
        run.steps(0, 2)
        before = list(run.state._totals().values())
        run.steps(2, 7)
        assert equal_everywhere(run.values()), spec
        assert set().union(*run.state._order) == set(dict(Net().named_parameters())), run.state._order
        shapes = {f"shape/{g.names[0]}": run.state._parameters[g.names[0]].shape if len(g.names) == 1 else [g.exchange.n]
                  for g in run.state._groups.values()}
        totals = np.subtract(list(run.state._totals().values()), before)
        np.savez(folder / f"{number}_{dist.get_rank()}.npz", **kept, **{k: np.array(v) for k, v in shapes.items()},
                 totals=totals)
        print("ok: ranks equal:", spec, flush=True)


def resume(folder):
    for spec in ("topk:theta=0.99,memory=ef", "powersgd:rank=2,memory=ef", "dgc:density=0.02", "sbc:delay=3", "redsync:memory=ef",
                 "topk:theta=0.9,collective=oktopk,memory=ef"):
        # oktopk drops what it keeps when theta changes
        theta = {"schedule": {"theta": gcbench.torch.stepwise({0: 0.5, 3: 0.9})}} if "oktopk" in spec else {}
        whole, again = interrupted(folder, spec, 5, **theta)
        assert torch.equal(whole.values(), again.values()), spec
        assert equal_everywhere(again.values()), spec
        print("ok: resumed:", spec, flush=True)


def resume_early(folder):
    """Checkpoints from before the first compressed step."""
    whole, again = interrupted(folder, "topk:theta=0.99,memory=ef", 2, start=5)
    assert torch.equal(whole.values(), again.values())
    again = interrupted(folder, "topk:theta=0.99,memory=ef", 1)[1]
    sent = [row["bytes"] for row in again.state.steps]
    assert sent[0] == sent[1] > 10 * max(sent[2:]), sent
    assert equal_everywhere(again.values())
    print("ok: resumed before compression")


def go_back(folder):
    """A state is also taken after the first step: the same step is then done again, and counted as a step of its own."""
    run = Run("topk:theta=0.95,memory=ef")
    run.steps(0, 5)
    before = copy.deepcopy([part.state_dict() for part in (run.ddp.module, run.optimizer, run.state)])
    run.steps(5, 6)
    once, row = run.values(), run.state.steps[-1]
    for part, saved in zip((run.ddp.module, run.optimizer, run.state), before):
        part.load_state_dict(saved)
    run.steps(5, 6)
    again = run.state.steps[-1]
    assert torch.equal(once, run.values()) and [again[key] for key in ("step", "bytes")] == [row[key] for key in ("step", "bytes")]
    print("ok: went back")


def interrupted(folder, spec, step, **options):
    """Two runs of 9 steps: one as a whole, and one that goes on from the first one's checkpoint."""
    whole, again = Run(spec, **options), Run(spec, seed=1, **options)
    whole.steps(0, step)
    path = folder / f"checkpoint_{dist.get_rank()}"
    torch.save([whole.ddp.module.state_dict(), whole.optimizer.state_dict(), whole.state.state_dict()], path)
    whole.steps(step, 9)
    for part, saved in zip((again.ddp.module, again.optimizer, again.state), torch.load(path)):
        part.load_state_dict(saved)
    again.steps(step, 9)
    return whole, again


def other_workers(folder):
    run, rank = Run("topk:theta=0.9,memory=ef"), dist.get_rank()
    run.steps(0, 5)
    states = []
    for worker in range(4):  # as if four workers had been saved
        states.append(copy.deepcopy(run.state.state_dict()))
        states[-1].update(worker=worker, workers=4)
        for arrays in states[-1]["parameters"].values():
            arrays["residual"] = torch.full_like(arrays["residual"], float(worker + 1))
    fresh = Run("topk:theta=0.9,memory=ef")
    fresh.state.load_state_dict(states)
    got = fresh.state.state_dict()["parameters"]["first.weight"]["residual"]
    assert torch.equal(got, torch.full_like(got, (1 + 3 if rank == 0 else 2 + 4) / 2))
    short = copy.deepcopy(states)
    short[0]["parameters"]["first.weight"]["residual"] = torch.zeros(3)
    later = [*states[:3], {**states[3], "step": 9}]
    part = {key: value for key, value in states[0].items() if key != "totals"}
    for wrong, text in ((states[0], "list of all 4 states"), ({}, "not a state"), ([], "not a state"), (part, "it has no 'totals'"),
                        (short, "first.weight has "), (later, "of steps 4 to 9")):
        with pytest.raises(ValueError, match=text):
            fresh.state.load_state_dict(wrong)
    with pytest.raises(ValueError, match="is of topk:theta=0.9,memory=ef, not qsgd"):
        Run("qsgd").state.load_state_dict(states)
    fresh.steps(5, 7)
    print("ok: another number of workers")


def nan(folder):
    run = Run("topk:theta=0.99,memory=ef")
    run.steps(0, 4)
    before = run.values()
    run.steps(4, 5, poison=4)
    assert torch.equal(before, run.values())  # every rank saw it, and left the step out
    run.steps(5, 8)
    assert np.isfinite(run.state.residual_norm()) and equal_everywhere(run.values()) and bool(run.values().isfinite().all())
    print("ok: NaN on one rank")


def accumulate(folder):
    mine, plain = Run("identity"), Run(None)
    for step in range(6):
        for run in (mine, plain):
            run.optimizer.zero_grad()
            with run.ddp.no_sync():
                run.loss(step, 0).backward()
            run.loss(step, 1).backward()
            run.optimizer.step()
    assert mine.state.step == 5
    assert torch.allclose(mine.values(), plain.values(), atol=1e-6) and equal_everywhere(mine.values())
    print("ok: no_sync")


def settings(folder):
    schedule = {"theta": gcbench.torch.stepwise({0: 0.5, 4: 0.9, 6: 0.99})}
    run = Run("topk:memory=ef", schedule=schedule, policy={"*.bias": "fp16"})
    run.steps(0, 8)
    sent = [row["bytes"] for row in run.state.steps]
    assert sent[0] == sent[1] == 4 * run.values().numel()  # the first two are not compressed
    assert sent[2] == sent[3] > 2 * sent[4] and sent[5] > 3 * sent[6] == 3 * sent[7], sent
    assert {g.spec for g in run.state._groups.values() if "bias" in g.names[0]} == {"fp16"}
    assert all(("bias" in name) == (g.spec == "fp16") for g in run.state._groups.values() for name in g.names)
    alone = Run("topk", per="tensor", policy=lambda name, p: "identity" if p.numel() < 100 else None)
    alone.steps(0, 4)
    assert all(len(names) == 1 for names in alone.state._order) and equal_everywhere(alone.values())
    assert run.state._totals()["wire_bytes"] == sum(sent) == run.state._totals()["link_bytes"]  # with two workers
    with open(folder / f"training{dist.get_rank()}.json", "w", encoding="utf-8") as file:
        for quality in (50.0, 60.0):
            file.write(json.dumps(run.state.row("net", quality, loss=1.0)) + "\n")
            run.steps(8, 9)
    print("ok: schedule and policy")


class Half(nn.Module):
    def __init__(self, dtype):
        super().__init__()
        self.weight = nn.Parameter(torch.linspace(-1, 1, 1000).to(dtype))

    def forward(self, x):
        return (self.weight.float() * x).square().sum()


class Bucket:
    """A bucket of bfloat16: DDP of torch 1.13 makes none on the CPU."""

    def __init__(self, parameter, values):
        self.parameter, self.values = parameter, values

    index = staticmethod(lambda: 0)
    is_last = staticmethod(lambda: True)
    buffer = lambda self: self.values
    parameters = lambda self: [self.parameter]
    gradients = lambda self: [self.values]


def narrow(folder):
    for dtype in (torch.float16, torch.bfloat16):
        ddp = DistributedDataParallel(Half(dtype if dtype is torch.float16 else torch.float32))
        state = gcbench.torch.Compression("topk:theta=0.9,memory=ef", model=ddp)
        if dtype is torch.float16:
            ddp.register_comm_hook(state, gcbench.torch.hook)
        for step in range(5):
            x = 0.1 * (step + 1 + dist.get_rank())
            ddp.zero_grad()
            if dtype is torch.float16:
                ddp(torch.full((1000,), x)).backward()
                grad = ddp.module.weight.grad
            else:
                grad = (2 * x * x * torch.linspace(-1, 1, 1000)).to(dtype)
                gcbench.torch.hook(state, Bucket(ddp.module.weight, grad)).wait()
            assert grad.dtype is dtype and equal_everywhere(grad.float())
        assert int((grad == 0).sum()) >= 800 and bool(grad.any())
        assert state.steps[-1]["dense_bytes"] == 2000 and state.steps[-1]["bytes"] < 1000
    print("ok: 16-bit gradients")


def copied(folder):
    """Gradients on a GPU go through a copy in the CPU's memory. Here all gradients are copied, and the updates stay the same."""
    plain = Run("topk:theta=0.9,memory=ef", policy={"*.bias": "fp16"})
    plain.steps(0, 5)
    on_host, copies = gcbench.torch.on_host, []
    gcbench.torch.on_host = lambda x: (copies.append(x), x.clone())[1]
    run = Run("topk:theta=0.9,memory=ef", policy={"*.bias": "fp16"})
    run.steps(0, 5)
    gcbench.torch.on_host = on_host
    assert len(copies) >= 5 and torch.equal(run.values(), plain.values())
    print("ok: copied")


class Scaler:
    scale = 1.0

    def get_scale(self):
        return self.scale


def scaled(folder):
    """With a scaler the updates are those without, times the scale (a power of two), also after a restart. (A scale that falls
    says that a step was skipped: test_settle.py.)"""
    scaler = Scaler()
    plain, run = Run("topk:theta=0.99,memory=ef"), Run("topk:theta=0.99,memory=ef", scaler=scaler)
    for step in range(8):
        scaler.scale = 64.0 if step < 5 else 1024.0 if step < 7 else 4096.0
        if step == 7:
            saved = run.state.state_dict()
            run = Run("topk:theta=0.99,memory=ef", scaler=scaler)
            run.state.load_state_dict(saved)
        for one, factor in ((plain, 1.0), (run, scaler.scale)):
            one.optimizer.zero_grad()
            (one.loss(step) * factor).backward()
        for a, b in zip(plain.ddp.parameters(), run.ddp.parameters()):
            assert torch.equal(a.grad * scaler.scale, b.grad), step
    print("ok: the scale of the loss")


def others(folder):
    """What one rank has otherwise, or lacks, is refused on all ranks at once: most of it would hang or crash later."""
    for mine, wrong, text in [({}, {"spec": "identity"}, "the spec is"), ({}, {"spec": "qsgd:collective=twoshot"}, "the spec is"),
                              ({}, {"spec": "nosuch"}, "unknown method 'nosuch'"),
                              ({}, {"start": 0}, "the start is"),
                              ({"policy": {"*.bias": "fp16"}}, {}, "the method of last.bias is")]:
        with pytest.raises((RuntimeError, ValueError), match=text):
            Run(**{"spec": "topk", **(wrong if dist.get_rank() == 1 else mine)})
    alone = [dist.new_group([rank], backend="gloo") for rank in range(2)][dist.get_rank()]
    for group in (dist.group.WORLD, alone):
        with pytest.raises(ValueError, match="another group than the module's"):
            Run("topk", process_group=group)
    table = DistributedDataParallel(nn.Embedding(10, 4, sparse=True))
    table.register_comm_hook(gcbench.torch.Compression("topk", model=table), gcbench.torch.hook)
    with pytest.raises((RuntimeError, TypeError), match="the gradients are sparse"):  # torch 1.13 makes a RuntimeError of it
        table(torch.tensor([1, 2])).sum().backward()
    print("ok: other settings")


def failing(folder):
    """Rank 1 cannot encode, and lives on: the others must not wait for it."""
    run = Run("topk:theta=0.9,memory=ef")
    run.steps(0, 4)
    if dist.get_rank() == 1:
        for group in run.state._groups.values():
            group.exchange.close()
    _ends(run, "rank 1 failed: ValueError: this exchange is closed")
    dist.barrier()


def no_schedule(folder):
    """The same if rank 1 does not know its parameter."""
    def at(step):
        if step == 4 and dist.get_rank() == 1:
            raise KeyError("no value")
        return 0.9
    run = Run("topk:memory=ef", schedule={"theta": at})
    run.steps(0, 4)
    _ends(run, "rank 1 failed: KeyError: 'no value'")


def other_schedule(folder):
    """Ranks with another theta, or another scale, must all end. With randomk another theta would be a hang."""
    for spec in ("topk", "randomk"):
        run = Run(spec, schedule={"theta": lambda step: 0.9 + 0.05 * (step == 4 and dist.get_rank() == 1)})
        run.steps(0, 4)
        _ends(run, "all ranks need the same schedule: in step 4 the theta is 0.9 on rank 0, and 0.95 on rank 1")
    scaler = Scaler()
    run = Run("topk", scaler=scaler)
    run.steps(0, 4)
    scaler.scale += dist.get_rank()
    _ends(run, "in step 4 the scale is 1 on rank 0, and 2 on rank 1")


def other_checkpoint(folder):
    """Only rank 1 has a state: it would compress, and the others not yet."""
    run = Run("topk:memory=ef")
    run.steps(0, 4)
    again = Run("topk:memory=ef")
    if dist.get_rank() == 1:
        again.state.load_state_dict(run.state.state_dict())
    _ends(again, "the step is 0 on rank 0, and 4 on rank 1")


def own_group(folder):
    """A rank fails, and the others end too, though the test holds the group, so that no connection is closed."""
    mine = dist.new_group(backend="gloo")
    run = Run("topk:theta=0.9,memory=ef", process_group=mine)
    run.steps(0, 4)
    if dist.get_rank() == 1:
        for group in run.state._groups.values():
            group.exchange.close()
    _ends(run, "rank 1 failed: ValueError: this exchange is closed")


def subgroups(folder):
    """Only the ranks of the group in which one failed end."""
    for bad, theta, text in ((1, None, "rank 1 failed: TypeError"), (3, 0.8, "theta is 0.9 on rank 2, and 0.8 on rank 3")):
        pairs = [[dist.new_group(ranks, backend="gloo") for ranks in ([0, 1], [2, 3])][dist.get_rank() // 2] for _ in range(2)]
        ddp = DistributedDataParallel(Net(), process_group=pairs[0])
        schedule = {"theta": lambda step: theta if dist.get_rank() == bad and step == 3 else 0.9}
        state = gcbench.torch.Compression("topk", model=ddp, process_group=pairs[1], schedule=schedule)
        ddp.register_comm_hook(state, gcbench.torch.hook)
        ended = ""
        try:
            for _ in range(6):
                ddp(torch.ones(8, 40)).sum().backward()
        except RuntimeError as error:
            ended = str(error)
        assert (text in ended) == (dist.get_rank() // 2 == bad // 2) == bool(ended), ended
        dist.barrier()
        print("ok: subgroups", flush=True)


def no_room(folder):
    """Rank 1 has no memory for a copy of a bucket, in the hook itself. It lives on, and the test holds the group."""
    group = dist.new_group(backend="gloo")
    run = Run("topk:theta=0.9,memory=ef", process_group=group)
    run.steps(0, 4)
    on_host, mine = gcbench.torch.on_host, dist.get_rank() == 1
    if mine:
        gcbench.torch.on_host = lambda x: {}["no room"]
    with pytest.raises((KeyError, RuntimeError), match="no room" if mine else "rank 1 failed: KeyError: 'no room'"):
        run.steps(4, 5)
    gcbench.torch.on_host = on_host
    dist.barrier()
    print("ok: no_room", flush=True)


def left_out(folder):
    """Rank 1 leaves a batch out: after its forward pass, or before it where batches have numbers."""
    for numbered, text in ((False, "number of forward passes since the last step is 1 on rank 0, and 2 on rank 1"),
                           (True, "the batch is 4 on rank 0, and 5 on rank 1")):
        run = Run("topk:memory=ef", overlap=numbered)
        with pytest.raises(RuntimeError, match=text):
            for step in range(6):
                bad = (step, dist.get_rank()) == (4, 1)
                if numbered:
                    run.state.batch = step
                    if bad:
                        continue
                loss = run.loss(step)
                if not bad:
                    loss.backward()
        print("ok: left_out", flush=True)


def skipped(folder):
    """The recipe of docs/training.md: rank 1 takes part with zeros; passes without gradients may differ."""
    text = (Path(__file__).resolve().parents[2] / "docs" / "training.md").read_text(encoding="utf-8")
    code = re.search(r"^```python\n(loss = loss_of\(ddp, batch\)\n.*?)^```", text, re.M | re.S).group(1)
    run, plain = Run("identity"), Run(None)
    for step in range(5):
        for one in (run, plain):
            one.optimizer.zero_grad()
            if dist.get_rank() == 0:
                with torch.no_grad():
                    one.ddp(torch.ones(2, 40))
            factor = float("nan") if one is run and (step, dist.get_rank()) == (3, 1) else 1.0
            if one is run:
                exec(code, {"torch": torch, "ddp": one.ddp, "batch": step, "loss_of": lambda ddp, step: run.loss(step) * factor})
            else:
                (one.loss(step) * (0.0 if (step, dist.get_rank()) == (3, 1) else 1.0)).backward()
            one.optimizer.step()
    assert torch.allclose(run.values(), plain.values(), atol=1e-6) and equal_everywhere(run.values())
    print("ok: skipped")


def killed(folder):
    run = Run("topk:theta=0.99,memory=ef")
    run.steps(0, 4)
    if dist.get_rank() == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    _ends(run, "lost another worker")


def _ends(run, text):
    """The next step fails instead of waiting for ever, and says why."""
    with pytest.raises(RuntimeError, match=text):
        run.steps(4, 6)
    print(f"ok: {sys._getframe(1).f_code.co_name}", flush=True)


def main(scenarios, rank, world, folder):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=int(rank), world_size=int(world))
    for scenario in scenarios.split(","):
        begin = time.monotonic()
        globals()[scenario](Path(folder))
        print(f"{scenario} took {time.monotonic() - begin:.1f} s", flush=True)
    os._exit(0)  # the group's threads may wait for a rank that was killed


if __name__ == "__main__":
    main(*sys.argv[1:])
