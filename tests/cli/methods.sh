#!/bin/sh
# methods: each one is listed and explained, as text and as rows.
. "$(dirname "$0")/lib.sh"

run methods
exits 0
quiet
names=$(sed -n '2,/^$/s/^\([a-z0-9-]*\) .*/\1/p' "$out")
check "methods are listed" test -n "$names"
for name in $names; do
    run methods "$name"
    exits 0
    quiet
    prints "source "
    prints "promises "
    check "$name: two spaces after a default" sh -c "! grep -qE '^  [a-z-]+=[^ ]+ [^ ]' '$out'"
done

run methods --format json
exits 0
check "as many rows as methods" test "$(wc -l <"$out")" -eq "$(echo "$names" | wc -w)"
cp "$out" "$tmp/all.json"
check "rows hold what is needed to build a spec" python3 - "$tmp/all.json" <<'PY'
import json, sys
for line in open(sys.argv[1]):
    row = json.loads(line)
    assert row["record"] == "method" and row["schema"] == 1 and row["backends"] in (["cpu"], ["cpu", "cuda"])
    assert row["cpu_only"] in (False, True) and not (row["cpu_only"] and "cuda" in row["backends"])
    for p in row["parameters"]:
        assert p["type"] in ("real", "int", "size", "choice", "tile") and p["help"]
        if p["type"] == "tile":
            assert p["default"] == "none"
        elif p["type"] == "choice":
            assert p["default"] in p["choices"]
        else:
            assert p["min"] <= p["default"] <= p["max"]
    if row["method"] in ("fft", "topk"):
        assert [p for p in row["parameters"] if p["name"] == "theta" and p["default"] == 0.85
                and "density" in p["complements"]]
PY
check "collectives" python3 - "$tmp/all.json" <<'PY'
import json, sys
rows = {r["method"]: r for r in map(json.loads, open(sys.argv[1]))}
for row in rows.values():
    assert row["collective"] in row["collectives"] and "allgather" in row["collectives"], row
    assert [p["default"] for p in row["exchange"] if p["name"] == "collective"] == [row["collective"]], row
assert (rows["fp16"]["collective"], rows["fp16"]["rounds"]) == ("allreduce", 1)
assert (rows["qgz"]["collective"], rows["qgz"]["rounds"]) == ("twoshot", 2)
assert "oktopk" in rows["topk"]["collectives"] and "oktopk" not in rows["fft"]["collectives"]
PY
run methods fft --format json
exits 0
check "one row" test "$(wc -l <"$out")" -eq 1
run methods dgc --format json
check "a preset's memory is in its row" python3 -c "
import json
memory = {p['name']: p['default'] for p in json.load(open('$out'))['memory']}
assert memory['memory'] == 'dgc' and memory['momentum'] == 0.9 and memory['masking'] == 'yes', memory"
run methods topk:theta=0.9 --format json
prints '"default": 0.9'

finish
