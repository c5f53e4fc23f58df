#!/bin/sh
# Files that crash the HDF5 library, or once did: each ends in words or is read, and gcbench itself
# never crashes.
. "$(dirname "$0")/lib.sh"
data=$(realpath "$(dirname "$0")/../data/hdf5")
here=$(realpath "$(dirname "$0")/../..")
shared=${GCBENCH_SHARED:-$here/../shared}
MALLOC_PERTURB_=165
export MALLOC_PERTURB_

# A sanitizer in the child reports before gcbench's own line.
last_line() { # TEXT
    check "last line: $1" sh -c "tail -n 1 '$err' | grep -qF -- '$1'"
}

for file in "$data"/*.h5; do
    for command in inspect 'compress --method topk --no-baselines'; do
        run $command "$file"
        check "exit status 0 or 1, not $rc" test "$rc" -eq 0 -o "$rc" -eq 1
        [ "$rc" -eq 0 ] || last_line "gcbench: $file: "
    done
    run decompress "$file" -o "$tmp/out.h5"
    exits 1
    check "no output" test ! -e "$tmp/out.h5"
done
run inspect "$data/symbol_table.h5"
exits 1
last_line "symbol_table.h5: damaged: the HDF5 library crashed while reading it"

# The byte that the first report named: the index of a string of variable length.
if [ -r "$shared/data/resnet20.h5" ]; then
    cp "$shared/data/resnet20.h5" "$tmp/changed.h5"
    chmod u+w "$tmp/changed.h5"
    printf '\001' | dd of="$tmp/changed.h5" bs=1 seek=1087 conv=notrunc 2>/dev/null
    run inspect "$tmp/changed.h5"
    exits 0
else
    leave_out "no $shared/data/resnet20.h5"
fi

# With and without the child the same is read.
run generate --elements 3000 -o "$tmp/good.h5"
exits 0
run inspect --format json "$tmp/good.h5"
exits 0
grep '"record":"tensor"' "$out" >"$tmp/child"
run inspect --format json --in-process "$tmp/good.h5"
exits 0
grep '"record":"tensor"' "$out" >"$tmp/here"
check "the same rows" cmp "$tmp/child" "$tmp/here"
run inspect --allow-external "$tmp/good.h5"
exits 0
says 'note: --allow-external: the process that reads the file may open any other file'
run inspect -q --allow-external "$tmp/good.h5"
quiet

# A child cannot be started: words, not a crash. Root has no limit on processes.
if [ "$(id -u)" -ne 0 ]; then
    (ulimit -u 1 && "$GCBENCH" inspect "$tmp/good.h5") >"$out" 2>"$err"
    check "names --in-process" grep -q -- '--in-process' "$err"
fi
finish
