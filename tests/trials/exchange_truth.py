#!/usr/bin/env python3
"""The truth table of docs/exchange.md: measured exchanges beside the predictions of `payoff --link`.

    exchange_truth.py [--repeat N] [--case RANKS@RATE]... [--doc docs/exchange.md] [--keep] FOLDER GCBENCH GCBENCH_MPI

RANKS@RATE: so many ranks in network namespaces, joined by links of this rate (tests/net/shaped.sh); RANKS@loopback: ranks on this
machine without namespaces. Without --case: 2 and 4 ranks at 100 Mb/s and 1 Gb/s, and 8 ranks on loopback. Writes RANKS-RATE.json,
.link.json and .txt (what payoff prints) to FOLDER. --keep only reads what an earlier run measured. Prints the table, and with
--doc writes it into the document. Takes about fifteen minutes; nothing else should run meanwhile.
"""
import argparse
import json
import os
import re
import subprocess
import sys
from pathlib import Path

CASES = ["2@100mbit", "4@100mbit", "2@1gbit", "4@1gbit", "8@loopback"]
METHODS = ["topk:theta=0.9", "topk:theta=0.99", "fft:chunk=4096", "qsgd", "qsgd:collective=twoshot", "terngrad", "randomk",
           "topk:theta=0.99,memory=ef,collective=oktopk", "topk:theta=0.99,memory=ef,collective=spardl"]
ENV = dict(os.environ, OMP_NUM_THREADS="1", OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
           OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_MCA_mpi_yield_when_idle="1")

parser = argparse.ArgumentParser(usage=__doc__)
parser.add_argument("--repeat", type=int, default=21)
parser.add_argument("--case", action="append")
parser.add_argument("--doc")
parser.add_argument("--keep", action="store_true")
parser.add_argument("folder")
parser.add_argument("gcbench")
parser.add_argument("mpi")
o = parser.parse_args()
gcbench, mpi = os.path.abspath(o.gcbench), os.path.abspath(o.mpi)
os.makedirs(o.folder, exist_ok=True)


def measure(ranks, rate, name):
    shaped = Path(__file__).resolve().parent.parent / "net/shaped.sh"
    launch = ["mpirun", "-n", ranks] if rate == "loopback" else [shaped, "--rate", rate, "--seconds", "900", ranks]
    # a faster network gets a larger gradient, so that the wire still takes most of the time
    elements = "256K" if rate == "100mbit" else "2M"
    subprocess.run([*launch, mpi, "--elements", elements, *(word for m in METHODS for word in ("--method", m)),
                    "--algorithm", "ring", "--algorithm", "doubling", "--algorithm", "library", "--repeat", str(o.repeat),
                    "--time-limit", "5m", "--calibrate", "-o", f"{name}.link.json", "--results", f"{name}.json", "--force",
                    "-q"], cwd=o.folder, env=ENV, stdout=subprocess.DEVNULL, check=True)


def compare(name):
    """The rows of payoff, by label and algorithm."""
    command = [gcbench, "payoff", "--link", f"{name}.link.json", f"{name}.json"]
    done = subprocess.run([*command, "--results", f"{name}.payoff.json", "--force"], cwd=o.folder, text=True,
                          stdout=subprocess.PIPE, check=True)
    (Path(o.folder) / f"{name}.txt").write_text(done.stdout)
    print(f"    gcbench payoff --link {name}.link.json {name}.json\n{done.stdout}")
    rows = map(json.loads, (Path(o.folder) / f"{name}.payoff.json").read_text().splitlines())
    return {(row["label"].replace(":collective=allreduce", ""), row["collective"], row["algorithm"]): row
            for row in rows if row["record"] == "payoff"}


tables = {}
for case in o.case or CASES:
    ranks, rate = case.split("@")
    name = f"{ranks}-{rate}"
    if not o.keep:
        measure(ranks, rate, name)
    tables[name] = compare(name)

lines = ["| method | sent by | " + " | ".join(name.replace("-", " ranks, ", 1).replace("mbit", " Mb/s").replace("gbit", " Gb/s")
                                              for name in tables) + " |", "|---|---|" + "---|" * len(tables)]
keys = dict.fromkeys(key for table in tables.values() for key in table)
for label, collective, algorithm in keys:
    cells = []
    for name, table in tables.items():
        row = table.get((label, collective, algorithm))
        if row is None:
            cells.append("")
        elif "loopback" in name:  # more ranks than cores: only the wire
            cells.append(f"{row['measured_wire_ratio']:.2f}")
        else:
            verdicts = ["?" if row[key] is None else "yes" if row[key] else "no" for key in ("measured_pays", "pays")]
            cells.append(f"{row['measured_ratio']:.2f}, {100 * row['wire_share']:.0f} %"
                         + ("" if row["baseline"] else ", " + "/".join(verdicts)))
    label = re.sub(r",?collective=\w+", "", label)
    lines.append(f"| `{label}` | {collective} {algorithm} | " + " | ".join(cells) + " |")
text = "\n".join(lines) + "\n"
print(text)
if o.doc:
    page = Path(o.doc).read_text()
    begin, end = "<!-- truth table -->\n", "<!-- end of the truth table -->\n"
    head, rest = page.split(begin)
    Path(o.doc).write_text(head + begin + text + end + rest.split(end)[1])
sys.stdout.flush()
