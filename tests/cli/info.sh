#!/bin/sh
# info: this build and this machine, as text and as the environment record.
. "$(dirname "$0")/lib.sh"

run info
exits 0
quiet
# A checkout knows its commit from git, a source archive from a file.
root=$(realpath "$(dirname "$0")/../..")
if [ -e "$root/.git" ] && commit=$(git -C "$root" rev-parse HEAD 2>/dev/null); then
    ancestor=$(sed -n 's/^git_revision *\([0-9a-f]*\).*/\1/p' "$out")
    check "the revision is a commit up to $commit" git -C "$root" merge-base --is-ancestor "$ancestor" HEAD
elif [ -e "$root/revision" ]; then
    prints "git_revision     $(cat "$root/revision")"
fi

run info --format json
exits 0
check "one record" test "$(wc -l <"$out")" -eq 1
cp "$out" "$tmp/info.json"
check "every field of the record" python3 - "$tmp/info.json" $(! has_fftw || echo fftw) <<'PY'
import json, math, sys
row = json.loads(open(sys.argv[1]).read())
assert row["record"] == "environment" and row["schema"] == 1
for name in ("version git_revision git_dirty build_type build_id compiler compile_flags sanitize cpu_model "
             "isa threads device governor load1 kernel libraries gpu gpu_driver gpu_clock_mhz read_gbps "
             "fill_gbps copy_gbps date command input_xxh3").split():
    assert name in row, name
for name in ("read_gbps", "fill_gbps", "copy_gbps"):
    assert 0 < row[name] < math.inf, (name, row[name])
assert row["command"][1:] == ["info", "--format", "json"]
assert {"hdf5", "xxhash", "jansson", *sys.argv[2:]} <= set(row["libraries"])
PY
# OpenBLAS: the fastest kernel that this processor can run, unless the user asks for another one.
kernel() { # FILE: openblas_kernel of the first row
    python3 -c 'import json, sys; print(json.loads(open(sys.argv[1]).readline())["openblas_kernel"])' "$1"
}
has() { # FLAG...: does the processor have all of them?
    for flag; do grep -q "^flags.* $flag\b" /proc/cpuinfo || return 1; done
}
fastest=
! has avx2 fma || fastest=Haswell
! has avx512f avx512cd avx512bw avx512dq avx512vl || fastest=SkylakeX
unset OPENBLAS_CORETYPE
run generate --elements 5000 -o "$tmp/in.h5"
exits 0
run compress --method powersgd --format json "$tmp/in.h5"
exits 0
[ -z "$fastest" ] || check "kernel $fastest, not $(kernel "$out")" test "$(kernel "$out")" = $fastest
check "its version" python3 -c 'import json, sys; assert json.loads(open(sys.argv[1]).readline())["openblas"][:2] == "0."' "$out"
run compress --method topk --format json "$tmp/in.h5"
exits 0
check "no kernel without a low-rank method" test "$(kernel "$out")" = None
if [ -n "$fastest" ]; then
    export OPENBLAS_CORETYPE=Prescott
    run compress --method powersgd --format json "$tmp/in.h5"
    exits 0
    check "the user's kernel" test "$(kernel "$out")" = Prescott
    if ! has fma4; then
        export OPENBLAS_CORETYPE=Bulldozer
        refused 3 "OPENBLAS_CORETYPE" compress --method powersgd "$root/datasets/sample.h5"
    fi
    unset OPENBLAS_CORETYPE
fi

run info --threads 2 --format csv
exits 0
check "header and row" test "$(wc -l <"$out")" -eq 2

finish
