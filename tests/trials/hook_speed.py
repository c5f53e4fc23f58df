#!/usr/bin/env python3
"""
Compares the speed of encoding and summing in the hook of gcbench.torch with that of `bench --cache cold`:

    PYTHONPATH=python hook_speed.py GCBENCH [--method topk:theta=0.99] [--elements 1048576] [--rounds 5] [--overlap]

In each round two ranks, each with a core of its own, train 40 steps on a layer of that many parameters, with overlap off unless
told. Then `bench` encodes a tensor of as many elements, and sum_messages (in this folder) adds two messages, both with cold caches.
`bench` cannot tell the time of a sum of two: its sum of 16 minus 14 additions is a small difference of large times, and was negative
in one of five runs. Figures are medians of rounds: in the hook the median step of rank 0.

Cold caches are empty, but the caches of a training are full of changed lines, which must be written back first. So the last column is
sum_messages after it changed 256 MiB of other memory: the hook can be no faster. `bench` has no memory, so with a memory the
hook does more: it adds the residual and keeps what was not sent. Exits with 1 if the hook is below 80 % of the speed with cold
caches. The machine must be otherwise idle, and have two cores.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

STEPS, START = 40, 10


def rank(folder, method, elements, overlap):
    import torch
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    import gcbench.torch

    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[int(os.environ["RANK"]) % len(cores)]})
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=int(os.environ["RANK"]), world_size=2)

    class Layer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.zeros(elements))

        def forward(self, x):
            return (self.weight * x).sum()

    ddp = DistributedDataParallel(Layer(), bucket_cap_mb=elements * 4 / 2**20 + 1)
    state = gcbench.torch.Compression(method, model=ddp, overlap=overlap)
    ddp.register_comm_hook(state, gcbench.torch.hook)
    for _ in range(STEPS):
        ddp.zero_grad()
        ddp(torch.distributions.Laplace(0.0, 1.0).sample((elements,))).backward()
    if dist.get_rank() == 0:
        rows = list(state.steps)[START:]
        print(json.dumps([statistics.median(row[key] for row in rows) for key in ("encode_seconds", "sum_seconds")]))
    dist.barrier()


def in_hook(options):
    with tempfile.TemporaryDirectory() as folder:
        ranks = [subprocess.Popen([sys.executable, __file__, "--rank", folder, options.method, str(options.elements),
                                   str(int(options.overlap))], env={**os.environ, "RANK": str(r)}, stdout=subprocess.PIPE,
                                  text=True) for r in range(2)]
        said = [one.communicate()[0] for one in ranks]
    if any(one.returncode for one in ranks):
        sys.exit("a rank failed")
    return json.loads(said[0])


def in_bench(options, folder):
    suite = {"schema": 1, "name": "hook", "methods": [options.method], "caches": ["cold"],
             "inputs": [{"dist": "laplace", "elements": [str(options.elements)]}]}
    (folder / "suite.json").write_text(json.dumps(suite))
    out = subprocess.run([options.gcbench, "bench", "--suite", folder / "suite.json", "--time-budget", "5s", "--format", "json",
                          "-q"], check=True, stdout=subprocess.PIPE, text=True).stdout
    row = next(r for r in map(json.loads, out.splitlines()) if r["record"] == "result" and not r.get("baseline"))
    return [row["encode_seconds"], alone(options, "cold")[1]]


def alone(options, caches):
    """Seconds of encoding, and of adding two messages, in a C program."""
    program = Path(options.gcbench).resolve().parents[1] / "tests" / "trials" / "sum_messages"
    out = subprocess.run([program, options.method, str(options.elements), "2", caches], check=True, stdout=subprocess.PIPE, text=True)
    return [float(seconds) for seconds in out.stdout.split()]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("gcbench")
    parser.add_argument("--method", default="topk:theta=0.99")
    parser.add_argument("--elements", type=int, default=1 << 20)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--overlap", action="store_true")
    options = parser.parse_args()
    rounds = []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(options.rounds):
            rounds.append((in_hook(options), in_bench(options, Path(folder)), alone(options, "changed")))
    print(f"{options.method}, {options.elements} elements, load {os.getloadavg()[0]:.1f}\n| | hook | cold | cold / hook | C program, "
          "changed caches |\n|---|---|---|---|---|")
    slow = False
    for i, name in enumerate(("encode", "sum of 2")):
        hook, cold, changed = (statistics.median(r[side][i] for r in rounds) for side in range(3))
        slow |= cold / hook < 0.8
        print(f"| {name} | {1e3 * hook:.3g} ms | {1e3 * cold:.3g} ms | {cold / hook:.2f} | {1e3 * changed:.3g} ms |")
    return slow


if __name__ == "__main__":
    if sys.argv[1] == "--rank":
        rank(sys.argv[2], sys.argv[3], int(sys.argv[4]), bool(int(sys.argv[5])))
    else:
        sys.exit(main())
