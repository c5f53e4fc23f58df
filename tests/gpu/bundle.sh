#!/bin/bash
# Makes a folder with everything that the GPU tests need, except glibc, an NVIDIA driver and cuFFT.
#
#   bundle.sh DIR MODULE LIBRARY PROGRAM...
#
# MODULE is the CUDA module, LIBRARY the library. A PROGRAM is gcbench or one of this folder. All libraries that these
# files load are copied too, except the driver and the C library: a program and its loader must
# match, so the target needs a glibc as new as this machine's.
set -euo pipefail

here=$(cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")" && pwd)
root=$here/../..
(($# > 3)) || { echo "bundle.sh: needs a folder, the module, the library and programs" >&2; exit 2; }
dir=$1 module=$2 library=$3
for file in "${@:2}"; do
    [[ -f $file ]] || { echo "bundle: $file does not exist" >&2; exit 1; }
done
[[ ! -e $dir ]] || { echo "bundle: $dir exists already" >&2; exit 1; }

new=$dir.part.$$
trap 'rm -rf -- "$new"' EXIT
mkdir -p "$new/lib" "$new/programs" "$new/data"
cp -L "$module" "$new/lib/libgcbench-cuda.so"
cp -L "$library" "$new/lib/libgcbench.so.0"
cp "${@:4}" "$new/programs/"
cp "$root/datasets/sample.h5" "$new/data/"
cp "$here/run.sh" "$new/run"
cp "$here/"{compare_torch,hook,large_model,table}.py "$root/tests/trials/speeds.py" "$new/"
mkdir "$new/python" && cp -r "$root/python/gcbench" "$new/python/"
chmod +x "$new/run"

# The libraries that all of them load.
LD_LIBRARY_PATH=$new/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} ldd "$new"/programs/* "$new"/lib/lib* |
    sed -n 's/^[[:space:]]*\([^ ]*\) => \(\/[^ ]*\) (.*/\1 \2/p' | sort -u | while read -r name path; do
    case $name in
    libc.so.* | libm.so.* | libdl.so.* | librt.so.* | libpthread.so.* | libresolv.so.* | ld-linux*) continue ;;
    libgcbench* | libcuda.so.* | libnvidia*) continue ;;
    esac
    cp -Ln "$path" "$new/lib/$name"
done

# The loader looks in lib/ only if LD_LIBRARY_PATH says so.
for program in "$new"/programs/*; do
    program=${program##*/}
    printf '%s\n' '#!/bin/sh' "here=\$(dirname -- \"\$(readlink -f -- \"\$0\")\")" \
        "LD_LIBRARY_PATH=\$here/lib\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}" 'export LD_LIBRARY_PATH' \
        "exec \"\$here/programs/$program\" \"\$@\"" >"$new/$program"
    chmod +x "$new/$program"
done
mv -T -- "$new" "$dir"
trap - EXIT
echo "made $dir; run $dir/run on the machine with the GPU" >&2
