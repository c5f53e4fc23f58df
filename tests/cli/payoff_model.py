"""The model of docs/payoff.md in NumPy, for check_payoff.py: what was measured, the loads, and the times of an exchange."""
import json
import math
import sys

import numpy as np

RESULTS = sys.argv[1]
words = dict(a.split("=") for a in sys.argv[5:])
topology = words.pop("topology", "best")
asked = {key: float(value) for key, value in words.items()}
BASELINES = ("fp32", "fp16", "bf16")
KEYS = ("wire_bytes", "encode_seconds", "decode_seconds", "sum_seconds", "sum16_seconds")
NAMES = ("bytes", "encoding times", "decoding times", "adding times", "adding times")
LOW, MEDIAN, HIGH = range(3)
compute, inner = asked.get("compute"), asked.get("inner", 1)
p = asked.get("per_node", 1)


# ---- what was measured ----

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


def number(value):
    return math.nan if value is None else value


def total(rows, key):
    return sum(number(r.get(key)) for r in rows)


def collectives(row):
    """Those that keep the error that was measured, and those that enlarge it. A method that names one has only that."""
    able, own = set(row["collectives"]), row["collective"] if (row["rounds"] or 1) == 1 else None
    keeping = able & {"allgather", own if own == "allreduce" else "allgather"}
    lossy = able & {"twoshot", "oktopk", "spardl"}
    return (keeping, lossy) if keeping else (lossy, set())


def refusal(row):
    """Why the row cannot be used; None if it can."""
    if row["status"] != "ok":
        return row["status"]
    if row["encode_seconds"] is None or row["decode_seconds"] is None:
        return "no times"
    if not row.get("collectives"):
        return "its build does not say how messages travel"
    if not set(row["collectives"]) & {"allgather", "allreduce", "twoshot", "oktopk", "spardl"}:
        return "another build's collective"
    return None if collectives(row)[0] else "its all-reduce does not send its messages"


def read():
    """The cases with complete results, by their specs, and the refused ones: why."""
    cases, refused, copy, load = {}, {}, math.nan, (math.nan, math.nan)
    for row in map(json.loads, open(RESULTS)):
        if row["record"] == "environment":
            copy = 1e9 * number(row.get("copy_gbps"))
            load = number(row.get("load1")), number(row.get("cpus"))
        if row["record"] not in ("result", "summary") or row["method"] == "memcpy":
            continue
        c = cases.setdefault(row["spec"], {"rows": [], "method": row["method"], "copy": copy, "load": load})
        if refusal(row):
            refused[row["spec"]] = refusal(row)
        elif row["record"] == "result":
            c["rows"].append(row)
        else:
            c["summary"] = row
    for spec, c in cases.items():
        if spec not in refused and c["rows"] and "summary" in c and len(c["rows"]) < c["summary"]["messages"]:
            refused[spec] = "incomplete"
    cases = {spec: c for spec, c in cases.items() if spec not in refused}
    for c in cases.values():  # cold caches are preferred
        c["rows"] = [r for r in c["rows"] if r.get("cache") == "cold"] or c["rows"]
    for c in cases.values():
        finish(c)
    order = ("identity", "fp16", "bf16")
    return dict(sorted(cases.items(), key=lambda item: item[1]["method"] in order)), refused


def finish(c):
    """Adds up the rows of a case; without any, takes its summary."""
    rows = c["rows"] = c["rows"] or [c["summary"]]
    whole = rows == [c.get("summary")]
    c["keeping"], c["lossy"] = collectives(rows[-1])
    c["exchanges"] = rows[0]["exchanges"] if whole else len({(r.get("step"), r.get("worker")) for r in rows})
    c["messages"] = rows[0]["messages"] if whole else len(rows)
    c["elements"], c["headers"] = total(rows, "elements"), sum(r.get("header_bytes") or 0 for r in rows)
    c["median"] = [total(rows, key) for key in KEYS]
    c["ends"] = [[total(rows, key + end) if key != "wire_bytes" else total(rows, key) for key in KEYS]
                 for end in ("_low", "_high")]
    c["fits"] = [None if math.isnan(c["median"][i]) else line([(4 * r["elements"], r[key]) for r in rows])
                 for i, key in enumerate(KEYS)]
    c["summed"] = not math.isnan(c["median"][3])
    c["whole"] = all(math.isnan(m) or not math.isnan(e) for m, e in zip(c["median"][:4], c["ends"][0]))


class Size:
    """The gradient, and how the measured values are scaled to it."""

    def __init__(self, c):
        own = 4 * c["elements"] / c["exchanges"], c["messages"] / c["exchanges"]
        self.bytes, self.messages = asked.get("bytes", own[0]), asked.get("messages", own[1])
        each, sizes = self.bytes / self.messages, [4 * r["elements"] for r in c["rows"]]
        self.own = (self.bytes, self.messages) == own
        self.extrapolated = not self.own and not min(sizes) / 2 <= each <= 2 * max(sizes)
        self.transfers = math.ceil(self.bytes / asked.get("bucket", 25 * 2**20))
        self.fitted = (self.bytes, self.messages) != own and all(c["fits"][:3])
        self.misses = [0.0] * 5
        for i, fit in enumerate(c["fits"]):
            ways = c["keeping"]
            used = (i == 0 if i == 0 or "coding" in asked else
                    bool(ways & {"allreduce", "twoshot"}) or math.isnan(c["median"][4]) if i == 2 else
                    not math.isnan(c["median"][i]))
            if self.fitted and used:
                self.misses[i] = max(fit[2], abs((fit[0] * c["messages"] + fit[1] * 4 * c["elements"]) / c["median"][i] - 1))
        ranked = [(miss / (0.75 if i else 0.5), -i) for i, miss in enumerate(self.misses)]
        worst, i = max(ranked)
        self.miss, self.doubt = self.misses[-i], NAMES[-i] if worst > 1 else None  # the first of the worst

    def quantity(self, c, i, bound):
        fit, measured = c["fits"][i], c["median"][i]
        if math.isnan(measured):
            return math.nan
        value = (fit[0] * self.messages + fit[1] * self.bytes if self.fitted
                 else measured * self.bytes / (4 * c["elements"]))
        if bound == MEDIAN:
            return value
        end = c["ends"][bound > 0][i]
        if math.isnan(end):
            return math.inf if bound else 0.0
        return value * end / measured * (1 + self.misses[i]) ** (1 if bound else -1)


# ---- loads ----

def finish_load(load, threads):
    m, w, rate = load["gradient"], load["bytes"], asked.get("coding")
    if rate:
        code = 0 if load["averages"] else (m + w) / rate
        load.update(encode=code, decode=code, sum=3 * w / rate, add=3 * w / rate, finish=m / rate,
                    add_gradient=3 * m / rate, **{"pass": 2 * m / rate})
    elif "cores" in asked:
        for key in ("encode", "decode", "sum", "finish", "add", "add_gradient", "pass"):
            load[key] *= max(1, threads / asked["cores"])
    return load


def begin_load(c, size):
    copy = c["copy"] if c["copy"] > 0 else math.inf
    return {"sizes": False, "transfers": size.transfers, "gradient": size.bytes, "headers": 0,
            "encode": 0, "decode": 0, "sum": 0, "finish": 0, "add": 0, "averages": 0, "copy": 0,
            "add_gradient": 1.5 * size.bytes / copy, "pass": size.bytes / copy}


def method_load(c, bound):
    size, row = Size(c), c["rows"][-1]
    load = begin_load(c, size)
    get = lambda i, at=bound: size.quantity(c, i, at)
    load.update(ways=c["keeping"], bytes=get(0), encode=get(1), decode=get(2),
                headers=c["headers"] * size.messages / c["messages"],
                sizes=any(r.get("fixed_length") is False for r in c["rows"]))
    load["add"] = load["add_gradient"] * load["bytes"] / size.bytes
    known = bound == MEDIAN or not math.isnan(c["ends"][0][4])
    one, many, most = get(3), get(4, bound if known else MEDIAN), get(3, HIGH - bound)
    if math.isnan(one):
        load["sum"] = 0 if bound == LOW else load["decode"] + load["add_gradient"]
    elif math.isnan(many) or not known:
        load.update(sum=one, finish=0 if bound == LOW else load["decode"])
        if bound == HIGH and many > 16 * most:
            load["finish"] = max(load["decode"], many - 16 * most)
        if bound == LOW and many < 16 * one:
            load["sum"] = many / 16
    else:
        load.update(sum=min(one, many / 16), finish=many if math.isinf(many) else max(0, many - 16 * most))
    if "copy" in asked and not row["device"].startswith("cuda"):
        load["copy"] = 2 * size.bytes / asked["copy"]
    return finish_load(load, row["threads"])


def baseline_load(name, cases, bound):
    first = next(iter(cases.values()))
    size = Size(first)
    load = begin_load(first, size)
    by_name = {c["method"]: c for c in cases.values() if c["method"] in ("identity", "fp16", "bf16")}
    c = by_name.get({"fp32": "identity"}.get(name, name))
    if name != "fp32" and not c:
        c = by_name.get("fp16") or by_name.get("bf16")
    load.update(ways={"allreduce"}, bytes=size.bytes / (1 if name == "fp32" else 2), averages=name == "fp32")
    load["add"] = load["add_gradient"] * load["bytes"] / size.bytes
    if c and name != "fp32":
        load.update(encode=Size(c).quantity(c, 1, bound), decode=Size(c).quantity(c, 2, bound))
    if c and c["summed"]:
        load["add"] = Size(c).quantity(c, 3, bound)
    return finish_load(load, first["rows"][-1]["threads"])


# ---- the model ----

def ways(n):
    """(collective, topology, algorithm): steps, bytes, headers, steps for sizes, encodes, decodes, sums, finishes, adds,
    averages."""
    lg, part = math.ceil(math.log2(n)), (n - 1) / n
    doubled = lg + (2 ** lg > n)
    twice = dict(encodes=1 + 1 / n, decodes=1, sums=1, finishes=1 / n, averages=1 + 1 / n, sizes=2 * lg)
    gather = dict(encodes=1, sums=n, finishes=1, sizes=lg)
    reduce = dict(encodes=1, decodes=1)
    sparse = dict(encodes=1, sums=2, finishes=1, sizes=2 * lg)
    return [
        ("allgather", "ring", "ring", n - 1, n - 1, 0, gather),
        ("allgather", "allgather", "doubling", lg, n - 1, 0, gather),
        ("allreduce", "ring", "ring", 2 * (n - 1), 2 * part, 0, dict(reduce, adds=part)),
        ("allreduce", "allgather", "halving", 2 * lg, 2 * part, 0, dict(reduce, adds=part)),
        ("allreduce", "best", "doubling", doubled, doubled, 0, dict(reduce, adds=lg)),
        ("twoshot", "ring", "pairwise", 2 * (n - 1), 2 * part, 2 * (n - 1) - 2 * part, twice),
        ("twoshot", "allgather", "tree", 2 * lg, lg / 2 + part, (lg / 2 + part) * (n - 1), twice),
        ("oktopk", "ring", "pairwise", 2 * (n + lg), 3 * part, 0, sparse),
        ("spardl", "allgather", "tree", 2 * lg, 2 * part, 0, sparse),
        ("allreduce", "ps", "server", 2, 2 * n, 0, dict(reduce, adds=n - 1)),
        ("allgather", "ps", "server", 2, 2 * n, 0, dict(encodes=2, decodes=1, sums=n, finishes=1, sizes=2)),
    ]


def times(load, row, workers, bandwidth, strict=False):
    """The fastest way, and its figures. `bandwidth` may be an array: then only the least cost. `strict`: only of the topology
    that was asked for; None if it has no way."""
    n, latency, m = workers / p, row["latency_seconds"], load["transfers"]
    for asking in (topology,) if strict else (topology, "best"):
        found = [w for w in ways(n) if w[0] in load["ways"] and
                 (w[1] != "ps" if asking == "best" else w[1] == asking)]
        if found:
            break
    best = None
    for collective, _, algorithm, steps, bytes_, headers, work in found:
        values = collective == "allreduce"
        share, others = (1 if values else 1 / p), (p - 1) / p
        t = {"collective": collective, "algorithm": algorithm}
        times_of = lambda count, key: work.get(count, 0) * load[key] if work.get(count, 0) else 0.0
        t["encode"], t["decode"] = share * times_of("encodes", "encode"), share * times_of("decodes", "decode")
        t["average"] = share * (load["averages"] + work.get("averages", 0)) * load["pass"]
        t["copy"] = load["copy"]
        t["adds"] = work.get("sums", 0) + work.get("adds", 0)
        t["add"] = (times_of("sums", "sum") + times_of("finishes", "finish") + times_of("adds", "add")) / p
        t["sizes"] = work.get("sizes", 0) * m * latency if load["sizes"] else 0.0
        t["link_bytes"] = bytes_ * load["bytes"] + headers * load["headers"]
        sent, t["steps"] = t["link_bytes"] / bandwidth, steps * m
        t["wire"], t["inside"] = steps * m * latency + sent, 0.0
        if p > 1:
            t["add"] += others * load["add" if values else "add_gradient"]
            t["inside"] = (2 * math.ceil(math.log2(p)) * m * latency
                           + 2 * others * load["bytes" if values else "gradient"] / asked["intra"])
        coding = t["encode"] + t["decode"] + t["add"] + t["average"] + t["copy"]
        t["seconds"] = coding + t["wire"] + t["sizes"] + t["inside"]
        t["cost"] = t["seconds"] / inner
        if compute is not None and inner == 1:
            delay, sent = steps * m * latency + t["sizes"], sent + t["inside"]
            busy = compute + coding
            t["cost"] = np.maximum(busy + (delay + sent) / m, busy / m + delay + sent) - compute
        if np.ndim(bandwidth):
            best = t["cost"] if best is None else np.minimum(best, t["cost"])
        elif best is None or t["cost"] < best["cost"]:
            best = t
    return best


def cost(load, row, workers, bandwidth):
    t = times(load, row, workers, bandwidth)
    return t if np.ndim(bandwidth) else t["cost"]


class Loads:
    def __init__(self, cases, c=None, name=None):
        self.baselines = [[baseline_load(b, cases, bound) for b in BASELINES] for bound in range(3)]
        self.method = [method_load(c, bound) if c else self.baselines[bound][BASELINES.index(name)] for bound in range(3)]
        self.lossy = dict(self.method[MEDIAN], ways=c["lossy"]) if c and c["lossy"] else None

    def saves(self, row, bound, workers, bandwidth):
        """Is the method cheaper than all baselines? LOW: certainly; HIGH: perhaps."""
        return self.beats(self.method[HIGH - bound], row, bound, workers, bandwidth)

    def beats(self, load, row, bound, workers, bandwidth):
        bar = [cost(b, row, workers, bandwidth) for b in self.baselines[bound]]
        return cost(load, row, workers, bandwidth) < np.minimum(np.minimum(*bar[:2]), bar[2])

    def ranges(self, row, bound, load=None):
        load = load or self.method[HIGH - bound]
        grid = 1.1 ** np.arange(436)
        grid = grid[grid < 1e18]
        inside = self.beats(load, row, bound, row["workers"], grid)
        ends = [0.0] if inside[0] else []
        for k in np.flatnonzero(inside[1:] != inside[:-1]):
            low, high = grid[k], grid[k + 1]
            for _ in range(50):
                middle = math.sqrt(low * high)
                low, high = (middle, high) if self.beats(load, row, bound, row["workers"], middle) == inside[k] else (low, middle)
            ends.append(math.sqrt(low * high))
        ends += [math.inf] * (len(ends) % 2)
        return list(zip(ends[::2], ends[1::2]))
