"""Runs a test file as ranks that are joined by gloo: run_ranks() in the test, be_rank() where the file is the program."""
import os
import runpy
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path

import torch
import torch.distributed as dist

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from patience import HANG  # noqa: E402

WORLD = int(os.environ.get("GCBENCH_TEST_RANKS", 2))


def become(file, words, log):
    """In a child: runs the file as a program."""
    code = 1
    try:
        for number in (1, 2):
            os.dup2(log.fileno(), number)
        sys.stdout = sys.stderr = open(1, "w", buffering=1, closefd=False)
        sys.argv = [str(file), *map(str, words)]
        sys.modules.pop("gloo_ranks", None)  # WORLD may be another one
        runpy.run_path(str(file), run_name="__main__")
        code = 0
    except SystemExit as end:
        code = end.code or 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(code)


def run_programs(file, words, seconds):
    """Runs the file once with each list of words, at the same time. Children of this process, which has imported torch: an
    import takes longer than most tests. Returns the exit statuses (minus a signal's number) and what each printed."""
    logs = [tempfile.TemporaryFile("w+") for _ in words]
    children, ended = [], {}
    for mine, log in zip(words, logs):
        children.append(os.fork() or become(file, mine, log))
    deadline = time.monotonic() + seconds
    while len(ended) < len(children):
        if time.monotonic() > deadline:
            for child in set(children) - set(ended):
                os.kill(child, signal.SIGKILL)
        for child in set(children) - set(ended):
            found, status = os.waitpid(child, os.WNOHANG)
            if found:
                ended[child] = os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    return [ended[child] for child in children], [log.seek(0) or log.read() for log in logs]


def run_ranks(file, folder, count, *scenarios, world=WORLD):
    """Each rank must end well and print `count` lines "ok: ". Without scenarios the file chooses."""
    os.environ["GCBENCH_TEST_RANKS"] = str(world)
    for status, text in zip(*run_programs(file, [(rank, folder, *scenarios) for rank in range(world)], 5 * HANG)):
        assert status == 0, text
        assert text.count("ok: ") == count, text


def be_rank(*scenarios):
    """Calls each scenario with the test's folder. The arguments of the program are the rank and this folder."""
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{sys.argv[2]}/meeting", rank=int(sys.argv[1]), world_size=WORLD)
    for scenario in scenarios:
        scenario(Path(sys.argv[2]))
    dist.destroy_process_group()
