#!/bin/sh
# json: each line is a strict object, and nothing else is printed. csv and tsv: one header, and rows
# of the same length. --results together with a table.
. "$(dirname "$0")/lib.sh"

run generate --dist sparse:zeros=0.5 --elements 3000 --steps 2 --workers 2 -o "$tmp/in.h5"
exits 0
run generate --elements 1 -o "$tmp/one.h5"
exits 0

cat >"$tmp/read.py" <<'PY'
"""json FILE: every line a strict object with schema 1, record first; prints the records in it.
csv|tsv FILE JSON: the columns agree with the json rows of the same names."""
import csv, json, sys


def strict(text):
    def bad(name):
        raise ValueError(name)
    return json.loads(text, parse_constant=bad)


def rows(path):
    lines = open(path, encoding="utf-8").read().splitlines()
    assert lines
    found = [strict(line) for line in lines]
    for row in found:
        assert list(row)[0] == "record" and row["schema"] == 1, row
    return found


def text(value):
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def same(cell, value):
    if isinstance(value, float):
        return cell != "" and float(cell) == value
    return cell == text(value)


def main():
    kind, path = sys.argv[1:3]
    if kind == "json":
        print(*sorted({row["record"] for row in rows(path)}))
        return
    dialect = {"delimiter": ","} if kind == "csv" else {"delimiter": "\t", "quoting": csv.QUOTE_NONE}
    table = list(csv.reader(open(path, newline="", encoding="utf-8"), **dialect))
    header, body = table[0], table[1:]
    assert header[0] == "record" and len(set(header)) == len(header)
    wanted = [row for row in rows(sys.argv[3]) if row["record"] != "environment"]
    assert len(wanted) == len(body), (len(wanted), len(body))
    for cells, row in zip(body, wanted):
        assert len(cells) == len(header)
        for name, cell in zip(header, cells):
            assert same(cell, row.get(name)), (name, cell, row.get(name))


main()
PY

for file in in one; do
    for extra in "" --histogram --spectrum; do
        run inspect -q --format json $extra "$tmp/$file.h5" # -q: without FFTW one element has no spectrum
        exits 0
        quiet
        cp "$out" "$tmp/rows.json"
        check "strict JSON Lines" python3 "$tmp/read.py" json "$tmp/rows.json"
        for format in csv tsv; do
            run inspect -q --format $format $extra "$tmp/$file.h5"
            exits 0
            quiet
            check "$format agrees with json" python3 "$tmp/read.py" $format "$out" "$tmp/rows.json"
        done
    done
done

run inspect --histogram --spectrum "$tmp/in.h5"
cp "$out" "$tmp/table"
run inspect --histogram --spectrum --results "$tmp/saved.json" "$tmp/in.h5"
exits 0
check "the table still prints" cmp -s "$out" "$tmp/table"
run inspect --histogram --spectrum --format json "$tmp/in.h5"
grep -v '"environment"' "$out" >"$tmp/shown"
grep -v '"environment"' "$tmp/saved.json" >"$tmp/saved"
check "saved rows are those of --format json" cmp -s "$tmp/shown" "$tmp/saved"
check "the environment comes first" sh -c "head -1 '$tmp/saved.json' | grep -q environment"
hash=$(python3 -c 'import json,sys; print(json.loads(sys.stdin.readline())["input_xxh3"][0]["xxh3"])' <"$out")
if command -v xxhsum >/dev/null; then
    check "hash of the input" test "$hash" = "$(xxhsum -q -H3 "$tmp/in.h5" | sed 's/.* = //; s/^XXH3_//; s/ .*//')"
else
    leave_out "no xxhsum (Debian package xxhash)"
fi

# colour only with --color, or on a terminal
run inspect "$tmp/in.h5"
check "no escapes into a file" sh -c "! grep -q '$(printf '\033')' '$out'"
run inspect --color always "$tmp/in.h5"
check "--color always" grep -q "$(printf '\033')\[1m" "$out"
run inspect --color never "$tmp/in.h5"
check "--color never" sh -c "! grep -q '$(printf '\033')' '$out'"

# numbers do not depend on the locale
LC_ALL=de_DE.UTF-8 run inspect --format csv "$tmp/in.h5"
check "the same in another locale" sh -c "
    '$GCBENCH' inspect --format csv '$tmp/in.h5' | cmp -s - '$out'"

finish
