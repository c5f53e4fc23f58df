# For tests of the command beside a CUDA module. Source it behind tests/cli/lib.sh, with "$2" the stand-in.
# $module is where the command looks for a module: nothing is there yet. $sample is the file of gradients.
standin=$(realpath "$2")
sample=$(realpath "$(dirname "$0")/../../datasets/sample.h5")

# A copy of the command, so that the module beside it is the one that it finds.
mkdir "$tmp/bin"
cp "$GCBENCH" "$tmp/bin/gcbench" || exit 99
GCBENCH=$tmp/bin/gcbench
module=$tmp/bin/libgcbench-cuda.so

mkdir "$tmp/made"
made_nothing() { # in the folder `made`: no output, nor a part of one under a name of its own
    [ -z "$(ls -A "$tmp/made")" ]
}

# device_methods [CAPABILITY]: the methods that a device has, without those of this capability.
device_methods() {
    "$GCBENCH" methods --format json | python3 -c '
import json, sys
for m in map(json.loads, sys.stdin):
    if not m["cpu_only"] and sys.argv[1] not in m["capabilities"]: print(m["method"])' "${1:-}"
}
