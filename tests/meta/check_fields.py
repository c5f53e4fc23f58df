#!/usr/bin/env python3
"""
Checks that the table of result fields is the only place that knows them.

    check_fields.py ROOT TABLES GCBENCH

- docs/rows.md and python/gcbench/fields.json are what cli/docs/generate.py makes of TABLES, which come from src/tool/rows/fields.def.
- The tables of src/tool/page/page.js have no field that is not in the table, except those that the script computes.
- Every row that GCBENCH writes for the sample has only fields of the table, with values of their types.
"""
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

TYPES = {"text": str, "integer": int, "real": (int, float), "bool": bool, "list": list, "object": dict}


def names_of(text):
    return set(re.findall(r'^(?:FIELD|JUDGED)\(\w+, "(\w+)"', text, re.M))


def check_tables(root, tables):
    made = subprocess.run([root / "cli/docs/generate.py", tables, "fields", "--check"], stderr=subprocess.PIPE, check=False, text=True)
    if made.returncode:
        yield made.stderr.strip()


def check_script(root, fields):
    path = "src/tool/page/page.js"
    text = (root / path).read_text(encoding="utf-8")
    lists = " ".join(re.findall(r"(?:columns: |const (?:places|facts) = )\[(.*?)\][,;]\n(?= *(?:charts|\}|const|\n))", text, re.S))
    titled = r"\['[^']+',\s+'(\w+)'(?:, true)?\]"  # a title and a field
    named = re.findall(titled, lists) + re.findall(r"'(\w+)'", re.sub(titled, "", lists))
    if len(named) < 100:
        yield f"{path}: no columns are found"
    for name in sorted(set(named) - fields - {"ratio_change", "speed_change"}):
        yield f"{path}: '{name}' is no field of src/tool/rows/fields.def"


def tables_of(path):
    """{record or part: {field: type}}."""
    records = json.loads(Path(path).read_text(encoding="utf-8"))["records"]
    return {record: {row[0]: row[1] for row in rows} for record, rows in records.items()}


def check_object(where, obj, fields, tables):
    for key, value in obj.items():
        if key not in fields:
            yield f"{where}: '{key}' is not in the table for this record: add it to src/tool/rows/fields.def"
            continue
        kind = TYPES[fields[key]]
        wrong = value is not None and (not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool))
        if wrong and not (key == "default" and isinstance(value, str)):
            yield f"{where}: '{key}' is {value!r}, and the table says {fields[key]}"
        part = "parameters" if key in ("memory", "exchange") else key
        if isinstance(value, list) and part in tables:
            for item in value:
                yield from check_object(f"{where}.{key}", item, tables[part], tables)


def fields_of(row, tables):
    record = row["record"]
    if record == "payoff":
        record = {"exchange": "predicted"}.get(row["model"], row["model"])
    out = dict(tables.get("result" if record == "summary" else record, {}))
    if record == "summary":
        out.update(tables["sweep"])
    out.update(record="text", schema="integer")
    return out


def check_rows(root, tables, gcbench):
    tables = tables_of(tables)
    sample = str(root / "datasets" / "sample.h5")
    with tempfile.TemporaryDirectory() as folder:
        saved = folder + "/r.json"
        commands = [
            ["info"], ["methods"],
            ["compress", "--method", "fft", "--method", "qsgd", "--histogram", "--spectrum", "--shard", "0/1", "--results",
             saved, sample],
            ["sweep", "--method", "topk", "--match", "rel_l2=0.5", "--scope", "model", sample],
            ["bench", "--kernels", "reduce/*", "--size", "l1", "--repeat", "1"],
            ["inspect", "--histogram", sample],
            ["replay", "--method", "topk:memory=ef", "--allow-gaps", sample],
            ["verify", "--method", "identity", sample],
            ["payoff", saved], ["regress", saved, saved],
        ]
        seen = set()
        for words in commands:
            out = subprocess.run([gcbench, words[0], "--format", "json", "-q", *words[1:]], stdout=subprocess.PIPE,
                                 check=False, text=True).stdout
            problems = set()
            for line in out.splitlines():
                row = json.loads(line)
                seen.add(row["record"])
                problems.update(check_object(f"{words[0]}: {row['record']}", row, fields_of(row, tables), tables))
            yield from sorted(problems)
    missing = {"environment", "result", "summary", "kernel", "tensor", "histogram", "spectrum", "method", "replay_step",
               "replay", "verdict", "regress", "payoff", "promise", "shard"} - seen
    if missing:
        yield f"no command wrote a row of {', '.join(sorted(missing))}"


def main():
    if len(sys.argv) != 4:
        print(__doc__)
        return 2
    root, tables, gcbench = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    for path in tables, gcbench:
        if not Path(path).is_file():
            sys.exit(f"{path} is missing: build gcbench first")
    fields = names_of((root / "src/tool/rows/fields.def").read_text(encoding="utf-8"))
    problems = [*check_tables(root, tables), *check_script(root, fields), *check_rows(root, tables, gcbench)]
    for problem in problems:
        print("not ok:", problem)
    print(f"{len(fields)} passed, {len(problems)} failed, 0 skipped")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
