"""A wheel is built, without the network, and used in a fresh virtual environment."""
import importlib.util
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TRY = """
import array, gcbench
assert gcbench.__file__.startswith(%r), gcbench.__file__
assert gcbench._library.find().startswith(%r), gcbench._library.find()
x = array.array("f", range(1000))
message = gcbench.Encoder("fft:theta=0.9", 1000).encode(x)
print(len(message), len(gcbench.Decoder.like(message).decode(message)), len(gcbench.methods()) > 15)
"""


def test_a_wheel_works_in_a_fresh_environment(tmp_path):
    for module, package in (("mesonpy", "python3-mesonpy"), ("ensurepip", "python3-venv")):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"the wheel is not built: {package} is not installed")
    clean = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "GCBENCH_LIBRARY")}
    # -O0: what is tried is the packaging
    build = "import mesonpy; mesonpy.build_wheel(%r, {'setup-args': ['-Doptimization=0']})" % str(tmp_path)
    subprocess.run([sys.executable, "-c", build], cwd=ROOT / "python", env=clean, check=True)
    wheel, = tmp_path.glob("gcbench-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    inside = {f"gcbench/{path.name}" for path in (ROOT / "python" / "gcbench").iterdir() if path.is_file()}
    shared = {f"gcbench/share/gcbench/{path.relative_to(ROOT)}" for path in (ROOT / "plots").glob("*.gp")}
    shared |= {f"gcbench/share/gcbench/suites/{path.name}" for path in (ROOT / "datasets" / "suites").glob("*.json")}
    shared |= {f"gcbench/share/gcbench/datasets/{name}" for name in ("sample.h5", "h200.json", "dump_gradients.py", "convert.py")}
    assert inside | shared | {"gcbench/libgcbench.so", "gcbench/bin/gcbench"} == {name for name in names if name.startswith("gcbench/")}
    text = {name.split("/")[-1]: zipfile.ZipFile(wheel).read(name) for name in names if ".dist-info/" in name}
    assert text["LICENSE"].startswith(b"MIT License") and b"MIT License" in text["METADATA"]
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "fresh"], check=True)
    python = tmp_path / "fresh" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "-q", "--no-index", "--no-deps", wheel], check=True, env=clean)
    done = subprocess.run([python, "-c", TRY % (str(tmp_path), str(tmp_path))], check=True, env=clean, cwd=tmp_path,
                          stdout=subprocess.PIPE, text=True)
    assert done.stdout.split()[1:] == ["1000", "True"]
    for command in ([tmp_path / "fresh" / "bin" / "gcbench"], [python, "-m", "gcbench"]):
        for words in (["--version"], ["bench", "--suite", "quick", "--repeat", "1", "--method", "topk"], ["demo"]):
            done = subprocess.run([*command, *words], check=True, env=clean, cwd=tmp_path, stdout=subprocess.PIPE, text=True)
            assert words != ["--version"] or ("MIT" in done.stdout and "GPL" not in done.stdout)
