#!/bin/bash
# Runs in a bare root, where /tmp/try has the wheel, docs/python.md, and in pythons/ other versions of Python: installs
# the wheel in a fresh virtual environment of each Python and uses it.
set -uo pipefail

. /tmp/try/check.sh
skipped=0

# The script train.py of docs/python.md, with two workers.
train() {
    sed -n '/^    import gcbench.torch$/,/^[^ ]/s/^    //p' /tmp/try/python.md >/tmp/train.py
    export MASTER_ADDR=localhost MASTER_PORT=29500 WORLD_SIZE=2 USE_LIBUV=0 # Debian 13's torch is without libuv
    RANK=0 python /tmp/train.py & RANK=1 python /tmp/train.py && wait "$!"
}

try() { # PYTHON
    local what
    [[ $1 != /* ]] || export LD_LIBRARY_PATH=${1%/bin/*}/lib
    what=$("$1" --version)
    rm -rf /tmp/venv /tmp/pictures /tmp/r.json
    check "$what: a virtual environment" "$1" -m venv --system-site-packages /tmp/venv
    . /tmp/venv/bin/activate
    check "$what: pip installs the wheel" pip install --no-index --no-deps /tmp/try/gcbench-*.whl
    check "$what: gcbench demo" gcbench demo
    check "$what: --version says that it is MIT" bash -c 'gcbench --version | grep MIT'
    check "$what: python -m gcbench" bash -c 'python -m gcbench bench --suite quick --repeat 1 --method topk --results /tmp/r.json'
    check "$what: gcbench plot" gcbench plot /tmp/r.json -o /tmp/pictures
    check "$what: a picture" bash -c 'ls /tmp/pictures/*.png'
    check "$what: the files are read with few system calls" bash -c 'gcbench info | grep "with few system calls"'
    check "$what: a low-rank method names the library that it lacks, or runs" bash -c \
        'gcbench compress --method powersgd "$(dirname "$(python -c "import gcbench; print(gcbench.__file__)")")/share/gcbench/datasets/sample.h5" 2>&1 | grep -e libopenblas0 -e ^powersgd'
    check "$what: the library" python -c 'import array, gcbench
x = array.array("f", range(1000))
assert len(gcbench.Decoder("fft", 1000).decode(gcbench.Encoder("fft", 1000).encode(x))) == 1000'
    if python -c 'import torch' 2>/dev/null; then
        check "$what: the DDP example" train
    else
        skipped=$((skipped + 1))
        printf 'skipped: %s: the DDP example (no torch)\n' "$what"
    fi
    deactivate
}

cd /tmp || exit
check 'this user is not root' test "$EUID" -ne 0
python3 -c 'import torch' 2>/dev/null || # which brings HDF5
    check 'no HDF5, and no compiler' bash -c '! ls /usr/lib/*/libhdf5* 2>/dev/null && ! command -v cc'
for python in python3 /tmp/try/pythons/*/bin/python3; do
    [[ ! -e $python && $python == /* ]] || try "$python"
done
printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
exit $((failed != 0))
