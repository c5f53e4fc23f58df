#!/bin/sh
# Names from a file are harmless: no control character, reordering mark or formula is printed.
. "$(dirname "$0")/lib.sh"

check "input" python3 - "$tmp/in.h5" <<'PY'
import h5py, numpy, sys
names = [b"\x1b[31mred", b"tab\there", b"line\nbreak", b"=1+1", b"@SUM", b"a,b", b'quo"te', b"\xff\xfe", b"\x7fdel",
         "caf\u00e9".encode(), "\u202eturned".encode(), b"back\\slash", b"\xc2\x9b31m", "\u6f22\u5b57".encode()]
with h5py.File(sys.argv[1], "w") as f:
    g = f.create_group("step_0/worker_0")
    for i, name in enumerate(names):
        space = h5py.h5s.create_simple((3,))
        d = h5py.h5d.create(g.id, name, h5py.h5t.IEEE_F32LE, space)
        d.write(h5py.h5s.ALL, h5py.h5s.ALL, numpy.full(3, i, "f4"))
PY

cat >"$tmp/clean.py" <<'PY'
import sys
data = open(sys.argv[1], "rb").read()
text = data.decode("utf-8")
allowed = "\n\t" if sys.argv[2] == "tsv" else "\n"
for c in text:
    assert c in allowed or (ord(c) >= 32 and not 0x7f <= ord(c) < 0xa0 and c not in "\u202e\ufeff"), repr(c)
PY
for format in table json csv tsv; do
    run inspect --format $format "$tmp/in.h5"
    exits 0
    check "$format is clean" python3 "$tmp/clean.py" "$out" $format
done
run inspect --format csv "$tmp/in.h5"
check "csv has 14 rows of one length, no formula" python3 - "$out" <<'PY'
import csv, sys
rows = list(csv.reader(open(sys.argv[1], newline="")))
assert len(rows) == 15 and len({len(r) for r in rows}) == 1
names = [r[rows[0].index("tensor")] for r in rows[1:]]
assert not [n for n in names if n[0] in "=+-@"], names
assert "'=1+1" in names and "a,b" in names and 'quo"te' in names and "caf\u00e9" in names
PY
run inspect --format json "$tmp/in.h5"
prints '"tensor": "\\x1b[31mred"'
run inspect --dataset "$(printf '\033')*" "$tmp/in.h5"
exits 0
prints "1 tensor"

finish
