"""Every sentence and table of `payoff`, for check_payoff.py, from the model of payoff_model.py: numbers as tables show them,
verdicts, notes, the FFT paper's condition, and the answer."""
import math
import re

from payoff_model import (BASELINES, HIGH, LOW, MEDIAN, Loads, Size, asked, compute, inner, number, p, times, topology, total)

LOSSY = {"twoshot", "oktopk", "spardl"}


# ---- numbers ----

def digits(value, n):
    if not math.isfinite(value):
        return "-"
    if value and not 1e-3 <= abs(value) < 1e7:
        return f"{value:.{n - 1}e}"
    return f"{value:.{max(0, n - 1 - math.floor(math.log10(abs(value)))) if abs(value) >= 1 else n}f}"


def seconds(value):
    if value == 0 or not math.isfinite(value):
        return "0 s" if value == 0 else "-"
    for unit in ("s", "ms", "us", "ns"):
        if not 0 < value < 0.9995 or unit == "ns":
            return f"{digits(value, 3)} {unit}"
        value *= 1000


def size_text(value):
    mib, shown = value / 2**20, value
    for unit in ("bytes", "kB", "MB", "GB", "TB", "PB"):
        if shown < 1000 or unit == "PB":
            break
        shown /= 1000
    text = f"{shown:.0f} {unit}" if unit == "bytes" else f"{shown:.{1 if shown < 100 else 0}f} {unit}"
    return text + (f" ({mib:.0f} MiB)" if 1 <= mib < 1e6 and mib == int(mib) else "")


def error_text(value):
    return "0" if value == 0 else digits(value, 2 if abs(value) < 1e-3 else 4)


def plural(n, noun):
    return f"{n:.6g} {noun}" + ("" if n == 1 else "s")


def rate(bandwidth):
    bits = 8 * bandwidth
    for unit, name in ((1e12, "Tb/s"), (1e9, "Gb/s"), (1e6, "Mb/s"), (1e3, "kb/s"), (1, "b/s")):
        if bits >= 0.9995 * unit or unit == 1:
            return f"{bits / unit:.3g} {name}" if bits < 1e15 else f"{bits / unit:.2e} {name}"


# ---- verdicts ----

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
        self.speedup = self.bar["cost"] / self.mine[MEDIAN]["cost"]
        self.answer = None if self.size.doubt else "pays" if self.low > 1 else "undecided" if self.high > 1 else "no"
        self.lossy, self.possible = None, loads.lossy and times(loads.lossy, row, n, b, strict=True)
        if self.possible and 1.1 * self.possible["cost"] < self.mine[MEDIAN]["cost"]:
            self.lossy = self.possible

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

    def lossy_end(self):
        """Up to which bandwidth a collective that enlarges the error pays, and which one there; None if not much further."""
        first = lambda found: found[0][1] if found and found[0][0] == 0 else 0.0
        if not self.possible:
            return None
        end = first(self.loads.ranges(self.row, MEDIAN, self.loads.lossy))
        if not end > 1.1 * first(self.loads.ranges(self.row, MEDIAN)):
            return None
        there = times(self.loads.lossy, self.row, self.row["workers"], 1e18 if math.isinf(end) else end)
        return f"; with a larger error by {there['collective']}: " + (
            "at any bandwidth" if math.isinf(end) else f"below {rate(end)}")

    def curve(self):
        if self.size.doubt:
            return self.doubt()
        certain, median, perhaps = (self.loads.ranges(self.row, bound) for bound in range(3))
        short, long = range_words(certain), range_words(perhaps)
        said = ("never: " + self.why() if not perhaps
                else "undecided; by the medians it pays " + range_words(median) if not certain
                else f"pays {short}" + (f", perhaps {long}" if short != long else ""))
        return said + (self.lossy_end() or "")

    def workers(self):
        least, most = self.row["workers_least"], self.row["workers_most"]
        if least > 2 * p and most < 65536:
            return f"{least} workers" if least == most else f"{least} to {most} workers"
        return (f"{least} workers or more" if least > 2 * p else f"up to {most} workers" if most < 65536
                else "any number of workers")

    def here(self):
        if self.size.doubt:
            return self.doubt()
        said = self.decided()
        if self.lossy and self.bar["cost"] > self.lossy["cost"]:
            said += (f"; with a larger error by {self.lossy['collective']}: about "
                     f"{self.bar['cost'] / self.lossy['cost']:.3g} times as fast")
        return said

    def decided(self):
        row, least, most = self.row, self.row["workers_least"], self.row["workers_most"]
        if self.low > 1:
            return "pays with " + (self.workers() if least <= row["workers"] <= most else f"{row['workers']} workers")
        if self.high > 1 and self.low > 0 and math.isfinite(self.high):
            return f"undecided: {self.low:.3g} to {self.high:.3g} times as fast as {self.bar_name}"
        if self.high > 1:
            return f"undecided: about {self.speedup:.3g} times as fast as {self.bar_name}"
        return "no, only with " + self.workers() if least else "no: " + self.why()

    def words(self):
        if self.size.doubt:
            return self.doubt()
        m, bar = self.mine[MEDIAN], self.bar
        return (f"{self.curve()}; at {rate(self.bandwidth)} with {self.row['workers']} workers: {self.here()}; "
                f"by {m['collective']} ({m['algorithm']}), {self.bar_name} by {bar['collective']} ({bar['algorithm']})")


# ---- tables ----

def head(row, grid, results):
    nodes = f" in {int(row['workers'] / p)} nodes, {rate(asked['intra'])} inside" if p > 1 else ""
    first = (f"gradient of {size_text(row['gradient_bytes'])}, {plural(row['messages'], 'message')} in "
             f"{plural(row['transfers'], 'transfer')}, {row['workers']} workers{nodes}"
             + (f", {topology}" if topology != "best" else "") + f", {seconds(row['latency_seconds'])} latency"
             + (f", {rate(row['bandwidth_gbit'] * 1e9 / 8)}" if len(grid) == 1 else ""))
    if compute is not None:
        first += f", {'after' if inner > 1 else 'overlapping'} {seconds(compute)} of computation"
    if inner > 1:
        first += f", once in {inner:.6g} steps"
    threads = f"{row['threads']} thread" + ("" if row["threads"] == 1 else "s")
    return [first, f"times of {results}: scope {row['scope']}, {row['device']}, {threads}, {row['isa']}"
            + (f", cache {row['cache']}" if row["cache"] else "")]


def table(rows, grid):
    """The rows of one number of workers."""
    firsts = [r for r in rows if r["bandwidth_gbit"] == grid[0]]
    shown = grid if len(grid) <= 4 else [grid[i * (len(grid) - 1) // 3] for i in range(4)]
    one, star = len(grid) == 1, lambda r: "*" if r["doubtful"] and not r["baseline"] else ""
    costs = lambda r: (r["exposed_seconds"] if compute is not None and inner == 1 else r["seconds"] / inner)
    lines = [["method", "rel L2"] + (["encode", "wire", "add", "total" if compute is None else "exposed",
                                      "x " + firsts[0]["bar"]] if one else [rate(b * 1e9 / 8) for b in shown])]
    for first in firsts:
        error = first["rel_l2"]
        line = [first["label"], "-" if error is None else "<0.001" if 0 < error < 1e-3 else error_text(error)]
        if one:
            work = [("encode", "host_copy"), ("wire", "sizes", "inside"), ("decode", "add", "average")]
            line += [seconds(sum(first[key + "_seconds"] for key in keys)) for keys in work] + [seconds(costs(first))]
            gain = first["speedup_bar"]
            line.append("<0.001" if gain < 1e-3 else digits(gain, 2 if star(first) else 3) + star(first))
        else:
            at = {r["bandwidth_gbit"]: r for r in rows if r["label"] == first["label"]}
            line += [seconds(costs(at[b])) + star(first) for b in shown]
        lines.append(line)
    return [" ".join(line) for line in lines]


def verdicts(found, grid, full):
    if full:
        return [f"{v.row['label']} {v.words()}" for v in found]
    return [f"{v.row['label']} {v.here() if len(grid) == 1 else v.curve()}" for v in found
            if v.row["bandwidth_gbit"] == grid[0]]


# ---- what follows ----

def stages(cases, labels, grid):
    """The FFT paper's condition of each method whose stages were timed."""
    said = []
    for spec, c in cases.items():
        t = [total(c["rows"], key + "_seconds") for key in ("transform", "select", "quantise", "index")]
        if spec not in labels or any(math.isnan(x) for x in t):
            continue
        size, paid = 4 * c["elements"], sum(t)
        gbps = [size * factor / x / 1e9 if x else math.inf for x, factor in zip(t, (1, 1, 4, 1))]
        names = ", ".join(f"{name} " + ("free" if math.isinf(g) else digits(g, 3))
                          for name, g in zip(("Tf", "Ts", "Tm", "Tp"), gbps))
        line = f"{labels[spec]}, the FFT paper's condition: {names} GB/s; ratio {digits(size / c['median'][0], 3)};"
        for b in (b * 1e9 / 8 for b in grid[:4]):
            share = 2 * paid / size * b
            if share < 1:
                line += f" k_min {digits(1 / (1 - share), 3)} at {rate(b)},"
        said.append(line + f" no ratio pays from {rate(size / (2 * paid))} on")
    return said


def notes(found, cases, grid):
    """`found`: the verdicts for the last number of workers. The order is that of the command."""
    firsts = [v for v in found if v.row["bandwidth_gbit"] == grid[0]]
    own = [cases[v.row["spec"]] for v in firsts]
    sizes = [v.size for v in firsts] + [Size(next(iter(cases.values())))]
    methods, said = {c["method"] for c in cases.values()}, []
    first = own[0]
    extrapolated = any(s.extrapolated for s in sizes)
    if all(s.fitted for s in sizes):
        said.append("times are from fitted lines, with a fixed part per message and a part per byte")
    elif extrapolated:
        said.append("only one message size was measured, so times are scaled in proportion")
    if extrapolated:
        said.append("the messages are of a size that was not measured, so times are extrapolated")
    if sizes[-1].bytes != 4 * first["elements"] / first["exchanges"]:
        said.append("rel L2 is that of the measured tensors, not of a gradient of this size")
    if any(s.doubt for s in sizes[:-1]):
        said.append("* and doubtful: the fitted lines miss the measured values, because messages were coded in different "
                    "ways, large messages leave the caches, or the machine was busy")
    if not methods & {"fp16", "bf16"}:
        said.append("conversions to fp16 and bf16 count as free, because the results have rows of neither")
    if not first["copy"] > 0:
        said.append("adding and weighting fp32 count as free, because the results have no copy_gbps")
    if first["rows"][0].get("cache") == "warm":
        said.append("times are those of warm caches; in training they may be twice as long: measure with `bench --cache cold`")
    unmeasured, without = [c for c in own if not c["summed"]], [c for c in own if not c["whole"]]
    if unmeasured:
        said.append(f"adding messages was not measured for {len(unmeasured)} of {len(own)} methods: each is charged as a "
                    "decoding and an addition, the most that it can take; `bench` measures it, and `sweep` with --repeat")
    if any(c["keeping"] & LOSSY or (v.lossy and v.bar["cost"] > v.lossy["cost"] if len(grid) == 1 else v.lossy_end())
           for v, c in zip(firsts, own)):
        said.append("twoshot, oktopk and spardl compress sums again, so their error is larger than rel L2; measure it with "
                    "`replay --method METHOD:collective=...`")
    if without:
        said.append(f"times of {len(without)} of {len(own)} methods have no interval, because some messages were timed fewer "
                    "than 6 times: --repeat 9 of sweep, bench or compress gives intervals")
    load, cpus = first["load"]
    if load > 0.5 * cpus:
        said.append(f"measured at load {load:.1f} on {cpus:.0f} cpu{'' if cpus == 1 else 's'}, so times may be too long")
    errors = [v.row["rel_l2"] for v in firsts if v.row["rel_l2"] is not None]
    missed = sum(misses(c) for c in own)
    if errors and all(searched(c) for c in own):
        if missed:
            said.append(f"{missed} of these methods cannot meet the target of the search: see rel L2")
    elif errors and max(errors) > 1.5 * min(errors):
        said.append("the errors of these methods differ; to compare them at equal error, run `gcbench sweep --match rel_l2=0.4 "
                    "--repeat 9 --results s.json FILE`, then `gcbench payoff s.json`")
    if len(grid) > 4:
        said.append(f"4 of {len(grid)} bandwidths are shown; --format json has all")
    return ["note: " + text for text in said]


# ---- the answer ----

def searched(c):
    return c.get("summary", {}).get("match_field") is not None


def misses(c):
    return searched(c) and not c["summary"]["match_reached"]


def best(found, cases):
    """(answer, the verdict that is named, which one it is among how many) for one number of workers and bandwidth."""
    counted = [v for v in found if v.answer and not misses(cases[v.row["spec"]])]
    for answer in ("pays", "undecided"):
        able = [v for v in counted if v.answer == answer]
        if not able:
            continue
        errors = [v.row["rel_l2"] for v in able]
        targets = {cases[v.row["spec"]].get("summary", {}).get("match_target") for v in able}
        fastest = (answer == "undecided" or (len(targets) == 1 and None not in targets)
                   or max(errors) <= 1.5 * min(errors))
        v = (max(able, key=lambda v: v.speedup) if fastest
             else min(able, key=lambda v: (v.row["rel_l2"], -v.speedup)))
        return answer, v, fastest, len(able)
    return ("no" if counted else None), None, None, 0


def gain(answer, v, fastest, count, cases):
    said = f"{v.row['label']} is {v.speedup:.3g} times as fast as {v.bar_name}"
    if answer == "pays":
        said += f" ({v.low:.3g} to {v.high:.3g})" if math.isfinite(v.high) else f" (at least {v.low:.3g})"
    if v.row["rel_l2"] is not None:
        more = "more than " if cases[v.row["spec"]]["keeping"] & LOSSY else ""
        said += f", with an error of {more}{error_text(v.row['rel_l2'])}"
    if count > 1:
        said += (f", the {'fastest' if fastest else 'most accurate'} of {count} methods that "
                 + ("pay" if answer == "pays" else "may pay"))
    return said


def listed(values, before, noun, after=""):
    if len(values) > 4:
        return f"{before} {len(values)} {noun} from {values[0]} to {values[-1]}"
    return f"{before} " + " and ".join([", ".join(values[:-1])] * (len(values) > 1) + values[-1:]) + after


def answer(places, cases):
    """`places`: {(workers, bandwidth in Gb/s): verdicts}, in order."""
    found = {place: best(v, cases) for place, v in places.items()}
    where = lambda place: f"at {rate(place[1] * 1e9 / 8)} with {place[0]} workers"
    if all(f[0] is None for f in found.values()):
        return "none, because every method is doubtful or misses its target"
    if len(found) == 1:
        (place, f), = found.items()
        if f[0] in (None, "no"):
            return f"nothing beats {next(iter(places.values()))[0].bar_name} {where(place)}"
        return (f"compression pays {where(place)}: " if f[0] == "pays" else
                f"undecided {where(place)}, because the intervals of the times are too wide or missing; by the medians ") + gain(*f, cases)
    links, workers = len({b for _, b in found}) > 1, len({n for n, _ in found}) > 1
    n, b = next(iter(found))
    said = "" if links == workers else f"with {n} workers " if links else f"at {rate(b * 1e9 / 8)} "
    clauses = []
    for name, words in (("pays", "pays"), ("undecided", "is undecided"), ("no", "does not pay")):
        at = [place for place, f in found.items() if (f[0] or "no") == name]
        if not at:
            continue
        clauses.append(words + " " + (
            f"in {len(at)} case{'' if len(at) == 1 else 's'}" if links == workers
            else listed([rate(b * 1e9 / 8) for _, b in at], "at", "bandwidths") if links
            else listed([str(n) for n, _ in at], "with", "numbers of workers", " workers")))
    said += "compression " + " and ".join([", ".join(clauses[:-1])] * (len(clauses) > 1) + clauses[-1:])
    paying = [place for place, f in found.items() if f[0] == "pays"]
    if paying:
        return said + f"; {where(paying[-1])} " + gain(*found[paying[-1]], cases)
    undecided = any(f[0] == "undecided" for f in found.values())
    return said + (", because the intervals of the times are too wide or missing" if undecided else "")


def left_out(refused, cases, results, printed):
    """Names of refused methods are labels, which have some of the parameters of the spec: they are taken from `printed`."""
    if not refused:
        return []
    reasons = set(refused.values())
    if not cases and len(reasons) == 1 and len(refused) > 1:
        return [f"note: left out: all {len(refused)} methods of {results} ({reasons.pop()})"]
    found = re.search(r"note: left out: (.*?\)) answer: ", printed)
    names = re.findall(r"(?:^|, )(\S+) \(", found.group(1)) if found else []
    assert len(names) == len(refused), (names, refused)
    for name, spec in zip(names, refused):
        pieces = [set(text.partition(":")[2].split(",")) - {""} for text in (name, spec)]
        assert name.partition(":")[0] == spec.partition(":")[0] and pieces[0] <= pieces[1], (name, spec)
    return ["note: left out: " + ", ".join(f"{name} ({why})" for name, why in zip(names, refused.values()))]


def output(rows, cases, refused, results, full, printed):
    """Everything that payoff prints, without line breaks."""
    grid = list(dict.fromkeys(r["bandwidth_gbit"] for r in rows))
    said, places, found = [], {}, []
    for n in dict.fromkeys(r["workers"] for r in rows):
        own = [r for r in rows if r["workers"] == n]
        found = [Verdict(r, cases, cases[r["spec"]]) for r in own if not r["baseline"]]
        said += head(own[0], grid, results) + table(own, grid) + verdicts(found, grid, full)
        for b in grid:
            places[n, b] = [v for v in found if v.row["bandwidth_gbit"] == b]
    if full:
        conditions = stages(cases, {v.row["spec"]: v.row["label"] for v in found}, grid)
        said += conditions
    said += notes(found, cases, grid)
    if full and conditions:
        said.append("Tf transform, Ts selection, Tm precision change, Tp packing, Tcomm network: throughputs; k: compression ratio")
    said += left_out(refused, cases, results, printed)
    return " ".join(said + ["answer: " + answer(places, cases)])
