"""gcbench.methods(), gcbench.read(), the example of docs/python.md and the notebook."""
import json
import os
import re
import subprocess
from pathlib import Path

import pytest

import gcbench

ROOT = Path(__file__).resolve().parents[2]
COMMAND = Path(os.environ["GCBENCH_LIBRARY"]).parents[1] / "cli" / "gcbench"


def rows_of(*words):
    return subprocess.run([COMMAND, *words], check=True, stdout=subprocess.PIPE, text=True).stdout


def test_methods_are_those_of_the_command():
    listed = [json.loads(line) for line in rows_of("methods", "--format", "json").splitlines()]
    listed = [row for row in listed if row["record"] == "method"]
    found = gcbench.methods()
    assert [(m.name, m.summary, m.source, m.promise) for m in found] == \
        [(row["method"], row["summary"], row["source"], row["bound"]) for row in listed]
    for method, row in zip(found, listed):
        defaults = {p["name"]: p["default"] for p in row["parameters"] + row["memory"]}
        assert bool(method.parameters) == bool(row["parameters"])
        for key, value in method.parameters.items():
            default = defaults.get(key)
            assert default is None or value == str(default) or float(value) == float(default), (method.name, key)


def test_results_are_read(tmp_path):
    path = tmp_path / "r.json"
    rows_of("compress", "--method", "topk", "--method", "qsgd", "--dataset", "fc.*", "--results", str(path), "-q",
            str(ROOT / "datasets" / "sample.h5"))
    rows = gcbench.read(path)
    assert rows[0]["record"] == "environment" and len(rows) == len(path.read_text().splitlines())
    cases = gcbench.read(path, record="result")
    assert {row["method"] for row in cases} >= {"topk", "qsgd"} and all(row["ratio"] > 0 for row in cases)
    for wrong in (b"nonsense", b"\xff", b"[" * 100000):
        (tmp_path / "bad").write_bytes(b'{"record": "x"}\n' + wrong)
        with pytest.raises(ValueError, match="bad:2: not a row"):
            gcbench.read(tmp_path / "bad")
    (tmp_path / "newer").write_text('{"record": "result", "schema": 2}\n')
    with pytest.raises(ValueError, match='newer:1: its "schema" is not 1'):
        gcbench.read(tmp_path / "newer")
    pytest.importorskip("pandas")
    frame = gcbench.read(path, record="result", frame=True)
    assert len(frame) == len(cases) and (frame["ratio"] > 0).all()
    assert [str(frame[name].dtype) for name in ("method", "elements", "ratio", "encode_seconds_mad")] == \
        ["string", "Int64", "float64", "float64"]
    assert frame.attrs["units"]["wire_bytes"] == "bytes" and "ratio" not in frame.attrs["units"]


def test_the_notebook_runs(monkeypatch):
    pytest.importorskip("pandas")
    monkeypatch.setenv("GCBENCH_COMMAND", str(COMMAND))
    cells = json.loads((ROOT / "docs" / "choose.ipynb").read_text(encoding="utf-8"))["cells"]
    names = {}
    for cell in cells:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), names)
    assert names["chosen"].error_of_mean <= names["most"] and names["units"]["seconds"] == "s"
    assert len(names["message"]) <= 4 * len(names["x"])


def test_the_readme_example_runs(capsys):
    pytest.importorskip("numpy")
    text = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    code = re.search(r"^(?:    import gcbench\n)(?:(?:    .*)?\n)+?(?=\S)", text, re.M).group()
    exec(re.sub(r"^    ", "", code, flags=re.M), {})
    assert re.search(r"\d", capsys.readouterr().out)


def test_the_dumper_is_in_the_package():
    pytest.importorskip("torch")
    pytest.importorskip("h5py")
    from gcbench.dump import GradientDumper
    assert "Record" in __import__("gcbench.dump").dump.__doc__ and GradientDumper
