"""Computes payoff again from the result rows, with NumPy and the formulas of docs/payoff.md: all figures of its rows, and
all sentences that it prints.

    check_payoff.py RESULTS ROWS TEXT FULL [bytes=N] [messages=N] [bucket=N] [compute=S] [inner=H] [cores=N]
                    [coding=BYTES/S] [copy=BYTES/S] [per_node=P] [intra=BYTES/S] [topology=NAME]

ROWS, TEXT and FULL are the outputs of `payoff --format json`, `payoff` and `payoff -v` for RESULTS with the same options.
"""
import json
import math
import re
import sys

import numpy as np

RESULTS, ROWS, TEXT, FULL = sys.argv[1:5]
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


def read():
    cases, copy = {}, math.nan
    for row in map(json.loads, open(RESULTS)):
        if row["record"] == "environment":
            copy = 1e9 * number(row["copy_gbps"])
        if row["record"] == "result" and row["status"] == "ok" and row["method"] != "memcpy":
            cases.setdefault(row["spec"], {"rows": [], "method": row["method"], "copy": copy})["rows"].append(row)
    for c in cases.values():
        rows = c["rows"]
        c["exchanges"] = len({(r["step"], r["worker"]) for r in rows})
        c["elements"], c["headers"] = total(rows, "elements"), total(rows, "header_bytes")
        c["median"] = [total(rows, key) for key in KEYS]
        c["ends"] = [[total(rows, key + end) if key != "wire_bytes" else total(rows, key) for key in KEYS]
                     for end in ("_low", "_high")]
        c["fits"] = [None if math.isnan(c["median"][i]) else line([(4 * r["elements"], r[key]) for r in rows])
                     for i, key in enumerate(KEYS)]
        c["summed"] = not math.isnan(c["median"][3])
        c["whole"] = all(math.isnan(m) or not math.isnan(e) for m, e in zip(c["median"][:4], c["ends"][0]))
    return cases


class Size:
    """The gradient, and how the measured values are scaled to it."""

    def __init__(self, c):
        own = 4 * c["elements"] / c["exchanges"], len(c["rows"]) / c["exchanges"]
        self.bytes, self.messages = asked.get("bytes", own[0]), asked.get("messages", own[1])
        self.transfers = math.ceil(self.bytes / asked.get("bucket", 25 * 2**20))
        self.fitted = (self.bytes, self.messages) != own and all(c["fits"][:3])
        self.misses = [0.0] * 5
        for i, fit in enumerate(c["fits"]):
            ways = set(c["rows"][-1].get("collectives") or [])
            used = (i == 0 if i == 0 or "coding" in asked else
                    bool(ways & {"allreduce", "twoshot"}) or math.isnan(c["median"][4]) if i == 2 else
                    not math.isnan(c["median"][i]))
            if self.fitted and used:
                self.misses[i] = max(fit[2], abs((fit[0] * len(c["rows"]) + fit[1] * 4 * c["elements"]) / c["median"][i] - 1))
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
    return {"rounds": 1, "sizes": False, "transfers": size.transfers, "gradient": size.bytes, "headers": 0,
            "encode": 0, "decode": 0, "sum": 0, "finish": 0, "add": 0, "averages": 0, "copy": 0,
            "add_gradient": 1.5 * size.bytes / copy, "pass": size.bytes / copy}


def method_load(c, bound):
    size, row = Size(c), c["rows"][-1]
    load = begin_load(c, size)
    get = lambda i, at=bound: size.quantity(c, i, at)
    load.update(ways=set(row.get("collectives") or ["allgather"]), bytes=get(0), encode=get(1), decode=get(2),
                headers=c["headers"] * size.messages / len(c["rows"]),
                sizes=any(r.get("fixed_length") is False for r in c["rows"]))
    if row.get("collective") == "allreduce":
        load["rounds"] = row["rounds"] or 1
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

def ways(n, r):
    """(collective, topology, algorithm): steps, bytes, headers, steps for sizes, encodes, decodes, sums, finishes, adds,
    averages."""
    lg, part = math.ceil(math.log2(n)), (n - 1) / n
    twice = dict(encodes=1 + 1 / n, decodes=1, sums=1, finishes=1 / n, averages=1 + 1 / n, sizes=2 * lg)
    gather = dict(encodes=1, sums=n, finishes=1, sizes=lg)
    reduce = dict(encodes=1, decodes=1)
    sparse = dict(encodes=1, sums=2, finishes=1, sizes=2 * lg)
    return [
        ("allgather", "ring", "ring", n - 1, n - 1, 0, gather),
        ("allgather", "allgather", "doubling", lg, n - 1, 0, gather),
        ("allreduce", "ring", "ring", 2 * (n - 1) * r, 2 * part, 0, dict(reduce, adds=part)),
        ("allreduce", "allgather", "halving", 2 * lg * r, 2 * part, 0, dict(reduce, adds=part)),
        ("allreduce", "best", "doubling", lg * r, lg, 0, dict(reduce, adds=lg)),
        ("twoshot", "ring", "pairwise", 2 * (n - 1), 2 * part, 2 * (n - 1) - 2 * part, twice),
        ("twoshot", "allgather", "tree", 2 * lg, lg / 2 + part, (lg / 2 + part) * (n - 1), twice),
        ("oktopk", "ring", "pairwise", 2 * (n + lg), 3 * part, 0, sparse),
        ("spardl", "allgather", "tree", 2 * lg, 2 * part, 0, sparse),
        ("allreduce", "ps", "server", 2, 2 * n, 0, dict(reduce, adds=n - 1)),
        ("allgather", "ps", "server", 2, 2 * n, 0, dict(encodes=2, decodes=1, sums=n, finishes=1, sizes=2)),
    ]


def times(load, row, workers, bandwidth):
    """The fastest way, and its figures. `bandwidth` may be an array: then only the least cost."""
    n, latency, m = workers / p, row["latency_seconds"], load["transfers"]
    for asking in (topology, "best"):
        found = [w for w in ways(n, load["rounds"]) if w[0] in load["ways"] and
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

    def saves(self, row, bound, workers, bandwidth):
        """Is the method cheaper than all baselines? LOW: certainly; HIGH: perhaps."""
        bar = [cost(b, row, workers, bandwidth) for b in self.baselines[bound]]
        return cost(self.method[HIGH - bound], row, workers, bandwidth) < np.minimum(np.minimum(*bar[:2]), bar[2])

    def ranges(self, row, bound):
        grid = 1.1 ** np.arange(436)
        grid = grid[grid < 1e18]
        inside = self.saves(row, bound, row["workers"], grid)
        ends = [0.0] if inside[0] else []
        for k in np.flatnonzero(inside[1:] != inside[:-1]):
            low, high = grid[k], grid[k + 1]
            for _ in range(50):
                middle = math.sqrt(low * high)
                low, high = (middle, high) if self.saves(row, bound, row["workers"], middle) == inside[k] else (low, middle)
            ends.append(math.sqrt(low * high))
        ends += [math.inf] * (len(ends) % 2)
        return list(zip(ends[::2], ends[1::2]))


# ---- the words ----

def rate(bandwidth):
    bits = 8 * bandwidth
    for unit, name in ((1e12, "Tb/s"), (1e9, "Gb/s"), (1e6, "Mb/s"), (1e3, "kb/s"), (1, "b/s")):
        if bits >= 0.9995 * unit or unit == 1:
            return f"{bits / unit:.3g} {name}" if bits < 1e15 else f"{bits / unit:.2e} {name}"


def range_words(ranges):
    said = []
    for low, high in ranges:
        said.append("at any bandwidth" if low == 0 and math.isinf(high) else f"above {rate(low)}" if math.isinf(high)
                    else f"between {rate(low)} and {rate(high)}" if low else f"below {rate(high)}")
    return " and ".join(said) or "at no bandwidth"


class Verdict:
    def __init__(self, row, cases, c):
        self.row, self.size, n = row, Size(c), row["workers"]
        self.loads = loads = Loads(cases, c)
        b = self.bandwidth = row["bandwidth_gbit"] * 1e9 / 8
        self.mine = [times(m, row, n, b) for m in loads.method]
        bars = [[times(load, row, n, b) for load in each] for each in loads.baselines]
        self.bar_name = min(BASELINES, key=lambda name: bars[MEDIAN][BASELINES.index(name)]["cost"])
        self.bar = bars[MEDIAN][BASELINES.index(self.bar_name)]
        self.speedups = [t["cost"] / self.mine[MEDIAN]["cost"] for t in bars[MEDIAN]]
        least = [min(t["cost"] for t in each) for each in bars]
        self.low = least[LOW] / self.mine[HIGH]["cost"]
        self.high = least[HIGH] / self.mine[LOW]["cost"] if self.mine[LOW]["cost"] else math.inf

    def doubt(self):
        return f"doubtful: fitted and measured {self.size.doubt} differ by {100 * min(self.size.miss, 9.99):.0f} %"

    def why(self):
        m, bar, name = self.mine[MEDIAN], self.bar, self.bar_name
        if m["link_bytes"] >= 1.005 * bar["link_bytes"]:
            return f"sends {m['link_bytes'] / bar['link_bytes']:.3g} times the bytes of {name}"
        if m["link_bytes"] >= bar["link_bytes"]:
            return f"sends as many bytes as {name}"
        if m["encode"] > bar["seconds"]:
            return f"encoding takes longer than sending {name}"
        if m["add"] > bar["seconds"]:
            return f"adding {m['adds']:.6g} messages takes longer than sending {name}"
        if m["copy"] > 0 and m["seconds"] - m["copy"] < bar["seconds"]:
            return "copying to the host and back takes too long"
        return "coding takes longer than it saves"

    def curve(self):
        if self.size.doubt:
            return self.doubt()
        certain, median, perhaps = (self.loads.ranges(self.row, bound) for bound in range(3))
        if not perhaps:
            return "never: " + self.why()
        if not certain:
            return "undecided; by the medians it pays " + range_words(median)
        short, long = range_words(certain), range_words(perhaps)
        both = f"pays {short}, perhaps {long}"
        return f"pays {short}" if short == long or len(both) > 62 else both

    def workers(self):
        least, most = self.row["workers_least"], self.row["workers_most"]
        if least > 2 * p and most < 65536:
            return f"{least} workers" if least == most else f"{least} to {most} workers"
        return (f"{least} workers or more" if least > 2 * p else f"up to {most} workers" if most < 65536
                else "any number of workers")

    def here(self):
        row, least, most = self.row, self.row["workers_least"], self.row["workers_most"]
        if self.size.doubt:
            return self.doubt()
        if self.low > 1:
            return "pays with " + (self.workers() if least <= row["workers"] <= most else f"{row['workers']} workers")
        if self.high > 1 and self.low > 0 and math.isfinite(self.high):
            return f"undecided: {self.low:.3g} to {self.high:.3g} times as fast as {self.bar_name}"
        if self.high > 1:
            return f"undecided: about {max(min(self.speedups), 0):.3g} times as fast as {self.bar_name}"
        return "no, only with " + self.workers() if least else "no: " + self.why()

    def words(self):
        if self.size.doubt:
            return self.doubt()
        m, bar = self.mine[MEDIAN], self.bar
        return (f"{self.curve()[:62]}; at {rate(self.bandwidth)} with {self.row['workers']} workers: {self.here()[:62]}; "
                f"by {m['collective']} ({m['algorithm']}), {self.bar_name} by {bar['collective']} ({bar['algorithm']})")


# ---- checks ----

def close(a, b, what):
    if math.isinf(b):
        assert a is None, (what, a, b)
    else:
        exact = 1e-6 if "bytes" in asked or "messages" in asked else 1e-9  # lines are fitted in other ways
        assert a is not None and abs(a - b) <= exact * abs(b) + 1e-15, (what, a, b)


def check_workers(row, loads):
    """Checks the first range of workers for which it certainly pays. There may be more: trees get a step more at powers of
    two."""
    bandwidth, least, most = row["bandwidth_gbit"] * 1e9 / 8, row["workers_least"], row["workers_most"]
    saves = lambda n: loads.saves(row, LOW, n, bandwidth)
    step = int(p)
    for n in range(2 * step, min(least or 64 * step, 64 * step), step):
        assert not saves(n), (n, row)
    if least:
        for n in {least, min(least + step, most), (least + most) // 2 // step * step, most}:
            if n <= 256 * step:
                assert saves(max(n, least)), (n, row)
    if 0 < most < 65536:
        assert not saves(most + step), row


def check_row(row, cases):
    c = None if row["baseline"] else cases[row["spec"]]
    loads = Loads(cases, c, row["method"])
    bandwidth = row["bandwidth_gbit"] * 1e9 / 8
    t = [times(load, row, row["workers"], bandwidth) for load in loads.method]
    bars = [times(load, row, row["workers"], bandwidth)["cost"] for load in loads.baselines[MEDIAN]]
    for key, name in (("encode_seconds", "encode"), ("wire_seconds", "wire"), ("sizes_seconds", "sizes"),
                      ("inside_seconds", "inside"), ("decode_seconds", "decode"), ("add_seconds", "add"),
                      ("average_seconds", "average"), ("host_copy_seconds", "copy"), ("seconds", "seconds"),
                      ("link_bytes", "link_bytes"), ("latency_steps", "steps"), ("adds", "adds")):
        close(row[key], t[MEDIAN][name], key)
    close(row["seconds_low"], t[LOW]["seconds"], "seconds_low")
    close(row["seconds_high"], t[HIGH]["seconds"], "seconds_high")
    assert (row["collective"], row["algorithm"]) == (t[MEDIAN]["collective"], t[MEDIAN]["algorithm"]), row
    for name, bar in zip(BASELINES, bars):
        close(row["speedup_" + name], bar / t[MEDIAN]["cost"], name)
    close(row["speedup_bar"], min(bars) / t[MEDIAN]["cost"], "speedup_bar")
    if compute is not None:
        close(row["exposed_seconds"], t[MEDIAN]["cost"], "exposed")
    if row["baseline"]:
        assert row["pays"] is None and row["verdict"] is None, row
        return
    size = Size(c)
    close(row["wire_bytes"], loads.method[MEDIAN]["bytes"], "wire_bytes")
    assert row["doubtful"] == size.doubt and row["adding_measured"] == c["summed"], row
    v = Verdict(row, cases, c)
    close(row["speedup_bar_low"], v.low, "speedup_bar_low")
    close(row["speedup_bar_high"], v.high, "speedup_bar_high")
    assert row["bar"] == v.bar_name, row
    undecided = v.low <= 1 < v.high
    assert row["undecided"] == (None if size.doubt else undecided), row
    assert row["pays"] == (None if size.doubt or undecided else v.low > 1), row
    for bound, key in enumerate(("pays_below_low_gbit", "pays_below_gbit", "pays_below_high_gbit")):
        first = loads.ranges(row, bound)[:1]
        below = first[0][1] if first and first[0][0] == 0 else 0.0
        close(row[key], 8e-9 * below, key)
    check_workers(row, loads)
    assert row["verdict"] == v.words(), (row["verdict"], v.words())


def plural(n, noun):
    return f"{n:.6g} {noun}" + ("" if n == 1 else "s")


def notes(rows, cases):
    """What follows the verdicts."""
    own = [cases[r["spec"]] for r in rows if not r["baseline"]]
    own = list({id(c): c for c in own}.values())
    methods = {c["method"] for c in cases.values()}
    said = []
    without = [c for c in own if not c["whole"]]
    unmeasured = [c for c in own if not c["summed"]]
    if not methods & {"fp16", "bf16"}:
        said.append("conversions to fp16 and bf16 count as free, because the results have rows of neither")
    if own and own[0]["rows"][0]["cache"] == "warm":
        said.append("times are those of warm caches; in training they may be twice as long: measure with `bench --cache cold`")
    if unmeasured:
        said.append(f"adding messages was not measured for {len(unmeasured)} of {len(own)} methods: each is charged as a "
                    "decoding and an addition, the most that it can take; `bench` measures it")
    if any(r["collective"] not in ("allgather", "allreduce") for r in rows if not r["baseline"]):
        said.append("twoshot, oktopk and spardl compress sums again, so methods that travel by them (-v) have a larger error "
                    "than rel L2")
    if without:
        said.append(f"times of {len(without)} of {len(own)} methods have no interval, because some messages were timed fewer "
                    "than 6 times: --repeat 9 of sweep, bench or compress gives intervals")
    return said


def check_text(rows, cases):
    """Every verdict and note of the tables. The text is wrapped, so compare it without white space at line ends."""
    printed, full = open(TEXT).read(), open(FULL).read()
    flat, flat_full = (re.sub(r"\s+", " ", text) for text in (printed, full))
    several = len({r["bandwidth_gbit"] for r in rows}) > 1
    tables = [row for row in rows if not row["baseline"] and row["bandwidth_gbit"] == rows[0]["bandwidth_gbit"]]
    lines = [re.split(r"\s{2,}", text.strip()) for text in printed.splitlines() if re.match(r"  \S", text)]
    got = [cells[-1] for cells in lines if len(cells) == 2 and cells != ["method", "verdict"]]
    got = [text for text in got if re.match(r"pays|no|never|undecided|doubtful", text)]
    want = [(v.curve() if several else v.here())[:62] for v in (Verdict(row, cases, cases[row["spec"]]) for row in tables)]
    assert got == want, [pair for pair in zip(got, want) if pair[0] != pair[1]] or (got, want)
    for row in rows:
        if not row["baseline"]:
            assert f"{row['label']}: {row['verdict']}" in flat_full, row["verdict"]
    for r in tables:
        head = (f"{plural(r['messages'], 'message')} in {plural(r['transfers'], 'transfer')}, {r['workers']} workers"
                + (f" in {int(r['workers'] / p)} nodes, {rate(asked['intra'])} inside" if p > 1 else "")
                + (f", {topology}" if topology != "best" else ""))
        assert head in flat, head
    if inner > 1:
        assert f"once in {inner:.6g} steps" in flat
    for note in notes(rows, cases):
        assert "note: " + note in flat, note
    known = ("conversions to", "times are those", "adding messages", "some methods", "times of ")
    for note in re.findall(r"note: (.*?)(?= note: |$)", flat):
        if note.startswith(known):
            assert note.strip() in notes(rows, cases), note


def main():
    cases = read()
    rows = [r for r in map(json.loads, open(ROWS)) if r["record"] == "payoff" and r["model"] == "exchange"]
    for row in rows:
        check_row(row, cases)
    assert len(rows) >= 4, len(rows)
    check_text(rows, cases)


main()
