#!/usr/bin/python3
"""How long until a failure of one rank has reached the others? Four ranks on this machine, of which rank 1 fails and lives on.

    PYTHONPATH=python tests/trials/failures.py            # default, own, subgroups, outer, hsdp
    PYTHONPATH=python tests/trials/failures.py own

`own`: the training has a variable with the process group, so the connections stay open. `subgroups`: ranks 0 and 1, and ranks
2 and 3, train models of their own; the latter go on. `hsdp`: two replicas of two shards (needs FSDP2). Exits 1 if a rank
has not heard of it within ten seconds.
"""
import multiprocessing
import os
import sys
import tempfile
import time

WORLD, LIMIT = 4, 10.0


def fail_in_a_hook(rank, group, ranks=None):
    import torch
    from torch.nn.parallel import DistributedDataParallel
    import gcbench.torch

    ddp = DistributedDataParallel(torch.nn.Linear(20, 4), process_group=ranks)
    at = {"theta": lambda step: None if rank == 1 and step == 3 else 0.9}
    state = gcbench.torch.Compression("topk:theta=0.9", model=ddp, process_group=group, schedule=at)
    ddp.register_comm_hook(state, gcbench.torch.hook)
    for step in range(6):
        yield lambda: ddp(torch.randn(8, 20)).square().mean().backward()


def fail_in_outer(rank, group):
    import torch
    import gcbench.outer

    model = torch.nn.Linear(20, 4)
    outer = gcbench.outer.Outer("topk", model=model, inner_steps=1, process_group=group)
    for step in range(6):
        if rank == 1 and step == 3:
            outer._messages[0].close()
        yield outer.step


def fail_in_fsdp(rank):
    import torch
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    import gcbench.fsdp

    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("replicas", "shards"))
    model = torch.nn.Sequential(torch.nn.Linear(20, 8), torch.nn.Linear(8, 4))
    for module in (*model, model):
        fully_shard(module, mesh=mesh)
    state = gcbench.fsdp.Compression("topk:theta=0.5,memory=ef", model=model)
    for step in range(6):
        if rank == 1 and step == 3:
            state._parts["1"]._encoders[0].close()
        yield lambda: model(torch.randn(8, 20)).square().mean().backward()


def be_rank(rank, kind, folder, results):
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=WORLD)
    half = None
    if kind == "subgroups":
        pairs = [[dist.new_group(ranks, backend="gloo") for ranks in ([0, 1], [2, 3])] for _ in range(2)]
        half = [pair[rank // 2] for pair in pairs]
    mine = dist.new_group(backend="gloo") if kind in ("own", "outer") else None  # it lives as long as this function
    steps = {"default": lambda: fail_in_a_hook(rank, None), "own": lambda: fail_in_a_hook(rank, mine),
             "subgroups": lambda: fail_in_a_hook(rank, half[0], half[1]), "outer": lambda: fail_in_outer(rank, mine),
             "hsdp": lambda: fail_in_fsdp(rank)}[kind]()
    text = "went on"
    try:
        for step in steps:
            step()
    except Exception as error:
        text = str(error).splitlines()[0]
    results.put((rank, time.monotonic(), text))
    time.sleep(2 * LIMIT)  # it saves logs, say
    os._exit(0)


def show(kind):
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    with tempfile.TemporaryDirectory() as folder:
        ranks = [context.Process(target=be_rank, args=(rank, kind, folder, results)) for rank in range(WORLD)]
        for rank in ranks:
            rank.start()
        heard = [results.get(timeout=300)]
        try:
            while len(heard) < WORLD:
                heard.append(results.get(timeout=2 * LIMIT))
        except Exception:  # queue.Empty: the others still wait
            pass
        for rank in ranks:
            rank.kill()
    first = next((at for rank, at, _ in heard if rank == 1), heard[0][1])
    good = len(heard) == WORLD
    for rank, at, text in sorted(heard):
        on = kind == "subgroups" and rank >= 2
        good &= on == (text == "went on") and (on or at - first < LIMIT)
        print(f"{kind}: rank {rank} after {max(0.0, at - first):.1f} s: {text[:200]}", flush=True)
    for rank in set(range(WORLD)) - {rank for rank, _, _ in heard}:
        print(f"{kind}: rank {rank} still waits")
    return good


if __name__ == "__main__":
    good = [show(kind) for kind in sys.argv[1:] or ("default", "own", "subgroups", "outer", "hsdp")]
    sys.exit(not all(good))
