#!/usr/bin/env python3
"""
NumPy counts the elements that are nearer to the input with one method than with another, in restored files.

    check_nearer.py GCBENCH FILE FOLDER SCOPE REFERENCE METHOD...

Fails unless `compress --nearer-than REFERENCE` reports the same shares, for each tensor and for all together.
"""
import json
import subprocess
import sys

import h5py
import numpy as np

gcbench, original, folder, scope, reference = sys.argv[1:6]
methods = sys.argv[6:]


def gcb(*args):
    return subprocess.run([gcbench, *args], check=True, capture_output=True, text=True).stdout


def tensors(path):
    found = {}
    with h5py.File(path) as file:
        file.visititems(lambda name, node: found.update({name: node[()].ravel().astype("f8")})
                        if isinstance(node, h5py.Dataset) else None)
    return found


def restored(method):
    messages, back = f"{folder}/messages.h5", f"{folder}/back.h5"
    gcb("compress", "--force", "--scope", scope, "--method", method, "-o", messages, original)
    gcb("decompress", "--force", messages, "-o", back)
    return tensors(back)


def counts(x, y, other):
    error, error_of_other = abs(x - y), abs(x - other)
    return np.array([np.sum(error < error_of_other), np.sum(error > error_of_other), x.size])


def same(row, want, what):
    got = (row["nearer_share"], row["farther_share"])
    want = (want[0] / want[2], want[1] / want[2]) if want[2] else (None, None)
    if got != want:
        sys.exit(f"{row['spec']}, {what}: {got}, but NumPy counts {want}")


x, a = tensors(original), restored(reference)
arguments = [word for m in methods for word in ("--method", m)]
rows = [json.loads(line) for line in
        gcb("compress", "--format", "json", "--no-baselines", "--scope", scope, "--nearer-than", reference,
            *arguments, original).splitlines()]
rows = [row for row in rows if row["record"] in ("result", "summary")]
names = [row["spec"] for row in rows if row["record"] == "summary"]
if len(names) != len(methods) + 1:
    sys.exit(f"rows of {names}")
for row in rows:
    if row["spec"] == names[0] and any(row[f] is not None for f in ("nearer_than", "nearer_share", "farther_share")):
        sys.exit("the reference is compared with itself")
for method, spec in zip(methods, names[1:]):
    b = restored(method)
    each = {name: counts(x[name], b[name], a[name]) for name in x}
    for row in rows:
        if row["spec"] != spec:
            continue
        if row["record"] == "summary":
            same(row, sum(each.values()), "all")
        elif scope == "tensor":
            name = f"step_{row['step']:06}/worker_{row['worker']}/{row['tensor']}"
            same(row, each[name], name)
        if row["elements"] and row["nearer_than"] != names[0]:
            sys.exit(f"nearer_than is {row['nearer_than']}, not {names[0]}")
