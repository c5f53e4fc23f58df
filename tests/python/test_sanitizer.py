"""In a build with sanitizers, they see what the library does with Python's memory. Without this proof, the other tests would
prove little."""
import subprocess
import sys

import pytest

pytest.importorskip("numpy")
BEGIN = """
import array, numpy as np, gcbench
from gcbench import lib
encoder, message = gcbench.Encoder("identity", 1000), bytearray(8000)
encode = lambda x, cap: lib.gcb_encode(encoder._handle, 0, 0, x, address(message), cap, encoder._length_at, encoder._diag_at)
address = lambda x: np.frombuffer(x, np.uint8).ctypes.data
x = array.array("f", range(1000))
assert encode(address(x), len(message)) == 0
"""
FAULTS = {
    "AddressSanitizer: heap-buffer-overflow": [
        "short = np.ones(999, np.float32); encode(address(short), len(message))",
        "message = bytearray(100); encode(address(x), 8000)",
    ],
    "AddressSanitizer: heap-use-after-free": ["handle = encoder._handle.value; encoder.close(); lib.gcb_encoder_bound(handle)"],
    "runtime error: ": ["lib.gcb_reduction_combine(gcbench.SUM_F32, address(message) + 1, address(x), 8)"],
}


@pytest.mark.parametrize("report, fault", [(report, fault) for report, faults in FAULTS.items() for fault in faults])
def test_a_fault_is_reported(report, fault):
    done = subprocess.run([sys.executable, "-c", BEGIN + fault], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert done.returncode != 0 and report in done.stderr, done.stderr
