#!/bin/bash
# The two examples of how the library is used: each runs, both say the same, and a wrong method is a message.
#   test_examples.sh EXAMPLE_C PYTHON EXAMPLE_PY SANITIZER
set -euo pipefail

example=$1 python=$2 script=$3 sanitizer=$4
failed=0 passed=0 skipped=0

ok() {
    passed=$((passed + 1))
    printf 'ok: %s\n' "$1"
}

not_ok() {
    failed=$((failed + 1))
    printf 'not ok: %s\n' "$1"
}

check() { # name, command...
    local name=$1
    shift
    if "$@"; then ok "$name"; else not_ok "$name"; fi
}

sane() { # is it a ratio above 1 and an error in (0, 0.5)?
    [[ $1 =~ ^ratio\ ([0-9.]+),\ relative\ L2\ error\ ([0-9.]+)$ ]] &&
        awk -v r="${BASH_REMATCH[1]}" -v e="${BASH_REMATCH[2]}" 'BEGIN { exit !(r > 1 && e > 0 && e < 0.5) }'
}

# The whole message is transformed on one thread, by the same library: the bytes do not differ.
from_c=$("$example") || true
printf 'C:      %s\n' "$from_c"
check 'the C program compresses' sane "$from_c"
check 'the C program takes any method' sane "$("$example" qsgd:bits=4 || true)"
if said=$("$example" tokp 2>&1); then
    not_ok 'an unknown method fails'
else
    check 'an unknown method is explained' grep -q topk <<<"$said"
fi

if [[ $sanitizer != none ]]; then
    # Python itself is not built with the sanitizer, which refuses to come second.
    skipped=$((skipped + 1))
    printf 'skipped: the Python program (a library built with -fsanitize=%s)\n' "$sanitizer"
else
    from_python=$("$python" "$script") || true
    printf 'Python: %s\n' "$from_python"
    check 'the Python program compresses' sane "$from_python"
    check 'C and Python say the same' test "$from_c" = "$from_python"
fi

printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
exit $((failed != 0))
