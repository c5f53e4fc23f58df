#!/usr/bin/env python3
"""
Which of two restored files is nearer to the original, element by element. Not a test: run by hand.

    nearer.py ORIGINAL RESTORED_A RESTORED_B

The restored files are of `gcbench compress -o` and `gcbench decompress`; every tensor that both have is compared.
Prints the share of elements with the smaller |error| in A, in B, and neither; the same for tensors by their L2
error; and quantiles of |error| of each, over all elements.
"""
import sys

import h5py
import numpy as np


def tensors(path):
    found = {}
    with h5py.File(path) as file:
        file.visititems(lambda name, node: found.update({name: node[()].ravel().astype(float)})
                        if isinstance(node, h5py.Dataset) else None)
    return found


x, a, b = map(tensors, sys.argv[1:4])
names = sorted(set(a) & set(b))
errors_a = [abs(x[name] - a[name]) for name in names]
errors_b = [abs(x[name] - b[name]) for name in names]
won = sum(ea @ ea < eb @ eb for ea, eb in zip(errors_a, errors_b))
ea, eb, norm = np.concatenate(errors_a), np.concatenate(errors_b), np.concatenate([x[n] for n in names])
print(f"nearer in A {100 * np.mean(ea < eb):.1f} %, in B {100 * np.mean(ea > eb):.1f} %, "
      f"neither {100 * np.mean(ea == eb):.1f} % of {ea.size} elements")
print(f"smaller L2 error in A: {won} of {len(names)} tensors")
for name, e in (("A", ea), ("B", eb)):
    quantiles = " ".join(f"{q:.1e}" for q in np.quantile(e, (0.1, 0.5, 0.9, 0.99)))
    print(f"{name}: relative L2 {np.linalg.norm(e) / np.linalg.norm(norm):.4f}, "
          f"|error| at 10, 50, 90, 99 %: {quantiles}")
