#!/bin/bash
# Every header stands alone, also one that no source file includes yet.
#   headers.sh SOURCE_ROOT CC...
set -uo pipefail

cd -- "$1" || exit 99
shift
read -ra flags < <(pkg-config --cflags hdf5-serial jansson 2>/dev/null || pkg-config --cflags hdf5 jansson)
passed=0 failed=0
for header in $(find src kernels cli -name '*.h' | sort); do
    if "$@" -std=c11 -D_GNU_SOURCE -Wall -Wextra -Wno-unused-parameter -Werror -fsyntax-only -I. "${flags[@]}" -x c "$header"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf 'not ok: %s\n' "$header"
    fi
done
printf '%d passed, %d failed, 0 skipped\n' "$passed" "$failed"
exit $((failed != 0 || passed == 0))
