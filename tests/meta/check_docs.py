#!/usr/bin/env python3
"""
Checks that the docs are complete and that their links and their code work.

    check_docs.py GCBENCH ROOT [COMPILER...]

- Every method that `gcbench methods` lists has the page docs/codecs/<method>.md. The page has a row for every parameter
  with its default. The page of a preset may leave out the parameters whose default is that of its codec.
- docs/codecs/index.md has a link to each of these pages.
- docs/format.md has the wire id of every codec.
- docs/exchange.md has a row for every collective, with a link to its section.
- Every relative link in README.md and docs/**/*.md leads to a file, and to a heading if it names one.
- With a compiler, the C files shown in the docs compile.
"""
import json
import re
import subprocess
import sys
from pathlib import Path

LINK = re.compile(r"\]\(([^)\s]+)\)")
FENCE = re.compile(r"^(```|~~~).*?^\1", re.M | re.S)


def methods(command):
    lines = subprocess.run([command, "methods", "--format", "json"], check=True,
                           stdout=subprocess.PIPE, text=True).stdout.splitlines()
    return [row for row in map(json.loads, lines) if row["record"] == "method"]


def default_text(parameter):
    default = parameter["default"]
    if isinstance(default, str):
        return default
    return str(int(default)) if default == int(default) else f"{default:g}"


def rows_of(text):
    """{name: cells} of the table rows whose first cell is a name in backticks."""
    out = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.startswith("| `") and len(cells) > 1:
            out.setdefault(cells[0].strip("`"), cells[1:])
    return out


def has_row(rows, parameter):
    cells = rows.get(parameter["name"])
    return cells is not None and default_text(parameter) in cells[0].replace("`", "").split()


def check_method(row, root, format_text):
    folder = root / "docs" / "codecs"
    page, codec = folder / (row["method"] + ".md"), folder / (row["codec"] + ".md")
    if not page.is_file():
        yield f"{page} is missing: write it, as docs/adding-a-codec.md says"
        return
    if f"]({page.name})" not in (folder / "index.md").read_text(encoding="utf-8"):
        yield f"{folder / 'index.md'}: add a row for {row['method']}, with a link to its page"
    own = rows_of(page.read_text(encoding="utf-8"))
    shared = rows_of(codec.read_text(encoding="utf-8")) if codec.is_file() else {}
    for parameter in row["parameters"]:
        if not has_row(own if parameter["name"] in own else shared, parameter):
            yield (f"{page}: add a table row for a parameter: | `{parameter['name']}` | {default_text(parameter)} | "
                   "meaning |")
    if not re.search(rf"^\| {row['wire_id']} \| \[?{row['codec']}\b", format_text, re.M):
        yield (f"docs/format.md: add the row | {row['wire_id']} | [{row['codec']}](#{row['codec']}) | parameters | to its "
               "table of codecs, and a section that describes the payload")


def check_collectives(rows, root):
    text = (root / "docs" / "exchange.md").read_text(encoding="utf-8")
    for name in sorted({name for row in rows for name in row["collectives"]}):
        if f"\n| [`{name}`](#" not in text:
            yield f"docs/exchange.md: add a row for {name}, with a link to its section, to the table of collectives"


def anchors(path):
    """The names by which links find the headings."""
    text = FENCE.sub("", path.read_text(encoding="utf-8"))
    for heading in re.findall(r"^#+ +(.*)$", text, re.M):
        plain = re.sub(r"[`*]|\]\([^)]*\)|\[", "", heading).strip().lower()
        yield re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", plain))


def check_links(page):
    for link in LINK.findall(FENCE.sub("", page.read_text(encoding="utf-8"))):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        if not target.exists():
            yield f"{page}: the link {link} leads to no file; correct it"
        elif anchor and target.suffix == ".md" and anchor not in anchors(target):
            yield (f"{page}: the link {link} leads to no heading of {target.name}; its headings are "
                   f"{', '.join(anchors(target))}")


def check_code(page, root, compiler):
    """Compiles code blocks that are whole files: they begin with an #include of the library."""
    for code in re.findall(r"^```c\n(#include \"src/.*?)^```", page.read_text(encoding="utf-8"),
                           re.M | re.S):
        done = subprocess.run(compiler + ["-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror",
                                          "-fsyntax-only", "-I", str(root), "-x", "c", "-"],
                              input=code, stderr=subprocess.PIPE, text=True)
        if done.returncode:
            yield f"{page}: the C file it shows does not compile; change the page: {done.stderr.strip()}"


def main(command, root, *compiler):
    root, problems = Path(root), []
    format_text = (root / "docs" / "format.md").read_text(encoding="utf-8")
    listed = methods(command)
    for row in listed:
        problems += check_method(row, root, format_text)
    problems += check_collectives(listed, root)
    pages = [root / "README.md"] + sorted((root / "docs").rglob("*.md"))
    for page in pages:
        if page.is_file():
            problems += check_links(page)
        if page.is_file() and compiler:
            problems += check_code(page, root, list(compiler))
    for problem in problems:
        print(problem)
    print(f"{len(listed)} methods, {len(pages)} pages: {len(problems)} problems")
    return 1 if problems or not listed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
