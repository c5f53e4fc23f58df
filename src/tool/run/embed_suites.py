#!/usr/bin/env python3
"""Writes the shipped suites into a C file: embed_suites.py OUT FILE.json...

So the program needs no files of suites at run time, and each suite is written in one place only, datasets/suites.
"""
import json
import pathlib
import sys

out, files = sys.argv[1], [pathlib.Path(name) for name in sys.argv[2:]]
lines = ['/* Made by src/tool/run/embed_suites.py from datasets/suites. */', '#include "src/tool/run/suite.h"',
         '', 'const struct gcb_suite_text gcb_suite_texts[] = {']
for path in files:
    suite = json.loads(path.read_text())
    if suite["name"] != path.stem:
        sys.exit(f"{path}: the name in the suite differs from the file name")
    text = json.dumps(json.dumps(suite))  # JSON's quoting of ASCII is C's
    lines.append(f'    {{"{path.stem}", {text}}},')
lines += ['    {NULL, NULL},', '};', '']
pathlib.Path(out).write_text("\n".join(lines))
