#!/bin/bash
# Counts checks for the scripts that run in a bare root, which read this file from /tmp/try.
passed=0 failed=0
check() { # NAME COMMAND...
    local name=$1
    shift
    if "$@" >/tmp/now 2>&1; then
        passed=$((passed + 1))
        printf 'ok: %s\n' "$name"
    else
        failed=$((failed + 1))
        printf 'not ok: %s\n' "$name"
        tail -n 5 /tmp/now
    fi
    mv /tmp/now /tmp/said # for the next check
}
