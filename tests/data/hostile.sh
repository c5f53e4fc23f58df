#!/bin/sh
# hostile.sh TEST_HOSTILE: writes the hostile files into a temporary folder and runs TEST_HOSTILE on them.
set -eu
here=$(dirname "$0")
python=${GCBENCH_PYTHON:-/usr/bin/python3}

"$python" -c 'import h5py, numpy' 2>/dev/null || {
    echo "skipped: $python lacks h5py or numpy, which are needed to write the hostile files"
    exit 77
}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"$python" "$here/make_hostile.py" "$dir" >/dev/null
"$1" "$dir"
