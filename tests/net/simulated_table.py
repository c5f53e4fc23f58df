#!/usr/bin/env python3
"""
simulated_table.py BUILD ELEMENTS HOSTS...: the table of docs/exchange.md, "Simulated clusters".

Simulates exchanges on stars of HOSTS hosts, and divides the times on the wire by those of payoff's model of the same
algorithm (docs/payoff.md). For the library's own collectives, of which nothing is known, the model is the fastest of all.
"""
import json
import math
import subprocess
import sys
from pathlib import Path

BUILD, ELEMENTS, *HOSTS = sys.argv[1:]
METHODS = ["identity:collective=allreduce", "fp16:collective=allreduce", "randomk:theta=0.99", "topk:theta=0.99",
           "fft:chunk=4096", "qsgd", "terngrad", "sbc", "redsync", "qsgd:collective=twoshot",
           "topk:theta=0.99,memory=ef,collective=spardl"]
BANDWIDTH, LATENCY = 1.25e9, 20e-6


def steps_of(collective, n):
    """For each algorithm: latency steps, and the share of the best known bytes on a link that it sends."""
    lg = math.ceil(math.log2(n))
    return {"allgather": {"ring": (n - 1, 1), "doubling": (lg, 1)},
            "allreduce": {"ring": (2 * (n - 1), 1), "doubling": (lg, lg / (2 * (n - 1) / n)), "halving": (2 * lg, 1)},
            "twoshot": {"ring": (2 * (n - 1), 1), "doubling": (n - 1 + lg, 1)},
            "spardl": {"ring": (lg + n - 1, 1), "doubling": (2 * lg, 1)}}[collective]


def model(row, algorithm):
    n, table = row["workers"], steps_of(row["collective"], row["workers"])
    exact = table[algorithm] if algorithm in table else None
    times = [steps * LATENCY + share * row["link_bytes"] / n / BANDWIDTH
             for steps, share in ([exact] if exact else table.values())]
    return min(times)


def simulate(hosts):
    options = [word for m in METHODS for word in ("--method", m)]
    out = subprocess.run([Path(__file__).with_name("simulate.sh"), f"{BUILD}/cli/gcbench-simulated.so", "--hosts", hosts,
                          "--no-baselines", "--elements", ELEMENTS, "--format", "json", *options, "--algorithm", "ring",
                          "--algorithm", "doubling", "--algorithm", "library"], text=True, capture_output=True, check=True)
    return [row for row in map(json.loads, out.stdout.splitlines()) if row["record"] == "exchange"]


ratios = {}
for hosts in HOSTS:
    for row in simulate(hosts):
        assert row["wrong"] == 0 and row["verified"], row["spec"]
        label = METHODS[len(ratios)] if row["algorithm"] == "ring" and hosts == HOSTS[0] else None
        key = row["spec"]
        ratios.setdefault(key, [label, row["collective"]]).append(row["wire_seconds"] / model(row, row["algorithm"]))
print("| method | sent by |" + "".join(f" {h} hosts: ring | doubling | library |" for h in HOSTS))
print("|---|---|" + "---|---|---|" * len(HOSTS))
for label, collective, *values in ratios.values():
    print(f"| `{label}` | {collective} |" + "".join(f" {v:.2f} |" for v in values))
