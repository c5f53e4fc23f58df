#!/usr/bin/python3 -SE
"""A gcbench whose `bench` writes what a file beside it says, so that tests of `regress` know the truth.

`NAME bench --format json ...`, NAME a copy of or link to this file, reads NAME.json:

    cases     a list of objects: fields of a summary row (or of a kernel row, if they have `family`); encode_seconds and
              decode_seconds are the medians, `width` their interval as a share (default 0.01)
    env       fields of the environment row
    noise     relative deviation of each run's times (lognormal, default 0): the machine's, for all cases of a process
    jitter    the same, each time on its own
    drift     times grow by this share with each run (of both builds that share a log)
    log       every call appends a line: NAME and its arguments
    seed      of noise, which is the same in every run of a test
    do        what else happens: "hang", "exit", "garbage", "empty", "no-bench", "stop-after:N" (fails from call N on),
              "fail-at:N" (in call N the first case fails), "abort" (a signal, half way), "flood" (100 MB of nothing),
              "child" (hangs, and so does a process of its own)
    call      each call takes so many seconds, without being timed so: other processes have the processors meanwhile
    slowed    calls take so many times as long from the fifth process on
    status    the exit status, with all rows written
    clock     a file with seconds: what a call takes is added to it instead of being waited for
"""

# Tests run this hundreds of times: the modules `json`, `random` and `subprocess` would take most of
# its time.
import _random
import math
import os
import sys
import time

ENVIRONMENT = {
    "version": "0.1.0", "git_revision": "0123456789abcdef", "git_dirty": False, "build_type": "release",
    "build_id": "aa", "compiler": "gcc 12", "compile_flags": "-O3", "sanitize": "none", "cpu_model": "CPU",
    "cpus": 2, "governor": None, "load1": 0.5, "kernel": "Linux 6", "memory_bytes": 1 << 33, "isa": "avx2",
    "threads": 1, "device": "cpu", "libraries": {"fftw": "3.3.10"}, "gpu": None, "gpu_driver": None,
    "input_xxh3": [{"file": "dir/g.h5", "xxh3": "00"}],
}
SUMMARY = {
    "file": "dir/g.h5", "step": None, "worker": None, "scope": "tensor", "order": "name", "method": "topk",
    "spec": "topk", "device": "cpu", "threads": 1, "isa": "avx2", "status": "ok", "messages": 1,
    "elements": 1000, "input_bytes": 4000, "wire_bytes": 1000, "header_bytes": 24, "rel_l2": 0.25,
    "cosine": 0.9, "max_abs_error": 0.5, "encode_seconds": 1e-3, "decode_seconds": 5e-4, "cache": "warm",
    "stop_reason": "precision", "reason": None,
}
KERNEL = {"isa": "avx2", "elements": 4096, "cache": "warm", "status": "ok", "threads": 1, "seconds": 1e-4}


def put(row):  # no text has quotes
    print(repr(row).replace("'", '"').replace("None", "null").replace("True", "true").replace("False", "false"))


def lognormal(rng, sigma):
    return math.exp(sigma * math.sqrt(-2 * math.log(1 - rng.random())) * math.cos(2 * math.pi * rng.random()))


def timed(case, key, factor, rng, jitter, width):
    if case.get(key) is None:
        return
    seconds = case[key] * factor * lognormal(rng, jitter)
    case[key] = seconds
    case.setdefault(key + "_min", seconds * (1 - width))
    case.setdefault(key + "_low", seconds * (1 - width))
    case.setdefault(key + "_high", seconds * (1 + width))


def spend(seconds, config):
    if "clock" not in config:
        time.sleep(seconds)
        return
    with open(config["clock"], "a+") as f:
        f.seek(0)
        now = float(f.read() or 0)
        f.truncate(0)
        f.write(f"{now + seconds:.9f}")


def main(name, arguments):
    if "--help" in arguments:  # `regress` asks whether an option is known
        return
    with open(name + ".json") as f:
        config = eval(f.read(), {"true": True, "false": False, "null": None})
    calls = 0
    if "log" in config:
        with open(config["log"], "a+") as log:
            log.seek(0)
            calls = len(log.readlines())
            log.write(" ".join([os.path.basename(name)] + arguments) + "\n")
    what = config.get("do", "")
    if what == "no-bench" or arguments[:1] != ["bench"]:
        sys.exit("gcbench: unknown command 'bench'\n" if what == "no-bench" else "bench was not asked for")
    if what == "child":
        with open(name + ".pid", "w") as f:
            f.write(str(os.spawnlp(os.P_NOWAIT, "sleep", "sleep", "600")))
    if what in ("hang", "child"):
        if "clock" in config:
            spend(600, config)
        time.sleep(600)
    if what == "flood":
        for _ in range(100):
            sys.stdout.write("x" * (1 << 20))
        return
    if what == "garbage":
        print("Hello, World")
        return
    if what == "empty":
        return
    if what == "exit" or (what.startswith("stop-after:") and calls >= int(what[11:])):
        sys.exit("gcbench: out of \x1b[31mluck")
    rng = _random.Random(int.from_bytes(f"{config.get('seed', 1)} {calls} {os.path.basename(name)}".encode(), "big"))
    factor = lognormal(rng, config.get("noise", 0)) * (1 + config.get("drift", 0)) ** calls
    put({"record": "environment", "schema": 1, **ENVIRONMENT, **config.get("env", {})})
    cases = config["cases"]
    if what == f"fail-at:{calls}":
        cases[0].update(status="failed", reason="it did not decode")
    for i, given in enumerate(cases):
        if what == "abort" and i == len(cases) - 1:
            sys.stdout.flush()
            os.abort()
        kernel = "family" in given
        case = {"record": "kernel" if kernel else "summary", "schema": 1, **(KERNEL if kernel else SUMMARY), **given}
        width = case.pop("width", 0.01)
        for key in ("seconds", "encode_seconds", "decode_seconds"):
            timed(case, key, factor, rng, config.get("jitter", 0), width)
        put(case)
    repeat = int(arguments[arguments.index("--repeat") + 1]) if "--repeat" in arguments else 1
    spend(config.get("sleep", 0) + repeat * config.get("call", 0) * (config.get("slowed", 1) if calls >= 4 else 1), config)
    sys.exit(config.get("status", 0))


if __name__ == "__main__":
    main(sys.argv[0], sys.argv[1:])
