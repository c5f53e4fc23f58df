#!/usr/bin/env python3
"""
check_mpi.py loopback|failures|shaped|simulated GCBENCH_MPI GCBENCH WRONG_MPI MPIRUN SAMPLE: exchanges between MPI ranks.

loopback   every method and algorithm gives the right update, and rows that agree with `gcbench replay`
failures   whatever is wrong with one rank, all end with one line
shaped     exchanges over links of a given speed (skipped without namespaces)
simulated  16 hosts of a simulated cluster agree with `gcbench payoff`, and 4 with what it predicts from a measured link;
           GCBENCH_MPI is what `./dev simulate` builds, and a name of no file where there is no SimGrid (then this is skipped)
"""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from patience import HANG  # noqa: E402

_, MODE, PROGRAM, GCBENCH, WRONG, MPIRUN, SAMPLE = sys.argv
HERE = Path(__file__).parent
ENV = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMP_NUM_THREADS="1",
           OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_MCA_mpi_yield_when_idle="1")
# an allocator that MPI's own memory leaks into must not fail the run
ENV["ASAN_OPTIONS"] = ENV.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
checks = failed = 0


def check(right, what):
    global checks, failed
    checks += 1
    if not right:
        failed += 1
        print(f"FAILED: {what}")


def mpirun(*ranks, program=PROGRAM, **env):
    """Runs (count, arguments), ... as one program. Returns exit status, stdout, and our lines of stderr."""
    command = [MPIRUN]
    for count, args in ranks:
        command += [":"] * (len(command) > 1) + ["-n", str(count), program, *args]
    try:
        done = subprocess.run(command, env={**ENV, **env}, text=True, capture_output=True, timeout=2 * HANG)
    except subprocess.TimeoutExpired:
        return -1, "", [f"not finished after {2 * HANG} s"]
    lines = [line for line in done.stderr.splitlines() if line.startswith(("gcbench-mpi:", "gcbench:"))]
    return done.returncode, done.stdout, lines


def rows_of(text, record="exchange"):
    return [row for row in map(json.loads, text.splitlines()) if row["record"] == record]


def loopback():
    methods = ["topk:theta=0.99", "fft:chunk=4096", "qsgd", "terngrad:collective=allreduce", "qsgd:collective=twoshot",
               "range:bits=8,collective=ring", "qsgd:collective=tree,memory=ef", "powersgd:memory=ef", "randomk", "signsgd", "countsketch", "sbc", "redsync",
               "topk:theta=0.9,memory=ef,collective=oktopk", "topk:theta=0.9,memory=ef,collective=spardl"]
    for ranks in (2,) if "mpich" in MPIRUN else (1, 2, 3, 4):  # waiting ranks of MPICH keep their core busy
        inner = "1" if ranks % 2 else "2"
        args = [word for m in [*methods, f"mxfp8:collective=hierarchical,inner={inner}"] for word in ("--method", m)]
        status, out, said = mpirun((ranks, [*args, "--algorithm", "library", "--algorithm", "ring", "--algorithm",
                                            "doubling", "--repeat", "1", "--format", "json", "--step", "100",
                                            "--scope", "model", SAMPLE]))
        check(status == 0 and not said, f"{ranks} ranks: status {status}, {said}")
        rows = rows_of(out)
        check(len(rows) == 3 * (len(methods) + 4), f"{ranks} ranks: {len(rows)} rows")
        for row in rows:
            name = f"{ranks} ranks, {row['spec']}, {row['algorithm']}"
            check(row["wrong"] == 0 and row["verified"] and row["workers"] == ranks, f"{name}: {row['wrong']} wrong")
            check(row["seconds_min"] <= row["seconds"] <= row["seconds_max"], f"{name}: times out of order")
            link = (row["gather_bytes"] + row["scatter_bytes"] + row["reduce_bytes"] + row["shift_bytes"]) / row["wire_seconds"] / 1e9
            check(ranks == 1 or abs(row["busbw_gbps"] / link - 1) < 1e-12, f"{name}: busbw_gbps is not {link}")
        answers = [row["answer"] for row in rows_of(out, "answer")]
        check(len(answers) == 1 and answers[0].startswith(f"with {ranks} workers and "), f"{ranks} ranks: answers {answers}")
        compare_bytes(args, rows, ranks)
    page()


def page():
    """The page of `report` shows the answer of each size."""
    with tempfile.TemporaryDirectory() as folder:
        results, html = os.path.join(folder, "r.json"), os.path.join(folder, "r.html")
        status, out, _ = mpirun((2, ["--method", "qsgd", "--sizes", "4K-16K/x4", "--repeat", "7", "--results", results]))
        check(status == 0 and out.count("answer: with 2 workers") == 2, f"two answers: status {status}, {out}")
        check("\x1b" not in out, "output that is not a terminal has escape codes")
        subprocess.run([GCBENCH, "report", results, "-o", html], check=True, capture_output=True)
        shown = Path(html).read_text()
        for row in rows_of(Path(results).read_text(), "answer"):
            check(row["answer"] in shown, f"the page lacks the answer {row['answer']}")


def compare_bytes(args, rows, ranks):
    """`replay` exchanges the same gradients in one process: the bytes must be the same."""
    done = subprocess.run([GCBENCH, "replay", *args, "--workers", str(ranks), "--step", "100", "--scope", "model",
                           "--format", "json", "--per", "none", SAMPLE], text=True, capture_output=True, check=True)
    replayed = {row["spec"]: row for row in rows_of(done.stdout, "replay")}
    for row in rows:
        if row["spec"] in replayed:
            want = replayed.pop(row["spec"]) if row["algorithm"] == "doubling" else replayed[row["spec"]]
            check((row["link_bytes"], row["rounds"]) == (want["link_bytes"], want["rounds"]),
                  f"{ranks} ranks, {row['spec']}: {row['link_bytes']} bytes on links, replay has {want['link_bytes']}")
    check(not replayed, f"no row of {list(replayed)}")


def failures():
    import h5py
    import numpy as np
    with tempfile.TemporaryDirectory() as folder:
        def dump(name, dtype="f4", **tensors):
            path = os.path.join(folder, name)
            with h5py.File(path, "w") as f:
                for worker in range(2):
                    for tensor, x in tensors.items():
                        f[f"step_0/worker_{worker}/{tensor}"] = np.asarray(x if np.ndim(x) == 1 else x[worker], dtype)
            return path
        good = dump("good.h5", a=np.ones(1000))
        other = dump("other.h5", a=np.ones(1001))
        values = dump("values.h5", a=np.full(1000, 2.0))
        nan = dump("nan.h5", a=np.stack([np.ones(1000), np.full(1000, np.nan)]))
        cut = os.path.join(folder, "cut.h5")
        Path(cut).write_bytes(Path(good).read_bytes()[:-3000])
        topk = ["--method", "topk"]
        cases = [
            ("other files", [(1, [*topk, good]), (1, [*topk, other])], 2, "other tensors"),
            ("other values", [(1, [*topk, good]), (1, [*topk, values])], 2, "rank 1 has read other values of a"),
            ("a missing file", [(1, [*topk, good]), (1, [*topk, good + ".x"])], 1, "rank 1"),
            ("a file that is cut on one rank", [(1, [*topk, good]), (1, [*topk, cut])], 1, "rank 1"),
            ("a file without tensors on one rank", [(1, [*topk, good]), (1, [*topk, dump("empty.h5")])], 1, "rank 1"),
            ("another method", [(1, [*topk, good]), (1, ["--method", "qsgd", good])], 2, "other methods"),
            ("an unknown method", [(1, [*topk, good]), (1, ["--method", "nosuch", good])], 2, "rank 1: unknown method"),
            ("a bad option everywhere", [(2, ["--metho", "topk", good])], 2, "gcbench-mpi: unknown option"),
            ("other repeats", [(1, [*topk, "--repeat", "1", good]), (1, [*topk, "--repeat", "2", good])], 2,
             "other options"),
            ("--help on one rank", [(1, ["--help"]), (1, [*topk, good])], 2, "--help or --version"),
            ("other limits", [(1, ["--calibrate", "--time-limit", limit, "--repeat", "2000"]) for limit in ("1s", "20s")], 2,
             "other options"),
            ("an impossible size", [(2, [*topk, "--sizes", "16E-16E/x2"])], 2, "at most 64G"),
            ("other sizes", [(1, ["--sizes", "4-4/x2"]), (1, ["--sizes", "4-8/x2"])], 2, "other options"),
            ("another file that exists", [(2, ["--calibrate", "--results", good])], 2, "exists"),
            ("a file to overwrite that is read", [(2, [*topk, "--calibrate", "--results", good, "--force", good])], 2, "input"),
            ("steps without messages", [(2, ["--method", "topk:memory=delay,delay=2", good])], 2, "delay=1"),
            ("calibrating with one rank", [(1, ["--calibrate"])], 2, "two or more"),
            ("a NaN", [(2, [*topk, nan])], 1, "rank 1: topk, step 0 worker 1 a: "),
            ("no gradients", [(2, topk)], 2, "no gradients"),
            ("two inputs", [(2, [*topk, "--elements", "64K", good])], 2, f"--elements makes synthetic gradients and {good} holds"),
            ("times of coding in a real network", [(2, [*topk, "--coding", good, good])], 2, "simulate"),
            ("a full disk", [(2, [*topk, "--repeat", "1", "--results", "/dev/full", "--force", good])], 2, "/dev/full"),
        ]
        for name, ranks, want, words in cases:
            status, _, said = mpirun(*ranks)
            check(status == want, f"{name}: status {status} instead of {want}")
            check(len(said) == 1 and words in said[0], f"{name}: {said}")
    status, out, said = mpirun((2, ["--method", "topk", "--elements", "1K", "--repeat", "3", "--format", "json",
                                    *(word for a in ("library", "ring", "doubling") for word in ("--algorithm", a))]),
                               program=WRONG)
    check(status == 5 and len(said) == 1 and "differ" in said[0], f"a wrong bit: status {status}, {said}")
    # one element, in the exchange that is checked and in two of each repeat
    check([row["wrong"] for row in rows_of(out)] == [7] * 12, "a wrong bit is not counted")
    pieces()
    poor()
    killed()


def pieces():
    """In WRONG a round of more than 1000 bytes is a large one. Only the wrong bit of rank 1 differs."""
    methods = ["sbc", "qsgd:collective=twoshot", "topk:theta=0.9,memory=ef,collective=oktopk",
               "topk:theta=0.9,memory=ef,collective=spardl", "qsgd:collective=allreduce"]
    status, out, said = mpirun((3, [*(word for m in methods for word in ("--method", m)), "--elements", "10007", "--repeat",
                                    "1", "--format", "json"]), program=WRONG)
    check(status == 5 and len(said) == 1, f"large rounds: status {status}, {said}")
    check([row["wrong"] for row in rows_of(out)] == [3] * (len(methods) + 3), "large rounds: more or less than one bit is wrong")


def poor():
    """Rank 1 runs out of memory: while it opens the network, reads its options and tensors, and prepares or times exchanges."""
    for at in (1, 7, 60):
        status, _, said = mpirun((2, ["--method", "fft", "--elements", "10K", "--repeat", "1"]), program=WRONG, FAIL_AT=str(at))
        check(status == 1 and len(said) == 1 and "rank 1: " in said[0] and "memory" in said[0],
              f"no memory in allocation {at}: status {status}, {said}")


def children(pid):
    return subprocess.run(["pgrep", "-P", str(pid)], text=True, capture_output=True).stdout.split()


def killed():
    """A rank dies in the middle of an exchange."""
    process = subprocess.Popen([MPIRUN, "-n", "3", PROGRAM, "--method", "topk", "--elements", "1M", "--repeat", "100000"],
                               env=ENV, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    ranks = []
    for _ in range(10 * HANG):
        time.sleep(0.1)
        ranks = children(process.pid)
        ranks = children(ranks[0]) if len(ranks) == 1 else ranks  # MPICH has a process between
        if len(ranks) == 3:
            break
    time.sleep(1)
    if len(ranks) != 3:
        check(False, f"found {len(ranks)} ranks")
        process.kill()
        return
    os.kill(int(ranks[1]), signal.SIGKILL)
    try:
        process.communicate(timeout=HANG)
        check(process.returncode != 0, "a run whose rank was killed ends well")
    except subprocess.TimeoutExpired:
        process.kill()
        check(False, "ranks go on after one was killed")


def shaped():
    if "mpich" in MPIRUN:
        print("skipped: shaped.sh starts ranks with OpenMPI only")
        sys.exit(77)

    with tempfile.TemporaryDirectory() as folder:
        results = os.path.join(folder, "r.json")
        done = subprocess.run([HERE / "shaped.sh", "--rate", "100mbit", "--seconds", str(5 * HANG), "4", PROGRAM, *OVER_A_LINK,
                               "--repeat", "7", "--calibrate", "--results", results],
                              env=ENV, text=True, capture_output=True)
        if done.returncode == 77:
            print(done.stderr.strip())
            sys.exit(77)
        check(done.returncode == 0, f"status {done.returncode}, {done.stderr[-300:]}")
        predict(results)


OVER_A_LINK = ["--elements", "256K", "--method", "topk:theta=0.99", "--method", "topk:theta=0.9", "--method", "qsgd",
               "--algorithm", "ring"]


def predict(results, most=None):
    """Returns the rows of the exchanges. payoff's rows follow from them; with `most` the predicted time on the network may differ
    from the measured one by at most this factor."""
    rows, predicted = rows_of(Path(results).read_text()), results + ".predicted"
    check(len(rows) == 6 and all(row["wrong"] == 0 for row in rows), "wrong updates")
    done = subprocess.run([GCBENCH, "payoff", "--link", results, "--results", predicted, results], text=True, capture_output=True)
    check(done.returncode == 0, f"payoff: {done.stderr}")
    print(done.stdout)
    found = {row["spec"]: row for row in rows_of(Path(predicted).read_text(), "payoff")}
    check(len(found) == 6 and set(found) == {row["spec"] for row in rows}, f"payoff has other ways: {list(found)}")
    bar = min((row for row in rows if row["method"] in ("identity", "fp16", "bf16")), key=lambda row: row["seconds"])
    for row in rows:
        got, coding = found[row["spec"]], row["encode_seconds"] + row["sum_seconds"]
        check(got["model"] == "measured" and got["coding"] == "ranks" and got["algorithm"] == row["algorithm"], str(got))
        for name, want in (("measured_seconds", row["seconds"]), ("measured_network_seconds", row["wire_seconds"] + row["sizes_seconds"]),
                           ("coding_seconds", coding), ("seconds", coding + got["network_seconds"]),
                           ("measured_ratio", row["seconds"] / got["seconds"]), ("measured_speedup_bar", bar["seconds"] / row["seconds"]),
                           ("speedup_bar", found[bar["spec"]]["seconds"] / got["seconds"])):
            check(abs(got[name] - want) <= 1e-9 * want, f"{row['spec']}: {name} is {got[name]} instead of {want}")
        ratio = got["measured_network_seconds"] / got["network_seconds"]
        check(not most or 1 / most <= ratio <= most, f"{row['spec']}: the network takes {ratio} of the predicted time")
    return rows


def simulate(*args):
    done = subprocess.run([HERE / "simulate.sh", PROGRAM, *map(str, args)], text=True, capture_output=True, timeout=2 * HANG)
    return done.returncode, done.stdout, done.stderr.strip()


def simulated_link(folder):
    """Simulated times are exact, so the bytes need the time that the link gives them, and payoff predicts it."""
    results = os.path.join(folder, "over-link.json")
    status, _, said = simulate("--hosts", 4, "--bandwidth", "100Mb", *OVER_A_LINK, "--calibrate", "--results", results)
    check(status == 0 and not said, f"a link: status {status}, {said}")
    for row in predict(results, 1.02):
        least = 8 * row["link_bytes"] / 4 / 100e6
        check(least <= row["wire_seconds"] < 1.1 * least, f"{row['spec']} took {row['wire_seconds']} s, its bytes need {least} s")


def simulated():
    if not os.path.exists(PROGRAM):
        print("skipped: SimGrid is not installed (Debian package libsimgrid-dev)")
        sys.exit(77)
    methods = ["identity", "fp16", "bf16", "topk:theta=0.99", "qsgd", "terngrad", "fft:chunk=4096"]
    with tempfile.TemporaryDirectory() as folder:
        times, gradients = os.path.join(folder, "times.json"), os.path.join(folder, "gradients.h5")
        subprocess.run([GCBENCH, "generate", "--dist", "laplace", "--elements", "64K", "-o", gradients], check=True)
        subprocess.run([GCBENCH, "bench", "-q", "--threads", "1", "--repeat", "7", "--results", times, gradients,
                        *(word for m in methods for word in ("--method", m))], check=True)
        status, out, said = simulate(*methods[3:], "--coding", times, "--elements", "64K", "--algorithm", "ring")
        check(status == 0 and not said, f"status {status}, {said}")
        check((status, out, said) == simulate(*methods[3:], "--coding", times, "--elements", "64K", "--algorithm", "ring"),
              "another run prints something else")
        _, out, _ = simulate(*methods[3:], "--coding", times, "--elements", "64K", "--algorithm", "ring", "--algorithm", "doubling",
                             "--format", "json")
        rows = rows_of(out)
        model = subprocess.run([GCBENCH, "payoff", "--workers", "16", "--bandwidth", "10Gb", "--latency", "20us", "--format", "json",
                                times], text=True, capture_output=True)
        model = {(want["method"], want["collective"]): want for want in rows_of(model.stdout, "payoff")}
        for row in rows:
            compare_model(row, model[row["method"], row["collective"]])
        check(len(rows) == 14, f"{len(rows)} exchanges")
        compared = {row["method"] for row in rows if model[row["method"], row["collective"]]["algorithm"] == row["algorithm"]}
        check(len(compared) >= 4, f"payoff's algorithm was simulated of {compared} only")
        six = os.path.join(folder, "six.json")  # hosts: no power of two
        status, _, said = simulate("--hosts", 6, "qsgd", "--algorithm", "ring", "--algorithm", "doubling", "--results", six)
        check(status == 0 and not said, f"6 hosts: status {status}, {said}")
        model = subprocess.run([GCBENCH, "payoff", "--bandwidth", "10Gb", "--latency", "20us", "--format", "json", six],
                               text=True, capture_output=True)
        ratios = {f"{row['label']} {row['algorithm']}": row["measured_network_seconds"] / row["network_seconds"]
                  for row in rows_of(model.stdout, "payoff")}
        check(len(ratios) == 8 and all(1 <= ratio < 1.1 for ratio in ratios.values()), f"6 hosts: {ratios}")
        status, _, said = simulate("natural", "--coding", times)
        check(status == 2 and "no times of natural" in said and "\n" not in said, f"no times: status {status}, {said}")
        simulated_link(folder)
    platforms()


def compare_model(row, want):
    name = f"{row['method']} {row['algorithm']}"
    check(row["wrong"] == 0 and row["verified"], f"{name}: {row['wrong']} wrong")
    ratio = (row["wire_seconds"] + row["sizes_seconds"]) / want["network_seconds"]
    # payoff takes the fastest algorithm
    check(1 <= ratio and (ratio < 1.1 or row["algorithm"] != want["algorithm"]),
          f"{name}: the network takes {ratio} times as long as in payoff's model")
    # the simulated clock has steps of a nanosecond; payoff adds the time of decoding a sum to that
    # of encoding
    coding = want["coding_seconds"] + want["adding_seconds"]
    check(abs(row["encode_seconds"] + row["sum_seconds"] - coding) < 4e-9, f"{name}: coding takes {coding} in payoff's model")


def platforms():
    seconds = {}
    for name, options in {"star": [], "slow": ["--bandwidth", "125MB/s", "--latency", "1ms"],
                          "fattree": ["--platform", "fattree"], "dragonfly": ["--platform", "dragonfly"],
                          "nodes": ["--nodes", "4x4", "--intra", "100GB/s"]}.items():
        status, out, said = simulate(*options, "--elements", "64K", "--algorithm", "ring", "--algorithm", "doubling",
                                     "--algorithm", "library", "--format", "json")
        rows = rows_of(out)
        check(status == 0 and not said and len(rows) == 9, f"{name}: status {status}, {len(rows)} rows, {said}")
        check(all(row["wrong"] == 0 and row["verified"] for row in rows), f"{name}: wrong updates")
        seconds[name] = [row["seconds"] for row in rows if row["method"] == "identity" and row["algorithm"] == "doubling"]
    # four workers of a node share its link, so whole vectors between nodes take longer than between
    # hosts of a star
    check(seconds["star"] < seconds["nodes"] < seconds["slow"] and seconds["star"] < seconds["fattree"], str(seconds))
    status, out, _ = simulate("topk", "--repeat", "1", "--help")
    check(status == 0 and "--platform NAME" in out and len(out) < 2000, f"--help: status {status}, {out[:200]}")
    for options, words in [(["--hosts", "10", "--platform", "fattree"], "multiple of 4"), (["nosuch"], "unknown method"),
                           (["--hosts", "08"], "from 2 on"),
                           (["--nodes", "4x4"], "--intra"), (["--elements", "4K", "topk"], "a method needs --method"),
                           (["topk", "--repeat", "1", "--hosts", "8"], "--hosts before --repeat"), (["--bandwidth", "10"], "10Gb"), (["--latency"], "value")]:
        status, _, said = simulate(*options)
        check(status == 2 and words in said and "\n" not in said, f"{options}: status {status}, {said}")


{"loopback": loopback, "failures": failures, "shaped": shaped, "simulated": simulated}[MODE]()
print(f"{checks} checks, {failed} failed")
sys.exit(failed > 0)
