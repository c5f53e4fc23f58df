#!/bin/sh
# report: one page with the rows of the files as JSON, which loads nothing, whatever names they
# have. report_browser.sh opens it.
. "$(dirname "$0")/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
sample=$here/../../datasets/sample.h5
page() { # TEXT...: the page is well-formed and its data have these texts
    check "the page: $*" python3 "$here/check_report.py" "$tmp/dir/r.html" "$@"
}
mkdir "$tmp/dir"

run compress --method topk --method qsgd:bits=4 --step last "$sample" --results "$tmp/r.json"
exits 0
run replay --method topk:memory=ef --allow-gaps "$sample" --results "$tmp/replay.json"
exits 0
run compress --method topk "$sample" --step last --results "$tmp/new.json"
run regress "$tmp/r.json" "$tmp/new.json" --results "$tmp/verdicts.json"
run payoff "$tmp/r.json" --bandwidth 1Gb --results "$tmp/payoff.json"
exits 0

run verify --method qsgd --step last --worker 0 "$sample" --results "$tmp/promises.json"
exits 0
run payoff --link "$here/../data/net/link.json" --results "$tmp/truth.json" "$here/../data/net/exchanges.json"
exits 0
run report "$tmp/r.json" "$tmp/replay.json" "$tmp/verdicts.json" "$tmp/promises.json" "$tmp/payoff.json" "$tmp/truth.json" \
    "$here/../data/net/exchanges.json" --no-plots -o "$tmp/dir/r.html"
exits 0
quiet
check "nothing on stdout" test ! -s "$out"
only r.html
page "topk:theta=0.85" "qsgd:bits=4,bucket=512" "fp16" "GONE" "powersgd:rank=4" "oktopk" "round-trip" "$tmp/replay.json"

# the rows of the page are those of the files, and errors by tensor the means of results
check "the rows" python3 - "$tmp" "$here" <<'END'
import json, sys
tmp, here = sys.argv[1:]
sys.path.insert(0, here)
from check_report import data_of, rows_of

page = tmp + "/dir/r.html"
data = data_of(page)
assert data["figures"] == [] and data["title"] is None and data["baselines"]["fp16"], data["baselines"]
files = [f"{tmp}/{name}.json" for name in ("r", "replay", "verdicts", "promises", "payoff", "truth")]
files.append(here + "/../data/net/exchanges.json")
rows = [json.loads(line) for name in files for line in open(name)]
for record in ("summary", "replay", "verdict", "promise", "payoff", "measured", "exchange", "answer", "environment"):
    wanted = [row for row in rows if (row["model"] if row.get("model") == "measured" else row["record"]) == record]
    found = rows_of(page, record)
    assert wanted and len(found) == len(wanted) and data["records"][record]["more"] == 0, record
    for row, at in zip(found, wanted, strict=True):
        assert row["page_results"] in files
        for field, value in row.items():
            if field.startswith("page_") or field in ("spec", "bandwidths"):
                continue
            right = abs(value - at[field]) <= 1e-6 * abs(value) if isinstance(value, float) else value == at[field]
            assert right, (record, field, value, at[field])
        scalars = {k for k, v in at.items() if v is not None and not isinstance(v, (list, dict))}
        assert scalars - set(row) <= {"record", "schema"}, (record, scalars - set(row))
column = data["records"]["summary"]["columns"]["ratio"]
assert column["show"] == "number" and "`input_bytes` / `wire_bytes`" in column["meaning"], column
assert [row["page_label"] for row in rows_of(page, "summary")][:2] == ["topk:theta=0.85", "qsgd:bits=4"]

errors = {}
for row in rows:
    if row["record"] == "result" and row["method"] != "fp16":
        errors.setdefault((row["tensor"], row["method"]), []).append(row["rel_l2"])
found = rows_of(page, "result")
assert len(found) == len(errors)
for row in found:
    wanted = errors[row["tensor"], row["page_label"].split(":")[0]]
    assert abs(row["rel_l2"] - sum(wanted) / len(wanted)) < 1e-6 and row["messages"] == len(wanted), row
END

# plots, or why they are missing
run compress --histogram --method topk --step 100 --worker 0 --results "$tmp/values.json" "$sample"
exits 0
run report "$tmp/r.json" --force -o "$tmp/dir/r.html"
exits 0
page
if command -v gnuplot >/dev/null; then
    quiet
    run report "$tmp/r.json" "$tmp/values.json" --force -o "$tmp/dir/r.html"
    exits 0
    page
    check "a picture" grep -q '{"svg":"[^}]*","title":"' "$tmp/dir/r.html"
else
    leave_out "no gnuplot (Debian package gnuplot-nox)"
fi
PATH=/nonexistent "$GCBENCH" report "$tmp/values.json" --force -o "$tmp/dir/r.html" 2>"$err" >"$out"
rc=$?
last="report without gnuplot"
exits 1
says "is written, but it has no plots: gnuplot"
page "gnuplot"
PATH=/nonexistent "$GCBENCH" report --no-plots "$tmp/r.json" --force -o "$tmp/dir/r.html" 2>"$err" >"$out"
rc=$?
exits 0
quiet
only r.html

# hostile names in each text of each record
python3 - "$tmp/r.json" "$tmp/replay.json" "$tmp/verdicts.json" "$tmp/promises.json" "$tmp/payoff.json" >"$tmp/hostile.json" <<'END'
import json, sys
def spoil(value, key, depth):
    if isinstance(value, str) and key not in ("record", "model", "status"):
        return "</td></table><script>alert(1)</script><img src=x onerror='x()'>\" onload=\"y()" + \
            "\u001b[2J\u202e`touch x`'$(touch y)&lt;" + value
    if isinstance(value, list):
        return [spoil(item, "", depth + 1) for item in value]
    if isinstance(value, dict):
        return {(spoil(k, "", 1) if depth else k): spoil(v, k, depth + 1) for k, v in value.items()}
    return value
for path in sys.argv[1:]:
    for line in open(path):
        print(json.dumps(spoil(json.loads(line), "", 0)))
END
run report --title "</title><script>t()</script>" --force "$tmp/hostile.json" -o "$tmp/dir/r.html"
exits 0
page "<script>alert(1)</script>" "</title><script>t()</script>"
check "nothing was run" sh -c "! ls '$tmp/dir' . | grep -qx '[xy]'"
only r.html

# strange numbers
cat >"$tmp/odd.json" <<'END'
{"record": "summary", "schema": 1, "method": "topk", "spec": "topk:theta=0.5", "ratio": 1e308, "rel_l2": 5, "encode_seconds": 0, "encode_seconds_low": 0, "encode_seconds_high": 0, "encode_gbps": 1, "wire_bytes": 9000000000000000000, "messages": 3, "pareto": true}
{"record": "summary", "schema": 1, "method": null, "spec": null, "ratio": 0, "status": "not-known"}
{"record": "kernel", "schema": 1, "kernel": null}
{"record": "result", "schema": 1, "tensor": "", "rel_l2": 1e300, "spec": ""}
{"record": "unheard-of", "schema": 1}
END
run report --no-plots --force "$tmp/odd.json" -o "$tmp/dir/r.html"
exits 0
page "topk:theta=0.5"

# what is refused leaves no file
rm "$tmp/dir/r.html"
head -c 100 "$tmp/r.json" >"$tmp/cut.json"
sed 's/"messages": 3/"messages": -3/' "$tmp/odd.json" >"$tmp/wrong.json"
for wrong in "$tmp/none.json" "$tmp/cut.json" "$tmp/wrong.json"; do
    run report "$wrong" -o "$tmp/dir/r.html"
    exits 1
    says "${wrong##*/}"
    only
done
printf '{"record": "environment", "schema": 1}\n' >"$tmp/empty.json"
run report "$tmp/empty.json" -o "$tmp/dir/r.html"
exits 1
says "these files have no rows that a report shows"
run report "$tmp/r.json"
exits 2
says "no output given"
run report -o "$tmp/dir/r.html"
exits 2
says "no results given"
run report "$tmp/r.json" -o "$tmp"
exits 2
says "exists and is not a regular file"
only
cp "$tmp/r.json" "$tmp/same.html"
run report "$tmp/same.html" --force -o "$tmp/same.html"
exits 2
check "the input is as it was" cmp -s "$tmp/r.json" "$tmp/same.html"
echo old >"$tmp/dir/r.html"
run report --no-plots "$tmp/r.json" -o "$tmp/dir/r.html"
exits 2
says "--force"
check "the old page stays" grep -qx old "$tmp/dir/r.html"
run report --no-plots "$tmp/r.json" -o /dev/full
exits 2
# Rows of a training have plots only.
printf '{"record":"training","schema":1,"network":"n","label":"a","method":"qsgd","workers":2,"step":%s,"link_bytes":%s,"quality":%s}\n' 1 100 50 2 200 60 >"$tmp/training.json"
if command -v gnuplot >/dev/null; then
    run report "$tmp/training.json" -o "$tmp/training.html"
    exits 0
    check "the plot of a training" grep -q 'quality on test data against bytes' "$tmp/training.html"
else
    leave_out "no gnuplot (Debian package gnuplot-nox)"
fi
run report --no-plots "$tmp/training.json" -o "$tmp/none.html"
exits 1
says "no rows that a report shows"
finish
