#!/usr/bin/env python3
"""
powersgd with error feedback, compared with torch's powerSGD_hook on the same gradients.

torch's workers are processes that talk by gloo on this machine. torch draws its first Q by itself, so the gradients of the
first step have the rank of the approximation: then its result, and the subspace that the second step begins with, do not
depend on the draws.

Exit: 0 they agree, 1 not, 77 skipped because torch is missing.
"""
import os
import socket
import sys
from pathlib import Path

import numpy as np

try:
    import torch
    import torch.distributed as dist
    import torch.multiprocessing as processes
    from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook as hook
except ImportError as error:
    print(f"skipped: torch's powerSGD_hook is missing ({error})")
    sys.exit(77)

from party import Party

WORKERS, STEPS = 3, 6
RANKS = (1, 2, 4)  # torch has a Gram-Schmidt process up to rank 2, and a QR factorisation above
SHAPES = {"weight": (48, 60), "conv": (24, 8, 3, 3), "bias": (48,), "small": (5, 4)}
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from patience import HANG  # noqa: E402


def gradients(rank, w):
    """A worker's gradients of each step. In the first step the workers' sum has this rank."""
    out = []
    for step in range(STEPS):
        common, own = np.random.default_rng(step), np.random.default_rng(100 * step + w + 1)
        tensors = {}
        for name, shape in SHAPES.items():
            matrix = (shape[0], int(np.prod(shape[1:])))
            if step == 0:
                k = min(rank, *matrix)  # all singular values are equal, so that rounding says little
                left, right = (np.linalg.qr(common.standard_normal((side, k)))[0] for side in matrix)
                x = left @ right.T * (1 + w)
            else:
                x = common.standard_normal(matrix) * 2 + own.standard_normal(matrix)
            tensors[name] = x.reshape(shape).astype(np.float32)
        out.append(tensors)
    return out


class Bucket:
    """What the hook asks of a dist.GradBucket, which Python cannot make."""

    def __init__(self, tensors):
        self.flat = torch.cat([torch.from_numpy(x).reshape(-1) for x in tensors.values()])
        self.shapes = [x.shape for x in tensors.values()]

    def buffer(self):
        return self.flat

    def gradients(self):
        sizes = [int(np.prod(shape)) for shape in self.shapes]
        return [part.view(shape) for part, shape in zip(self.flat.split(sizes), self.shapes)]

    def index(self):
        return 0

    def is_last(self):
        return True

    def set_buffer(self, flat):
        self.flat = flat


def run_torch(w, port, results):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", f"tcp://127.0.0.1:{port}", world_size=WORKERS, rank=w)
    updates = {}
    for rank in RANKS:
        state = hook.PowerSGDState(process_group=None, matrix_approximation_rank=rank, start_powerSGD_iter=2,
                                   min_compression_rate=1, use_error_feedback=True, warm_start=True)
        state.iter = 2  # the steps before it are those of an ordinary all-reduce
        updates[rank] = []
        for tensors in gradients(rank, w):
            bucket = Bucket(tensors)
            flat = hook.powerSGD_hook(state, bucket).wait()
            bucket.flat = flat[0] if isinstance(flat, list) else flat
            updates[rank].append([x.numpy().copy() for x in bucket.gradients()])
    if w == 0:
        results.put(updates)
    dist.barrier()
    dist.destroy_process_group()


def torch_updates():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    context = processes.get_context("spawn")
    results = context.Queue()
    workers = [context.Process(target=run_torch, args=(w, port, results), daemon=True) for w in range(WORKERS)]
    for worker in workers:
        worker.start()
    try:
        updates = results.get(timeout=5 * HANG)
        for worker in workers:
            worker.join(HANG)
    finally:
        for worker in workers:
            worker.kill()
    return updates


def check(rank, theirs):
    worst = 0.0
    data = [gradients(rank, w) for w in range(WORKERS)]
    for i, (name, shape) in enumerate(SHAPES.items()):
        party = Party(f"powersgd:rank={rank},memory=ef", shape, workers=WORKERS, path=name)
        for step in range(STEPS):
            mine = party.step(step, [data[w][step][name] for w in range(WORKERS)])[0][0]
            distance = np.linalg.norm(mine - theirs[step][i]) / np.linalg.norm(mine)
            assert distance < 1e-4, f"rank {rank}, {name}, step {step}: {distance:.2g} apart"
            worst = max(worst, distance)
        party.close()
    print(f"ok: rank {rank}, {WORKERS} workers, {len(SHAPES)} tensors, {STEPS} steps: {worst:.1e} apart")


def main():
    theirs = torch_updates()
    for rank in RANKS:
        check(rank, theirs[rank])


if __name__ == "__main__":
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    main()
