#!/bin/sh
# report_browser: the page in a headless Chromium: clicks, keys, hovering, widths, schemes, printing
# and hostile names. GCBENCH_SHOTS=FOLDER keeps screenshots there, to be looked at.
. "$(dirname "$0")/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)

if ! command -v chromium-headless-shell >/dev/null && ! command -v chromium >/dev/null; then
    echo "skipped: no Chromium (Debian package chromium-headless-shell; ./dev test installs it without --small)"
    exit 77
fi
sample=$tmp/a_name_that_is_longer_than_a_line_of_a_narrow_screen_has_room_for.h5
cp "$here/../../datasets/sample.h5" "$sample"
run bench --repeat 3 --method topk --method fft --method qsgd --method sbc "$sample" --results "$tmp/bench.json"
exits 0
run payoff "$tmp/bench.json" --bandwidth 1Gb..100Gb --results "$tmp/payoff.json"
exits 0
run sweep --match rel_l2=0.4 --scope model --method topk --method fft --method qsgd "$sample" --results "$tmp/sweep.json"
exits 0
run report "$tmp/bench.json" "$tmp/payoff.json" "$tmp/sweep.json" --no-plots -o "$tmp/page.html"
exits 0

run report "$tmp/sweep.json" --no-plots -o "$tmp/figures.html"
exits 0
run payoff "$sample" --coding h200 --params 25M --bandwidth 1Gb..100Gb --results "$tmp/links.json"
exits 0
run report "$tmp/links.json" --no-plots -o "$tmp/links.html"
exits 0

# the same cases at three dates; the ratio of topk grows and its speed falls
python3 - "$tmp/bench.json" "$tmp" <<'END'
import json, sys
rows = [json.loads(line) for line in open(sys.argv[1])]
for i in range(3):
    with open(f"{sys.argv[2]}/day{i}.json", "w") as out:
        for row in rows:
            if row["record"] == "environment":
                row |= {"date": f"2026-01-0{i + 1}T12:00:00Z", "git_revision": f"{i}{i}{i}abcdef0123"}
            if row["record"] == "summary" and row["method"] == "topk":
                row |= {"ratio": 3.0 * 2 ** i, "encode_gbps": 8.0 / 2 ** i}
            if row["record"] == "answer":
                row["answer"] = f"the answer of day {i}"
            print(json.dumps(row), file=out)
END
run report "$tmp/day2.json" "$tmp/day0.json" "$tmp/day1.json" --no-plots -o "$tmp/history.html"
exits 0

# a thousand rows of methods
python3 - "$tmp/sweep.json" >"$tmp/many.json" <<'END'
import json, sys
rows = [json.loads(line) for line in open(sys.argv[1])]
print(json.dumps(rows[0]))
topk = next(row for row in rows if row["record"] == "summary" and row["method"] == "topk")
for i in range(1000):
    theta = 0.5 + i / 2500
    topk |= {"spec": f"topk:theta={theta:.4f},values=fp32,index=u32", "rel_l2": theta ** 3, "ratio": 1 / (1.0001 - theta)}
    print(json.dumps(topk))
END
run report "$tmp/many.json" --no-plots -o "$tmp/many.html"
check "a page of 1000 rows has less than 1 MB" sh -c "test \$(wc -c <'$tmp/many.html') -lt 1000000"

# hostile names in each text, one of them also a method's name
python3 - "$tmp/bench.json" "$tmp/payoff.json" "$tmp/sweep.json" >"$tmp/hostile.json" <<'END'
import json, sys
EVIL = "</td></table></script><script>alert(1)</script><img src=x onerror='alert(2)'><svg onload=alert(3)>\" onload=\"alert(4)"
def spoil(value, key):
    if isinstance(value, str) and key not in ("record", "model", "status", "date"):
        return value + EVIL
    if isinstance(value, list):
        return [spoil(item, "") for item in value]
    return value
for path in sys.argv[1:]:
    for line in open(path):
        print(json.dumps({k: spoil(v, k) for k, v in json.loads(line).items()}))
END
run report "$tmp/hostile.json" --title "</title></script><script>alert(5)</script>" --no-plots -o "$tmp/hostile.html"
exits 0

last="check_browser.py"
check "the page in a browser" timeout $((10 * hang)) python3 "$here/check_browser.py" "$tmp"
finish
