#!/usr/bin/env python3
"""Trion's projection (Modoranu et al., arXiv 2505.17967): the energy that an eighth of the columns keeps.

    python3 datasets/papers/columns.py DUMP.h5...     # worker 0 of the first step; docs/claims.md quotes the figures

Of a matrix G with the columns of a basis Q, Trion takes the columns of G Q with the largest norms. For the matrices of each dump,
prints the per cent that is kept by the columns of G, of its DCT, of a random basis, and by as many singular vectors.
"""
import sys

import h5py
import numpy as np

NOT_MATRICES = ("wte", "wpe", "emb", "head", "fc", "encoder.weight", "decoder.weight")


def dct(n: int) -> np.ndarray:
    basis = np.cos(np.pi * np.outer(np.arange(n) + 0.5, np.arange(n)) / n)
    return basis / np.sqrt((basis ** 2).sum(0))


def random(n: int) -> np.ndarray:
    return np.linalg.qr(np.random.default_rng(1).standard_normal((n, n)))[0]


def largest(squares: np.ndarray) -> float:
    return np.sort(squares)[-(len(squares) // 8):].sum()


def matrices(path: str):
    with h5py.File(path) as file:
        worker, found = next(iter(file.values()))["worker_0"], []
        worker.visit(found.append)
        for name in found:
            x = worker[name]
            if isinstance(x, h5py.Dataset) and x.ndim == 2 and min(x.shape) >= 8 and not any(word in name for word in NOT_MATRICES):
                yield x[:].astype("f8") if x.shape[0] >= x.shape[1] else x[:].astype("f8").T


def main() -> None:
    for path in sys.argv[1:]:
        kept = np.zeros(4)
        energy = 0.0
        for g in matrices(path):
            n = g.shape[1]
            squares = [((g @ q) ** 2).sum(0) for q in (np.eye(n), dct(n), random(n))]
            kept += [largest(s) for s in (*squares, np.linalg.svd(g, compute_uv=False) ** 2)]
            energy += (g ** 2).sum()
        print(path, *(f"{name} {100 * share:.1f}" for name, share in zip(("columns", "dct", "random", "svd"), kept / energy)))


if __name__ == "__main__":
    main()
