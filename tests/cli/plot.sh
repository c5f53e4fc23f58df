#!/bin/sh
# plot: every plot that is listed, from real rows, in every type; what it refuses; names that try to be commands.
. "$(dirname "$0")/lib.sh"
sample=$(dirname "$0")/../../datasets/sample.h5

run plot --list
exits 0
quiet
prints "rate-distortion"
plots=$(sed -n 's/^\([a-z][a-z-]*\) .*/\1/p' "$out")

# What needs no gnuplot.
run plot
exits 2
says "no results given"
run plot r.json
exits 2
says "where to?"
run plot --only rate-distorion -o "$tmp/o" r.json
exits 2
says "unknown plot 'rate-distorion'; did you mean 'rate-distortion'?"
run plot --only "" -o "$tmp/o" r.json
exits 2
says "unknown plot ''"
run plot --type gif -o "$tmp/o" r.json
exits 2
run plot -o "$tmp/o" "$tmp/none.json"
exits 1
says "none.json: No such file"
check "no folder was made" test ! -e "$tmp/o"
run info --format json
cp "$out" "$tmp/info.json"
run plot -o "$tmp/o" "$tmp/info.json"
exits 1
says "nothing to plot"
run plot --only rate-distortion -o "$tmp/o" "$tmp/info.json"
exits 2
says "no data for rate-distortion; it is drawn from summary rows: \`bench\`"

run compress --repeat 6 --histogram --spectrum --method topk:theta=0.9 --method topk:theta=0.99 --method fft --method qsgd \
    --method range:mantissa=3 --results "$tmp/c.json" --step 100 --worker 0 "$sample"
exits 0

# Without gnuplot.
PATH_BEFORE=$PATH
PATH=$tmp/nothing
last="plot without gnuplot"
/usr/bin/timeout 60 "$GCBENCH" plot -o "$tmp/dir" "$tmp/c.json" >"$out" 2>"$err"
rc=$?
PATH=$PATH_BEFORE
exits 1
says "apt install gnuplot-nox"
check "script and data are left" test -s "$tmp/dir/rate-distortion.gp" -a -s "$tmp/dir/rate-distortion.dat"
check "nothing else is" test -z "$(ls -A "$tmp/dir" | grep -vE '\.(gp|dat)$')"
rm -r "$tmp/dir"

command -v gnuplot >/dev/null || skip "the rest needs gnuplot (Debian: gnuplot-nox)"

for type in png svg pdf; do
    run plot --type $type -o "$tmp/dir" --force "$tmp/c.json"
    exits 0
    quiet
    check "$type: names what it wrote" test -s "$(head -n 1 "$out")"
    check "$type: all of them" sh -c "while read -r path; do [ -s \"\$path\" ] || exit 1; done <'$out'"
    for image in "$tmp"/dir/*.$type; do
        case $type in
        png) check "$image" sh -c "head -c 8 '$image' | od -An -tx1 | grep -q '89 50 4e 47 0d 0a 1a 0a'" ;;
        svg) check "$image" python3 -c 'import sys, xml.dom.minidom as d; d.parse(sys.argv[1])' "$image" ;;
        pdf) check "$image" sh -c "head -c 5 '$image' | grep -q '%PDF-' && tail -c 8 '$image' | grep -q '%%EOF'" ;;
        esac
    done
done

# The script draws it again, and complains of nothing.
for script in "$tmp"/dir/*.gp; do
    check "$script is silent" sh -c "cd '$tmp/dir' && gnuplot '$script' 2>&1 | { ! grep -q .; }"
done

run plot -o "$tmp/dir" "$tmp/c.json"
exits 2
says "exists; --force replaces it"
: >"$tmp/file"
run plot -o "$tmp/file" "$tmp/c.json"
exits 2
says "exists and is not a folder"

run plot --terminal --only rate-distortion "$tmp/c.json"
exits 0
quiet
prints "topk, theta 0.9 to 0.99"
check "79 columns" sh -c "! grep -qE '.{80}' '$out'"

# A method's name out of a file that wants to be more than a name.
mkdir "$tmp/hostile"
python3 - "$tmp/c.json" "$tmp/hostile/r.json" <<'PY'
import json, sys
evil = "a\"b';system(\"touch X\")`touch X`$(touch X)\\\n%s%n<script>&{/*2} @x #\u001b[31m\u202e"
with open(sys.argv[2], "w") as out:
    for line in open(sys.argv[1]):
        row = json.loads(line)
        for key in ("method", "spec", "tensor", "file", "scope", "cpu_model", "isa"):
            if row.get(key):
                row[key] = evil + row[key]
        out.write(json.dumps(row) + "\n")
PY
for type in png svg pdf; do
    last="plot of hostile names, $type"
    (cd "$tmp/hostile" && "$GCBENCH" plot --type $type --force -o o r.json) >"$out" 2>"$err"
    rc=$?
    exits 0
    quiet
done
(cd "$tmp/hostile" && "$GCBENCH" plot --terminal r.json) >"$out" 2>"$err"
rc=$?
exits 0
quiet
check "no escapes reach the terminal" sh -c "! grep -q \"\$(printf '\\033')\" '$out'"
check "nothing was run" sh -c "! find '$tmp/hostile' -name X | grep -q ."
check "labels are text in SVG" sh -c "! grep -q '<script>' '$tmp'/hostile/o/*.svg && grep -q '&lt;script' '$tmp/hostile/o/rate-distortion.svg'"

finish
