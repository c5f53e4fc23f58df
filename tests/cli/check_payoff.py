"""Computes payoff again from the result rows, with NumPy and the formulas of docs/payoff.md.

    check_payoff.py RESULTS ROWS [bytes=N] [messages=N] [bucket=N] [compute=S]
"""
import json
import math
import sys

import numpy as np

RESULTS, ROWS = sys.argv[1:3]
asked = {key: float(value) for key, value in (a.split("=") for a in sys.argv[3:])}
LINEAR = {"identity", "fp16", "bf16"}


def line(points):
    """Non-negative least squares of relative errors with two parameters, by trying all three supports."""
    x, y = np.array(points).T
    if x.max() < 2 * x.min():
        return None
    best = None
    for support in ([0, 1], [0], [1]):
        design = np.stack([1 / y, x / y], 1)[:, support]
        found, *_ = np.linalg.lstsq(design, np.ones(len(x)), rcond=None)
        if (found < 0).any():
            continue
        error = np.sqrt(np.mean((design @ found - 1) ** 2))
        if best is None or error < best[2] * (1 - 1e-12):
            both = np.zeros(2)
            both[support] = found
            best = (*both, error)
    return best


def read():
    cases, copy = {}, math.nan
    for row in map(json.loads, open(RESULTS)):
        if row["record"] == "environment":
            copy = 1e9 * (row["copy_gbps"] or math.nan)
        if row["record"] != "result" or row["status"] != "ok":
            continue
        c = cases.setdefault(row["spec"], {"rows": [], "method": row["method"], "copy": copy, "sparse": False})
        c["rows"].append(row)
        transform = (row["params"] or {}).get("transform", "none")
        c["sparse"] = row["density"] is not None and row["density"] < 1 and transform == "none"
    for c in cases.values():
        rows = c["rows"]
        c["exchanges"] = len({(r["step"], r["worker"]) for r in rows})
        for key in ("elements", "wire_bytes", "encode_seconds", "decode_seconds"):
            c[key] = sum(r[key] for r in rows)
        c["fits"] = [line([(4 * r["elements"], r[key]) for r in rows])
                     for key in ("wire_bytes", "encode_seconds", "decode_seconds")]
    return cases


def load(c):
    bytes_ = 4 * c["elements"] / c["exchanges"]
    messages = len(c["rows"]) / c["exchanges"]
    want = asked.get("bytes", bytes_), asked.get("messages", messages)
    transfers = math.ceil(want[0] / asked.get("bucket", 25 * 2**20))
    if want != (bytes_, messages) and all(c["fits"]):
        figures = [fit[0] * want[1] + fit[1] * want[0] for fit in c["fits"]]
    else:
        scale = want[0] / (4 * c["elements"])
        figures = [c[key] * scale for key in ("wire_bytes", "encode_seconds", "decode_seconds")]
    return want[0], transfers, *figures


def cost(row, sums, transfers, wire, encode, decode, add):
    """Seconds of an exchange, the part that the computation does not hide, and the time on the wire."""
    n = row["workers"]
    lg = math.ceil(math.log2(n))
    if row["collective"] == "ps":
        steps, times, encodes, decodes, adds = 2, 2 * n, 1 if sums else 2, 1 if sums else 1 + n, n - 1
    elif sums:
        steps, times = (2 * (n - 1) if row["collective"] == "ring" else 2 * lg), 2 * (n - 1) / n
        encodes, decodes, adds = 1, 1, (n - 1) / n
    else:
        steps, times = (n - 1 if row["collective"] == "ring" else lg), n - 1
        encodes, decodes, adds = 1, n, n - 1
    bandwidth = row["bandwidth_gbit"] * 1e9 / 8
    sent = transfers * steps * row["latency_seconds"] + times * wire / bandwidth
    before, after = encodes * encode, decodes * decode + adds * add
    seconds = before + sent + after
    if "compute" not in asked:
        return seconds, seconds, sent
    c = asked["compute"]
    step = max(c + before + after + sent / transfers, (c + before + after) / transfers + sent)
    return seconds, step - c, sent


def close(a, b, what):
    assert a is not None and abs(a - b) <= 1e-9 * abs(b) + 1e-15, (what, a, b)


def check_workers(row, plain, mine):
    """Checks the first range of workers for which it pays. There may be more, because trees get a step more at powers of two."""
    def saved(n):
        at = dict(row, workers=n)
        a, b = cost(at, *plain)[1], cost(at, *mine)[1]
        return a / b - 1 if abs(a / b - 1) > 1e-9 else 0.0

    least, most = row["workers_least"], row["workers_most"]
    for n in range(2, min(least, 1000) if least else 1000):
        assert saved(n) <= 0, (n, row)
    for n in range(least, min(most, 1000) + 1) if least else ():
        assert saved(n) >= 0, (n, row)
    if 0 < most < 1000:
        assert saved(most + 1) <= 0, row


def check_doubt(row, c):
    """A line is in doubt if it misses the messages, or their sum, by 0.5 for bytes or 0.75 for times."""
    if not row["fitted"]:
        assert row["doubtful"] is None and row["lines_off"] is None, row
        return
    lines = []
    for name, key, fit, most in zip(("bytes", "encoding times", "decoding times"),
                                    ("wire_bytes", "encode_seconds", "decode_seconds"), c["fits"], (0.5, 0.75, 0.75)):
        miss = max(fit[2], abs((fit[0] * len(c["rows"]) + fit[1] * 4 * c["elements"]) / c[key] - 1))
        lines.append((miss / most, miss, name))
    worst = max(lines)
    assert abs(row["lines_off"] - worst[1]) < 1e-5, (row, lines)
    if abs(worst[0] - 1) > 1e-4:
        assert row["doubtful"] == (worst[2] if worst[0] > 1 else None), (row, lines)


def main():
    cases = read()
    half = next((c for c in cases.values() if c["method"] == "fp16"), None)
    checked = 0
    for row in map(json.loads, open(ROWS)):
        if row["record"] != "payoff" or row["model"] != "exchange":
            continue
        case = cases.get(row["spec"]) if not row["baseline"] else next(iter(cases.values()))
        size, transfers, wire, encode, decode = load(case)
        adding = lambda b: 1.5 * b / case["copy"] if case["copy"] > 0 else 0.0
        codes = load(half)[3:] if half else (0, 0)
        sums = case["method"] in LINEAR
        loads = {
            "plain": (True, transfers, size, 0, 0, adding(size)),
            "halved": (True, transfers, size / 2, *codes, adding(size / 2)),
            "mine": (sums, transfers, wire, encode, decode,
                     0 if case["sparse"] else adding(wire if sums else size)),
        }
        own = "plain" if row["method"] == "fp32" else "halved" if row["baseline"] else "mine"
        plain, halved, mine = (cost(row, *loads[of]) for of in ("plain", "halved", own))
        if not row["baseline"]:
            close(row["wire_bytes"], wire, "wire_bytes")
            close(row["ratio_vs_fp32"], size / wire, "ratio")
            share = (encode + decode) / size * row["bandwidth_gbit"] * 1e9 / 8
            if share < 1:
                close(row["least_ratio"], 1 / (1 - share), "least_ratio")
            else:
                assert row["least_ratio"] is None
            for name, fit in zip(("wire", "encode", "decode"), case["fits"]):
                if fit is None:
                    assert row[name + "_fit_error"] is None
                    continue
                unit = "bytes" if name == "wire" else "seconds"
                assert abs(row[f"{name}_fixed_{unit}"] - fit[0]) <= 1e-6 * fit[0] + 1e-9 * fit[1], (name, row, fit)
                assert abs(row[f"{name}_{unit}_per_byte"] - fit[1]) <= 1e-6 * fit[1] + 1e-18, (name, row, fit)
        close(row["seconds"], mine[0], "seconds")
        close(row["wire_seconds"], mine[2], "wire_seconds")
        close(row["speedup_fp32"], plain[1] / mine[1], "speedup_fp32")
        close(row["speedup_fp16"], halved[1] / mine[1], "speedup_fp16")
        if "compute" in asked:
            close(row["exposed_seconds"], mine[1], "exposed")
            check_doubt(row, case)
        if row["doubtful"]:
            assert row["pays"] is None and row["pays_fp16"] is None, row
        elif row["method"] != "fp32" and abs(plain[1] / mine[1] - 1) > 1e-9:
            assert row["pays"] == (mine[1] < plain[1])
            if "compute" not in asked and row["pays_below_gbit"]:
                assert row["pays"] == (row["bandwidth_gbit"] < row["pays_below_gbit"]), row
        check_workers(row, loads["plain"], loads[own])
        checked += 1
    assert checked >= 4, checked


main()
