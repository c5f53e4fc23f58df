#!/usr/bin/python3
"""Four workers exchange gradients for ten steps, with nothing but the package gcbench.

    python3 exchange.py METHOD N <gradients >updates

Reads 10 x 4 x N floats (step, worker, element) and writes 10 x N: the average that each worker applies to its weights.
"""

import array
import sys

import gcbench

STEPS, WORKERS = 10, 4


def main(method, count):
    n = int(count)
    encoders = [gcbench.Encoder(method, n) for _ in range(WORKERS)]
    update = array.array("f", bytes(4 * n))
    total = gcbench.Sum(method, n, into=update)
    for step in range(STEPS):
        for worker, encoder in enumerate(encoders):
            gradient = array.array("f", sys.stdin.buffer.read(4 * n))
            message = encoder.encode(gradient, step, worker)
            if message:  # empty in a step that sends nothing
                total.add(message, 1.0 / WORKERS)
        total.finish()
        sys.stdout.buffer.write(update)


if __name__ == "__main__":
    main(*sys.argv[1:])
