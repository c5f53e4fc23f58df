"""gcbench.method and gcbench.compare: compressors written in Python."""
import os
from pathlib import Path

import numpy as np
import pytest

import gcbench

ROOT = Path(__file__).resolve().parents[2]
COMMAND = Path(os.environ["GCBENCH_LIBRARY"]).parents[1] / "cli" / "gcbench"
SAMPLE = ROOT / "datasets" / "sample.h5"
QUICK = ("--repeat", "1", "--no-sums", "--dataset", "fc.*")


def encode(x):
    return x.astype(np.float16).tobytes()


def decode(message, n):
    return np.frombuffer(message, np.float16).astype(np.float32)


@gcbench.method
class Halves:
    encode, decode = staticmethod(encode), staticmethod(decode)


@gcbench.method
class Fails:
    @staticmethod
    def encode(x):
        if x[0] == 1:
            raise KeyError("no ones")
        return bytes(8) if x[0] == 2 else bytes(9 * len(x) + 5000)

    @staticmethod
    def decode(message, n):
        return np.zeros(n + 1, np.float32)


def test_a_method_of_our_own_is_like_any_other():
    x = np.random.default_rng(1).standard_normal(1000).astype(np.float32)
    half = x.astype(np.float16).astype(np.float32)
    for source in ("", ":memory=ef"):
        encoder = gcbench.Encoder(Halves + source, len(x))
        message = encoder.encode(x)
        assert len(message) < 2100
    assert np.array_equal(encoder.save()["residual"], x - half)
    assert np.array_equal(gcbench.Decoder(Halves, len(x)).decode(message), half)
    total = gcbench.Sum.like(message)
    total.add(message, 0.5)
    total.add(message, 0.25)
    assert np.array_equal(total.finish(), np.float32(0.75) * half)
    with gcbench.Exchange(Halves, len(x), worker=0, workers=1) as exchange:
        exchange.begin(0, x)
        sending = exchange.next()
        exchange.receive(0, sending.data)
        assert exchange.next() is None
        assert np.array_equal(exchange.finish(), half)


def test_what_a_method_raises_is_told():
    encoder = gcbench.Encoder(Fails, 8)
    for value, words in ((1, "KeyError: 'no ones'"), (3, "its bound is")):
        with pytest.raises(gcbench.Error, match=words):
            encoder.encode(np.full(8, value, np.float32))
    message = encoder.encode(np.full(8, 2, np.float32))
    with pytest.raises(gcbench.Error, match="9 elements, not 8"):
        gcbench.Decoder.like(message).decode(message)
    with pytest.raises(gcbench.Error, match="the decoder expects"):
        gcbench.Decoder(Halves, 8).decode(message)


def test_compare_gives_rows_that_commands_read(tmp_path):
    def broken(x):
        raise OverflowError("too much")
    path = tmp_path / "r.json"
    rows = gcbench.compare({"halves": (encode, decode), "broken": (broken, decode), "short": (encode, lambda m, n: np.zeros(1, "f4"))},
                           SAMPLE, methods=["topk"], options=QUICK, results=str(path), command=str(COMMAND))
    assert rows == gcbench.read(path)
    of = {row["method"]: row for row in rows if row["record"] == "summary"}
    assert of["topk"]["status"] == "ok" and of["topk"]["timed"] is None
    assert of["exec/halves"]["timed"] == "round_trip" and of["exec/halves"]["encode_seconds"] > 0
    assert abs(of["exec/halves"]["rel_l2"] - of["identity"]["rel_l2"]) < 1e-3 < of["exec/halves"]["ratio"] - 1.5
    assert set(of["topk"]) == set(of["exec/halves"])
    assert of["exec/broken"]["status"] == "failed" and "OverflowError: too much" in of["exec/broken"]["reason"]
    assert of["exec/short"]["status"] == "failed" and "not" in of["exec/short"]["reason"]


def test_compare_says_what_the_command_says():
    with pytest.raises(RuntimeError, match="nothing.h5"):
        gcbench.compare({"halves": (encode, decode)}, "nothing.h5", command=str(COMMAND))
