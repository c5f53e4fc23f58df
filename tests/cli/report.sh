#!/bin/sh
# report: one well-formed page with the results, which loads nothing, whatever names they have. report_browser.sh opens it.
. "$(dirname "$0")/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
sample=$here/../../datasets/sample.h5
page() { # TEXT...: the page is well-formed and has these texts
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
page "Gradient compression: sample.h5" "topk:theta=0.85" "qsgd:bits=4,bucket=512" "fp16" "Error by tensor" \
    "What the bytes are" "From step to step" "Against the base" "GONE" "Will compression pay?" \
    "Measured exchanges" "Measured exchanges and their predictions" "powersgd:rank=4" "oktopk" "promises checked are broken" "round-trip" "Where this comes from" "$tmp/replay.json"
check "no plots" sh -c "! grep -q '<img' '$tmp/dir/r.html'"

# the figures are those of the rows
python3 - "$tmp/r.json" "$tmp/dir/r.html" >"$tmp/figures" <<'END'
import json, re, sys
rows = [json.loads(line) for line in open(sys.argv[1])]
page = re.sub(r"<wbr>", "", open(sys.argv[2]).read())
section = page[page.index('id="methods"'):page.index("</section>", page.index('id="methods"'))]
for row in rows:
    if row["record"] != "summary":
        continue
    number = re.search(r'data-i=(\d+)><th.*?' + re.escape(f'<td class=t><code>{row["spec"]}</code>'), page)[1]
    line = next(line for line in section.splitlines() if f'data-i={number}>' in line)
    cells = [re.sub("<[^>]*>", "", cell) for cell in re.findall("<td[^>]*>.*?</td>", line)]
    if cells.pop(4) != row["collective"]:
        print(row["spec"], cells)
    for value, cell in zip([row["ratio"], row["bits_per_element"], row["rel_l2"], row["cosine"], row["encode_gbps"]], cells):
        if abs(float(cell.split(" [")[0]) - value) > 0.006 * abs(value):
            print(row["spec"], value, cell)
    print("seen")
END
check "three methods, each figure right to its last digit" sh -c "test \"\$(cat '$tmp/figures')\" = 'seen
seen
seen'"

# a payoff of many links: folded rows, first of the ways that an answer names and of the bar
check "one link: no folds" sh -c "! grep -q 'rows: one for each way and network' '$tmp/dir/r.html'"
run payoff "$sample" --coding h200 --params 25M --bandwidth 1Gb..100Gb --results "$tmp/links.json"
exits 0
run report "$tmp/links.json" --no-plots -o "$tmp/dir/r.html" --force
exits 0
page "Will compression pay?"
check "the figures of each way" python3 - "$tmp/links.json" "$tmp/dir/r.html" <<'END'
import json, re, sys
rows = [row for row in map(json.loads, open(sys.argv[1])) if row["record"] == "payoff"]
page = re.sub(r"<wbr>", "", open(sys.argv[2]).read())
assert f"{len(rows)} rows: one for each way and network" in page


def table(name):
    text = page[page.index(f'id="{name}"'):]
    text = text[:text.index("</table>")]
    heads = re.findall(r'data-f="([^"]*)"', text)
    plain = lambda cell: re.sub(r"<[^>]*>", "", re.sub(r" <i>.*?</i>", "", cell))
    return [dict(zip(heads, map(plain, re.findall(r"<t[hd][^>]*>.*?</t[hd]>", line)), strict=True))
            for line in text.splitlines() if "<td" in line]


def seconds(text):
    number, unit = text.split()
    return float(number) * {"s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}[unit]


named = {r["spec"] for r in rows if r["advice"] or r["baseline"] and r["speedup_bar"] >= 1}
loud, quiet = ([r for r in rows if (r["spec"] in named) == which] for which in (True, False))
assert len(loud) > 5 and quiet
for name, wanted in (("payoff-rows", loud), ("payoff-quiet", quiet)):
    shown = table(name)
    for cells, row in zip(shown, wanted, strict=True):
        assert cells["label"] == row["label"] and cells["bar"] == row["bar"], (cells, row)
        for field in ("kind", "advice"):
            assert cells.get(field, "-") == (row[field] or "-"), (field, cells, row)
        assert int(cells["workers"]) == row["workers"]
        for field in ("bandwidth_gbit", "speedup_bar", "speedup_limit"):
            assert abs(float(cells[field]) - row[field]) <= 0.006 * row[field], (field, cells, row)
        for field in ("seconds", "coding_seconds", "network_seconds", "adding_seconds"):
            assert abs(seconds(cells[field]) - row[field]) <= 0.006 * row[field], (field, cells, row)
        assert abs(float(cells["error_of_mean"]) - row["error_of_mean"]) <= 0.006 * row["error_of_mean"] + 5e-4, (cells, row)
END
run report "$tmp/r.json" "$tmp/replay.json" "$tmp/verdicts.json" "$tmp/promises.json" "$tmp/payoff.json" --no-plots -o "$tmp/dir/r.html" --force
exits 0

# so are the means in the table of tensors, the worst first
python3 - "$tmp/r.json" "$tmp/dir/r.html" >"$tmp/figures" <<'END'
import json, re, sys
errors = {}
for row in map(json.loads, open(sys.argv[1])):
    if row["record"] == "result" and row["method"] in ("topk", "qsgd"):
        errors.setdefault(row["tensor"], {}).setdefault(row["method"], []).append(row["rel_l2"])
means = {name: {m: sum(v) / len(v) for m, v in by.items()} for name, by in errors.items()}
wanted = sorted(means, key=lambda name: (-max(means[name].values()), name))[:20]
page = open(sys.argv[2]).read()
section = page[page.index('id="tensors"'):]
rows = re.findall(r'<tr><th scope="row"><code>(.*?)</code></th><td[^>]*>(.*?)</td><td[^>]*>(.*?)</td>', section[:section.index("</section>")])
print([name for name, _, _ in rows] == wanted)
print(all(abs(float(a) - means[name]["topk"]) <= 6e-4 and abs(float(b) - means[name]["qsgd"]) <= 6e-4 for name, a, b in rows))
END
check "errors by tensor" sh -c "test \"\$(cat '$tmp/figures')\" = 'True
True'"

# plots, or why they are missing
run report "$tmp/r.json" --force -o "$tmp/dir/r.html"
exits 0
page
if command -v gnuplot >/dev/null; then
    quiet
    run report "$tmp/r.json" "$tmp/replay.json" --force -o "$tmp/dir/r.html"
    exits 0
    page "pictures of gcbench plot"
    check "a picture" grep -q '<figure><img alt="alpha' "$tmp/dir/r.html"
else
    leave_out "no gnuplot (Debian package gnuplot-nox)"
fi
PATH=/nonexistent "$GCBENCH" report "$tmp/replay.json" --force -o "$tmp/dir/r.html" 2>"$err" >"$out"
rc=$?
last="report without gnuplot"
exits 1
says "is written, but it has no plots: gnuplot"
page "There are no plots: "
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
{"record": "summary", "schema": 1, "method": "topk", "spec": "topk:theta=0.5", "ratio": 1e308, "rel_l2": -5, "encode_seconds": 0, "encode_seconds_low": 0, "encode_seconds_high": 0, "encode_gbps": 1, "wire_bytes": 9e18, "messages": -3, "pareto": true}
{"record": "summary", "schema": 1, "method": 7, "spec": [], "ratio": "x", "threads": {"a": 1}, "status": "not-known"}
{"record": "kernel", "schema": 1, "kernel": null}
{"record": "result", "schema": 1, "tensor": "", "rel_l2": 1e300, "spec": ""}
{"record": "unheard-of", "schema": 1}
END
run report --no-plots --force "$tmp/odd.json" -o "$tmp/dir/r.html"
exits 0
page "The files do not say"

# what is refused leaves no file
rm "$tmp/dir/r.html"
for wrong in "$tmp/none.json" "$tmp/cut.json"; do
    [ "$wrong" = "$tmp/none.json" ] || head -c 100 "$tmp/r.json" >"$wrong"
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
says "-o $tmp: this is a folder; try -o $tmp/report.html"
run report "$tmp/r.json" -o "$tmp/dir/r.json"
exits 2
says "a report is HTML"
only
run report --force "$tmp/r.json" -o "$here/../../plots/r.html"
exits 2
says "the folder of this file has the scripts that gcbench draws with"
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
printf '{"record":"training","schema":1,"network":"n","label":"a","method":"qsgd","workers":2,"step":%s,"quality":%s}\n' 1 50 2 60 >"$tmp/training.json"
if command -v gnuplot >/dev/null; then
    run report "$tmp/training.json" -o "$tmp/training.html"
    exits 0
    check "the plot of a training" grep -q 'quality on test data against training steps' "$tmp/training.html"
else
    leave_out "no gnuplot (Debian package gnuplot-nox)"
fi
run report --no-plots "$tmp/training.json" -o "$tmp/none.html"
exits 1
says "no rows that a report shows"
finish
