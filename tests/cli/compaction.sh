#!/bin/sh
# inspect --compaction and compress --shuffle, compared with NumPy.
. "$(dirname "$0")/lib.sh"

check "as NumPy" python3 "$(dirname "$0")/check_compaction.py" "$GCBENCH" "$tmp"
refused 2 "leave out -o or --shuffle" compress --method topk --shuffle rows -o "$tmp/m.h5" "$tmp/grads.h5"
run inspect --compaction "$tmp/grads.h5"
exits 0
prints "low rank"
prints "kB, momentum"
run replay --allow-gaps --method topk "$tmp/grads.h5"
prints "kB, momentum"
run inspect --compaction --results "$tmp/rows.json" "$tmp/grads.h5"
run plot --only compaction -o "$tmp/plots" "$tmp/rows.json"
exits 0
check "as the rows" python3 - "$tmp" <<'PY'
import csv, json, sys
rows = [json.loads(line) for line in open(sys.argv[1] + "/rows.json")]
rows = [r for r in rows if r.get("group") == "convolution" and r["shuffle"] in (None, *["elements"] * (r["transform"] == "dct" and r["tile"] != "1x64"))]
drawn = [row for row in csv.DictReader(open(sys.argv[1] + "/plots/compaction-1.csv")) if row["density"]]
assert len(rows) == len(drawn) == 44, (len(rows), len(drawn))
for row, point in zip(rows, drawn):
    for field in ("density", "energy_share"):
        assert abs(row[field] - float(point[field])) < 1e-6, (row, point)
PY
finish
