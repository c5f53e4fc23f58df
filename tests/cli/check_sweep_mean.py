#!/usr/bin/env python3
"""
The error of the mean in a row of `sweep` is the one that `payoff` measures for the same setting on the same gradients.

    check_sweep_mean.py GCBENCH ROWS INPUT...

ROWS come from `sweep --match error_of_mean=E,workers=2`. Fails if an error is not that of the all-gather, or above the target.
"""
import json
import subprocess
import sys

gcbench, path, *source = sys.argv[1:]
with open(path) as file:
    rows = [row for row in map(json.loads, file) if row["record"] == "summary" and row["match_field"]]
if not rows:
    sys.exit("no rows")
for row in rows:
    if row["match_field"] != "error_of_mean" or row["workers"] != 2:
        sys.exit(f"a row of match {row['match_field']} with {row['workers']} workers")
    command = [gcbench, "payoff", "--method", row["spec"], "--workers", "2", "--bandwidth", "1Gb", "--format", "json", "--all"]
    output = subprocess.run(command + source, check=True, capture_output=True, text=True).stdout
    found = [other["error_of_mean"] for other in map(json.loads, output.splitlines())
             if other["record"] == "payoff" and not other["baseline"] and other["collective"] == "allgather"]
    if len(found) != 1 or abs(row["error_of_mean"] / found[0] - 1) > 0.02:  # other draws
        sys.exit(f"{row['spec']}: sweep has an error of {row['error_of_mean']}, payoff {found}")
    if row["match_reached"] and row["error_of_mean"] > row["match_target"]:
        sys.exit(f"{row['spec']}: {row['error_of_mean']} is above the target")
