# For tests of the command beside a CUDA module. Source it behind tests/cli/lib.sh, with "$2" the stand-in.
# $module is where the command looks for a module: nothing is there yet. $sample is the file of gradients.
standin=$(realpath "$2")
sample=$(realpath "$(dirname "$0")/../../datasets/sample.h5")

# A library of the test's own, so that the module beside it is.
library=$(ldd "$GCBENCH" | sed -n 's/.*libgcbench\.so\.0 => \([^ ]*\).*/\1/p')
mkdir "$tmp/lib"
cp "$library" "$tmp/lib/libgcbench.so.0" || exit 99
LD_LIBRARY_PATH=$tmp/lib # and no other: the module of the build would be found there
export LD_LIBRARY_PATH
module=$tmp/lib/libgcbench-cuda.so

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
