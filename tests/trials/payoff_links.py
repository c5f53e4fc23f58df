#!/usr/bin/env python3
"""Does `payoff` name the fastest way? Its predictions beside exchanges that gcbench-mpi measured over links of a given speed.

    payoff_links.py [--repeat N] [--case RANKS@RATE]... [--keep] FOLDER GCBENCH GCBENCH_MPI

RANKS@RATE: so many ranks in network namespaces, joined by links of this rate (tests/net/shaped.sh). Without --case: 2, 4 and 8 ranks
at 20 Mb/s, 100 Mb/s and 1 Gb/s. payoff gets the dump, the measured link and the number of ranks, and measures its own times of
coding, before the exchanges run. All ranks share this machine's cores, so that coding is charged as long (--cores-per-worker).
Prints for each way measured and predicted x (times as fast as the fastest of fp32, fp16 and bf16), how many are within 20 %, and
whether the way that payoff calls fastest is the fastest or within 10 % of it. --keep only reads
what an earlier run measured. Takes about half an hour; nothing else should run meanwhile: the load is printed.
"""
import argparse
import json
import os
import subprocess
from pathlib import Path

CASES = [f"{ranks}@{rate}" for rate in ("20mbit", "100mbit", "1gbit") for ranks in (2, 4, 8)]
METHODS = ["qsgd:bits=8,collective=twoshot", "qsgd:bits=4,collective=twoshot", "qsgd:bits=8,collective=allreduce",
           "qgz:bits=6,collective=twoshot", "range:bits=8,collective=twoshot", "qsgd:bits=4,collective=allgather",
           "powersgd:rank=4,collective=allreduce", "topk:theta=0.99,memory=ef,collective=allgather",
           "topk:theta=0.99,memory=ef,collective=spardl", "randomk:theta=0.9,collective=allreduce"]
ENV = dict(os.environ, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", OMPI_ALLOW_RUN_AS_ROOT="1",
           OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_MCA_mpi_yield_when_idle="1")
# a slower network gets a smaller gradient, so that an exchange takes about a second
ELEMENTS = {"20mbit": "256K", "100mbit": "1M", "1gbit": "4M"}

parser = argparse.ArgumentParser(usage=__doc__)
parser.add_argument("--repeat", type=int, default=9)
parser.add_argument("--case", action="append")
parser.add_argument("--keep", action="store_true")
parser.add_argument("folder", type=Path)
parser.add_argument("gcbench")
parser.add_argument("mpi")
o = parser.parse_args()
gcbench, mpi = os.path.abspath(o.gcbench), os.path.abspath(o.mpi)
o.folder.mkdir(parents=True, exist_ok=True)


def words(methods):
    return [word for method in methods for word in ("--method", method)]


def measure(ranks, rate, name):
    shaped = Path(__file__).resolve().parent.parent / "net/shaped.sh"
    dump = o.folder / f"{name}.h5"
    if not dump.exists():
        subprocess.run([gcbench, "generate", "--dist", "student-t:df=3", "--elements", ELEMENTS[rate], "--workers", ranks, "-o", dump],
                       check=True, stdout=subprocess.DEVNULL)
    launch = [shaped, "--rate", rate, "--seconds", "1500", ranks]
    subprocess.run([*launch, mpi, f"{name}.h5", "--scope", "bucket", *words(METHODS), "--algorithm", "ring", "--algorithm",
                    "doubling", "--repeat", str(o.repeat), "--time-limit", "4m", "--calibrate",
                    "--results", f"{name}.json", "--force", "-q"], cwd=o.folder, env=ENV, stdout=subprocess.DEVNULL, check=True)
    share = min(1.0, len(os.sched_getaffinity(0)) / int(ranks))
    subprocess.run([gcbench, "payoff", f"{name}.h5", "--link", f"{name}.json", "--workers", ranks, *words(METHODS),
                    "--cores-per-worker", f"{share:.3f}", "--results", f"{name}.payoff.json", "--force", "-q"],
                   cwd=o.folder, env=ENV, stdout=subprocess.DEVNULL, check=True)


def rows(name, record):
    lines = map(json.loads, (o.folder / name).read_text().splitlines())
    return [row for row in lines if row["record"] == record]


def compare(name):
    """For each way: measured and predicted seconds. Of several algorithms the fastest counts, as in the prediction."""
    measured = {}
    for row in rows(f"{name}.json", "exchange"):
        assert row["status"] == "ok" and row["verified"], row
        key = row["spec"].split(",collective=")[0].split(":collective=")[0], row["collective"]
        measured[key] = min(row["seconds"], measured.get(key, row["seconds"]))
    found = {}
    for row in rows(f"{name}.payoff.json", "payoff"):
        key = row["spec"].split(",collective=")[0].split(":collective=")[0], row["collective"]
        if key in measured:
            found[row["label"]] = measured[key], row["seconds"], row["baseline"]
    assert len(found) == len(METHODS) + 3, (sorted(found), sorted(measured))
    return found


lines, near, ways, right = [], 0, 0, 0
print(f"load before: {os.getloadavg()[0]:.2f}")
cases = o.case or CASES
for case in cases:
    ranks, rate = case.split("@")
    name = f"{ranks}-{rate}"
    if not o.keep:
        measure(ranks, rate, name)
    table = compare(name)
    bar = min(seconds for seconds, _, baseline in table.values() if baseline)
    expected = min(seconds for _, seconds, baseline in table.values() if baseline)
    x = {label: (bar / seconds, expected / guess) for label, (seconds, guess, baseline) in table.items() if not baseline}
    called, fastest = max(x, key=lambda label: x[label][1]), max(x, key=lambda label: x[label][0])
    good = x[called][0] >= x[fastest][0] / 1.1
    close = sum(abs(guess / true - 1) <= 0.2 for true, guess in x.values())
    near, ways, right = near + close, ways + len(x), right + good
    print(f"{ranks} ranks, {rate}, load {os.getloadavg()[0]:.2f}: bar {bar:.3g} s, predicted {expected:.3g} s; {close} of {len(x)} "
          f"within 20 %; called {called}, fastest {fastest}: {'right' if good else 'wrong'}")
    for label, (true, guess) in x.items():
        print(f"    {label:44} measured x {true:6.2f}  predicted x {guess:6.2f}  {100 * (guess / true - 1):+4.0f} %", flush=True)
    lines.append(f"| {ranks} | {rate.replace('mbit', ' Mb/s').replace('gbit', ' Gb/s')} | {close} of {len(x)} | `{called}`: "
                 f"{x[called][1]:.2f}, measured {x[called][0]:.2f} | `{fastest}`: {x[fastest][0]:.2f} |")
text = "| ranks | links | within 20 % | called fastest: predicted x | measured fastest: x |\n|---|---|---|---|---|\n" \
    + "\n".join(lines) + "\n"
print(text)
print(f"{near} of {ways} ways are within 20 %. In {right} of {len(cases)} settings the way called fastest is the fastest, or "
      "within 10 % of it.")
