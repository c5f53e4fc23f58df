#!/usr/bin/env python3
"""
The time that a bucket's three calls of the Python package take (docs/python.md): encode_into, add and finish. With 8 elements the
library takes next to no time. Of many runs, because the machine may be busy:

    PYTHONPATH=python GCBENCH_LIBRARY=build/src/libgcbench.so call_cost.py
"""
import statistics
import time

import numpy as np

import gcbench

x, room, out = np.ones(8, np.float32), np.empty(1024, np.uint8), np.empty(8, np.float32)
encoder, total = gcbench.Encoder("identity", 8), gcbench.Sum("identity", 8)
times = []
for _ in range(20000):
    begin = time.perf_counter()
    length = encoder.encode_into(x, room)
    total.add(room[:length], 0.5)
    total.finish(out)
    times.append(1e6 * (time.perf_counter() - begin))
print(f"{min(times):.1f} us at best, {statistics.median(times):.1f} us in the median")
