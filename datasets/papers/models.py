#!/usr/bin/env python3
"""The cost models of two papers as they are printed, for numbers that the caller gives.

    python3 datasets/papers/models.py       # prints the papers' own examples, which docs/claims.md quotes

All rates are in bytes of the gradient a second, times in seconds.
"""
from math import ceil, inf, log2
from typing import NamedTuple


class Stages(NamedTuple):
    """Wang et al. (HPDC 2020), section on costs: throughputs of the transform (Tf), the selection (Ts), each of four passes that
    change precision or compare (Tm), and packing (Tp)."""
    transform: float
    select: float
    quantise: float
    index: float

    def cost(self) -> float:
        """Seconds for each byte in the sender, and again in the receiver."""
        return 4 / self.quantise + 1 / self.transform + 1 / self.index + 1 / self.select

    def least_ratio(self, bandwidth: float) -> float:
        """k_min: the compression ratio above which compression pays; inf: none does."""
        share = 2 * bandwidth * self.cost()
        return 1 / (1 - share) if share < 1 else inf

    def limit(self) -> float:
        """The bandwidth from which no ratio pays."""
        return 1 / (2 * self.cost())


class Sparse(NamedTuple):
    """Fang et al. (JPDC 2019), section on the cost of communication: a kept element takes `words` words of 4 bytes, 2 for index and
    value, or 1 if all share one value. Selecting, unpacking and reducing take no time here."""
    size: float  # of the gradient, bytes
    density: float
    words: float
    bandwidth: float
    latency: float = 20e-6

    def share(self, workers: int) -> float:
        """The bytes of the sparse exchange / those of the dense one."""
        return workers * self.density * self.words / 2

    def sparse(self, workers: int) -> float:
        """T_sparse: an all-gather by recursive doubling."""
        return ceil(log2(workers)) * self.latency + (workers - 1) * self.size * self.density * self.words / self.bandwidth

    def dense(self, workers: int) -> float:
        """T_dense: Rabenseifner's all-reduce."""
        return 2 * ceil(log2(workers)) * self.latency + 2 * (workers - 1) / workers * self.size / self.bandwidth


def main() -> None:
    stages = Stages(transform=71e9, select=30e9, quantise=600e9, index=67e9)
    print(f"FFT: no ratio pays from {8e-9 * stages.limit():.3g} Gb/s on")
    for gbit in (10, 40, 56):
        print(f"  k_min at {gbit} Gb/s: {stages.least_ratio(gbit * 1e9 / 8):.3g}")
    for words in (2, 1):
        model = Sparse(528 * 2**20, 0.001, words, 12e9 / 8)
        print(f"RedSync, {words} word{'s' * (words > 1)}: level with {2 / (model.density * words):.0f} workers")
        for workers in (8, 128, 1024):
            print(f"  {workers} workers: {100 * model.share(workers):.3g} % of the bytes, "
                  f"T_dense / T_sparse {model.dense(workers) / model.sparse(workers):.3g}")


if __name__ == "__main__":
    main()
