#!/bin/sh
# Files that are missing or of the wrong kind: exit 1 (2 for a folder), and one line with the name.
. "$(dirname "$0")/lib.sh"

run generate --elements 50000 -o "$tmp/good.h5"
exits 0
: >"$tmp/empty.h5"
echo "this is text" >"$tmp/text.h5"
echo '{"record":"result","schema":1}' >"$tmp/results.h5"
head -c 3000 "$tmp/good.h5" >"$tmp/cut.h5"
head -c 100000 "$tmp/good.h5" >"$tmp/cut_late.h5"
mkdir "$tmp/folder.h5"
mkfifo "$tmp/pipe.h5"

for command in inspect decompress; do
    for bad in missing empty text cut cut_late folder pipe; do
        if [ $command = decompress ]; then
            run decompress -o "$tmp/out.h5" "$tmp/$bad.h5"
        else
            run inspect "$tmp/$bad.h5"
        fi
        check "exit status 1 or 2, not $rc" test "$rc" -eq 1 -o "$rc" -eq 2
        says "$bad.h5"
        check "no output" test ! -e "$tmp/out.h5"
    done
done

for command in bench compress; do
    fails 1 "not an HDF5" $command --method topk "$tmp/text.h5"
    check "no word of results" sh -c "! grep -q results '$err'"
    fails 1 "but perhaps a result file; plot, report" $command --method topk "$tmp/results.h5"
done

fails 1 "missing.h5" inspect "$tmp/good.h5" "$tmp/missing.h5"

cp "$tmp/good.h5" "$tmp/copy.h5"
fails 2 "copy.h5" inspect "$tmp/good.h5" "$tmp/copy.h5"

fails 1 "good.h5" decompress -o "$tmp/out.h5" "$tmp/good.h5"

fails 2 "good.h5" inspect --dataset nothing-like-it "$tmp/good.h5"

for command in inspect verify bench; do
    fails 1 "the file name is empty" $command ''
done
fails 2 "the name of the file to write is empty" compress --method topk --results '' "$tmp/good.h5"

# A pattern that matches no tensor is named, and only that; the command does its work.
h5=$(dirname "$0")/../../datasets/sample.h5
patterns="--dataset *weight --dataset nothing-* --exclude fc.weight --exclude fc"
layers="--dense layers.0* --dense none --output-layer *c2.weight --output-layer fc*"
noted() { # PATTERN...
    exits 0
    check "$# lines of notes" test "$(wc -l <"$err")" -eq $#
    for words; do
        grep -qF -- "note: $words: no tensor matches" "$err"
        verdict $? "does not note $words"
    done
}
set -f
run inspect $patterns "$h5"
noted "--dataset nothing-*" "--exclude fc"
run inspect -q $patterns "$h5"
exits 0
quiet
for command in compress replay verify sweep bench; do
    more="--method topk"
    [ $command = sweep ] && more="$more --vary theta=0.9"
    [ $command = bench ] && more="$more --time-budget 0.1 --no-bandwidth"
    [ $command = replay ] && more="$more --allow-gaps"
    run $command $more $patterns $layers "$h5"
    noted "--dataset nothing-*" "--exclude fc" "--dense none" "--output-layer fc*"
    run $command -q $more $patterns $layers "$h5"
    exits 0
    quiet
done
run bench --method topk --dense 'nor*' --dense none --time-budget 0.1 --no-bandwidth
exits 0
says "note: --dense none"
set +f

run inspect --step 7 "$tmp/good.h5"
exits 2

fails 1 "good.h5" inspect --max-bytes 1K "$tmp/good.h5"

# root may read every file, so then this runs as nobody
chmod 000 "$tmp/copy.h5"
chmod 755 "$tmp"
if [ "$(id -u)" -eq 0 ]; then
    if setpriv --reuid=65534 --clear-groups --inh-caps=-all --bounding-set=-all \
        test -x "$GCBENCH" 2>/dev/null; then
        last="inspect, as nobody"
        setpriv --reuid=65534 --clear-groups --inh-caps=-all --bounding-set=-all \
            "$GCBENCH" inspect "$tmp/copy.h5" >"$out" 2>"$err"
        rc=$?
        exits 1
        says "Permission denied"
    fi
else
    fails 1 "Permission denied" inspect "$tmp/copy.h5"
fi

finish
