#!/usr/bin/env python3
"""
How much of the exchange's time the backward pass hides in the hook of gcbench.torch (docs/training.md):

    PYTHONPATH=python hook_overlap.py [--rate none --rate 1gbit --rate 100mbit] [--method SPEC]... [--layers 8] [--rounds 3] [--steps 8]

Two ranks, each in a network namespace of its own (tests/net/shaped.sh) and with one thread, train a network of linear layers of 512
x 512, one in each of DDP's buckets: without an exchange, with DDP's own all-reduce, and with the hook, overlap off and on. They take
turns, a round of some steps each. Figures are the median steps of rank 0. Hidden is the share of an exchange without overlap (a step with
it minus a step without an exchange) that overlap saves. On two cores the threads of the hook and of the link's shaper take time from
the backward pass, so that a machine with more cores hides more. Exits with 77 without namespaces.
"""
import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

from training_truth import join, shaped

WIDTH, BATCH = 512, 64
WARM_UP = 4  # steps: DDP makes its buckets anew, and the hook compresses from the third on


def trainings(options):
    """A function that does one step, by (method, overlap)."""
    import torch
    from torch.nn.parallel import DistributedDataParallel

    import gcbench.torch

    x = torch.randn(BATCH, WIDTH)

    def training(method, overlap):
        layers = [part for _ in range(options.layers) for part in (torch.nn.Linear(WIDTH, WIDTH), torch.nn.ReLU())]
        ddp = DistributedDataParallel(torch.nn.Sequential(*layers), bucket_cap_mb=1)
        if method not in (None, "DDP"):
            ddp.register_comm_hook(gcbench.torch.Compression(method, model=ddp, overlap=overlap), gcbench.torch.hook)
        optimizer = torch.optim.SGD(ddp.parameters(), 0.001)

        def step():
            optimizer.zero_grad()
            ddp.require_backward_grad_sync = method is not None
            ddp(x).square().mean().backward()
            optimizer.step()
        return step

    runs = [(None, False), ("DDP", True), *((method, overlap) for method in options.method for overlap in (False, True))]
    return {run: training(*run) for run in runs}


def be_rank(options):
    import torch.distributed as dist

    rank = join()
    todo, seconds = trainings(options), {}
    for number in range(1 + options.rounds):
        for run, step in todo.items():
            dist.barrier()
            for _ in range(options.steps if number else WARM_UP):
                begin = time.monotonic()
                step()
                seconds.setdefault(run, []).append(time.monotonic() - begin)
    if rank == 0:
        medians = [[*run, statistics.median(taken[WARM_UP:])] for run, taken in seconds.items()]
        Path(options.rank, "medians").write_text(json.dumps(medians))
    dist.barrier()
    os._exit(0)  # MPI does not end a process whose threads wait


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rate", action="append")
    parser.add_argument("--method", action="append")
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--rank", help=argparse.SUPPRESS)  # the folder
    options = parser.parse_args()
    options.method = options.method or ["topk:theta=0.99", "qsgd"]
    if options.rank:
        be_rank(options)
    rates = options.rate or ["none", "1gbit", "100mbit"]
    print("| link | method | no exchange | overlap off | overlap on | hidden |\n|---|---|---|---|---|---|", flush=True)
    for options.rate in rates:
        with tempfile.TemporaryDirectory() as folder:
            shaped(options, folder)
            took = {(method, overlap): 1e3 * s for method, overlap, s in json.loads(Path(folder, "medians").read_text())}
        none = took[None, False]
        print(f"| {options.rate} | DDP's all-reduce | {none:.1f} ms | | {took['DDP', True]:.1f} ms | |", flush=True)
        for method in options.method:
            off, on = took[method, False], took[method, True]
            print(f"| {options.rate} | `{method}` | {none:.1f} ms | {off:.1f} ms | {on:.1f} ms | {100 * (off - on) / (off - none):.0f} % |",
                  flush=True)
    print(f"load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
