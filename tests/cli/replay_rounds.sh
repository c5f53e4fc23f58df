#!/bin/sh
# replay of methods that need rounds: errors and bytes are what NumPy works out.
. "$(dirname "$0")/lib.sh"

here=$(dirname "$0")
sample=$(realpath "$here/../../datasets/sample.h5")
traj=${GCBENCH_SHARED:-$here/../../../shared}/data/resnet20_traj.h5

PYTHONPATH=$here/../api${PYTHONPATH:+:$PYTHONPATH} python3 -c 'import h5py, draws; draws.xxhash()' || {
    echo "skipped: needs h5py, NumPy, the xxHash library, and a library without sanitizers"
    exit 77
}
check "NumPy finds the same" python3 "$here/check_replay_rounds.py" "$GCBENCH" "$sample" --allow-gaps
if [ -e "$traj" ]; then
    check "NumPy finds the same" python3 "$here/check_replay_rounds.py" "$GCBENCH" "$traj"
else
    leave_out "no $traj"
fi

finish
