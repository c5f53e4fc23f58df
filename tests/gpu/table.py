"""Rows of JSON Lines as a table in Markdown.

    python3 table.py TITLE <rows
"""
import json
import sys

rows = [json.loads(line) for line in sys.stdin if line.startswith("{")]
columns = list(dict.fromkeys(key for row in rows for key in row if key not in ("record", "schema")))
print(f"## {sys.argv[1]}\n")
for cells in [columns, ["---"] * len(columns), *([row.get(key, "") for key in columns] for row in rows)]:
    print("|", " | ".join(f"{cell:.4g}" if isinstance(cell, float) else str(cell) for cell in cells), "|")
