#!/usr/bin/env python3
"""Writes the report page without its data into a C file: embed_page.py OUT PAGE STYLE SCRIPT

The page lets a browser run only the script with the hash that it names (docs/plots.md). The hash is made here, from
the bytes of the embedded script.
"""
import base64
import hashlib
import json
import pathlib
import re
import sys

out, page, style, script = (pathlib.Path(name) for name in sys.argv[1:])


def shorten(path):
    """The text of a file without comments that begin a line, indents and empty lines."""
    text = re.sub(r"^ */\*.*?\*/\n?", "", path.read_text(), flags=re.S | re.M)
    return "".join(line.strip() + "\n" for line in text.splitlines() if line.strip())


def c_lines(text):
    """The text as initialisers of an array of C strings, one for each line."""
    return "\n".join(f"    {json.dumps(line)}," for line in text.splitlines(keepends=True))  # JSON's quoting is C's


code = "\n" + shorten(script)
digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
text = page.read_text().replace("HASH", f"sha256-{digest}").replace("STYLE", shorten(style)).replace("\nSCRIPT", code)
before, after = text.split("DATA")
out.write_text(f"""/* Made by src/tool/page/embed_page.py from page.html, page.css and page.js. */
#include "src/tool/page/page.h"

const char *const page_before[] = {{
{c_lines(before)}
    NULL,
}};
const char *const page_after[] = {{
{c_lines(after)}
    NULL,
}};
""")
