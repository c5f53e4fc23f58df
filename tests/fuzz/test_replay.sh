#!/bin/bash
# Runs a fuzz target on its stored inputs, on new seeds, and on changes of both.
#   test_replay.sh TARGET MAKE_SEEDS REPLAY GCBENCH CORPUS_DIR --seconds N
set -euo pipefail

target=$1 make_seeds=$(realpath "$2") replay=$(realpath "$3") gcbench=$(realpath "$4") corpus=$(realpath "$5")
shift 5
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/seeds"

"$(dirname "$0")"/seeds.sh "$target" "$make_seeds" "$gcbench" "$work/seeds"
: >"$work/seeds/000-empty"
find "$work/seeds" "$corpus" -type f ! -name README.md | sort >"$work/inputs"

cd "$work"
if xargs -a inputs "$replay" "$@" >out 2>&1; then
    printf '%s: %s\n' "$target" "$(tail -n 1 out)"
    exit 0
fi
head -n 40 out
if [[ -f crash ]]; then
    echo 'the input in base64; decode it into tests/fuzz/corpus once it is mended:'
    base64 crash | head -n 40
fi
exit 1
