#!/bin/sh
# plot: draws each listed plot from real rows as PNG, SVG, PDF and in the terminal. The scripts that
# it leaves run again without a message.
. "$(dirname "$0")/lib.sh"
command -v gnuplot >/dev/null || skip "needs gnuplot (Debian: gnuplot-nox)"
sample=$(dirname "$0")/../../datasets/sample.h5

run plot --list
exits 0
plots=$(sed -n 's/^\([a-z][a-z-]*\) .*/\1/p' "$out")
check "there are plots" test -n "$plots"

# Rows of each kind, so that each plot has its data.
run compress --repeat 6 --histogram --spectrum --method topk:theta=0.9 --method topk:theta=0.99 --method fft --method qsgd \
    --method range:mantissa=3 --results "$tmp/c.json" --step 100 --worker 0 --dataset 'layers.[01].*' "$sample"
exits 0
cp "$tmp/c.json" "$tmp/all.json"
run compress --repeat 6 --method topk:theta=0.9 --method qsgd --per none --results "$tmp/d.json" --step 100 --worker 0 "$sample"
exits 0
# forty ways by a GPU's times, of which only some have names; and few ways by times of this machine
run payoff --coding h200 --params 25M --bandwidth 1Gb,10Gb,100Gb --workers 2..8 --results "$tmp/payoff.json" "$sample"
exits 0
run payoff --coding 10GB/s --bandwidth 100Mb,1Gb --workers 4,8 --method qsgd --method topk:theta=0.99 --results "$tmp/few.json" "$sample"
exits 0
cat "$tmp/few.json" >>"$tmp/payoff.json"
run bench --kernels --repeat 6 --size l1 --results "$tmp/kernels.json" 'bitpack/*'
exits 0
run sweep --method topk --method qsgd --match rel_l2=0.4 --step 100 --worker 0 --results "$tmp/match.json" "$sample"
exits 0
run inspect --compaction --step 100 --worker 0 --dataset 'layers.[37].c*' --results "$tmp/e.json" "$sample"
exits 0
run replay --allow-gaps --method sparse:select=sidco --method topk --method qsgd --results "$tmp/f.json" "$sample"
exits 0
cat "$tmp/d.json" "$tmp/e.json" "$tmp/f.json" "$tmp/payoff.json" "$tmp/kernels.json" "$tmp/match.json" >>"$tmp/all.json"

# Two seeds of two methods in training, with an even and an odd number of them, with and without a
# link.
for run in 'identity 1 50 60' 'identity 2 55 70' 'qsgd 1 40 55' 'qsgd 2 30 65' 'qsgd 3 35 65'; do
    set -- $run
    for step in 10 20; do
        for link in '' ',"bandwidth_gbit":1,"latency_seconds":5e-05,"seconds":'$((step * $2)); do
            printf '{"record":"training","schema":1,"network":"net","label":"%s!","method":"%s","spec":"%s","workers":16,"seed":%s,"step":%s,"quality":%s,"link_bytes":%s%s}\n' \
                "$1" "$1" "$1" "$2" $step "$3" $((step * 1000)) "$link"
        done
        set -- "$1" "$2" "$4"
    done
done >>"$tmp/all.json"

# Rows with known figures: an exact method and a very wrong one, methods that others beat, and equal
# ones.
while read -r spec bits error speed; do
    printf '{"record":"summary","schema":1,"file":"known.h5","scope":"tensor","status":"ok","method":"%s","spec":"%s","bits_per_element":%s,"ratio":%s,"rel_l2":%s,"cosine":0.5,"encode_gbps":%s,"decode_gbps":2}\n' \
        "${spec%%:*}" "$spec" "$bits" "$(awk "BEGIN { print 32 / $bits }")" "$error" "$speed"
done >>"$tmp/all.json" <<'END'
topk:theta=0 64 0 9
topk:theta=0.5 32 0.2 8
topk:theta=0.9 6.4 0.5 7
sparse:theta=0.9 6.4 0.5 7
fft:theta=0.9 2 0.55 1
dgc:theta=0.9 7 0.6 6
sbc:theta=0.9 1 0.6 3
qsgd:bits=4 4 0.25 9
terngrad 2 0.95 5
signsgd 1.1 281 5
fp16 16 0.0002 20
END

# Three runs: the ratio of one method changes, one method comes later, and one spec has a default
# that later ones lack.
while read -r date method ratio speed spec; do
    [ "$method" = topk ] && printf '{"record":"environment","schema":1,"date":"2026-%sT12:00:00Z","git_revision":"%s0123456"}\n' "$date" "$speed"
    printf '{"record":"summary","schema":1,"file":"%s/old.h5","scope":"model","status":"ok","method":"%s","spec":"%s","ratio":%s,"encode_gbps":%s}\n' \
        "$date" "$method" "${spec:-$method}" "$ratio" "$speed"
done >>"$tmp/all.json" <<'END'
03-01 topk 3 1
03-01 qsgd 4 2
01-31 topk 3 4 topk:theta=0.85
01-31 qsgd 5 3
12-01 topk 3 2
12-01 fft 8 1
END

for type in png svg pdf; do
    names=$plots
    [ $type = svg ] || names='pareto scaling throughput' # the rest differ from svg in nothing that we write
    run plot --type $type --only "$(echo $names | tr ' ' ,)" -o "$tmp/dir" --force "$tmp/all.json"
    exits 0
    quiet
    cp "$out" "$tmp/drawn.$type"
    for name in $names; do
        check "$type: $name" grep -qxE "$tmp/dir/$name(-[0-9]+)?[.]$type" "$tmp/drawn.$type"
    done
    check "$type: names what it wrote" sh -c "while read -r path; do [ -s \"\$path\" ] || exit 1; done <'$tmp/drawn.$type'"
    for image in "$tmp"/dir/*.$type; do
        case $type in
        png) check "$image" sh -c "head -c 8 '$image' | od -An -tx1 | grep -q '89 50 4e 47 0d 0a 1a 0a'" ;;
        svg) check "$image" python3 -c 'import sys, xml.dom.minidom as d; d.parse(sys.argv[1])' "$image" ;;
        pdf) check "$image" sh -c "head -c 5 '$image' | grep -q '%PDF-' && tail -c 8 '$image' | grep -q '%%EOF'" ;;
        esac
    done
done
last="check_plot.py"
check "draws what the rows say" $PYTHON "$(dirname "$0")/check_plot.py" "$tmp/dir" "$tmp/all.json"
last="docs/plots.md"
for name in $plots; do
    check "explains $name" grep -qE "^\| \`$name\` \|" "$(dirname "$0")/../../docs/plots.md"
done

# The script draws the plot again, without a message.
for script in "$tmp"/dir/pareto*.gp "$tmp"/dir/scaling*.gp; do
    check "$script is silent" sh -c "cd '$tmp/dir' && gnuplot '$script' 2>&1 | { ! grep -q .; }"
done

mkdir "$tmp/work"
TMPDIR=$tmp/work
export TMPDIR
run plot --terminal "$tmp/all.json"
exits 0
quiet
for panel in 'error up to 0.03: Ratio' 'error above 0.7: Ratio' 'errors that are nearly exact: Exchange' 'errors that are noise: Exchange'; do
    prints "$panel"
done
check "79 columns" sh -c "! grep -qE '.{80}' '$out'"
check "no control characters" sh -c "! LC_ALL=C grep -q '[[:cntrl:]]' '$out'"
check "no temporary files are left" sh -c "! ls -a '$tmp/dir' '$tmp/work' | grep -q '^[.]gcbench'"

finish
