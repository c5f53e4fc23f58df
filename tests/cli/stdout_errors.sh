#!/bin/bash
# Results cannot be written: a full disk is a failure with one line, a reader that went away is a
# failure without words.
. "$(dirname "$0")/lib.sh"

run generate --elements 200000 --layout flat --steps 40 --workers 8 -o "$tmp/in.h5" --elements=2000
exits 2
run generate --elements 2000 --steps 40 --workers 8 -o "$tmp/in.h5"
exits 0

full() {
    last="gcbench $* > /dev/full"
    timeout "$hang" "$GCBENCH" "$@" >/dev/full 2>"$err"
    rc=$?
    exits 1
    says "No space left on device"
}
for format in table json csv tsv; do
    full inspect --format $format --histogram "$tmp/in.h5"
    full methods --format $format
    full info --format $format
done
full --help
full --version
full help inspect

# the reader takes one line and leaves
for format in json csv tsv; do
    last="inspect --format $format | head -1"
    { timeout "$hang" "$GCBENCH" inspect --format $format --histogram --spectrum "$tmp/in.h5" 2>"$err"
      echo $? >"$tmp/status"; } | head -1 >"$out"
    rc=$(cat "$tmp/status")
    check "exit status $rc: 1, or 0 if all fitted the pipe" test "$rc" -eq 1 -o "$rc" -eq 0
    quiet
    check "one line" test "$(wc -l <"$out")" -eq 1
done

# verify writes rows one by one; the message must not blame a tensor
last="verify --format json | head -1"
{ timeout "$hang" "$GCBENCH" verify --all --method topk --format json "$tmp/in.h5" 2>"$err"
  echo $? >"$tmp/status"; } | head -1 >"$out"
rc=$(cat "$tmp/status")
exits 1
quiet

# there is no reader from the start
closed() {
    last="gcbench $* | (closed)"
    timeout "$hang" "$PYTHON" - "$GCBENCH" "$@" 2>"$err" <<'END'
import os, subprocess, sys

reader, writer = os.pipe()
os.close(reader)
sys.exit(subprocess.run(sys.argv[1:], stdout=writer).returncode)
END
    rc=$?
    exits 1
    quiet
}
for format in table json; do
    closed inspect --format $format "$tmp/in.h5"
done

# an output file is finished or absent when the reader of stdout goes away
mkdir "$tmp/dir"
closed inspect --format json --results "$tmp/dir/rows.json" "$tmp/in.h5"
only

last="inspect >&-"
timeout "$hang" "$GCBENCH" inspect "$tmp/in.h5" >&- 2>"$err"
rc=$?
exits 1
check "one line" test "$(wc -l <"$err")" -le 1

finish
