#!/usr/bin/env python3
"""
datasets/papers: a quick run writes an index that names only files that exist, and a second run makes nothing again.

    check_papers.py BUILD

Exits 77 where gnuplot is missing.
"""
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

REDRAW = Path(__file__).resolve().parents[2] / "datasets" / "papers" / "redraw.py"


def run(build, folder):
    """Returns the exit status and what the script said."""
    done = subprocess.run([sys.executable, REDRAW, "--quick", "--build", build, "-o", folder], stderr=subprocess.STDOUT,
                          stdout=subprocess.PIPE, text=True)
    return done.returncode, done.stdout


def named(index):
    return set(re.findall(r"(?:href|src)='([^']+)'", index))


def main(build):
    if not shutil.which("gnuplot"):
        print("skipped: no gnuplot (Debian package gnuplot-nox)")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "papers"
        status, said = run(build, folder)
        assert status == 0, said
        index = (folder / "index.html").read_text()
        files = named(index)
        absent = [file for file in files if not (folder / file).is_file() or not (folder / file).stat().st_size]
        assert not absent, f"index.html names {absent}"
        made = {str(path.relative_to(folder)) for part in ("tables", "pictures") for path in (folder / part).rglob("*")
                if path.suffix in (".png", ".txt", ".json")}
        assert made == files, f"made and not in index.html, or the reverse: {made ^ files}"
        assert sum(file.endswith(".png") for file in files) >= 12 and sum(file.endswith(".json") for file in files) >= 12
        for file in files:
            if file.endswith(".json"):
                assert json.loads((folder / file).read_text()), f"{file} is empty"
            elif file.endswith(".txt"):
                wide = [line for line in (folder / file).read_text().splitlines() if len(line) > 80]
                assert not wide, f"{file} has lines of over 80 columns: {wide}"
        # every figure is given, or says why it is not
        parts = re.split(r"<h3>", index)[1:]
        assert len(parts) >= 28 and all(("<b>Here:</b>" in part) != ("<b>Not given:</b>" in part) for part in parts)

        status, said = run(build, folder)
        assert status == 0 and not re.search(r"^  (gcbench|bench_select) ", said, re.M), f"made again:\n{said}"
    print("1 run, 1 repeated")


main(sys.argv[1])
