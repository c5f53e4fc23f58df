#!/bin/bash
# Decodes stored inputs and a new seed of each method, with each cut and with many changed bytes.
#   test_replay.sh MAKE_SEEDS REPLAY CORPUS_DIR
set -euo pipefail

make_seeds=$1 replay=$2 corpus=$3
work=$(mktemp -d)
trap 'rm -rf "$work" "$work.out"' EXIT

"$make_seeds" "$work"
: >"$work/000-empty"
passed=0 failed=0
for input in "$work"/* "$corpus"/*; do
    [[ $input != */README.md ]] || continue
    if { "$replay" --mutate "$input"; } >"$work.out" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf 'not ok: %s\n' "${input##*/}"
        head -n 40 "$work.out"
        [[ -z ${GCBENCH_KEEP:-} ]] || cp "$input" "$GCBENCH_KEEP"
    fi
done
printf 'replay: %d passed, %d failed\n' "$passed" "$failed"
exit $((failed != 0))
