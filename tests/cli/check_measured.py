"""check_measured.py LINK EXCHANGES PREDICTED [MOST]: computes the rows of `payoff --link LINK EXCHANGES` again, from the rows alone.

With MOST the measured time on the network may differ from the predicted one by at most this factor, in the exchanges by a ring
whose network takes half of the time or more.
"""
import json
import math
import sys

LINK, EXCHANGES, PREDICTED = sys.argv[1:4]
MOST = float(sys.argv[4]) if len(sys.argv) > 4 else math.inf
COMMON = ("file", "scope", "order", "device", "isa", "threads", "messages", "input_bytes", "mpi", "workers", "elements")


def rows(path, record):
    return [row for row in map(json.loads, open(path)) if row["record"] == record]


CURVE = {pattern: sorted((row["bytes"], row["seconds"], row.get("first_seconds") or row["seconds"]) for row in rows(LINK, "link")
                         if row["pattern"] == pattern) for pattern in ("shift", "pair")}


def transfer(pattern, size, first=False):
    points = [(b, f if first else s) for b, s, f in CURVE[pattern]]
    if size <= points[0][0]:
        return points[0][1]
    for (b0, s0), (b1, s1) in zip(points, points[1:]):
        if size <= b1:
            return s0 + (s1 - s0) * (size - b0) / (b1 - b0)
    return points[-1][1] * size / points[-1][0]


def steps(count, paired, size, paired_size, rounds):
    """So many steps in each round, the last `paired` of them between pairs; `paired_size` of `size` bytes are theirs."""
    seconds = 0.0
    for pattern, of, moved in (("shift", count - paired, size - paired_size), ("pair", paired, paired_size)):
        if of:
            first = pattern == "shift" or count == paired
            each = moved / rounds / of
            seconds += rounds * (transfer(pattern, each, first) + (of - 1) * transfer(pattern, each))
    return seconds


def network(row):
    n, algorithm = row["workers"], row["algorithm"]
    lg, down = math.ceil(math.log2(n)), math.floor(math.log2(n))
    power, even, fold = lg == down, n % 2 == 0, 0 if lg == down else 2
    seconds = row["size_rounds"] * lg * transfer("shift", 8)
    rounds, size = row["gather_rounds"], row["gather_bytes"]
    if rounds:  # Bruck's last step is between pairs of ranks, with n/2 of the n - 1 messages
        ways = {"ring": steps(n - 1, 0, size, 0.0, rounds),
                "doubling": steps(lg, int(power), size, size * n / 2 / (n - 1) * power, rounds)}
        seconds += ways.get(algorithm, min(ways.values()))
    rounds, size = row["scatter_rounds"], row["scatter_bytes"]
    if rounds:
        seconds += steps(n - 1, int(even), size, size / (n - 1) * even, rounds)
    rounds, size = row["reduce_rounds"], row["reduce_bytes"]
    if rounds:
        one, inner = size * n / (2 * (n - 1)), 2 * (1 - 2.0 ** -down)
        ways = {"ring": steps(2 * (n - 1), 0, size, 0.0, rounds),
                "halving": steps(2 * down + fold, 2 * down, one * (inner + fold), one * inner, rounds),
                "doubling": steps(down + fold, down, one * (down + fold), one * down, rounds)}
        seconds += ways.get(algorithm, min(ways.values()))
    return seconds


def is_baseline(row):
    return row["collective"] == "allreduce" and row["method"] in ("identity", "fp16", "bf16")


def close(name, got, want):
    assert (got is None and want is None) or math.isclose(got, want, rel_tol=1e-9), (name, got, want)


exchanges = [row for row in rows(EXCHANGES, "exchange") if row["status"] == "ok" and row["workers"] > 1]
predicted = {(row["spec"], row["algorithm"], row["workers"]): row for row in rows(PREDICTED, "payoff")}
assert len(exchanges) == len(predicted) > 0, (len(exchanges), len(predicted))
coding = lambda row: row["encode_seconds"] + row["sum_seconds"]
group = lambda row: [row[key] for key in COMMON]
off = []
for row in exchanges:
    name = f"{row['spec']} {row['algorithm']}"
    got = predicted[row["spec"], row["algorithm"], row["workers"]]
    assert got["model"] == "measured" and got["baseline"] == is_baseline(row), name
    bars = [other for other in exchanges if is_baseline(other) and group(other) == group(row)]
    bar = min(bars, key=lambda other: other["seconds"], default=None)
    mine = coding(row) + network(row)
    close(name, got["network_seconds"], network(row))
    close(name, got["coding_seconds"], coding(row))
    close(name, got["seconds"], mine)
    for end in ("", "_low", "_high"):
        close(name, got["measured_seconds" + end], row["seconds" + end])
    close(name, got["measured_network_seconds"], row["wire_seconds"] + row["sizes_seconds"])
    close(name, got["measured_ratio"], row["seconds"] / mine)
    close(name, got["speedup_bar"], bar and (coding(bar) + network(bar)) / mine)
    close(name, got["measured_speedup_bar"], bar and bar["seconds"] / row["seconds"])
    assert (got["bar"] is None) == (bar is None), name
    measured = row["wire_seconds"] + row["sizes_seconds"]
    if row["algorithm"] == "ring" and measured >= 0.5 * row["seconds"]:
        ratio = measured / network(row)
        off.append((max(ratio, 1 / ratio), name))
print(f"{len(exchanges)} exchanges; networks differ by at most {max(off)[0]:.2f}" if off else "no exchange by a ring")
assert not off or max(off)[0] <= MOST, f"measured and predicted times differ by {max(off)}"
