#!/bin/bash
# How often does `regress --against` say what is true? Runs of it with equal builds, with one method slowed on purpose,
# and with one made faster; a line for each run, then the counts. Takes RUNS times three budgets.
#   regress_trial.sh [RUNS [BUDGET]]       (20 runs and 40s unless told; builds what is committed)
set -euo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
source=$(cd -- "$here/../.." && pwd)
runs=${1:-20} budget=${2:-40s}
method=qsgd quantity=encode
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
plain=$tmp/plain/build/cli/gcbench

build() { # NAME [SHARE]: a build, in which the method takes 1 + SHARE of its time
    mkdir "$tmp/$1"
    git -C "$source" archive HEAD | tar -x -C "$tmp/$1"
    (($# == 1)) || python3 "$here/slower.py" "$tmp/$1" "$method" "$2"
    meson setup -Dtests=false "$tmp/$1/build" "$tmp/$1" >/dev/null
    ninja -C "$tmp/$1/build" --quiet cli/gcbench >&2
}

pick() { # EXPRESSION over `v` (the verdict of the slowed time), `rows` and `total`
    python3 -c "
import json, sys
rows = [json.loads(line) for line in open('$tmp/rows')]
total = rows[-1]
v = next(r for r in rows if r['record'] == 'verdict' and r['method'] == '$method' and r['quantity'] == '$quantity')
print($1)"
}

run() { # WHAT NEW BASE OPTION...
    local what=$1 new=$2 base=$3 rc=0
    shift 3
    "$new" regress --against "$base" --suite "$here/suite.json" --budget "$budget" --format json "$@" \
        >"$tmp/rows" 2>"$tmp/err" || rc=$?
    if ((rc != 0 && rc != 4)); then
        printf '%-5s exit %d: %s\n' "$what" "$rc" "$(tail -n 1 "$tmp/err")"
        return
    fi
    pick "'%-5s exit %d, %d pairs, %.0f s, load %.1f: $method $quantity %s %.3f (%.3f to %.3f), all: %s' % (
        '$what', $rc, total['pairs'], total['seconds'], rows[0]['load1'], v['verdict'], v['ratio'], v['low'], v['high'],
        ' '.join('%d %s' % (n, k) for k, n in total['verdicts'].items() if n))"
}

build plain
calibrated=$("$plain" regress --against "$plain" --suite "$here/suite.json" --budget "$budget" --calibrate \
    --pairs 40 --format json >"$tmp/rows" && pick "v['delta']")
share=$(python3 -c "print(max(0.10, 2 * $calibrated))")
printf 'delta that calibration shows for %s %s: %.4f; slowed by %.4f; budget of a run %s; %s\n' \
    "$method" "$quantity" "$calibrated" "$share" "$budget" "$(nproc) cpus"
delta=$(python3 -c "print(100 * max(0.05, $calibrated))")
build slow "$share"
build before 0.25 # so that the plain one takes 20 % less

for ((i = 1; i <= runs; i++)); do
    run equal "$plain" "$plain"
    run slow "$tmp/slow/build/cli/gcbench" "$plain" --delta "$delta"
    run fast "$plain" "$tmp/before/build/cli/gcbench" --delta "$delta"
done | tee "$tmp/lines"

count() { # PATTERN
    grep -cE "$1" "$tmp/lines" || true
}
printf 'equal builds: %d of %d runs without any SLOW (exit 0)\n' "$(grep -E '^equal exit 0' "$tmp/lines" | grep -vc SLOW)" "$runs"
printf 'slowed: %d of %d runs name it SLOW and exit 4\n' "$(count "^slow +exit 4.*$method $quantity SLOW")" "$runs"
printf 'faster: %d of %d runs name it FAST and exit 0\n' "$(count "^fast +exit 0.*$method $quantity FAST")" "$runs"
