#!/usr/bin/env python3
"""
Checks what `sweep --budget` found.

    check_budget.py GCBENCH ROWS TEXT [compress options...] FILE

ROWS are the rows and TEXT the table of one run. `compress` with the options in TEXT gives the bytes and the error of the row.
The policy meets the budget. It is no worse than the best single method, up to 3 % for the last step, and the last line says how
much better it is.
"""
import json
import re
import shlex
import subprocess
import sys

gcbench, path, printed, *options = sys.argv[1:]
rows = [row for row in map(json.loads, open(path)) if row["record"] == "summary"]
text = open(printed).read()
(policy,) = [row for row in rows if row["method"] == "policy"]

# the printed options give the row
block = re.search(r"as options of compress:\n((?:  (?:--|  \S).*\n)+)", text).group(1)
assert all(len(line) <= 80 or line.startswith("    ") for line in block.splitlines()), block
words = shlex.split(block.replace("\\\n", " "))
assert words == shlex.split(policy["policy"]), words
assert len(words) == 2 * policy["params"]["rules"], words
out = subprocess.run([gcbench, "compress", "--no-baselines", "--per", "none", "--repeat", "2", "--format", "json"] + words + options,
                     check=True, stdout=subprocess.PIPE, text=True).stdout
(again,) = [row for row in map(json.loads, out.splitlines()) if row["record"] == "summary"]
for field in ("spec", "policy", "wire_bytes", "header_bytes", "index_bytes", "rel_l2", "cosine", "kept", "messages"):
    assert again[field] == policy[field], (field, again[field], policy[field])

# it meets the budget, and is no worse than the best single method
singles = [row for row in rows if row["match_field"]]
field, target = singles[0]["match_field"], singles[0]["match_target"]
at_least, by = field == "ratio", "wire_bytes" if field == "rel_l2" else "rel_l2"
assert policy[field] >= target if at_least else policy[field] <= target, (policy[field], target)
matched = {"wire_bytes": "match_bytes", "rel_l2": "match_error"}[by] # of a method, or of two settings of it that share the messages
best = min((row for row in singles if row["match_reached"]), key=lambda row: row[matched])
gain = best[matched] / policy[by]
assert gain > 0.97, gain
said = re.sub(r"\s+", " ", text[text.index("answer: "):])
want = (f"does not pay: it has {1 / gain:.3g} times the" if gain < 1.02
        else f"sends {gain:.3g} times fewer bytes than the best single method" if by == "wire_bytes"
        else f"has an error of {policy['rel_l2']:.4f}, against {best['match_error']:.4f} of the best single method")
assert want in said, (want, said)
print(f"{gain:.3f} times better with {policy['params']['rules']} rules")
