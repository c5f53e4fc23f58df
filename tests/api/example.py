#!/usr/bin/python3
"""Compress an array from Python, with nothing but the package gcbench.

    python3 example.py [METHOD]
"""

import array
import math
import sys

import gcbench

N = 100000


def main(method="fft:theta=0.9"):
    x = array.array("f", (math.sin(i * 1e-3) * math.exp(-i * 1e-4) for i in range(N)))
    y = array.array("f", bytes(4 * N))
    message = gcbench.Encoder(method, N).encode(x)
    gcbench.Decoder(method, N).decode(message, y)

    lost = sum((a - b) ** 2 for a, b in zip(x, y))
    print(f"ratio {4 * N / len(message):.2f}, relative L2 error {math.sqrt(lost / sum(a * a for a in x)):.6f}")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except gcbench.Error as error:
        sys.exit(str(error))
