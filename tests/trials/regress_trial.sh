#!/bin/bash
# How often are the verdicts of `regress --against` right? A round has three runs: two builds that differ only in the layout of
# their code, with --calibrate; one time slower, by 5 % or twice the delta of this calibration, whichever is more; the same
# time 20 % faster. Prints a line for each run, then the counts. Builds the committed source; a round takes about 2.3 budgets.
#   regress_trial.sh [ROUNDS [BUDGET [FOLDER]]]       (default: 20 rounds and 60s)
# FOLDER keeps the builds for the next call. KEEP_LAYOUT=1: compares the programs as they were linked, as regress does with
# builds that it cannot link again.
set -euo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
source=$(cd -- "$here/../.." && pwd)
rounds=${1:-20} budget=${2:-60s}
method=qsgd quantity=encode
tmp=${3:-$(mktemp -d)}
(($# >= 3)) || trap 'rm -rf "$tmp"' EXIT
plain=$tmp/plain/build/cli/gcbench
slower=$tmp/slower/build/cli/gcbench # by the share in the file $tmp/share
moved=$tmp/moved/build/cli/gcbench   # the functions of `plain` at other addresses

# Puts padding of a random size into six random source files, which moves everything after them.
move_code() {
    rm -rf "$tmp/moved/src" "$tmp/moved/kernels"
    git -C "$source" archive HEAD src kernels | tar -x -C "$tmp/moved"
    find "$tmp/moved/src/lib" "$tmp/moved/kernels" -name '*.c' ! -path '*/module/*' | sort | shuf -n 6 |
        while read -r file; do
            printf '\n__asm__(".text\\n.skip %d\\n");\n' $((16 * (RANDOM % 64 + 1))) >>"$file"
        done
    build moved
}

program() { # PATH: the program, or a copy that cannot be linked again
    [[ ${KEEP_LAYOUT:-} ]] || { echo "$1"; return; }
    mkdir -p "$tmp/kept"
    cp "$1" "$tmp/kept/$(basename "${1%/build/cli/gcbench}")"
    echo "$tmp/kept/$(basename "${1%/build/cli/gcbench}")"
}

build() { # NAME
    [[ -d $tmp/$1/build ]] || meson setup -Dtests=false -Dcuda=disabled "$tmp/$1/build" "$tmp/$1" >/dev/null
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
    local what=$1 new base rc=0
    new=$(program "$2") base=$(program "$3")
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
    for name in plain slower moved; do
        mkdir -p "$tmp/$name"
        git -C "$source" archive HEAD | tar -x -C "$tmp/$name"
    done
    python3 "$here/slower.py" "$tmp/slower" "$method" "$tmp/share"
    build plain
    build slower
fi

two_thirds=$(python3 -c "print('%gs' % (float('${budget%s}') * 2 / 3))")
for ((i = 1; i <= rounds; i++)); do
    move_code
    run layout "$moved" "$plain" --budget "$budget" --calibrate
    delta=$(pick "v['delta']") || continue
    percent=$(python3 -c "print(100 * $delta)")
    python3 -c "print(max(0.05, 2 * $delta))" >"$tmp/share"
    run slow "$slower" "$plain" --budget "$two_thirds" --delta "$percent"
    echo 0.25 >"$tmp/share" # the plain one takes 20 % less
    run fast "$plain" "$slower" --budget "$two_thirds"
done | tee "$tmp/lines"

count() { # PATTERN
    grep -cE "$1" "$tmp/lines" || true
}
printf 'other layout: %d of %d runs exit 0 without any SLOW\n' \
    "$(grep -E '^layout +exit 0' "$tmp/lines" | grep -vc SLOW)" "$rounds"
printf 'slowed: %d of %d runs name it SLOW and exit 4\n' "$(count "^slow +exit 4.*$method $quantity SLOW")" "$rounds"
printf 'faster: %d of %d runs name it FAST and exit 0\n' "$(count "^fast +exit 0.*$method $quantity FAST")" "$rounds"
