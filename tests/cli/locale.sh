#!/bin/sh
# A locale with a decimal comma changes nothing: options, tables, rows, plots and their data keep
# the point.
. "$(dirname "$0")/lib.sh"

h5=$(realpath "$(dirname "$0")/../../datasets/sample.h5")
here=$(cd "$(dirname "$0")" && pwd)
mkdir "$tmp/locales" "$tmp/dir"
cd "$tmp/dir" || exit 99
command -v localedef >/dev/null || skip "no localedef"
localedef -i de_DE -f UTF-8 "$tmp/locales/de_DE.UTF-8" >"$tmp/log" 2>&1 ||
    skip "localedef makes no locale here (Debian package: locales)"

# glibc's newlocale leaks a copy of LOCPATH each time
ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
export ASAN_OPTIONS
comma() {
    LOCPATH=$tmp/locales LC_ALL=de_DE.UTF-8 "$@"
}
last="the locale made here"
check "has a decimal comma" test "$(comma sh -c 'locale decimal_point' 2>/dev/null)" = ,

# Runs in the locale; the table must have no decimal comma.
points() { # ARGS...
    comma run "$@"
    exits 0
    case "$*" in *csv*) return ;; esac
    check "points in tables" sh -c "! grep -E '[0-9],[0-9]' '$out'"
}
rows() { # FILE
    check "rows are JSON with real numbers" python3 -c "
import json
rows = [json.loads(line, parse_constant=float.fromhex) for line in open('$1')]
assert any(isinstance(v, float) and v != int(v) for row in rows for v in row.values())"
}
# Prints the same bytes as without the locale.
same() { # ARGS...
    LC_ALL=C run "$@"
    exits 0
    mv "$out" "$tmp/plain"
    points "$@"
    check "the same in the C locale" cmp "$tmp/plain" "$out"
}

timing="--repeat 3 --threads 1"
same inspect --dataset 'layers.0*' --spectrum "$h5"
same inspect --dataset 'fc*' --format csv --histogram "$h5"
same methods fft
same methods --format json
same verify --method topk:theta=0.925 --method qsgd -q "$h5"
points compress --method topk:theta=0.925 --method fft:chunk=4096 $timing --results r.json "$h5"
prints "topk:theta=0.925"
rows r.json
points bench --method topk --method range --method fft:chunk=4096 --precision 0.5 --time-budget 0.5 --results b.json "$h5"
rows b.json
points bench --kernels 'reduce/max*' --size l1 --precision 0.5 --max-time 0.01
points sweep --match rel_l2=0.405 --method qsgd --step last $timing --results s.json "$h5"
rows s.json
points replay --method topk:memory=ef --theta-schedule 0.925@0,0.5@3 --allow-gaps --results y.json "$h5"
rows y.json
points info
same generate --dist student-t:df=2.5 --elements 1.5K -o made.h5 --force
same payoff --bandwidth 0.5Gb..1.5Gb --compute 2.5ms b.json
same payoff --exact 0.025 --noise 0.25 --coding 732.5GB/s --model-bytes 1.5M b.json
same regress b.json b.json --delta 2.5
sed 's/"rel_l2": 0\.\([0-9]\)/"rel_l2": 0.9\1/' b.json >worse.json
LC_ALL=C run regress b.json worse.json
exits 4
mv "$out" "$tmp/plain"
comma run regress b.json worse.json
exits 4
check "the same in the C locale" cmp "$tmp/plain" "$out"

comma run compress --method topk --theta 0,9 "$h5"
exits 2
says "not '0,9'"

if command -v gnuplot >/dev/null; then
    for locale in C de_DE.UTF-8; do
        LOCPATH=$tmp/locales LC_ALL=$locale run plot b.json s.json --type svg -q -o plots
        exits 0
        mv plots "plots.$locale"
        LOCPATH=$tmp/locales LC_ALL=$locale run report b.json s.json -o "$locale.html"
        exits 0
    done
    check "the same plots, scripts and data" diff -r plots.C plots.de_DE.UTF-8
    check "the same page" cmp C.html de_DE.UTF-8.html
else
    leave_out "no gnuplot (Debian package gnuplot-nox)"
fi

finish
