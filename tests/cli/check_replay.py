#!/usr/bin/env python3
"""
A replay of top-k with error feedback, worked out again.

    check_replay.py GCBENCH FILE DENSITY LOOPS [MOMENTUM]

Reads the file with h5py, keeps a residual for every worker and tensor in float32, and compares every step's alpha,
cumulative error, residual and gradient norm, density, union density, staleness and contraction, and the bound of the
residual, with what `gcbench replay` reports. With MOMENTUM it is that of the updates (memory=gmc), and there is no bound.
"""
import json
import math
import subprocess
import sys

import h5py
import numpy as np

TOLERANCE = 1e-5  # sums of float32 terms in another order


def numbered(group):
    return sorted(((int(name.split("_")[1]), group[name]) for name in group), key=lambda pair: pair[0])


def load(path):
    """[(step, {tensor: [each worker's array]})]"""
    steps = []
    with h5py.File(path) as f:
        for step, group in numbered(f):
            tensors = {}
            for _, worker in numbered(group):
                worker.visititems(lambda name, d: tensors.setdefault(name, []).append(
                    d[()].astype("f4").ravel()) if isinstance(d, h5py.Dataset) else None)
            steps.append((step, tensors))
    return steps


def kept_of(n, density):
    return min(max(int(np.rint(density * n)), 1), n) if n else 0


class Lane:
    """One tensor: what each worker keeps of it, and sums over all steps."""

    def __init__(self, arrays):
        n = arrays[0].size
        self.residual = [np.zeros(n, "f4") for _ in arrays]
        self.age = [np.zeros(n, "i8") for _ in arrays]
        self.sent, self.due, self.last = np.zeros(n), np.zeros(n), np.zeros(n, "f4")

    def step(self, gradients, density, momentum, sums):
        n = gradients[0].size
        update, owed, touched = np.zeros(n), np.zeros(n), np.zeros(n, bool)
        for w, g in enumerate(gradients):
            carried = momentum * self.last + g
            p = (self.residual[w] + carried).astype("f4")
            kept = np.argsort(-np.abs(p), kind="stable")[:kept_of(n, density)]
            message = np.zeros(n, "f4")
            message[kept] = p[kept]
            if 8 * kept.size > 4 * n:  # values and positions would be longer than the tensor itself
                message, kept = p, np.arange(n)
            self.residual[w] = p - message
            fresh = (message != 0) | (p == 0)
            self.age[w] = np.where(fresh, 0, self.age[w] + 1)
            update += message
            owed += carried
            touched |= message != 0
            sums["kept"] += kept.size
            sums["positions"] += n
            sums["whole"][w] += np.sum(p.astype("f8") ** 2)
            sums["residual"][w] += np.sum(self.residual[w].astype("f8") ** 2)
            sums["gradient"][w] += np.sum(g.astype("f8") ** 2)
        self.last = (update / len(gradients)).astype("f4")
        self.sent += update
        self.due += owed
        sums["dd"] += np.sum((update - owed) ** 2)
        sums["rr"] += np.sum(owed ** 2)
        sums["drift"] += np.sum((self.sent - self.due) ** 2)
        sums["due"] += np.sum(self.due ** 2)
        sums["touched"] += int(touched.sum())
        sums["elements"] += n


def figures(sums, ages):
    ages = np.sort(ages)
    return {
        "alpha": math.sqrt(sums["dd"] / sums["rr"]),
        "cumulative_error": math.sqrt(sums["drift"] / sums["due"]),
        "residual_norm": math.sqrt(np.mean(sums["residual"])),
        "gradient_norm": math.sqrt(np.mean(sums["gradient"])),
        "density": sums["kept"] / sums["positions"],
        "union_density": sums["touched"] / sums["elements"],
        "contraction": 1 - np.max(sums["residual"] / sums["whole"]),
        "staleness_p50": int(ages[math.ceil(0.5 * ages.size) - 1]),
        "staleness_p99": int(ages[math.ceil(0.99 * ages.size) - 1]),
        "staleness_max": int(ages[-1]),
    }


def replay(steps, density, loops, momentum):
    lanes = {name: Lane(arrays) for name, arrays in steps[0][1].items()}
    workers = len(next(iter(steps[0][1].values())))
    largest = {"residual": 0.0, "gradient": 0.0}
    for loop in range(loops):
        for step, tensors in steps:
            sums = dict.fromkeys(("dd", "rr", "drift", "due", "touched", "elements", "kept", "positions"), 0)
            sums.update({key: np.zeros(workers) for key in ("whole", "residual", "gradient")})
            for name, lane in lanes.items():
                lane.step(tensors[name], density, momentum, sums)
            for key in largest:
                largest[key] = max(largest[key], np.max(sums[key]))
            ages = np.concatenate([a for lane in lanes.values() for a in lane.age])
            yield step, loop, figures(sums, ages), largest


def differences(row, want):
    for key, value in want.items():
        if not math.isclose(row[key], value, rel_tol=TOLERANCE, abs_tol=1e-12):
            yield f"step {row['step']} (loop {row['loop']}): {key} is {row[key]}, not {value}"


def main(command, path, density, loops, momentum="0"):
    memory = f"gmc,momentum={momentum}" if float(momentum) else "ef"
    rows = [json.loads(line) for line in subprocess.run(
        [command, "replay", "--method", f"topk:density={density},memory={memory}", "--loop", loops, "--allow-gaps",
         "--format", "json", path], check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()]
    shown = [row for row in rows if row["record"] == "replay_step"]
    total = [row for row in rows if row["record"] == "replay"]
    problems, count, least = [], 0, 1.0
    for (step, loop, want, largest), row in zip(replay(load(path), float(density), int(loops), np.float32(momentum)), shown):
        problems += differences(row, want)
        if (row["step"], row["loop"], row["index"]) != (step, loop, count):
            problems.append(f"row {count} is of step {row['step']}, loop {row['loop']}")
        least = min(least, want["contraction"])
        count += 1
    bound = largest["residual"] and largest["residual"] / (4 * (1 - least) / least ** 2 * largest["gradient"])
    if len(total) != 1 or count != len(shown) or count == 0:
        problems.append(f"{len(shown)} rows of steps and {len(total)} totals")
    elif float(momentum):
        problems += [] if total[0]["bound_ratio"] is None else ["momentum has no bound"]
    elif not (math.isclose(total[0]["bound_ratio"], bound, rel_tol=1e-4) and total[0]["bound_holds"] and bound <= 1):
        problems.append(f"the bound is at {total[0]['bound_ratio']}, not {bound}")
    print("\n".join(problems[:20] + [f"{count} steps: {len(problems)} problems"]), file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
