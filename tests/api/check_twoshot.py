#!/usr/bin/env python3
"""The two-shot all-reduce, compared with NumPy.

What a method without draws sends is computed here, and so is what qsgd draws. What another method with draws sends is taken
from its messages, and each decoded value must be one that it may draw; everything that follows from the messages is
computed here."""
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "meta"))
from decode_by_format import Frame, decode
from draws import philox_bytes, stream
from format_parts import RangeFloat
from party import GATHER, SCATTER, Party

N, STEPS, SEED, PATH = 5003, 5, 3, "layer"
WEIGHTS = [np.float32(w) for w in (0.3, 0.25, 0.5, 0.1)]


# A code takes a tensor, its message, and the step and worker of its draws. It returns what the message decodes to.

# ---- methods without draws ----

def fp16(x, *_):
    return x.astype(np.float16).astype(np.float32)


def bf16(x, *_):
    bits = x.view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32)


def buckets(x, size):
    return [slice(at, min(at + size, len(x))) for at in range(0, len(x), size)]


def nearest_level(size, s):
    """qgz: the level of each value is the nearest, ties to even."""
    def code(x, *_):
        out = np.empty_like(x)
        for part in buckets(x, size):
            norm = np.abs(x[part]).max()
            level = np.rint(np.minimum(np.abs(x[part]) * (np.float32(s) / norm), np.float32(s)))
            out[part] = np.copysign(norm * (level / np.float32(s)), x[part])
        return out
    return code


def range_float(x, message, *_):
    """The nearest value of the format that the message names."""
    frame = Frame(message)
    bits = frame.params[0]
    scale = RangeFloat(bits, frame.payload)
    packed = np.arange(2 ** (bits - 1), dtype=np.uint16)
    table = scale.values(np.packbits((packed[:, None] >> np.arange(bits) & 1).astype(np.uint8).ravel(),
                                     bitorder="little").tobytes(), len(packed))[:scale.used + 1]
    at = np.searchsorted((table[1:].astype(np.float64) + table[:-1]) / 2, np.abs(x), side="right")
    return np.copysign(table[at], x)


def e4m3(x):
    step = np.exp2(np.maximum(np.floor(np.log2(np.maximum(np.abs(x), 1e-30))), -6) - 3)
    return np.clip(np.rint(x / step) * step, -448, 448).astype(np.float32)


def fp8(x, *_):
    scale = np.float32(448) / np.abs(x).max()
    return e4m3(x * scale) / scale


def mxfp8(x, *_):
    """The scale of a block is its largest magnitude over 448, rounded up to a power of two."""
    most = np.maximum.reduceat(np.abs(x), np.arange(0, len(x), 32)) / np.float32(448)
    scale = np.exp2(np.ceil(np.log2(most.astype(np.float64)))).astype(np.float32)[np.arange(len(x)) // 32]
    return e4m3(x / scale) * scale


def integers(bits):
    """int8 and int4: the code of 0 is an integer."""
    def code(x, *_):
        out, top = np.empty_like(x), np.float32(2 ** bits - 1)
        for part in buckets(x, 512):
            low, high = min(x[part].min(), np.float32(0)), max(x[part].max(), np.float32(0))
            step = (high - low) / top
            zero = np.rint(-low / step)
            out[part] = step * (np.clip(np.rint(x[part] / step) + zero, 0, top) - zero)
        return out
    return code


def same(x, *_):
    return x


# ---- methods with draws ----

def near(limit):
    """What the message says, after a check that no value is farther from x than `limit` allows."""
    def code(x, message, *_):
        y = decode(message)
        assert np.all(np.abs(y - x) <= limit(x) * (1 + 1e-5)), "a value that cannot be drawn for this tensor"
        return y
    return code


def drawn_level(size, s, seed=SEED, path=PATH):
    """qsgd: each value is rounded to one of the two levels beside it, by a byte, and if it does not decide by 24 bits more."""
    def code(x, message, step, worker):
        n = len(x)
        byte = np.frombuffer(philox_bytes(seed, stream(path, step, worker, 1), n), np.uint8)
        fine = np.frombuffer(philox_bytes(seed, stream(path, step, worker, 2), 4 * n), "<u4") >> 8
        norm = np.maximum.reduceat(np.abs(x), np.arange(0, n, size))
        inverse = np.divide(np.float32(s), norm, out=np.zeros_like(norm), where=norm > 0)
        each = np.arange(n) // size
        t = np.minimum(np.abs(x) * inverse[each], np.float32(s))
        level = np.floor(t)
        p = ((t - level) * np.float32(2 ** 32)).astype(np.uint64)
        level += np.where(byte == p >> 24, fine < (p & 0xFFFFFF), byte < p >> 24)
        return np.copysign(norm[each] * (level / np.float32(s)), x)
    return code


METHODS = {
    "identity": (same, 64),
    "fp16": (fp16, 64),
    "bf16": (bf16, 64),
    "range": (range_float, 64),
    "range:bits=5,mantissa=2": (range_float, 64),
    "qgz": (nearest_level(2048, 7), 2048),
    "qgz:bucket=100,bits=3": (nearest_level(100, 3), 100),
    "qsgd": (drawn_level(512, 7), 512),
    "qsgd:coding=elias,bucket=64": (drawn_level(64, 7), 64),
    "terngrad:clip=0": (near(lambda x: np.full_like(x, np.abs(x).max())), 64),
    "natural": (near(np.abs), 64),
    "fp8": (fp8, 64),
    "mxfp8": (mxfp8, 64),
    "int8": (integers(8), 64),
    "int4": (integers(4), 64),
}


# ---- the collective ----

def share_ends(n, workers, unit):
    unit = unit if unit <= n // workers else 1
    units = -(-n // unit)
    return [min(n, unit * (w * (units // workers) + min(w, units % workers))) for w in range(workers + 1)]


def drawn_as(workers, round, sender, share):
    """The worker as which a message of a share draws."""
    return workers * workers + share if round else workers * share + sender


def twoshot(tensors, weights, unit, code, feedback=True):
    """Returns the update, and what arrived of each worker's tensor. code(x, round, sender, share) is what a message decodes
    to."""
    n, workers = len(tensors[0]), len(tensors)
    total, largest = np.float32(sum(float(w) for w in weights)), max(weights)
    update, own = np.zeros(n, np.float32), [np.zeros(n, np.float32) for _ in tensors]
    ends = share_ends(n, workers, unit)
    for w, (a, b) in enumerate(zip(ends, ends[1:])):
        if a == b:
            continue
        mean = np.zeros(b - a, np.float32)
        for sender, (x, mine, weight) in enumerate(zip(tensors, own, weights)):
            mine[a:b] = code(x[a:b], 0, sender, w)
            mean += weight / largest * mine[a:b]
        mean /= total / largest
        update[a:b] = code(mean, 1, w, w) * total
        if feedback:
            own[w][a:b] -= (mean * total - update[a:b]) / weights[w]
    return update, own


def check(method, memory, feedback, n=N):
    code, unit = METHODS[method]
    spec = method + (":" if ":" not in method else ",") + "collective=twoshot" + memory
    rng = np.random.default_rng(5)
    party = Party(spec, (n,), workers=4, weights=WEIGHTS, seed=SEED, path=PATH)
    residual, ends = [np.zeros(n, np.float32) for _ in WEIGHTS], share_ends(n, len(WEIGHTS), unit)
    worst = 0.0
    for step in range(STEPS):
        common = rng.laplace(size=n)
        tensors = [(common + rng.laplace(size=n)).astype(np.float32) for _ in WEIGHTS]
        updates, sent = party.step(step, tensors)
        assert [s.kind for s in sent] == [SCATTER, GATHER], spec
        assert all(np.array_equal(u, updates[0]) for u in updates), spec
        given = [x + r for x, r in zip(tensors, residual)] if memory else tensors
        for w, (a, b) in enumerate(zip(ends, ends[1:])):
            assert a < b or not sent[1].data[w] and all(not parts[w] for parts in sent[0].data)

        def decoded(x, round, sender, share):
            message = sent[1].data[sender] if round else sent[0].data[sender][share]
            return code(x, message, step, drawn_as(len(WEIGHTS), round, sender, share))
        want, own = twoshot(given, WEIGHTS, unit, decoded, feedback)
        if memory:
            residual = [x - o for x, o in zip(given, own)]
        worst = max(worst, np.linalg.norm(updates[0] - want) / np.linalg.norm(want))
    party.close()
    assert worst <= 1e-5, (spec, n, worst)
    print(f"ok: {spec}, {n} elements: {worst:.2g} from NumPy")


def main():
    for method in METHODS:
        check(method, "", False)
        check(method, ",memory=ef", True)
        check(method, ",memory=ef,second-error=drop", False)
    for n in (1, 3, 70):
        check("fp16", ",memory=ef", True, n)


if __name__ == "__main__":
    main()
