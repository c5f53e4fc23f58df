#!/bin/sh
# A message that names a command or a tool: the command is run with the names of the files, and then
# the problem is gone.
. "$(dirname "$0")/lib.sh"
python3 -c 'import h5py, numpy' 2>/dev/null || skip "needs python3 with h5py and numpy"
here=$(realpath "$(dirname "$0")/../..")

# The commands say python3; it is the one that has h5py.
mkdir "$tmp/bin" "$tmp/in" "$tmp/work"
printf '#!/bin/sh\nexec "%s" "$@"\n' "$PYTHON" >"$tmp/bin/python3"
chmod +x "$tmp/bin/python3"
PATH=$tmp/bin:$PATH

lacks() { # TOOL PACKAGE: is the tool absent? Says so.
    command -v "$1" >/dev/null && return 1
    echo "skipped: $1 is not installed (Debian: $2); the advice that names it is not tried"
}
fill() { # ADVICE FILE: the command, with names of files
    printf '%s\n' "$1" | sed "s|datasets/convert.py|$here/datasets/convert.py|; s|NEW.h5|new.h5|; s|NEW_FILE|new.file|; s|FILE|$2|"
}
# inspect FILE fails and says WORDS; the command after the colon then makes a file, or changes FILE,
# and inspect reads it. What it reads begins with EXTENT if that is given.
follow() { # FILE WORDS [EXTENT]
    rm -rf "$tmp/work"
    mkdir "$tmp/work"
    cd "$tmp/work" || exit 99
    target=$1
    for round in 1 2 3; do # a .tar.gz needs two commands
        run inspect "$target"
        [ "$rc" -eq 0 ] && break
        check "one line" test "$(wc -l <"$err")" -eq 1
        [ $round -gt 1 ] || says "$2"
        advice=$(sed -E 's/.*(rewrite the file|rewrite it|convert it|unpack it|fetch it|join them|trust it|closing it): //; s/ \((Debian package|in share).*//' "$err")
        advice=$(fill "$advice" "$target")
        last="$advice"
        touch "$tmp/before"
        sleep 0.01
        sh -c "$advice" >"$out" 2>"$err" </dev/null
        verdict $? "runs"
        new=$(find . -type f -cnewer "$tmp/before" -name '*.*' | head -1)
        target=${new:-$target}
    done
    exits 0
    [ $# -lt 3 ] || prints "$3"
    cd "$here" || exit 99
}

cat >"$tmp/make.py" <<'PY'
import os, sys, zipfile
import h5py, numpy as np
os.chdir(sys.argv[1])
x = np.arange(1, 901, dtype="f4").reshape(30, 30)
with h5py.File("scaled.h5", "w") as f:
    g = f.create_group("step_0/worker_0")
    g.create_dataset("w", data=x, scaleoffset=3)
    g["b"] = x[0]
with h5py.File("long.h5", "w") as f:
    f["w"] = x
    f["long"] = x.astype(np.longdouble)
with h5py.File("part_%03d.h5", "w", driver="family", memb_size=2048) as f:
    f["w"] = x
with zipfile.ZipFile("a.npz", "w", zipfile.ZIP_BZIP2) as f:
    for step in (1, 2):
        with f.open(f"step_{step}/worker_0/w.npy", "w") as member:
            np.save(member, x)
with h5py.File("plain.h5", "w") as f:
    f["w"] = x
PY
check "the files" python3 "$tmp/make.py" "$tmp/in"
[ "$failed" -eq 0 ] || finish
in=$tmp/in

# ---- the converter: tests/datasets/test_convert.py has every kind of file ----

one="1 step x 1 worker x 1 tensor, fp32, 3.6 kB"
follow "$in/scaled.h5" "/step_0/worker_0/w: it is compressed with scale-offset, which gcbench does not read; rewrite the file: python3 " \
    "1 step x 1 worker x 2 tensors, fp32, 3.7 kB"
follow "$in/part_000.h5" "one part of a file that HDF5 divided into several; join them: " "$one"
follow "$in/a.npz" "method 12 of zip, which gcbench does not read; rewrite the file: python3 " "2 steps x 1 worker x 1 tensor"
run inspect "$in/long.h5"
exits 0
says "1 dataset of a float format that gcbench does not read skipped, such as /long; python3 "
cd "$tmp/work" || exit 99
advice=$(fill "$(sed 's/.*\/long; //; s/ (in share.*//' "$err")" "$in/long.h5")
last="$advice"
rm -f new.h5
sh -c "$advice" >"$out" 2>"$err"
verdict $? "runs"
run inspect new.h5
quiet
prints "2 tensors"
cd "$here" || exit 99
# Long names of files and datasets are cut, and never the command, which ends the message.
mkdir "$tmp/long"
python3 - "$tmp/long" <<'PY'
import os, sys
import h5py, numpy as np
os.chdir(sys.argv[1])
x = np.arange(1, 901, dtype="f4")
with h5py.File("'" * 12 + "l" * 65 + ".h5", "w") as f:
    f.create_dataset("step_0/worker_0/" + "w" * 200, data=x, scaleoffset=3)
with h5py.File("'" * 12 + "x" * 65 + ".h5", "w") as f:
    f["step_0/worker_0/" + "w" * 200] = x.astype(np.longdouble)
for shift in range(2):  # of two bytes each: none is cut in half
    with h5py.File(shift * "l" + "é" * 90 + ".h5", "w") as f:
        f.create_dataset(shift * "w" + "é" * 100, data=x, scaleoffset=3)
PY
cd "$tmp/long" || exit 99
for file in *.h5; do
    for how in "" --in-process; do
        run inspect $how "$file"
        exits 1
        check "the command is whole" grep -qE "convert.py FILE NEW.h5 \(in share/gcbench\)\$" "$err"
        check "the text is UTF-8" sh -c "! grep -q '[\\]x' '$err' && iconv -f UTF-8 '$err'"
    done
done
cd "$here" || exit 99

# ---- other tools ----

for format in "classic 1" "64-bit-offset 2" "cdf5 5"; do
    lacks nccopy netcdf-bin && break
    printf 'netcdf a { dimensions: x = 900, none = 5; variables: float w(x); data: w = 1%s; }' "$(printf ', %d' $(seq 2 900))" \
        >"$tmp/a.cdl"
    ncgen -k "${format% *}" -o "$in/a.nc" "$tmp/a.cdl"
    follow "$in/a.nc" ", but a netCDF-3 file; convert it: nccopy -k nc4 " "$one"
    says "2 netCDF dimensions without values skipped"
done
for tool in "gzip gz" "xz xz" "bzip2 bz2" "zstd zst"; do
    name=${tool% *}
    lacks "$name" "$name" && continue
    "$name" -c "$in/plain.h5" >"$in/plain.h5.${tool#* }"
    follow "$in/plain.h5.${tool#* }" ", but a file that $name compressed; unpack it: $name -dc " "$one"
done
tar -C "$in" -cf "$in/a.tar" plain.h5
follow "$in/a.tar" ", but a tar archive; unpack it: tar -xf " "$one"
tar -C "$in" -czf "$in/a.tar.gz" plain.h5
follow "$in/a.tar.gz" "a file that gzip compressed" "$one"
if ! lacks unzip unzip; then
    (cd "$in" && python3 -m zipfile -c a.zip plain.h5)
    follow "$in/a.zip" ", but a zip archive; unpack it: unzip " "$one"
fi
if ! lacks git-lfs git-lfs; then
    HOME=$tmp GIT_CONFIG_NOSYSTEM=1
    export HOME GIT_CONFIG_NOSYSTEM
    git config --global user.email test@example.org
    git config --global user.name test
    git lfs install --skip-repo >/dev/null
    git init -q --bare "$tmp/remote.git"
    git init -q "$tmp/first"
    (cd "$tmp/first" && git lfs track '*.h5' && cp "$in/plain.h5" . && git add . && git commit -qm data &&
        git push -q "file://$tmp/remote.git" HEAD:refs/heads/main && git lfs push "file://$tmp/remote.git" HEAD) >"$out" 2>&1
    verdict $? "a repository with a pointer" "$out"
    GIT_LFS_SKIP_SMUDGE=1 git clone -q -b main "file://$tmp/remote.git" "$in/clone" 2>"$err"
    refused 1 ", but a Git LFS pointer instead of the data; fetch it: git lfs pull" inspect "$in/clone/plain.h5"
    (cd "$in/clone" && git lfs pull) >"$out" 2>&1
    run inspect "$in/clone/plain.h5"
    prints "$one"
fi

# ---- files that another program writes, or left unfinished ----

cat >"$tmp/writer.py" <<'PY'
"""Holds a file open until its input ends: writer.py FILE plain|latest|swmr|new"""
import os, sys
import h5py, numpy
f = h5py.File(sys.argv[1], "w", libver="earliest" if sys.argv[2] in ("plain", "new") else "latest")
if sys.argv[2] != "new":
    f["w"] = numpy.arange(900, dtype="f4")
    f.flush()
if sys.argv[2] == "swmr":
    f.swmr_mode = True
print("ready", flush=True)
if sys.stdin.readline() == "crash\n":
    os._exit(0)
f.close()
PY
for how in plain latest swmr new; do
    mkfifo "$tmp/to" "$tmp/from"
    python3 "$tmp/writer.py" "$in/open.h5" $how <"$tmp/to" >"$tmp/from" &
    writer=$!
    exec 8>"$tmp/to" 9<"$tmp/from"
    read -r ready <&9
    for extra in "" --in-process; do
        run inspect $extra "$in/open.h5"
        exits 1
        case $how in
        swmr) says "marked as being written: close it in the program that writes it." ;;
        *) says "open.h5: another program has it open and may be writing it; close the file there, or wait until that program ends" ;;
        esac
    done
    cp "$in/open.h5" "$in/crashed.h5"
    echo >&8
    exec 8>&- 9<&-
    wait $writer
    rm "$tmp/to" "$tmp/from"
    run inspect "$in/open.h5"
    [ $how = new ] || exits 0
    case $how in
    latest | swmr) lacks h5clear hdf5-tools || follow "$in/crashed.h5" "has ended without closing it: h5clear -s FILE" "$one" ;;
    esac
done

# ---- a newer HDF5 ----

python3 - "$in" <<'PY'
import os, struct, sys
import h5py, numpy
os.chdir(sys.argv[1])
with h5py.File("layout.h5", "w") as f:
    f.create_dataset("w", data=numpy.ones((24, 32), "f4"), chunks=(8, 16))
data = open("layout.h5", "rb").read()
at = data.index(struct.pack("<III", 8, 16, 4)) - 11
open("layout.h5", "wb").write(data[:at] + b"\5" + data[at + 1:])
with h5py.File("superblock.h5", "w", libver="latest") as f:
    f["w"] = numpy.ones(9, "f4")
data = bytearray(open("superblock.h5", "rb").read())
data[8] = 4
open("superblock.h5", "wb").write(data)
PY
refused 1 "/w: damaged, or written by a newer HDF5 than gcbench's " inspect "$in/layout.h5"
check "names the converter" grep -q "a new h5py may rewrite it: python3 datasets/convert.py FILE NEW.h5" "$err"
refused 1 "written by a newer HDF5 than gcbench's " inspect "$in/superblock.h5"
# A file that HDF5 2.0 wrote, if a Python with it is here.
for python in ${GCBENCH_NEW_PYTHON:-}; do
    "$python" -c "import h5py, numpy
with h5py.File('$in/new.h5', 'w', libver='latest') as f: f.create_dataset('w', data=numpy.ones(900, 'f4'), chunks=(90,))"
    printf '#!/bin/sh\nexec "%s" "$@"\n' "$python" >"$tmp/bin/python3"
    follow "$in/new.h5" "a new h5py may rewrite it" "$one"
    printf '#!/bin/sh\nexec "%s" "$@"\n' "$PYTHON" >"$tmp/bin/python3"
done

finish
