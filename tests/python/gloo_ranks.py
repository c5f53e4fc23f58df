"""Runs a test file as ranks that are joined by gloo: run_ranks() in the test, be_rank() where the file is the program."""
import os
import subprocess
import sys
from pathlib import Path

import torch
import torch.distributed as dist

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from patience import HANG  # noqa: E402

WORLD = int(os.environ.get("GCBENCH_TEST_RANKS", 2))


def run_ranks(file, folder, count, *scenarios, world=WORLD):
    """Each rank must end well and print `count` lines "ok: ". Without scenarios the file chooses."""
    there = {**os.environ, "GCBENCH_TEST_RANKS": str(world)}
    ranks = [subprocess.Popen([sys.executable, file, str(rank), str(folder), *scenarios], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, env=there) for rank in range(world)]
    said = [rank.communicate(timeout=5 * HANG)[0] for rank in ranks]
    for rank, text in zip(ranks, said):
        assert rank.returncode == 0, text
        assert text.count("ok: ") == count, text


def be_rank(*scenarios):
    """Calls each scenario with the test's folder. The arguments of the program are the rank and this folder."""
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{sys.argv[2]}/meeting", rank=int(sys.argv[1]), world_size=WORLD)
    for scenario in scenarios:
        scenario(Path(sys.argv[2]))
    dist.destroy_process_group()
