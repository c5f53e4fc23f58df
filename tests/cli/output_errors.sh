#!/bin/sh
# Outputs that may not be written are refused before any work; the old file is unchanged, and no
# other file is left.
. "$(dirname "$0")/lib.sh"

mkdir "$tmp/dir"
cd "$tmp/dir" || exit 99
run generate --elements 1000 -o in.h5
exits 0
quiet
only in.h5
cp in.h5 "$tmp/in.copy"

stopped() { # EXIT TEXT ARGS...
    refused "$@"
    only in.h5
    check "in.h5 is as it was" cmp -s in.h5 "$tmp/in.copy"
}

stopped 2 "in.h5" generate --elements 5 -o in.h5
stopped 2 "/dev/null" generate --force -o /dev/null
stopped 2 "/dev/full" generate -o /dev/full
stopped 1 "no/such/folder.h5: its folder does not exist" generate -o no/such/folder.h5
stopped 2 "$tmp" generate -o "$tmp"
stopped 2 "in.h5" decompress -o in.h5 in.h5
stopped 2 "in.h5" decompress --force -o in.h5 in.h5
stopped 2 "in.h5" decompress --force -o ./in.h5 in.h5
stopped 2 "in.h5" inspect --results in.h5 in.h5
stopped 2 "in.h5" inspect --force --results in.h5 in.h5
stopped 2 "/dev/full" inspect --force --results /dev/full in.h5
stopped 1 "no/such" inspect --results no/such/rows.json in.h5

stopped 2 "same file" compress --method topk -o out.h5 --results out.h5 in.h5
stopped 2 "same file" compress --method topk --force -o out.h5 --results ./out.h5 in.h5
stopped 2 "same file" compress --method topk --force -o out.h5 --results "$tmp/dir/out.h5" in.h5
stopped 2 "writes HDF5" compress --method topk -o out.CSV in.h5

ln -s in.h5 link.h5
run inspect --force --results link.h5 in.h5
exits 2
check "in.h5 is as it was" cmp -s in.h5 "$tmp/in.copy"
rm link.h5

run inspect --results rows.json in.h5
exits 0
only in.h5 rows.json
fails 2 "rows.json" inspect --results rows.json in.h5
run inspect --force --results rows.json in.h5
exits 0
rm rows.json

run generate --force --elements 5 -o in.h5
exits 0
check "replaced" sh -c "! cmp -s in.h5 '$tmp/in.copy'"
only in.h5
rm in.h5

# Several processes write the same name at once: one succeeds, the others fail with a message.
last="generate, four at once"
won=0
round=0
while [ "$round" -lt 25 ]; do
    round=$((round + 1))
    for seed in 1 2 3 4; do
        (
            "$GCBENCH" generate --elements 20000 --seed $seed -o many.h5 2>/dev/null
            echo $? >"$tmp/rc.$seed"
        ) &
    done
    wait
    won=$((won + $(cat "$tmp"/rc.* | grep -c '^0$')))
    rm many.h5
done
check "one winner a round ($won in 25)" test "$won" -eq 25
only

# a disk that fills up (needs the right to mount one)
mkdir "$tmp/small"
if mount -t tmpfs -o size=64k none "$tmp/small" 2>/dev/null; then
    fails 1 "out.h5" generate --elements 1M -o "$tmp/small/out.h5"
    check "nothing is left" test -z "$(ls -A "$tmp/small")"
    umount "$tmp/small"
fi

finish
