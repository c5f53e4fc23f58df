#!/bin/sh
# Filter plug-ins of HDF5 run if the user names their folder, and only then. The second argument is one
# (hdf5_filter.c), which can break rules.
PLUGIN=$(realpath "$3")
. "$(dirname "$0")/lib.sh"

cd "$tmp" || exit 99
mkdir plugins none
cp "$PLUGIN" plugins
cp "$PLUGIN" plugins/libother.so # the same filter again
echo text >plugins/broken.so
cat >make.py <<'PY'
import os

import h5py
import numpy as np

x = np.random.default_rng(3).standard_normal((60, 50)).astype("f4")
with h5py.File("twin.h5", "w") as f:
    f["step_1/worker_0/x"] = x
for name, wrong, more in (("right", 0, {}), ("checked", 0, {"fletcher32": True, "shuffle": True}), ("short", 1, {}),
                          ("crashes", 2, {}), ("fails", 3, {}), ("writes", 4, {}), ("many", 0, {})):
    values = (wrong,) * (65 if name == "many" else 1)
    with h5py.File(name + ".h5", "w") as f:
        f.create_dataset("step_1/worker_0/x", data=x, chunks=(20, 50), compression=400, compression_opts=values, **more)
try:
    import hdf5plugin
    with h5py.File("blosc.h5", "w") as f:
        f.create_dataset("step_1/worker_0/x", data=x, chunks=(20, 50), **hdf5plugin.Blosc())
except (ImportError, ValueError):
    os.path.exists("blosc.h5") and os.remove("blosc.h5")
PY
debian=$(echo /usr/lib/*/hdf5/serial/plugins)
check "the files" env HDF5_PLUGIN_PATH="$tmp/plugins:$debian" "$PYTHON" make.py

same() { # FOLDER FILE: the rows are those of the twin
    run inspect -q --format csv --hdf5-plugins "$1" "$2"
    exits 0
    sed -i "s/${2%.h5}/twin/" "$out"
    check "$2 is read" cmp "$out" twin.csv
}
run inspect -q --format csv twin.h5
cp "$out" twin.csv
for how in "" --in-process; do
    refused 1 "--hdf5-plugins DIR" inspect $how right.h5
    for wrong in short fails; do
        fails 1 "a chunk does not unpack" inspect $how --hdf5-plugins plugins $wrong.h5
    done
    refused 1 "more than 64 parameters" inspect $how --hdf5-plugins plugins many.h5
done
same plugins right.h5
same plugins checked.h5
HDF5_PLUGIN_PATH=$tmp/plugins
export HDF5_PLUGIN_PATH
refused 1 "--hdf5-plugins DIR" inspect right.h5
refused 1 "--hdf5-plugins" inspect --hdf5-plugins none right.h5
refused 2 "--hdf5-plugins missing: " inspect --hdf5-plugins missing right.h5
if ! has_sanitizers; then
    fails 1 "/step_1/worker_0/x: damaged: the HDF5 library crashed" inspect --hdf5-plugins plugins crashes.h5
    run inspect --hdf5-plugins plugins writes.h5
    check "a plug-in writes no file" test ! -e written
    touch abort
    refused 1 "damaged: the HDF5 library crashed while reading it (signal 6)" inspect --hdf5-plugins plugins right.h5
    rm abort
fi
[ ! -e blosc.h5 ] || same "$debian" blosc.h5

finish
