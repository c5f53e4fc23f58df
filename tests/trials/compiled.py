#!/usr/bin/python3
"""Steps that do not count, and parameters that no rank used, under torch.compile: of the module or of the whole DDP module, with
the backends inductor (which needs g++) and aot_eager. Two ranks on this machine; takes some minutes.

    PYTHONPATH=python tests/trials/compiled.py

The scenarios and what they check are in tests/python/test_settle.py.
"""
import sys
import tempfile
from pathlib import Path

tests = Path(__file__).resolve().parents[1] / "python"
sys.path.insert(0, str(tests))
from gloo_ranks import run_ranks  # noqa: E402

with tempfile.TemporaryDirectory() as folder:
    run_ranks(str(tests / "test_settle.py"), folder, 8, "compiled_more")
print("right with inductor and aot_eager")
