#!/bin/sh
# hostile.sh TEST_HOSTILE: writes the hostile files into a folder of its own and has each of them opened.
set -eu
here=$(dirname "$0")
python=${GCBENCH_PYTHON:-/usr/bin/python3}

"$python" -c 'import h5py, numpy' 2>/dev/null || {
    echo "skipped: $python has no h5py or numpy, which write the hostile files"
    exit 77
}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"$python" "$here/make_hostile.py" "$dir" >/dev/null
"$1" "$dir"
