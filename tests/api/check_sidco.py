#!/usr/bin/env python3
"""The thresholds of select=sidco, compared with NumPy and math."""
import math

import numpy as np

import gcbench


def quantile(fit, x, least, ratio):
    mean, variance, log = x.mean() - least, x.var(), math.log(ratio)
    if fit == "exponential":
        return least - mean * log
    if fit == "gamma":
        s = math.log(x.mean()) - np.log(x).mean()
        shape = (3 - s + math.sqrt((s - 3) ** 2 + 24 * s)) / (12 * s)
        return -x.mean() / shape * (log + math.lgamma(shape))
    k = 0.5 * (mean ** 2 / variance - 1)
    return least + 0.5 * mean * (mean ** 2 / variance + 1) * (1 - math.exp(k * log)) / k


def threshold(fit, x, stages, density):
    """The magnitude from which elements are kept."""
    kept = np.abs(x[x != 0].astype(np.float64))
    ratio = round(density * len(x)) / len(kept)
    if stages == 1 or ratio >= 0.25:
        return quantile(fit, kept, 0.0, ratio)
    rest = ratio / 0.25
    later = stages - 1 if stages else max(1, math.ceil(math.log(rest) / math.log(0.25)))
    shares = [rest ** (1 / later)] * later if stages else [0.25] * (later - 1) + [rest / 0.25 ** (later - 1)]
    at = quantile(fit, kept, 0.0, 0.25)
    for share in shares:
        kept = kept[kept >= np.float32(at)]
        at = quantile("pareto" if fit == "gamma" else fit, kept, kept.min(), share)
    return at


def main():
    rng = np.random.default_rng(6)
    laplace, heavy = rng.laplace(size=60001).astype(np.float32), (rng.standard_t(3, 60001) * 1e-4).astype(np.float32)
    laplace[::3] = 0
    for x in (laplace, heavy):
        for fit in ("exponential", "gamma", "pareto"):
            for stages in (0, 1, 2, 4):
                for density in (0.4, 0.1, 0.01, 0.002):
                    spec = f"topk:select=sidco,fit={fit},stages={stages},density={density}"
                    message = gcbench.Encoder(spec, len(x)).encode(x)
                    y = gcbench.Decoder.like(message).decode(message)
                    least, at = np.abs(y[y != 0]).min(), threshold(fit, x, stages, density)
                    dropped = np.abs(x[y == 0]).max()
                    assert least >= at * (1 - 1e-6) and (dropped <= at * (1 + 1e-6)), (spec, least, at, dropped)
                    if fit == "exponential" and x is laplace and stages == 0:
                        assert abs(np.count_nonzero(y) / (density * len(x)) - 1) < 0.1, spec
    print("ok: thresholds are within 1e-6 of NumPy's")


if __name__ == "__main__":
    main()
