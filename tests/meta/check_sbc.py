"""SBC's bytes on real gradients, counted apart from the program.

    check_sbc.py GCBENCH FILE.h5

NumPy selects and adds up the bits of Golomb's code by the paper's formula; the program's message must have exactly
that many bytes, and as many bits to a position as are known of this file. Exits 77 without NumPy, h5py or the file.
"""
import json
import math
import subprocess
import sys

try:
    import h5py
    import numpy as np
except ImportError as e:
    print(f"skipped: {e}")
    sys.exit(77)

# density: bits of a position without the blocks' directory, ratio of the message
KNOWN = {0.01: (8.42, 380), 0.001: (11.86, 2696)}
BLOCK = 4096


def flat(path):
    """The model, tensors in depth-first order by name."""
    parts = []

    def walk(group):
        for name in sorted(group, key=lambda n: n.encode()):
            item = group[name]
            if isinstance(item, h5py.Group):
                walk(item)
            elif item.dtype.kind == "f":
                parts.append(np.asarray(item, dtype=np.float32).ravel())

    with h5py.File(path) as f:
        walk(f)
    return np.concatenate(parts)


def one_sided(x, k):
    """Ascending positions of the k largest or the k smallest, whichever have the larger mean."""
    up, down = np.sort(np.argsort(-x, kind="stable")[:k]), np.sort(np.argsort(x, kind="stable")[:k])
    return up if x[up].astype(float).mean() >= -x[down].astype(float).mean() else down


def golomb_lengths(positions, b):
    gaps = np.diff(positions, prepend=-1) - 1
    return (gaps >> b) + 1 + b


def check(gcbench, path, x, p):
    n, k = x.size, max(1, round(p * x.size))
    positions = one_sided(x, k)
    golden = (1 + math.sqrt(5)) / 2
    b = 1 + math.floor(math.log2(math.log(golden - 1) / math.log(1 - k / n)))
    lengths = golomb_lengths(positions, b)
    blocks = [int(lengths[i:i + BLOCK].sum() + 7) // 8 for i in range(0, k, BLOCK)]
    payload = 4 + 4 + 4 + 8 * (len(blocks) - 1) + 1 + sum(blocks)  # kept, mean, size, directory, b
    run = subprocess.run([gcbench, "compress", "--scope", "model", "--no-baselines", "--format", "json",
                          "--method", f"sbc:p={p}", path], check=True, capture_output=True, text=True)
    rows = [json.loads(line) for line in run.stdout.splitlines() if line]
    row = next(r for r in rows if r.get("method") == "sbc" and "wire_bytes" in r)
    assert row["kept"] == k, (row["kept"], k)
    assert row["wire_bytes"] == payload + row["header_bytes"], (row["wire_bytes"], payload, row["header_bytes"])
    bits, ratio = lengths.mean(), row["ratio"]
    print(f"p = {p}: b = {b}, {bits:.3f} bits a position, ratio {ratio:.1f}")
    assert abs(bits - KNOWN[p][0]) < 0.01 and abs(ratio / KNOWN[p][1] - 1) < 0.005
    x = x.astype(float)
    mu = x[positions].mean()
    error = 1 - k * mu * mu / (x @ x)
    assert abs(row["rel_l2"] ** 2 - error) < 1e-6 * error, (row["rel_l2"] ** 2, error)


def main():
    gcbench, path = sys.argv[1:]
    try:
        x = flat(path)
    except OSError as e:
        print(f"skipped: {e}")
        sys.exit(77)
    for p in KNOWN:
        check(gcbench, path, x, p)


main()
