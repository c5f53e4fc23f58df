"""NumPy's twin of `gcbench inspect --compaction` and of `gcbench compress --shuffle`.

check_compaction.py GCBENCH FOLDER
"""
import functools
import json
import math
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / folder) for folder in ("api", "meta")]
from draws import stream  # noqa: E402
from format_parts import philox_draws  # noqa: E402
from formats.sparse import DCT, RANDOM, TRANSFORM_MEAN, basis_of  # noqa: E402

PROGRAM, FOLDER = sys.argv[1:]
SIGNS = 16  # the purpose of the draws of transform=random
TRANSFORMS = {"dct": DCT, "random": RANDOM, "mean": TRANSFORM_MEAN}
SHUFFLES = ("elements", "rows", "columns", "rowcol", "channels")
DENSITIES = (0.01, 0.03, 0.1, 0.3)
SHAPES = {"c1.weight": (12, 6, 3, 3), "c2.weight": (6, 4, 5, 5), "side.weight": (8, 6, 1, 1), "q.weight": (96, 40), "q.bias": (96,),
          "k.weight": (64, 64), "wte.weight": (50, 16), "pos_emb": (9, 8), "head.weight": (50, 32), "scale": (1, 1, 70), "one": ()}
GROUPS = {"convolution": ("c1.weight", "c2.weight"), "matrix": ("k.weight", "q.weight", "side.weight"),
          "embedding": ("pos_emb", "wte.weight"), "head": ("head.weight",), "vector": ("one", "q.bias", "scale")}


def call(*args):
    done = subprocess.run((PROGRAM, *args, "--format", "json"), stdout=subprocess.PIPE, check=True)
    return [json.loads(line) for line in done.stdout.decode().splitlines()]


@functools.lru_cache(None)
def order(n, seed, axis):
    places, draws = list(range(n)), philox_draws(seed, axis, n)
    for i in range(n - 1, 0, -1):
        j = draws[i] * (i + 1) >> 64
        places[i], places[j] = places[j], places[i]
    return places


def shuffled(x, how, seed=0):
    if how is None:
        return x
    if how == "elements" or x.ndim < 2:
        return x.reshape(-1)[order(x.size, seed, 0)].reshape(x.shape)
    y = x[order(len(x), seed, 0)] if how != "columns" else x
    if how == "channels":
        return y[:, order(x.shape[1], seed, 1)]
    flat = y.reshape(len(x), -1)
    return flat[:, order(flat.shape[1], seed, 1)].reshape(x.shape) if how != "rows" else y


@functools.lru_cache(None)
def basis(transform, n):
    return basis_of(TRANSFORMS[transform], n, stream("", 0, 0, SIGNS))


def coefficients(x, transform, tile):
    matrix = x.reshape(1, -1) if x.ndim < 2 else x.reshape(len(x), -1)
    if tile == "kernel":
        matrix = x.reshape(-1, x.shape[-1])
    limits = x.shape[2:] if tile == "kernel" else map(int, tile.split("x"))
    h, w = (max(d for d in range(1, most + 1) if side % d == 0) for side, most in zip(matrix.shape, limits))
    tiles = matrix.reshape(matrix.shape[0] // h, h, matrix.shape[1] // w, w).swapaxes(1, 2).astype("f8")
    if transform != "mean":
        return (basis(transform, h) @ tiles @ basis(transform, w).T).ravel()
    flat, n = tiles.reshape(-1, h * w), h * w
    v = np.full(n, 1 / math.sqrt(n)) - np.eye(n)[0]
    return (flat - np.outer(flat @ v, v) * 2 / (v @ v) if n > 1 else flat).ravel()


def kept(tensors, row):
    """The energy that a row's coefficients keep."""
    n = sum(x.size for x in tensors)
    if row["transform"] == "svd":
        left, values = row["density"] * n, []
        for x in tensors:
            matrix = x.reshape(len(x), -1).astype("f8")
            values += [(s * s, sum(matrix.shape)) for s in np.linalg.svd(matrix, compute_uv=False)]
        energy = 0.0
        for square, cost in sorted(values, key=lambda value: -value[0] / value[1]):
            energy += square * max(0.0, min(1.0, left / cost))
            left -= cost
        return energy
    tensors = [shuffled(x, row["shuffle"]) for x in tensors]
    parts = [x.ravel() if row["transform"] == "none" else coefficients(x, row["transform"], row["tile"]) for x in tensors]
    squares = np.sort(np.concatenate(parts).astype("f8") ** 2)[::-1]
    return squares[:min(max(round(row["density"] * n), 1), n)].sum()


def near(a, b, what):
    assert abs(a - b) <= 1e-6 * max(1.0, abs(b)), (what, a, b)


def write(path, change=lambda x: x):
    rng = np.random.default_rng(3)
    steps = []
    with h5py.File(path, "w") as f:
        f.attrs["what"] = "momentum"
        for step in (0, 1):
            steps.append({})
            for name, shape in SHAPES.items():
                x = rng.standard_t(4, shape)
                x = x + 3 * rng.standard_normal(shape[:2] + (1, 1)) if len(shape) == 4 else x
                if name in ("q.weight", "k.weight"):
                    x = x + 9 * np.outer(*(rng.standard_normal(side) for side in shape))
                if name == "wte.weight":
                    x[5 + step:30] = 0
                steps[-1][name] = x = np.asarray(x, "f4")
                f[f"step_{step}/worker_0/{name}"] = change(x)
    return steps


def check_compaction():
    steps = write(f"{FOLDER}/grads.h5")
    rows = call("inspect", "--compaction", f"{FOLDER}/grads.h5")
    assert rows[0]["what"] == "momentum", rows[0]
    rows = [row for row in rows if row["record"] == "compaction"]
    for row in rows:
        groups = [[step[name] for name in GROUPS[row["group"]]] for step in steps]
        total = sum(float((x.astype("f8") ** 2).sum()) for tensors in groups for x in tensors)
        near(row["energy_share"], sum(kept(tensors, row) for tensors in groups) / total, row)
        assert (row["datasets"], row["elements"]) == (2 * len(groups[0]), 2 * sum(x.size for x in groups[0])), row
    finding = {row["group"]: row["finding"] for row in rows}
    assert finding == {"convolution": "mean only", "matrix": "low rank", "embedding": "nothing", "head": "nothing",
                       "vector": "nothing"}, finding
    assert {row["untouched_rows"] for row in rows if row["group"] == "embedding"} == {24}
    wanted = {("none", None, None), ("svd", None, None), *((t, k, None) for t in TRANSFORMS for k in ("kernel", "64x64")),
              ("dct", "1x64", None), *((t, k, s) for t, k in (("dct", "kernel"), ("mean", "kernel"), ("dct", "64x64"),
                                                               ("mean", "64x64"), ("dct", "1x64"))
                                       for s in ("elements", "rowcol", "channels"))}
    found = {(row["transform"], row["tile"], row["shuffle"]) for row in rows if row["group"] == "convolution"}
    assert found == wanted, found ^ wanted
    return len(rows)


def check_shuffles():
    """A shuffled file gives the messages and errors that compress reports of the file with --shuffle."""
    method = ("--no-baselines", "--method", "topk:theta=0.9,transform=dct,tile=kernel", "--repeat", "1", "--scope", "model")
    for how in SHUFFLES:
        write(f"{FOLDER}/shuffled.h5", lambda x: shuffled(x, how, 77))
        runs = [[row for row in call("compress", *method, *more) if row["record"] == "summary"][0] for more in (
            (f"{FOLDER}/shuffled.h5",), ("--shuffle", how, "--shuffle-seed", "77", f"{FOLDER}/grads.h5"))]
        assert (runs[0]["shuffle"], runs[1]["shuffle"]) == (None, how)
        assert runs[0]["wire_bytes"] == runs[1]["wire_bytes"], how
        near(runs[0]["rel_l2"], runs[1]["rel_l2"], how)
    return len(SHUFFLES)


print(check_compaction() + check_shuffles(), "checks")
