#!/usr/bin/env python3
"""
A replay of methods that need rounds, worked out again.

    check_replay_rounds.py GCBENCH FILE [OPTION...]

Runs `gcbench replay` with the methods below. Reads the file with h5py, and works out every exchange with the twins of
tests/api, which do not use the library. Compares alpha, cosine and cumulative error of every step and of the total. The
bytes of every round, and the parts of the messages, must be exactly those that follow from the formats.
"""
import json
import math
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np

from check_replay import load

for folder in ("api", "meta"):
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / folder))
import check_oktopk
import check_powersgd
import check_randomk
import check_signsgd
import check_twoshot
from decode_by_format import CODECS

TOLERANCE = 1e-5
SEED = 1  # replay's default
PARTS = "header_bytes", "scale_bytes", "value_bytes", "index_bytes"


# ---- bytes ----

class Bytes:
    """Of one step."""

    def __init__(self):
        self.parts, self.rounds = dict.fromkeys(PARTS, 0), []

    def add(self, parts, *rounds):
        """`rounds`: what all workers put on their links in each round."""
        for name, size in parts.items():
            self.parts[name] += size
        self.rounds += [0] * (len(rounds) - len(self.rounds))
        for i, size in enumerate(rounds):
            self.rounds[i] += size


def gathered(lengths):
    """Each worker sends its bytes to all others."""
    return (len(lengths) - 1) * sum(lengths)


def scattered(lengths):
    """lengths[w][v]: bytes of worker w for worker v. The part for itself stays."""
    return sum(map(sum, lengths)) - sum(lengths[w][w] for w in range(len(lengths)))


def reduced(workers, length):
    return 2 * (workers - 1) * length


# ---- one tensor: all workers, with their memories ----

class PowerSGD:
    def __init__(self, path, shape, workers):
        self.twin = check_powersgd.Twin(shape, 4, True, [1.0] * workers, SEED, path)
        self.residual = [np.zeros(shape)] * workers

    def step(self, step, tensors, sizes):
        given = [x + r for x, r in zip(tensors, self.residual)]
        update, own = self.twin.update(given, step)
        self.residual = [x - o for x, o in zip(given, own)]
        bytes = [4 * n for n in self.twin.floats()]
        sizes.add({"value_bytes": len(tensors) * sum(bytes)}, *(reduced(len(tensors), b) for b in bytes))
        return update


class RandomK:
    def __init__(self, path, shape, workers):
        self.path, self.n = path, math.prod(shape)
        self.k = max(1, round((1 - 0.99) * self.n))
        self.residual = [np.zeros(shape, np.float32)] * workers

    def step(self, step, tensors, sizes):
        kept = np.zeros(self.n, np.float32)
        kept[check_randomk.places(step, self.k, self.n, SEED, self.path)] = 1
        given = [x + r for x, r in zip(tensors, self.residual)]
        own = [x * kept.reshape(x.shape) for x in given]
        self.residual = [x - o for x, o in zip(given, own)]
        sizes.add({"value_bytes": len(tensors) * 4 * self.k}, reduced(len(tensors), 4 * self.k))
        return sum(own)


class Twoshot:
    """A method that is not sparse, without a memory: messages of shares."""

    def __init__(self, path, shape, workers):
        self.path, self.ends = path, check_twoshot.share_ends(math.prod(shape), workers, self.unit)

    def step(self, step, tensors, sizes):
        workers = len(tensors)

        def code(x, round, sender, share):
            return self.decoded(x, step, check_twoshot.drawn_as(workers, round, sender, share))
        flat = [x.ravel() for x in tensors]
        update, _ = check_twoshot.twoshot(flat, [np.float32(1)] * workers, self.unit, code)
        parts = [self.parts(b - a) for a, b in zip(self.ends, self.ends[1:])]
        shares = [sum(p.values()) for p in parts]
        for p in parts:
            sizes.add({name: (workers + 1) * size for name, size in p.items()})
        sizes.add({}, scattered([shares] * workers), gathered(shares))
        return update.reshape(tensors[0].shape)

    def parts(self, n):
        if n == 0:
            return {}
        scales, values = self.payload(n)
        assert scales + values <= 4 * n, "a message that is sent raw"
        return {"header_bytes": 16 + sum(width for _, width, _, _ in CODECS[self.codec].parameters) + 8, "scale_bytes": scales,
                "value_bytes": values}


class SignSGD(Twoshot):
    codec, unit = 12, 64

    def decoded(self, x, step, worker):
        return check_signsgd.signs(x, step, seed=SEED, path=self.path)

    def payload(self, n):
        return 4, -(-n // 8)


class QSGD(Twoshot):
    codec, unit = 5, 512

    def decoded(self, x, step, worker):
        return check_twoshot.drawn_level(self.unit, 7, SEED, self.path)(x, None, step, worker)

    def payload(self, n):
        return 4 * -(-n // self.unit), -(-n // 2)


class OkTopk:
    def __init__(self, path, shape, workers):
        self.twin = check_oktopk.Twin(math.prod(shape), 1 - 0.99, [1.0] * workers)

    def step(self, step, tensors, sizes):
        twin, workers = self.twin, len(tensors)
        update = twin.step(step, [x.ravel() for x in tensors])
        lengths = [[check_oktopk.piece_bytes(k) for k in counts] for counts in twin.scattered]
        sums = [8 + check_oktopk.piece_bytes(k) for k in twin.gathered]
        sent = sum(map(sum, twin.scattered)) + sum(twin.gathered)
        pieces, boundaries = workers * workers + workers, 4 * (workers - 1)
        sizes.add({"header_bytes": 4 * pieces + 8 * workers + twin.divided * workers * boundaries,
                   "value_bytes": 4 * sent, "index_bytes": 4 * pieces + 4 * sent},
                  *[reduced(workers, boundaries)] * twin.divided, scattered(lengths), gathered(sums))
        return update.reshape(tensors[0].shape)


METHODS = {
    "powersgd:rank=4,memory=ef": PowerSGD,
    "randomk:theta=0.99,memory=ef": RandomK,
    "signsgd": SignSGD,
    "topk:theta=0.99,memory=ef,collective=oktopk": OkTopk,
    "qsgd:collective=twoshot": QSGD,
}


# ---- a replay ----

def shapes(path):
    """{tensor: shape}"""
    found = {}
    with h5py.File(path) as f:
        worker = next(iter(next(iter(f.values())).values()))
        worker.visititems(lambda name, d: found.update({name: d.shape}) if isinstance(d, h5py.Dataset) else None)
    return found


class Errors:
    """Of updates against what was owed."""

    def __init__(self):
        self.dd = self.uu = self.oo = self.uo = 0.0

    def add(self, update, owed):
        self.dd += np.sum((update - owed) ** 2)
        self.uu += np.sum(update ** 2)
        self.oo += np.sum(owed ** 2)
        self.uo += np.sum(update * owed)

    def figures(self):
        return {"alpha": math.sqrt(self.dd / self.oo), "cosine": self.uo / math.sqrt(self.uu * self.oo)}


def replay(kind, steps, shape_of):
    """What the rows should have: one of each step, then the total."""
    workers, first = len(next(iter(steps[0][1].values()))), steps[0][0]
    lanes = {name: kind(name, shape, workers) for name, shape in shape_of.items()}
    drift, due = ({name: 0.0 for name in lanes} for _ in range(2))
    total, all_sizes = Errors(), Bytes()
    for index, (step, tensors) in enumerate(steps):
        errors, sizes = Errors(), Bytes()
        for name, lane in lanes.items():
            given = [x.reshape(shape_of[name]) for x in tensors[name]]
            update = lane.step(first + index, given, sizes).astype("f8")
            owed = sum(given).astype("f8")
            drift[name] = drift[name] + update - owed
            due[name] = due[name] + owed
            for e in (errors, total):
                e.add(update, owed)
        cumulative = math.sqrt(sum(np.sum(x ** 2) for x in drift.values()) / sum(np.sum(x ** 2) for x in due.values()))
        all_sizes.add(sizes.parts, *sizes.rounds)
        yield {"step": step, "workers": workers, **errors.figures(), "cumulative_error": cumulative}, sizes
    yield {"steps": len(steps), "workers": workers, **total.figures(), "cumulative_error": cumulative}, all_sizes


def differences(row, want, sizes):
    exact = {**sizes.parts, "wire_bytes": sum(sizes.parts.values()), "round_bytes": sizes.rounds,
             "link_bytes": sum(sizes.rounds), "rounds": len(sizes.rounds), "stored": 0, "dense": 0}
    for key, value in exact.items():
        if row[key] != value:
            yield f"{key} is {row[key]}, not {value}"
    for key, value in want.items():
        if not math.isclose(row[key], value, rel_tol=TOLERANCE):
            yield f"{key} is {row[key]}, not {value}"
    if sum(row[part] for part in PARTS) != row["wire_bytes"] or sum(row["round_bytes"]) != row["link_bytes"]:
        yield "the bytes do not add up"


def main(command, path, *options):
    asked = [word for spec in METHODS for word in ("--method", spec)]
    output = subprocess.run([command, "replay", *asked, "--format", "json", "--per", "step", *options, path],
                            check=True, stdout=subprocess.PIPE, text=True).stdout
    rows = [row for row in map(json.loads, output.splitlines()) if row["record"].startswith("replay")]
    steps, shape_of = load(path), shapes(path)
    problems, count, worst = [], 0, 0.0
    for spec, kind in METHODS.items():
        for want, sizes in replay(kind, steps, shape_of):
            row = rows[count] if count < len(rows) else sys.exit("too few rows")
            count += 1
            where = f"{spec}, step {row['step']}" if "step" in row else f"{spec}, all steps"
            problems += [f"{where}: {what}" for what in differences(row, want, sizes)]
            worst = max(worst, *(abs(row[key] / want[key] - 1) for key in ("alpha", "cosine", "cumulative_error")))
    if count != len(rows):
        problems.append(f"{len(rows)} rows, not {count}")
    print("\n".join(problems[:20] + [f"{count} rows: {len(problems)} problems; figures differ by at most {worst:.1e}"]),
          file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
