#!/bin/bash
# How often are the verdicts of `regress --against` right? A round has three runs: equal builds with --calibrate; one time slower,
# by 10 % or twice the delta of this calibration, whichever is more; the same time 20 % faster. Prints a line for each run, then
# the counts. Builds the committed source; a round takes about 2.3 budgets.
#   regress_trial.sh [ROUNDS [BUDGET [FOLDER]]]       (default: 20 rounds and 60s)
# FOLDER keeps the builds for the next call.
set -euo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
source=$(cd -- "$here/../.." && pwd)
rounds=${1:-20} budget=${2:-60s}
method=qsgd quantity=encode
tmp=${3:-$(mktemp -d)}
(($# >= 3)) || trap 'rm -rf "$tmp"' EXIT
plain=$tmp/plain/build/cli/gcbench
slower=$tmp/slower/build/cli/gcbench # by the share in the file $tmp/share

build() { # NAME
    meson setup -Dtests=false "$tmp/$1/build" "$tmp/$1" >/dev/null
    ninja -C "$tmp/$1/build" --quiet cli/gcbench >&2
}

pick() { # EXPRESSION over `v` (the verdict of the time in question), `rows` and `total`
    python3 -c "
import json
rows = [json.loads(line) for line in open('$tmp/rows')]
total = rows[-1]
v = next(r for r in rows if r['record'] == 'verdict' and r['method'] == '$method' and r['quantity'] == '$quantity')
print($1)"
}

run() { # WHAT NEW BASE OPTION...
    local what=$1 new=$2 base=$3 rc=0
    shift 3
    "$new" regress --against "$base" --suite "$here/suite.json" --format json "$@" >"$tmp/rows" 2>"$tmp/err" || rc=$?
    if ((rc != 0 && rc != 4)); then
        printf '%-6s exit %d: %s\n' "$what" "$rc" "$(tail -n 1 "$tmp/err")"
        return
    fi
    pick "'%-6s exit %d, %d pairs, %.0f s, load %.1f: $method $quantity %s %.3f (%.3f to %.3f), delta %.3f, all: %s' % (
        '$what', $rc, total['pairs'], total['seconds'], rows[0]['load1'], v['verdict'], v['ratio'], v['low'], v['high'],
        v['delta'], ' '.join('%d %s' % (n, k) for k, n in total['verdicts'].items() if n))"
}

if [[ ! -x $plain || ! -x $slower ]]; then
    mkdir -p "$tmp/plain" "$tmp/slower"
    git -C "$source" archive HEAD | tar -x -C "$tmp/plain"
    git -C "$source" archive HEAD | tar -x -C "$tmp/slower"
    python3 "$here/slower.py" "$tmp/slower" "$method" "$tmp/share"
    build plain
    build slower
fi

two_thirds=$(python3 -c "print('%gs' % (float('${budget%s}') * 2 / 3))")
for ((i = 1; i <= rounds; i++)); do
    run equal "$plain" "$plain" --budget "$budget" --calibrate
    delta=$(pick "v['delta']") || continue
    percent=$(python3 -c "print(100 * $delta)")
    python3 -c "print(max(0.10, 2 * $delta))" >"$tmp/share"
    run slow "$slower" "$plain" --budget "$two_thirds" --delta "$percent"
    echo 0.25 >"$tmp/share" # the plain one takes 20 % less
    run fast "$plain" "$slower" --budget "$two_thirds"
done | tee "$tmp/lines"

count() { # PATTERN
    grep -cE "$1" "$tmp/lines" || true
}
printf 'equal builds: %d of %d runs exit 0 without any SLOW\n' \
    "$(grep -E '^equal +exit 0' "$tmp/lines" | grep -vc SLOW)" "$rounds"
printf 'slowed: %d of %d runs name it SLOW and exit 4\n' "$(count "^slow +exit 4.*$method $quantity SLOW")" "$rounds"
printf 'faster: %d of %d runs name it FAST and exit 0\n' "$(count "^fast +exit 0.*$method $quantity FAST")" "$rounds"
