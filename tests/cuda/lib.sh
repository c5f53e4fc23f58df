# For tests of the command with a CUDA module. Source it after tests/cli/lib.sh; "$2" is the
# stand-in. $module is the path at which the command looks for a module; there is none yet. $sample
# is the file of gradients.
standin=$(realpath "$2")
sample=$(realpath "$(dirname "$0")/../../datasets/sample.h5")

# A copy of the command, which finds the module next to it.
mkdir "$tmp/bin"
cp "$GCBENCH" "$tmp/bin/gcbench" || exit 99
GCBENCH=$tmp/bin/gcbench
module=$tmp/bin/libgcbench-cuda.so

mkdir "$tmp/made"
made_nothing() { # the folder `made` has neither an output nor a temporary part of one
    [ -z "$(ls -A "$tmp/made")" ]
}

# device_methods [CAPABILITY]: lists the methods of a device, without those with this capability.
device_methods() {
    "$GCBENCH" methods --format json | python3 -c '
import json, sys
for m in map(json.loads, sys.stdin):
    if not m["cpu_only"] and sys.argv[1] not in m["capabilities"]: print(m["method"])' "${1:-}"
}
