"""Computes the rows of `payoff` again, from their own fields and from the formulas of docs/payoff.md.

    check_payoff.py results                         prints rows of `bench` and `replay` with known times
    check_payoff.py rows ROWS [exact=E] [noise=E]   everything of a row that follows from its other fields, and the advice
    check_payoff.py networks GCBENCH DUMP           the network's time of fp16 on five networks
    check_payoff.py errors GCBENCH FOLDER           errors of the mean, and what lasts, on a dump that is made in FOLDER
    check_payoff.py clusters GCBENCH RESULTS        what the named networks are
    check_payoff.py sharded GCBENCH RESULTS         7 B parameters on 256 GPUs
"""
import collections
import itertools
import json
import math
import subprocess
import sys
from pathlib import Path

HUGE = math.inf


def near(got, want, what, share=1e-9):
    assert got is not None and abs(got - want) <= share * abs(want) + 1e-15, f"{what}: {got}, not {want}"


def rows_of(text, record="payoff"):
    return [row for row in map(json.loads, text.splitlines()) if row["record"] == record]


def run(gcbench, *words, record="payoff"):
    done = subprocess.run([gcbench, *map(str, words), "--format", "json", "-q"], capture_output=True, text=True)
    assert done.returncode == 0, (words, done.stderr)
    return rows_of(done.stdout, record)


# ---- results ----

def print_results():
    def result(method, spec, size, encode, decode, error, added=None, **more):
        row = dict(schema=1, method=method, spec=spec, status="ok", device="cpu", isa="avx2", threads=1,
                   elements=100000, wire_bytes=size, encode_seconds=encode, decode_seconds=decode, rel_l2=error, **{"record": "result", **more})
        if added:
            row.update(sum_seconds=added, sum16_seconds=16 * added + 5e-5)
        print(json.dumps(row))

    def replay(method, spec, error, sent):
        print(json.dumps(dict(record="replay", schema=1, method=method, spec=spec, workers=8, alpha=error, steps=1, link_bytes=int(sent))))

    print(json.dumps(dict(record="environment", schema=1, copy_gbps=8)))
    result("identity", "identity", 400000, 0, 4e-5, 0)
    result("fp16", "fp16", 200000, 5e-5, 5e-5, 3e-4)
    result("bf16", "bf16", 200000, 4e-5, 4e-5, 2e-3)
    result("qsgd", "qsgd:bits=8", 100800, 1e-4, 6e-5, 0.01, 5e-5)
    result("qsgd", "qsgd:bits=4", 50800, 1.2e-4, 6e-5, 0.2, 5e-5)
    result("topk", "topk:theta=0.99", 8000, 1e-4, 3e-5, 0.3, 2e-5)
    result("topk", "topk:theta=0.9,index=adaptive", 50000, 1e-4, 3e-5, 0.2, 2e-5, fixed_length=False)
    # how large the gradient is
    result("fp16", "fp16", 200000, 5e-5, 5e-5, 3e-4, record="summary", exchanges=1)
    replay("qsgd", "qsgd:bits=8,collective=twoshot", 0.03, 1.4e6)
    replay("qsgd", "qsgd:bits=8,collective=allreduce", 0.025, 2.8e6)
    replay("topk", "topk:theta=0.99,memory=ef,collective=oktopk", 0.31, 1e5)


# ---- the model ----

def ways(collective, n):
    """Of each algorithm: steps, bytes of a node's link for each byte of a worker's, and steps of exchanging lengths.
    Empty: not worked out here."""
    lg, part = math.ceil(math.log2(n)), (n - 1) / n
    down = math.floor(math.log2(n))
    fold = 0 if 2 ** down == n else 2
    return {
        "allgather": {"ring": (n - 1, n - 1, lg), "doubling": (lg, n - 1, lg)},
        "allreduce": {"ring": (2 * (n - 1), 2 * part, 0), "halving": (2 * down + fold, 2 * (1 - 2.0 ** -down) + fold, 0),
                      "doubling": (down + fold, down + fold, 0)},
        "twoshot": {"pairwise": (2 * (n - 1), 2 * part, 2 * lg), "tree": (2 * lg, lg / 2 + part, 2 * lg)},
        "oktopk": {"pairwise": (2 * (n + lg), part, 2 * lg)},
        "spardl": {"tree": (2 * lg, part, 2 * lg)},
    }.get(collective, {})


HALVES = ("ring", "halving", "pairwise")


class Network:
    """The place of a row."""

    def __init__(self, row):
        self.p, self.m, self.half = row["workers_per_node"], row["transfers"], row["sharded"]
        self.n = row["workers"] // self.p
        self.bandwidth, self.latency = row["bandwidth_gbit"] * 1e9 / 8, row["latency_seconds"]
        self.intra = row["intra_gbit"] and row["intra_gbit"] * 1e9 / 8
        self.gradient = row["gradient_bytes"]

    def ways(self, collective):
        found = ways(collective, self.n)
        if self.half:
            found = {name: tuple(x / 2 for x in way) for name, way in found.items() if name in HALVES}
        return found

    def gathered(self):
        """Two all-gathers of weights of two bytes."""
        if not self.half:
            return 0.0
        return math.ceil(math.log2(self.n)) * self.m * self.latency + (self.n - 1) / self.n * self.gradient / self.bandwidth

    def seconds(self, collective, way, size):
        steps, factor, _ = way
        inside = 0.0
        if self.p > 1 and not self.half:
            inside = 2 * (self.p - 1) / self.p * (size if collective == "allreduce" else self.gradient) / self.intra
        return steps * self.m * self.latency + factor * size / self.bandwidth + inside + self.gathered()

    def extras(self, row):
        """What may come on top: exchanging lengths, or reductions before the last one, of few bytes."""
        steps, _, sizes = self.ways(row["collective"])[row["algorithm"]]
        if row["collective"] == "allreduce":
            return [k * steps * self.m * self.latency for k in range(4)]
        return [0.0, sizes * self.m * self.latency]


def cost(row):
    """What an exchange adds to a step."""
    if row["compute_seconds"] is not None:
        return row["step_seconds"] - row["compute_seconds"]
    return row["seconds"] / row["inner_steps"]


def flow_shop(jobs, work, latency, size):
    ready = sent = 0.0
    for _ in range(jobs):
        ready += work / jobs
        sent = max(sent, ready) + (latency + size) / jobs
    return sent


def check_row(row):
    name = f"{row['label']} among {row['workers']}"
    net = Network(row)
    near(row["seconds"], row["coding_seconds"] + row["network_seconds"] + row["adding_seconds"], f"{name}: seconds")
    if row["link_file"] or not net.ways(row["collective"]):
        return None
    way = net.ways(row["collective"])[row["algorithm"]]
    size = row["link_bytes"] / way[1]
    base = net.seconds(row["collective"], way, size)
    extra = min(net.extras(row), key=lambda x: abs(base + x - row["network_seconds"]))
    near(row["network_seconds"], base + extra, f"{name}: network")
    if row["compute_seconds"] is not None:
        work = row["compute_seconds"] * 2 / 3 + row["coding_seconds"] + row["adding_seconds"]
        latency = way[0] * net.m * net.latency + extra
        if row["inner_steps"] > 1:
            near(row["step_seconds"], row["compute_seconds"] + row["seconds"] / row["inner_steps"], f"{name}: step")
        else:
            backward = flow_shop(int(net.m), work, latency, row["network_seconds"] - latency)
            near(row["step_seconds"], row["compute_seconds"] / 3 + backward, f"{name}: step", 1e-6)
    free = []  # the time of the network with the fastest algorithm, if all else is free
    for other in net.ways(row["collective"]).values():
        more = extra * other[0] / way[0] if row["collective"] == "allreduce" else extra
        free.append(net.seconds(row["collective"], other, size) + more)
    return min(free)


def check_place(rows, exact, noise):
    free = [check_row(row) for row in rows]
    baselines = [row for row in rows if row["baseline"]]
    bar = min(baselines, key=cost)
    least = [f for f, row in zip(free, rows) if row["baseline"]]
    for row, own in zip(rows, free):
        name = f"{row['label']} among {row['workers']}"
        assert row["bar"] == {"identity": "fp32"}.get(bar["method"], bar["method"]), (name, row["bar"], bar["method"])
        if row["speedup_bar_low"] is None:
            near(row["speedup_bar"], bar["seconds"] / row["seconds"], f"{name}: speedup")
        else:
            assert row["speedup_bar_low"] <= row["speedup_bar"] <= row["speedup_bar_high"], name
        if own is not None:
            near(row["speedup_limit"], min(least) / own, f"{name}: limit")
        if row["compute_seconds"] is not None:
            near(row["speedup_step"], bar["step_seconds"] / row["step_seconds"], f"{name}: step")
        else:
            assert row["speedup_step"] is None, name
        check_kind(row, exact, noise, name)
    check_advice(rows, noise)


def check_kind(row, exact, noise, name):
    error, lasting = row["error_of_mean"], row["lasting"]
    if row["baseline"]:
        assert row["kind"] is None, name
        return
    if error <= exact:
        want = {"exact"}
    elif lasting is None:  # whether the method is right on average is not in the row
        want = {"lasting", "noise" if error <= noise else "loud"}
    else:
        want = {"lasting" if lasting > exact else "noise" if error <= noise else "loud"}
    assert row["kind"] in want, (name, row["kind"], error, lasting)


def worth(row):
    """With the time of a step, only the step counts."""
    return row["speedup_step"] or row["speedup_bar"]


def check_advice(rows, noise):
    def fastest(kind, most=HUGE):
        has_memory = lambda row: "memory=" in row["spec"] and "memory=none" not in row["spec"]
        found = [row for row in rows if row["kind"] == kind and row["error_of_mean"] <= most
                 and (kind != "lasting" or has_memory(row))]
        near_most = [row for row in found if worth(row) >= 0.95 * max(map(worth, found))]
        return min(near_most, key=lambda row: row["error_of_mean"], default=None)

    want, reached = {}, 1.0
    best, noisy, trained = fastest("exact"), fastest("noise"), fastest("lasting", noise)
    if best and worth(best) >= 1.1:
        want["best"], reached = best, worth(best)
    if noisy and worth(noisy) >= 1.2 * reached:
        want["noise"], reached = noisy, worth(noisy)
    if trained and worth(trained) >= max(1.1, reached):
        want["train"] = trained
    got = {row["advice"]: row for row in rows if row["advice"]}
    assert {a: r["speedup_bar"] for a, r in got.items()} == {a: r["speedup_bar"] for a, r in want.items()}, \
        ({a: r["label"] for a, r in got.items()}, {a: r["label"] for a, r in want.items()})
    return want


def check_rows(path, *options):
    asked = dict(option.split("=") for option in options)
    exact, noise = float(asked.get("exact", 0.05)), float(asked.get("noise", 0.35))
    text = Path(path).read_text()
    rows = [row for row in rows_of(text) if row["model"] == "exchange"]
    assert rows, "no row"
    places = collections.defaultdict(list)
    for row in rows:
        places[row["workers"], row["bandwidth_gbit"]].append(row)
    for place in places.values():
        labels = [row["label"] for row in place]
        assert len(set(labels)) == len(labels), labels
        check_place(place, exact, noise)
    answers = rows_of(text, "answer")
    assert len(answers) == (len(places) == 1), answers
    for answer in answers:
        for advice in ("best", "noise", "train"):
            row = next((row for row in rows if row["advice"] == advice), None)
            assert answer[advice] == (row and row["label"]), (answer, row)
            assert answer[advice + "_error"] == (row and row["error_of_mean"]), (answer, row)
            assert answer[advice + "_gain"] == (row and row["speedup_bar"]), (answer, row)


# ---- five networks ----

def check_networks(gcbench, dump):
    """A prototype's formula for fp16: Rabenseifner's all-reduce, 25 MiB at a time, or all at once with local SGD."""
    cases = (
        ("4 machines", 4, 1.25e9, 20e-6, 1e8, 1, 0, 1, ["--workers", 4, "--bandwidth", "10Gb", "--model-bytes", "100MB"]),
        ("16 machines", 16, 1.25e9, 20e-6, 1e8, 1, 0, 1, ["--workers", 16, "--bandwidth", "10Gb", "--model-bytes", "100MB"]),
        ("64 machines", 64, 1.25e8, 20e-6, 1.4e9, 1, 0, 1, ["--workers", 64, "--bandwidth", "1Gb", "--model-bytes", "1400MB"]),
        ("16 nodes of 8", 16, 4e11, 5e-6, 1.4e9, 8, 4e11, 1,
         ["--nodes", "16x8", "--intra", "400GB/s", "--bandwidth", "3200Gb", "--latency", "5us", "--params", "350M"]),
        ("8 sites", 8, 1.25e7, 30e-3, 1e8, 1, 0, 100,
         ["--workers", 8, "--bandwidth", "100Mb", "--latency", "30ms", "--model-bytes", "100MB", "--inner-steps", 100]),
    )
    for name, n, bandwidth, latency, size, p, intra, inner, options in cases:
        transfers = math.ceil(size / (25 * 2 ** 20)) if inner == 1 else 1  # without overlap, one transfer is the fastest
        want = 2 * (n - 1) / n * size / 2 / bandwidth + 2 * math.ceil(math.log2(n)) * transfers * latency
        if p > 1:
            want += 2 * (p - 1) / p * size / 2 / intra
        rows = run(gcbench, "payoff", *options, "--coding", "h200", "--method", "qsgd:bits=8", "--method", "qsgd:bits=4", dump)
        row = next(row for row in rows if row["method"] == "fp16")
        near(row["network_seconds"], want, name, 0.05)
        near(cost(row), row["seconds"] / inner, name)
        assert row["workers"] == n * p and row["gradient_bytes"] == size, row
        check_place(rows, 0.05, 0.35)
        # of one method by the same collective, fewer bits take less of the network
        for way in ("allgather", "twoshot"):
            bits = {row["spec"].split("bits=")[1][0]: row["network_seconds"] for row in rows if row["collective"] == way}
            assert bits["4"] < bits["8"], (name, bits)


# ---- errors ----

def relative(update, mean):
    import numpy as np
    return float(np.sum((update - mean) ** 2) / np.sum(mean ** 2))


def top(x, count):
    import numpy as np
    out = np.zeros_like(x)
    kept = np.argsort(-np.abs(x), kind="stable")[:count]
    out[kept] = x[kept]
    return out


def repeat(gradients, encode, memory, draws=4):
    """The error of the mean of a step, and how much of it lasts, by sending it again and again."""
    import numpy as np
    mean, residual = gradients.mean(axis=0), np.zeros_like(gradients)
    drift, one = np.zeros_like(mean), 0.0
    for _ in range(draws):
        p = gradients + (residual if memory else 0.0)
        sent = np.array([encode(x) for x in p])
        residual = p - sent
        one += relative(sent.mean(axis=0), mean) / draws
        drift += sent.mean(axis=0) / draws
    return one, max(0.0, (draws * relative(drift, mean) - one) / (draws - 1))


def check_errors(gcbench, folder):
    import h5py
    import numpy as np
    workers, count, steps = 4, 20000, 2
    rng = np.random.default_rng(5)
    path = str(Path(folder) / "known.h5")
    gradients = np.zeros((steps, workers, count), np.float32)
    with h5py.File(path, "w") as file:
        for step in range(steps):
            shared = rng.standard_normal(count)
            for worker in range(workers):
                gradients[step, worker] = shared + 1.5 * rng.standard_normal(count)
                file[f"step_{step:06d}/worker_{worker}/w"] = gradients[step, worker].reshape(100, count // 100)
    g64 = gradients.astype(np.float64)
    methods = ("fp16:collective=allgather", "range:bits=6", "qgz:bits=4,collective=allgather", "topk:theta=0.9", "qsgd:bits=4",
               "topk:theta=0.9,memory=ef,collective=allgather")
    rows = run(gcbench, "payoff", path, "--workers", 4, "--bandwidth", "1Gb,2Gb", "--coding", "100GB/s",
               *itertools.chain(*(("--method", m) for m in methods)))
    rows = {(row["method"], row["collective"], "memory=ef" in row["spec"]): row for row in rows if row["bandwidth_gbit"] == 1}
    assert all(row["mean_workers"] == 4 for row in rows.values())
    # NumPy's own top-k and error feedback
    for memory in (False, True):
        found = [repeat(g, lambda x: top(x, count // 10), memory) for g in g64]
        row = rows["topk", "allgather", memory]
        near(row["error_of_mean"], math.sqrt(sum(e for e, _ in found) / steps), f"topk, memory {memory}", 1e-3)
        near(row["lasting"], math.sqrt(sum(x for _, x in found) / steps), f"topk lasts, memory {memory}", 1e-3)
    halves = [relative(g.astype(np.float16).astype(np.float64).mean(axis=0), g.astype(np.float64).mean(axis=0)) for g in gradients]
    near(rows["fp16", "allgather", False]["error_of_mean"], math.sqrt(sum(halves) / steps), "fp16", 1e-3)
    near(rows["fp16", "allgather", False]["lasting"], math.sqrt(sum(halves) / steps), "fp16 lasts", 1e-3)
    # the others as `replay` has them: nothing random to nearest, and otherwise other draws
    for (method, collective, memory), row in rows.items():
        if row["baseline"] or memory:
            continue
        found = run(gcbench, "replay", "--scope", "model", "--method", row["spec"], path, record="replay_step")
        want = math.sqrt(sum(step["alpha"] ** 2 for step in found) / steps)
        near(row["error_of_mean"], want, row["label"], {"qsgd": 0.03, "topk": 0.05 if collective == "oktopk" else 1e-3}.get(method, 1e-3))
        if method == "qsgd":
            assert row["lasting"] < 0.2 * row["error_of_mean"], row
        elif collective in ("allgather", "twoshot"):
            near(row["lasting"], row["error_of_mean"], row["label"], 1e-3)
    # of more workers, whose noise averages out as far as these disagree
    signal = noise = 0.0
    for g in g64:
        q, m = np.sum(g ** 2) / workers, np.sum(g.mean(axis=0) ** 2)
        noise += (q - m) * workers / (workers - 1)
        signal += q - (q - m) * workers / (workers - 1)
    more = run(gcbench, "payoff", path, "--workers", "4,64", "--bandwidth", "1Gb", "--coding", "100GB/s", "--method", "qsgd:bits=4",
               "--method", "topk:theta=0.9")
    for method, shrinks in (("qsgd", True), ("topk", False)):
        few, many = (next(row["error_of_mean"] for row in more if (row["method"], row["collective"], row["workers"]) ==
                          (method, "allgather", n)) for n in (4, 64))
        want = (4 * signal + noise) / (64 * signal + noise) if shrinks else 1.0
        near((many / few) ** 2, want, f"{method} among 64", 1e-4)


# ---- named networks ----

def check_clusters(gcbench, results):
    names = {  # nodes, workers of a node, bandwidth of a node's link, latency, bandwidth inside, steps of an exchange
        "h100-8x400": (16, 8, 3200.0, 5e-6, 3200.0, 1),
        "a100-8x200": (16, 8, 1600.0, 5e-6, 2000.0, 1),
        "ethernet-10g": (16, 1, 10.0, 20e-6, None, 1),
        "ethernet-1g": (16, 1, 1.0, 20e-6, None, 1),
        "sites-100m": (8, 1, 0.1, 30e-3, None, 100),
    }
    for name, (nodes, each, bandwidth, latency, intra, inner) in names.items():
        row = run(gcbench, "payoff", results, "--params", "25M", "--cluster", name)[0]
        assert (row["workers"], row["workers_per_node"], row["inner_steps"]) == (nodes * each, each, inner), row
        near(row["bandwidth_gbit"], bandwidth, name)
        near(row["latency_seconds"], latency, name)
        assert row["intra_gbit"] == intra or abs(row["intra_gbit"] / intra - 1) < 1e-9, row
        row = run(gcbench, "payoff", results, "--params", "25M", "--cluster", name, "--workers", 32, "--bandwidth", "7Gb", "--latency", "1ms",
                  "--inner-steps", 3)[0]  # other options change parts of it
        assert (row["workers"], row["workers_per_node"], row["inner_steps"]) == (32, each, 3), row
        near(row["bandwidth_gbit"], 7.0, name)
        near(row["latency_seconds"], 1e-3, name)


def check_sharded(gcbench, results):
    """bf16 takes 102 ms, 8 bits 85 and 4 bits 77: the weights are not compressed."""
    rows = run(gcbench, "payoff", results, "--params", "7B", "--cluster", "h100-8x400", "--workers", 256, "--sharded", "--latency",
               "0.001us", "--coding", "4800GB/s")
    assert "twoshot" in {row["collective"] for row in rows} and not any(row["collective"] in ("allgather", "spardl") for row in rows), rows
    assert [row["method"] for row in rows if row["baseline"]] == ["bf16"], rows
    found = {row["label"].split()[0]: row["network_seconds"] for row in rows}
    near(found["bf16"], 0.102, "bf16", 0.01)
    near(found["qsgd:bits=8"], 0.085, "8 bits", 0.01)
    near(found["qsgd:bits=4"], 0.077, "4 bits", 0.01)
    check_place(rows, 0.05, 0.35)
    assert max(row["speedup_limit"] for row in rows) < 1.34, rows
    rows = run(gcbench, "payoff", results, "--params", "7B", "--cluster", "h100-8x400", "--workers", 256, "--sharded",
               "--reduce-dtype", "fp32", "--coding", "4800GB/s")
    assert [row["method"] for row in rows if row["baseline"]] == ["identity"], rows
    assert rows[0]["transfers"] == math.ceil(28e9 / (400 * 2 ** 20)), rows[0]
    check_place(rows, 0.05, 0.35)


{"results": print_results, "rows": check_rows, "networks": check_networks, "errors": check_errors, "clusters": check_clusters,
 "sharded": check_sharded}[sys.argv[1]](*sys.argv[2:])
