"""
Logs of a network whose times are known, and what payoff makes of them.

    check_import.py GCBENCH RESULTS FOLDER

An all-reduce of S bytes among n ranks takes 20 us + 2 (n - 1)/n S / 20 GB/s, an all-gather half of the bytes. RESULTS has rows
of top-k and fp16, FOLDER is for the logs.
"""
import json
import pathlib
import subprocess
import sys

GCBENCH, RESULTS, FOLDER = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
MIB = 2**20


def factor(test, n):
    return (2 if test == "all_reduce" else 1) * (n - 1) / n


def seconds(size, n=8, test="all_reduce"):
    return 20e-6 + factor(test, n) * size / 20e9


def rows(low, high, n, test, noise):
    """(size, microseconds, algbw, busbw) of sizes from 2^low to 2^(high - 1)."""
    for i, size in enumerate(2**k for k in range(low, high)):
        us = 1e6 * seconds(size, n, test) * (noise[i % len(noise)] if noise else 1)
        yield size, us, size / us / 1e3, size / us / 1e3 * factor(test, n)


def seven(value):
    """As nccl-tests print a time: in seven characters."""
    return next(text for text in (f"{value:7.{digits}f}" for digits in (2, 1, 0)) if len(text) <= 7)


def log(low=10, high=34, n=8, test="all_reduce", noise=None, redop="sum"):
    lines = [f"# Collective test starting: {test}_perf", "# Using devices"]
    lines += [f"#  Rank {r:2d} Group  0 Pid {100 + r:6d} on node0 device {r:2d} [0000:{r:02x}:00] GPU" for r in range(n)]
    lines += ["#", "#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong"]
    for size, us, algbw, busbw in rows(low, high, n, test, noise):
        half = f"  {seven(us)}  {algbw:6.2f}  {busbw:6.2f}       0"
        lines.append(f"{size:12d}  {size // 4:12d}     float  {redop:>6}      -1{half}{half}")
    return "\n".join(lines + ["# Out of bounds values : 0 OK", "# Avg bus bandwidth    : 100.0 ", "#", ""])


def payoff(size, *texts):
    """The rows by method, for a gradient of so many bytes."""
    command = [GCBENCH, "payoff", "--format", "json", "--model-bytes", str(size), RESULTS]
    for i, text in enumerate(texts):
        path = FOLDER / f"{i}.log"
        path.write_text(text)
        command += ["--import", str(path)]
    out = subprocess.run(command, capture_output=True, text=True)
    assert out.returncode == 0, (command, out.stderr)
    found = [json.loads(line) for line in out.stdout.splitlines()]
    return {row["method"]: row for row in found if row["record"] == "payoff"}


def near(got, wanted, share, what):
    assert abs(got / wanted - 1) < share, f"{what}: {got}, not {wanted}"


def check_sizes():
    """100 MiB in 4 buckets of 25 MiB, from logs that begin with small and large sizes."""
    for n in (2, 3, 6, 8, 64):
        for low in (3, 10, 20, 29):
            got = payoff(100 * MIB, log(low, n=n))
            what = f"{n} ranks, from 2^{low}"
            near(got["fp32"]["wire_seconds"], 4 * seconds(25 * MIB, n), 0.03, what)
            near(got["fp16"]["wire_seconds"], 4 * seconds(12.5 * MIB, n), 0.05, what)
            assert got["fp32"]["extrapolated"] == got["fp16"]["extrapolated"] == (low == 29), what
            assert got["fp32"]["workers"] == n, what


def check_latency():
    """Below the smallest size, times fall to a latency, and not to 0 or below it."""
    for low in (10, 20, 29):
        for size in (4096, 64 * 1024):
            got = payoff(size, log(low))["fp32"]
            near(got["wire_seconds"], seconds(size), 0.35, f"{size} bytes, from 2^{low}")
            assert got["seconds_low"] <= got["seconds"] <= got["seconds_high"], got


def check_noise():
    """Noise of large sizes is not a latency of milliseconds: it widens the interval."""
    for noise in ([1.05, 0.95, 1.02, 0.98, 1.04], [0.9, 1.1, 1, 1.2, 0.8], [1.3, 1, 1, 1, 1], [0.7, 1, 1, 1, 1], [3, 1, 0.5, 2, 1]):
        for high in (30, 31, 32, 34):
            text = log(29, high, noise=noise)
            smallest = 2**29 / seconds(2**29) / noise[0]
            for size in (MIB, 25 * MIB):
                got = payoff(size, text)["fp32"]
                what = f"{noise}, to 2^{high - 1}, {size} bytes"
                assert 0.99 * size / smallest < got["wire_seconds"] < 2.5 * size / smallest + 60e-6, (what, got["wire_seconds"])
                assert 0 <= got["latency_seconds"] < 60e-6, (what, got["latency_seconds"])
                assert got["extrapolated"], what
                assert got["seconds_low"] <= got["seconds"] < got["seconds_high"], what
    # small sizes: their latency is not noise
    for noise in ([1.2, 0.8, 1.1, 0.9], [2, 1, 1, 1], [1, 2, 0.5, 1]):
        got = payoff(512, log(10, noise=noise))["fp32"]
        near(got["wire_seconds"], 20e-6 * noise[0], 0.1, noise)
        assert not got["extrapolated"], noise


def check_prefix():
    """Prefixes of a launcher change nothing."""
    wanted, got = payoff(100 * MIB, log()), payoff(100 * MIB, "".join(f"[1,0]<stdout>:{line}\n" for line in log().splitlines()))
    for method in wanted:
        assert got[method]["wire_seconds"] == wanted[method]["wire_seconds"], method


def check_additions():
    """The time of an all-reduce has its additions, that of an all-gather has none."""
    reduce, gather, scatter = log(10), log(10, test="all_gather", redop="none"), log(10, test="reduce_scatter")
    for texts in ([reduce], [reduce + gather], [gather, reduce], [scatter]):
        got = payoff(100 * MIB, *texts)
        assert got["fp16"]["add_seconds"] == 0 and got["fp16"]["algorithm"] in ("halving", "ring"), got["fp16"]
        assert got["topk"]["add_seconds"] > 0, got["topk"]
        near(got["fp32"]["wire_seconds"], 4 * seconds(25 * MIB), 0.03 if texts != [scatter] else 0.05, "all-reduce")
    # top-k travels by the measured all-gather; its additions, and those of an all-reduce over
    # measured transfers, are extra
    near(payoff(100 * MIB, reduce + gather)["topk"]["wire_seconds"], payoff(100 * MIB, gather)["topk"]["wire_seconds"], 0.03, "all-gather")
    assert payoff(100 * MIB, gather)["fp16"]["add_seconds"] > 0
    assert payoff(100 * MIB, reduce + scatter)["fp32"]["wire_seconds"] == payoff(100 * MIB, reduce)["fp32"]["wire_seconds"]


def refused(line, text):
    """The log is refused at this line."""
    path = FOLDER / "refused.log"
    path.write_text(text)
    out = subprocess.run([GCBENCH, "payoff", RESULTS, "--import", str(path)], capture_output=True, text=True)
    assert out.returncode == 1 and f"{path}: line {line}: " in out.stderr, (line, out)


def check_refused():
    """A damaged log is refused, and not read in part."""
    lines = log().splitlines(keepends=True)
    at = next(i for i, line in enumerate(lines) if " 2097152 " in line)
    row = lines[at]

    def put(*instead):
        return "".join([*lines[:at], *instead, *lines[at + 1:]])

    refused(at + 1, put(row[:70] + "node0:1:2 [0] NCCL INFO x\n", row[70:]))
    refused(at + 1, put(row[:69] + "0 -" + row[70:]))
    refused(at + 1, put(row.replace("       0  ", "       3  ")))
    refused(next(i for i, line in enumerate(lines, 1) if "busbw" in line), put(row, "#  Rank  0 Pid 1 on node0 device 0\n"))


check_refused()
check_sizes()
check_latency()
check_noise()
check_prefix()
check_additions()
