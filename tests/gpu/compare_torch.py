"""PyTorch's own work on a GPU, timed by events: rows for the report of `./dev gpu`.

    python3 compare_torch.py ELEMENTS [PATTERN]

Writes JSON Lines. Without PyTorch, or without a GPU that it can use, one row says so.
"""
import fnmatch
import json
import statistics
import sys

REPEAT = 20


def row(name, **fields):
    print(json.dumps({"record": "torch", "schema": 1, "spec": name, **fields}))


def timed(torch, work):
    """Median seconds of one call; 256 MiB are written before each call, so that caches are cold."""
    flush = torch.empty(64 << 20, dtype=torch.float32, device="cuda")
    seconds = []
    work()
    for _ in range(REPEAT):
        flush.zero_()
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        work()
        end.record()
        end.synchronize()
        seconds.append(start.elapsed_time(end) / 1e3)
    return statistics.median(seconds)


def qsgd(torch, x):
    """QSGD as a user would write it in a few lines: 7 levels, buckets of 512, codes not packed."""
    buckets = x.view(-1, 512)
    norms = buckets.abs().amax(dim=1, keepdim=True)
    t = buckets.abs() / norms * 7
    return (t.floor() + (torch.rand_like(t) < t - t.floor())).mul(buckets.sign()).to(torch.int8), norms


WORKS = {
    "torch.topk": lambda torch, x: torch.topk(x, max(1, round(len(x) * 0.15)), sorted=False),
    "torch.fft.rfft": lambda torch, x: torch.fft.rfft(x),
    "qsgd of plain torch": qsgd,
}


def main():
    n = int(sys.argv[1]) // 512 * 512
    names = fnmatch.filter(WORKS, sys.argv[2] if len(sys.argv) > 2 else "*")
    if not names:
        return
    try:
        import torch
    except ImportError:
        row("PyTorch", status="skipped", reason="not installed")
        return
    except Exception as error:  # PyTorch is installed, but a library that it needs is not
        row("PyTorch", status="skipped", reason="it does not load: %s" % (str(error).splitlines() or ["?"])[0])
        return
    if not torch.cuda.is_available():
        row("PyTorch", status="skipped", reason="it finds no GPU")
        return
    try:
        x = torch.randn(n, device="cuda")
    except RuntimeError as error:
        row("PyTorch", status="skipped", reason=str(error).splitlines()[0])
        return
    for name in names:
        try:
            seconds = timed(torch, lambda: WORKS[name](torch, x))
            row(name, status="ok", seconds=seconds, elements=n, version=torch.__version__)
        except RuntimeError as error:  # out of memory, an unsupported length
            row(name, status="unsupported", reason=str(error).splitlines()[0])


main()
