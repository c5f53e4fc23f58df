#!/usr/bin/env python3
"""Writes the style and the script of the report page into a C file: embed_page.py OUT STYLE SCRIPT...

The page allows only the script with this hash (docs/report.md), so the hash is made from the same bytes.
"""
import base64
import hashlib
import json
import pathlib
import re
import sys

out, style, *scripts = (pathlib.Path(name) for name in sys.argv[1:])


def shorten(path):
    """The text without comments, indents and empty lines."""
    text = re.sub(r"^ */\*.*?\*/\n?", "", path.read_text(), flags=re.S | re.M)
    return "".join(line.strip() + "\n" for line in text.splitlines() if line.strip())


def c_lines(text):
    return "\n".join(f'    {json.dumps(line + chr(10))},' for line in text.splitlines())  # JSON's quoting is C's


code = "".join(map(shorten, scripts))
digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
out.write_text(f"""/* Made by src/tool/page/embed_page.py from page.css, page_chart.js and page.js. */
#include "src/tool/page/page_parts.h"

const char *const page_style[] = {{
{c_lines(shorten(style))}
    NULL,
}};
const char *const page_script[] = {{
{c_lines(code)}
    NULL,
}};
const char page_script_hash[] = "sha256-{digest}";
""")
