#!/bin/sh
# tutorial: the commands of docs/tutorial.md work in order.
. "$(dirname "$0")/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
for PYTHON in python3 /usr/bin/python3 none; do
    [ $PYTHON = none ] || ! command $PYTHON -c 'import h5py, torch' 2>/dev/null || break
done
if [ $PYTHON = none ]; then
    echo "skipped: no PyTorch with h5py, which the tutorial records gradients with"
    exit 77
fi
mkdir "$tmp/bin" "$tmp/work"
ln -s "$GCBENCH" "$tmp/bin/gcbench"
PATH=$tmp/bin:$PATH
cd "$tmp/work" || exit 99
check "the tutorial" $PYTHON "$here/check_tutorial.py" "$here/../../docs/tutorial.md" "$here/../../datasets"
finish
