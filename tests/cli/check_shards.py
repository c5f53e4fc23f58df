"""
Compares merged results of shards with the results of one run.

    check_shards.py ONE.json MERGED.json

The rows must be the same, in the same order, with the same fields in the same order. Every value that is not a time must be
equal, bit for bit. Times are those of other runs, so a summary's times are compared with the sums of MERGED's own rows.
An answer comes after each case of MERGED, except of `verify`, names input and scope, and says nothing about speeds.
"""
import json
import re
import sys

EXEMPT = ("seconds", "gbps", "gain_throughput", "bandwidth_share", "stop_reason", "sum_messages", "gpu_clock_mhz")


def rows_of(path):
    with open(path) as file:
        return [json.loads(line) for line in file]


def is_time(field):
    return any(word in field for word in EXEMPT)


def check_rows(one, merged):
    assert [r["record"] for r in one] == [r["record"] for r in merged]
    for a, b in zip(one[1:], merged[1:]):
        assert list(a) == list(b), set(a) ^ set(b)
        for field in a:
            if not is_time(field):
                assert repr(a[field]) == repr(b[field]), (a["record"], a.get("message"), field, a[field], b[field])


def check_times(merged):
    results = [r for r in merged if r["record"] == "result"]
    for s in merged:
        if s["record"] != "summary":
            continue
        keys = ("spec", "scope", "device", "threads", "cache")
        own = [r for r in results if all(r[k] == s[k] for k in keys)]
        for way in ("encode", "decode", "sum", "sum16"):
            for field in (way + "_seconds", way + "_seconds_low", way + "_seconds_high"):
                values = [r[field] for r in own]
                total = None
                if None not in values and values:
                    total = 0.0
                    for v in values:
                        total += v
                assert s[field] == total, (field, s[field], total)
            samples = [r[way + "_seconds_samples"] for r in own]
            if None in samples:
                assert s[way + "_seconds_samples"] is None and s[way + "_seconds_mad"] is None
                continue
            count = min(len(v) for v in samples)
            sums = [0.0] * count
            for v in samples:
                sums = [x + y for x, y in zip(sums, v)]
            assert s[way + "_seconds_samples"] == sums


def take_answers(rows):
    """Removes the answers from the rows. Returns what they say about sizes and errors, without the methods' parameters."""
    texts = [r["answer"] for r in rows if r["record"] == "answer"]
    rows[:] = [r for r in rows if r["record"] != "answer"]
    texts = [re.sub(r"^for .*?scope \w+, ", "", text) for text in texts]
    return [re.sub(r", encodes [^ ;]+ GB/s|:\w+=[^ ;]*", "", text) for text in texts]


one, merged = rows_of(sys.argv[1]), rows_of(sys.argv[2])
answers = take_answers(one)
assert answers == take_answers(merged) and (answers or one[-1]["record"] == "promise"), answers
assert one[0]["build_id"] == merged[0]["build_id"]
check_rows(one, merged)
check_times(merged)
print(f"{len(one) - 1} rows agree")
