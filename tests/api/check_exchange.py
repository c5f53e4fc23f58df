#!/usr/bin/python3
"""
The three programs that exchange gradients give the updates of `gcbench replay`, bit for bit.

    check_exchange.py GCBENCH EXCHANGE EXCHANGE_ROUNDS EXCHANGE_PY SANITIZER

`replay` prints no updates, but a figure in float64 that depends on all updates so far, element by element: the cumulative
error. It is worked out again from each program's updates and must be the same number. Exits 77 without NumPy or h5py.
"""
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import h5py
    import numpy as np
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

STEPS, WORKERS, N = 10, 4, 20000
# The programs gather messages and add them up, which is collective=allgather.
METHODS = ("topk:theta=0.99,memory=ef", "topk:theta=0.95,memory=ef,index=bitmap,values=fp16", "sbc:memory=delay,delay=3,momentum=0",
           "redsync:memory=ef,dense-below=0", "fft:chunk=64,memory=ef", "sparse:transform=dct,chunk=64", "fp16:collective=allgather")
# Only by rounds: all but the first have another collective than allgather.
ROUNDS = ("topk:theta=0.99,memory=ef", "identity", "bf16:memory=ef", "range:bits=8,memory=ef,collective=ring", "fp16:collective=tree", "qsgd:collective=hierarchical,inner=2", "qsgd:collective=twoshot,memory=ef",
          "signsgd:scale=mean,memory=ef,collective=twoshot", "topk:theta=0.99,memory=ef,collective=oktopk",
          "topk:theta=0.99,memory=ef,collective=spardl", "randomk:theta=0.9,memory=ef")
RANDOM = ("qsgd:memory=ef", "terngrad")  # only in C: the Python program sets no path, which is part of the key of draws


def sequential_sum(x):
    """The sum of an array, one element after the other."""
    return np.cumsum(x)[-1]


def cumulative_errors(gradients, updates):
    """As docs/replay.md defines them, in the order of additions of `replay`: sums over workers in float32, over steps and
    elements in float64. An update is the average over two or four workers: times their number it is exact."""
    steps, workers, n = gradients.shape
    drift = np.zeros(n)
    owed = np.zeros(n)
    for step in range(steps):
        of_step = np.zeros(n, np.float32)
        for worker in range(workers):
            of_step += gradients[step, worker]
        drift += (updates[step] * np.float32(workers)).astype(np.float64) - of_step.astype(np.float64)
        owed += of_step.astype(np.float64)
        yield math.sqrt(sequential_sum(drift * drift) / sequential_sum(owed * owed))


def run(command, data):
    done = subprocess.run(command, input=data, stdout=subprocess.PIPE, check=True)
    return np.frombuffer(done.stdout, np.float32).reshape(STEPS, N)


def main(gcbench, exchange, rounds, script, sanitizer):
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        dump = str(Path(folder) / "gradients.h5")
        subprocess.run([gcbench, "generate", "--dist", "laplace", "--elements", str(N), "--steps", str(STEPS), "--workers",
                        str(WORKERS), "--worker-correlation", "0.5", "-o", dump], check=True)
        with h5py.File(dump) as f:
            gradients = np.stack([[next(iter(f[step][worker].values()))[:] for worker in sorted(f[step])]
                                  for step in sorted(f)])
        for method in sorted({*METHODS, *RANDOM, *ROUNDS}):
            rows = subprocess.run([gcbench, "replay", "--per", "step", "--format", "json", "--method", method, dump],
                                  stdout=subprocess.PIPE, check=True).stdout.splitlines()
            expected = [r["cumulative_error"] for r in map(json.loads, rows) if r["record"] == "replay_step"]
            programs = [("C", [exchange, method, str(N)])] if method in METHODS + RANDOM else []
            if method in ROUNDS + RANDOM:
                programs.append(("rounds", [rounds, method, str(N)]))
            if sanitizer == "none" and method in METHODS:  # Python itself is built without the sanitizer
                programs.append(("Python", [sys.executable, script, method, str(N)]))
            for name, command in programs:
                got = list(cumulative_errors(gradients, run(command, gradients.tobytes())))
                same = got == expected and len(got) == STEPS
                failed += not same
                print(f"{'ok' if same else 'not ok'}: {name}, {method}: {got[-1]!r}, replay {expected[-1]!r}")
    sys.exit(failed != 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
