"""What follows from the rows of `payoff`, and errors of the mean worked out by NumPy.

    check_payoff.py results                   prints rows of `bench` and `replay` with known times
    check_payoff.py rows ROWS                 sums, ratios, labels and the answer follow from the rows' other fields
    check_payoff.py errors GCBENCH FOLDER     errors of the mean, and what lasts, on a dump that is made in FOLDER

tests/tool/payoff has the model of each collective, the kinds of error and the advice.
"""
import collections
import itertools
import json
import math
import subprocess
import sys
from pathlib import Path


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


# ---- rows ----

def cost(row):
    """What an exchange adds to a step."""
    if row["compute_seconds"] is not None:
        return row["step_seconds"] - row["compute_seconds"]
    return row["seconds"] / row["inner_steps"]


def check_place(rows):
    bar = min((row for row in rows if row["baseline"]), key=cost)
    for row in rows:
        name = f"{row['label']} among {row['workers']}"
        near(row["seconds"], row["coding_seconds"] + row["network_seconds"] + row["adding_seconds"], f"{name}: seconds")
        assert row["bar"] == {"identity": "fp32"}.get(bar["method"], bar["method"]), (name, row["bar"], bar["method"])
        assert (row["kind"] is None) == row["baseline"], name
        if row["speedup_bar_low"] is None:
            near(row["speedup_bar"], bar["seconds"] / row["seconds"], f"{name}: speedup")
        else:
            assert row["speedup_bar_low"] <= row["speedup_bar"] <= row["speedup_bar_high"], name
        if row["compute_seconds"] is not None:
            near(row["speedup_step"], bar["step_seconds"] / row["step_seconds"], f"{name}: step")
        else:
            assert row["speedup_step"] is None, name


def check_rows(path):
    text = Path(path).read_text()
    rows = [row for row in rows_of(text) if row["model"] == "exchange"]
    assert rows, "no row"
    places = collections.defaultdict(list)
    for row in rows:
        places[row["workers"], row["bandwidth_gbit"]].append(row)
    for place in places.values():
        labels = [row["label"] for row in place]
        assert len(set(labels)) == len(labels), labels
        check_place(place)
    answers = rows_of(text, "answer")
    assert len(answers) == (len(places) == 1), answers
    for answer in answers:
        for advice in ("best", "noise", "train"):
            row = next((row for row in rows if row["advice"] == advice), None)
            assert answer[advice] == (row and row["label"]), (answer, row)
            assert answer[advice + "_error"] == (row and row["error_of_mean"]), (answer, row)
            assert answer[advice + "_gain"] == (row and row["speedup_bar"]), (answer, row)


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


{"results": print_results, "rows": check_rows, "errors": check_errors}[sys.argv[1]](*sys.argv[2:])
