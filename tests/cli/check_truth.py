"""check_truth.py LINK EXCHANGES PREDICTED [WIRE_OFF]: computes the rows of `payoff --link LINK EXCHANGES` again, from the rows alone.

With WIRE_OFF the measured time on the wire may differ from the predicted one by at most this factor, in the exchanges by a ring
whose wire takes half of the time or more.
"""
import json
import math
import sys

LINK, EXCHANGES, PREDICTED = sys.argv[1:4]
WIRE_OFF = float(sys.argv[4]) if len(sys.argv) > 4 else math.inf
ENDS = ("_low", "", "_high")


def rows(path, record):
    return [row for row in map(json.loads, open(path)) if row["record"] == record]


def known(value, end):
    return value if value is not None else {"_low": 0.0, "_high": math.inf}[end]


def bounds(row, first):
    return [known(row[first + "seconds" + end], end) for end in ENDS] if row.get(first + "seconds") else None


CURVE = {pattern: sorted((row["bytes"], bounds(row, ""), bounds(row, "first_") or bounds(row, ""))
                         for row in rows(LINK, "link") if row["pattern"] == pattern) for pattern in ("shift", "pair")}


def transfer(pattern, size, end, first=False):
    points = [(b, (f if first else s)[end]) for b, s, f in CURVE[pattern]]
    if size <= points[0][0]:
        return points[0][1]
    for (b0, s0), (b1, s1) in zip(points, points[1:]):
        if size <= b1:
            return s0 + (s1 - s0) * (size - b0) / (b1 - b0)
    return points[-1][1] * size / points[-1][0]


def steps(count, paired, size, paired_size, rounds, end):
    """So many steps in each round, the last `paired` of them between pairs; `paired_size` of `size` bytes are theirs."""
    seconds = 0.0
    for pattern, of, moved in (("shift", count - paired, size - paired_size), ("pair", paired, paired_size)):
        if of:
            first = pattern == "shift" or count == paired
            each = moved / rounds / of
            seconds += rounds * (transfer(pattern, each, end, first) + (of - 1) * transfer(pattern, each, end))
    return seconds


def wire(row, end):
    n, algorithm, seconds = row["workers"], row["algorithm"], 0.0
    lg = math.ceil(math.log2(n))
    power, even = 2 ** lg == n, n % 2 == 0
    rounds, size = row["gather_rounds"], row["gather_bytes"]
    if rounds:  # Bruck's last step is between pairs of ranks, with n/2 of the n - 1 messages
        ways = {"ring": steps(n - 1, 0, size, 0.0, rounds, end),
                "doubling": steps(lg, int(power), size, size * n / 2 / (n - 1) * power, rounds, end)}
        seconds += ways.get(algorithm, min(ways.values()))
    rounds, size = row["scatter_rounds"], row["scatter_bytes"]
    if rounds:
        seconds += steps(n - 1, int(even), size, size / (n - 1) * even, rounds, end)
    rounds, size = row["reduce_rounds"], row["reduce_bytes"]
    if rounds:
        one, beyond = size * n / (2 * (n - 1)), 1 - power
        ways = {"ring": steps(2 * (n - 1), 0, size, 0.0, rounds, end),
                "halving": steps(2 * lg, 2 * lg, size, size, rounds, end),
                "doubling": steps(lg + beyond, lg - beyond, one * (lg + beyond), one * (lg - beyond), rounds, end)}
        seconds += ways.get(algorithm, min(ways.values()))
    return seconds


def is_baseline(row):
    return row["collective"] == "allreduce" and row["method"] in ("identity", "fp16", "bf16")


def answer(mine, bar):
    return True if mine[2] < bar[0] else False if mine[0] >= bar[2] else None


def close(name, got, want):
    assert (got is None and want is None) or math.isclose(got, want, rel_tol=1e-9), (name, got, want)


exchanges, predicted = rows(EXCHANGES, "exchange"), rows(PREDICTED, "payoff")
assert len(exchanges) == len(predicted) > 0, (len(exchanges), len(predicted))
times, measured = [], []
for row in exchanges:
    lengths = row["size_rounds"] * math.ceil(math.log2(row["workers"]))
    times.append([sum(known(row[phase + "_seconds" + name], name) for phase in ("encode", "sum")) + wire(row, end)
                  + lengths * transfer("shift", 8, end) for end, name in enumerate(ENDS)])
    measured.append([known(row["seconds" + end], end) for end in ENDS])
bar, measured_bar = (min((t for t, row in zip(all_times, exchanges) if is_baseline(row)), key=lambda t: t[1])
                     for all_times in (times, measured))
off = []
for row, got, mine, real in zip(exchanges, predicted, times, measured):
    name = f"{row['spec']} {row['algorithm']}"
    assert (got["spec"], got["algorithm"], got["model"]) == (row["spec"], row["algorithm"], "measured"), name
    close(name, got["wire_seconds"], wire(row, 1))
    for end, want in zip(ENDS, mine):
        close(name + end, got["seconds" + end], want if math.isfinite(want) else None)
    close(name, got["measured_ratio"], real[1] / mine[1])
    close(name, got["measured_wire_ratio"], row["wire_seconds"] / wire(row, 1))
    close(name, got["wire_share"], min(1, (row["wire_seconds"] + row["sizes_seconds"]) / real[1]))
    close(name, got["speedup_bar"], bar[1] / mine[1])
    close(name, got["measured_speedup_bar"], measured_bar[1] / real[1])
    assert got["pays"] == (None if is_baseline(row) else answer(mine, bar)), name
    assert got["measured_pays"] == (None if is_baseline(row) else answer(real, measured_bar)), name
    if row["algorithm"] == "ring" and got["wire_share"] >= 0.5:
        off.append((max(got["measured_wire_ratio"], 1 / got["measured_wire_ratio"]), name))
    if None not in (got["pays"], got["measured_pays"]) and WIRE_OFF < math.inf:
        assert got["pays"] == got["measured_pays"], f"{name}: predicted {got['pays']}, measured {got['measured_pays']}"
print(f"{len(exchanges)} exchanges; wire parts differ by at most {max(off)[0]:.2f}" if off else "no exchange by a ring")
assert not off or max(off)[0] <= WIRE_OFF, f"measured and predicted wire times differ by {max(off)}"
