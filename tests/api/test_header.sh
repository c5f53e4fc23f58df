#!/bin/bash
# The public header stands alone: strict C11 and C99, C++ where a compiler for it is there, included twice.
#   test_header.sh SOURCE_ROOT CC...
set -euo pipefail

header=$1/src/gcbench.h
shift
passed=0 failed=0 skipped=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

printf '#include "%s"\n#include "%s"\nint gcb_header_test;\n' "$header" "$header" >"$work/header.c"
cp "$work/header.c" "$work/header.cpp"

compiles() { # name, command...
    local name=$1
    shift
    if "$@" -Wall -Wextra -pedantic -Werror -fsyntax-only; then
        passed=$((passed + 1))
        printf 'ok: %s\n' "$name"
    else
        failed=$((failed + 1))
        printf 'not ok: %s\n' "$name"
    fi
}

compiles 'C11' "$@" -std=c11 "$work/header.c"
compiles 'C99' "$@" -std=c99 "$work/header.c"
mapfile -t compilers < <(command -v g++ clang++)
for cxx in "${compilers[@]}"; do
    compiles "C++11, ${cxx##*/}" "$cxx" -std=c++11 "$work/header.cpp"
done
if ((${#compilers[@]} == 0)); then
    skipped=$((skipped + 1))
    printf 'skipped: C++11 (Debian package g++)\n'
fi
printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
exit $((failed != 0))
