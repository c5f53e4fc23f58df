#!/bin/sh
# plot: draws each listed plot from real rows as PNG, SVG, PDF and in the terminal. The scripts that it leaves run again
# without a message.
. "$(dirname "$0")/lib.sh"
command -v gnuplot >/dev/null || skip "needs gnuplot (Debian: gnuplot-nox)"
sample=$(dirname "$0")/../../datasets/sample.h5

run plot --list
exits 0
plots=$(sed -n 's/^\([a-z][a-z-]*\) .*/\1/p' "$out")
check "there are plots" test "$(echo "$plots" | wc -l)" -ge 16

# Rows of each kind, so that each plot has its data.
run compress --repeat 6 --histogram --spectrum --method topk:theta=0.9 --method topk:theta=0.99 --method fft --method qsgd \
    --method range:mantissa=3 --results "$tmp/c.json" --step 100 --worker 0 "$sample"
exits 0
cp "$tmp/c.json" "$tmp/all.json"
run compress --repeat 6 --method topk:theta=0.9 --method qsgd --per none --results "$tmp/d.json" --step 100 --worker 0 "$sample"
exits 0
run replay --allow-gaps --method topk:memory=ef --method qsgd --per step --results "$tmp/replay.json" "$sample"
exits 0
run payoff --results "$tmp/payoff.json" "$tmp/c.json"
exits 0
run bench --kernels --repeat 6 --size l1 --results "$tmp/kernels.json" 'bitpack/*'
exits 0
run sweep --method topk --method qsgd --match rel_l2=0.4 --step 100 --worker 0 --results "$tmp/match.json" "$sample"
exits 0
"$GCBENCH" regress --results "$tmp/regress.json" "$tmp/d.json" "$tmp/c.json" >/dev/null 2>&1 # whatever it finds
cat "$tmp/replay.json" "$tmp/payoff.json" "$tmp/kernels.json" "$tmp/match.json" "$tmp/regress.json" >>"$tmp/all.json"

for type in png svg pdf; do
    run plot --type $type -o "$tmp/dir" --force "$tmp/all.json"
    exits 0
    quiet
    for name in $plots; do
        check "$type: $name" sh -c "grep -qxE '$tmp/dir/$name(-[0-9]+)?[.]$type' '$out'"
    done
    check "$type: names what it wrote" sh -c "while read -r path; do [ -s \"\$path\" ] || exit 1; done <'$out'"
    for image in "$tmp"/dir/*.$type; do
        case $type in
        png) check "$image" sh -c "head -c 8 '$image' | od -An -tx1 | grep -q '89 50 4e 47 0d 0a 1a 0a'" ;;
        svg) check "$image" python3 -c 'import sys, xml.dom.minidom as d; d.parse(sys.argv[1])' "$image" ;;
        pdf) check "$image" sh -c "head -c 5 '$image' | grep -q '%PDF-' && tail -c 8 '$image' | grep -q '%%EOF'" ;;
        esac
    done
done
last="docs/plots.md"
for name in $plots; do
    check "explains $name" grep -qE "^\| \`$name\` \|" "$(dirname "$0")/../../docs/plots.md"
done

# The script draws the plot again, without a message.
for script in "$tmp"/dir/*.gp; do
    check "$script is silent" sh -c "cd '$tmp/dir' && gnuplot '$script' 2>&1 | { ! grep -q .; }"
done

mkdir "$tmp/work"
TMPDIR=$tmp/work
export TMPDIR
run plot --terminal "$tmp/all.json"
exits 0
quiet
check "79 columns" sh -c "! grep -qE '.{80}' '$out'"
check "no control characters" sh -c "! LC_ALL=C grep -q '[[:cntrl:]]' '$out'"
check "no temporary files are left" sh -c "! ls -a '$tmp/dir' '$tmp/work' | grep -q '^[.]gcbench'"

finish
