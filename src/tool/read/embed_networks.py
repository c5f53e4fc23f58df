#!/usr/bin/env python3
"""Writes the parameters of known networks into a C file: embed_networks.py OUT NETWORKS.json"""
import json
import pathlib
import sys

networks = json.loads(pathlib.Path(sys.argv[2]).read_text())
lines = ["/* Made by src/tool/read/embed_networks.py from datasets/networks.json. */", "#include <stddef.h>", "",
         '#include "src/tool/read/synthetic.h"', "",
         "const char *const gcb_network_names[] = {" + "".join(f'"{name}", ' for name in networks) + "NULL};", "",
         "const struct gcb_shape_row gcb_network_rows[][GCB_LAYOUT_ROWS] = {"]
for rows in networks.values():
    lines.append("    {")
    for name, dims in rows.items():
        lines.append(f'        {{"{name}", {len(dims)}, {{{", ".join(map(str, dims))}}}}},')
    lines.append("    },")
pathlib.Path(sys.argv[1]).write_text("\n".join(lines + ["};", ""]))
