"""Running gcbench once for each result, and writing tables and pictures from rows."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple

Row = Dict[str, Any]
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#404040")


class Item(NamedTuple):
    """A figure or table of a paper."""

    number: str                     # "Figure 3"
    shows: str                      # what the paper shows there, and its numbers
    ours: str = ""                  # what we have, in words; empty: it cannot be given
    files: Tuple[str, ...] = ()     # what was written, relative to the folder
    missing: str = ""               # why it cannot be given


class Curve(NamedTuple):
    name: str
    points: List[Tuple[float, float]]


class Work:
    """The output folder. Each result is made once, by one command; a second run makes only what is missing."""

    def __init__(self, folder: Path, gcbench: Path, selections: Path, shared: Path, quick: bool) -> None:
        self.folder, self.gcbench, self.selections, self.quick = folder, gcbench, selections, quick
        self.data = Path(__file__).resolve().parents[1]
        self.shared = shared
        self.commands: List[str] = []  # of the figure that is being made
        for name in ("inputs", "results", "tables", "pictures"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        self.build = json.loads(self.capture([gcbench, "info", "--format", "json"]).splitlines()[0])["build_id"]

    # ---- commands ----

    def capture(self, command: Sequence[Any]) -> str:
        done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              check=False, cwd=self.folder)
        if done.returncode:
            sys.exit(f"papers: {self.shown(command)}\nended with status {done.returncode}:\n{done.stderr}")
        return done.stdout

    def shown(self, command: Sequence[Any]) -> str:
        """A command as one would type it in the folder."""
        words = [str(word) for word in command]
        words[0] = Path(words[0]).name
        return " ".join(shlex.quote(os.path.relpath(word, self.folder) if word.startswith("/") else word)
                        for word in words)

    def once(self, output: str, command: Sequence[Any]) -> Path:
        """Run a command that writes `output`, unless an earlier run has written it with the same command and build."""
        path, stamp = self.folder / output, self.folder / "results" / (Path(output).name + ".made")
        made_by = f"{self.build}\n{self.shown(command)}\n"
        self.commands.append(self.shown(command))
        if not (path.exists() and stamp.exists() and stamp.read_text() == made_by):
            print(f"  {self.shown(command)}", file=sys.stderr, flush=True)
            stamp.unlink(missing_ok=True)
            text = self.capture(command)
            if not path.exists() or path.suffix == ".txt":  # a command without --results prints its result
                path.write_text(text)
            stamp.write_text(made_by)
        return path

    def seconds(self, most: int) -> List[str]:
        """How long one `bench` may measure."""
        return ["--time-budget", "0.2" if self.quick else str(most)]

    def results(self, name: str, *arguments: Any) -> Path:
        output = f"results/{name}.json"
        return self.once(output, [self.gcbench, *arguments, "--quiet", "--force", "--results", output])

    # ---- inputs ----

    def synthetic(self, name: str, *arguments: str) -> Path:
        output = f"inputs/{name}.h5"
        return self.once(output, [self.gcbench, "generate", *arguments, "--force", "-o", output])

    def network(self, layout: str) -> Path:
        """Gradients with a network's shapes and a heavy tail, which real gradients have too."""
        return self.synthetic(layout, "--dist", "student-t:df=3", "--layout", layout)

    def correlated(self) -> Path:
        return self.synthetic("ar9", "--dist", "ar:rho=0.9", "--elements", "64K" if self.quick else "4M")

    @property
    def sample(self) -> Path:
        return self.data / "sample.h5"

    def real(self, name: str) -> Optional[Path]:
        """A file of the shared folder, if it is there."""
        path = self.shared / "data" / name
        return path if path.exists() and not self.quick else None

    def gradients(self) -> List[Tuple[str, List[Any]]]:
        """Real gradients: a name, and the words that choose one worker's step."""
        one = ["--worker", "0", "--step", "100"]
        found = [("sample", [self.sample, *one])]
        for name in ("resnet20", "alexlike"):
            path = self.real(f"{name}.h5")
            if path:
                found.append((name, [path, *one]))
        return found

    @property
    def networks(self) -> List[str]:
        return ["resnet50"] if self.quick else ["alexnet", "vgg16", "resnet50", "lstm"]

    # ---- what is written ----

    def table(self, name: str, columns: Sequence[str], rows: Iterable[Sequence[Any]], note: str = "") -> str:
        """Write tables/NAME.txt and .json. Returns the path of the text."""
        rows = [list(row) for row in rows]
        cells = [list(columns)] + [[text_of(value) for value in row] for row in rows]
        wide = [max(len(row[i]) for row in cells) for i in range(len(columns))]
        left = [all(isinstance(row[i], str) for row in rows) for i in range(len(columns))]
        lines = ["  ".join(cell.ljust(w) if l else cell.rjust(w) for cell, w, l in zip(row, wide, left)).rstrip()
                 for row in cells]
        text = "\n".join(lines + ([note] if note else [])) + "\n"
        (self.folder / "tables" / f"{name}.txt").write_text(text)
        (self.folder / "tables" / f"{name}.json").write_text(json.dumps(
            [dict(zip(columns, row)) for row in rows], indent=1) + "\n")
        return f"tables/{name}.txt"

    def plot(self, name: str, plot: str, *results: Path) -> Tuple[str, ...]:
        """Draw one of gcbench's plots. Returns its pictures, of which there may be several."""
        out = self.folder / "pictures" / name
        command = [self.gcbench, "plot", "--quiet", "--force", "--only", plot, "-o", f"pictures/{name}",
                   *(path.relative_to(self.folder) for path in results)]
        self.commands.append(self.shown(command))
        for old in out.glob("*.png"):
            old.unlink()
        self.capture(command)
        return tuple(f"pictures/{name}/{path.name}" for path in sorted(out.glob("*.png")))

    def lines(self, name: str, title: str, x: str, y: str, curves: Sequence[Curve], settings: str = "") -> str:
        """Draw curves with gnuplot. Returns the path of the picture; its data and its script stand beside it."""
        marks = "linespoints" if max(len(curve.points) for curve in curves) <= 20 else "lines"
        out = self.folder / "pictures"
        (out / f"{name}.dat").write_text("\n\n\n".join(
            f"# {curve.name}\n" + "".join(f"{a:.9g} {b:.9g}\n" for a, b in curve.points) for curve in curves))
        drawn = ", ".join(
            f"'{name}.dat' index {i} with {marks} lw 1.5 pt {(7, 5, 9, 13, 11)[i % 5]} ps 0.8"
            f" lc rgb '{COLOURS[i % 7]}' dt {1 + i // 7} title {quoted(curve.name)}" for i, curve in enumerate(curves))
        (out / f"{name}.gp").write_text(f"""# To draw this picture again: gnuplot {name}.gp
set terminal pngcairo noenhanced size 1800,1000 font 'sans,10' fontscale 2 linewidth 2 pointscale 2 background rgb 'white'
set output '{name}.png'
set title {quoted(title)}
set border 3 linecolor rgb '#404040'
set tics nomirror out scale 0.6
set grid linecolor rgb '#d0d0d0'
set key outside right top Left reverse
set format '%g'
set autoscale xfix
set offsets graph 0.03, graph 0.03
set xlabel {quoted(x)}
set ylabel {quoted(y)}
{settings}
plot {drawn}
""")
        done = subprocess.run(["gnuplot", f"{name}.gp"], cwd=out, check=False, stderr=subprocess.PIPE, text=True)
        if done.returncode:
            sys.exit(f"papers: gnuplot {name}.gp failed:\n{done.stderr}")
        return f"pictures/{name}.png"


def rows_of(path: Path, record: str) -> List[Row]:
    """The rows of one kind in a file that --results has written."""
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    return [row for row in rows if row["record"] == record]


def quoted(text: str) -> str:
    """A string in which gnuplot runs nothing."""
    return "'" + text.replace("'", "''") + "'"


def text_of(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"
    return str(value)
