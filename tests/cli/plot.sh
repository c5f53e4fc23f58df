#!/bin/sh
# plot: what it refuses, what it keeps without gnuplot, pages, many rows, names that look like
# commands. plot_types.sh tests the plots themselves.
. "$(dirname "$0")/lib.sh"
sample=$(dirname "$0")/../../datasets/sample.h5

run plot --list
exits 0
quiet
prints "rate-distortion"

# What works without gnuplot.
fails 2 "no results given" plot
fails 2 "no output given" plot r.json
fails 2 "rate-distorion" plot --only rate-distorion -o "$tmp/o" r.json
fails 2 "gif" plot --type gif -o "$tmp/o" r.json
run plot -o "$tmp/o" "$tmp/none.json"
exits 1
says "none.json: No such file"
check "no folder was made" test ! -e "$tmp/o"
run info --format json
cp "$out" "$tmp/info.json"
run plot -o "$tmp/o" "$tmp/info.json"
exits 1
says "nothing to plot"
check "no folder for nothing" test ! -e "$tmp/o"
run plot --only rate-distortion -o "$tmp/o" "$tmp/info.json"
exits 2
says "no data for rate-distortion; it needs summary rows: \`bench\`"

run compress --repeat 6 --histogram --spectrum --method topk:theta=0.9 --method topk:theta=0.99 --method fft --method qsgd \
    --method range:mantissa=3 --results "$tmp/c.json" --step 100 --worker 0 --dataset 'layers.[01].*' "$sample"
exits 0

# Without gnuplot.
PATH_BEFORE=$PATH
PATH=$tmp/nothing
last="plot without gnuplot"
/usr/bin/timeout "$hang" "$GCBENCH" plot -o "$tmp/dir" "$tmp/c.json" >"$out" 2>"$err"
rc=$?
PATH=$PATH_BEFORE
exits 1
says "apt install gnuplot-nox"
check "script and data are left" test -s "$tmp/dir/rate-distortion.gp" -a -s "$tmp/dir/rate-distortion.csv"
check "nothing else is" test -z "$(ls -A "$tmp/dir" | grep -vE '\.(gp|csv)$')"
rm -r "$tmp/dir"

# A gnuplot that cannot start is not a missing one.
mkdir "$tmp/broken"
printf '#!/bin/sh\necho "libfoo.so.1: cannot open" >&2\nexit 127\n' >"$tmp/broken/gnuplot"
chmod +x "$tmp/broken/gnuplot"
last="plot with a broken gnuplot"
PATH=$tmp/broken:$PATH "$GCBENCH" plot --only pareto -o "$tmp/dir" "$tmp/c.json" >"$out" 2>"$err"
rc=$?
exits 1
says "gnuplot: exit status 127: libfoo.so.1: cannot open"
rm -r "$tmp/dir"

# A limit on files: the message names the file of the user, and nothing is left.
last="plot within a limit"
(ulimit -f 1 && "$GCBENCH" plot -o "$tmp/dir" "$tmp/c.json" >"$out" 2>"$err")
rc=$?
exits 1
says "gcbench: $tmp/dir/rate-distortion.gp: "
check "nothing is left" test ! -e "$tmp/dir"

# On a full disk gnuplot ends well with a part of the image.
mkdir "$tmp/cut"
printf '#!/bin/sh\nprintf "<svg> a picture that ends here <g>" >"${2%%.gp}.svg"\n' >"$tmp/cut/gnuplot"
chmod +x "$tmp/cut/gnuplot"
last="plot of a cut image"
PATH=$tmp/cut:$PATH "$GCBENCH" plot --type svg --only rate-distortion -o "$tmp/cut/o" "$tmp/c.json" >"$out" 2>"$err"
rc=$?
exits 1
says "did not finish the image"
check "no cut image is left" test ! -e "$tmp/cut/o/rate-distortion.svg"
# A text image without a newline at its end.
printf '#!/bin/sh\nprintf "one\\ntwo" >"${2%%.gp}.txt"\n' >"$tmp/cut/gnuplot"
last="plot of a text without a last newline"
PATH=$tmp/cut:$PATH "$GCBENCH" plot -q --terminal --only rate-distortion "$tmp/c.json" >"$out" 2>"$err"
rc=$?
exits 0
prints "two"

command -v gnuplot >/dev/null || skip "the rest needs gnuplot (Debian: gnuplot-nox)"

run plot --only rate-distortion,pareto -o "$tmp/dir" "$tmp/c.json"
exits 0
quiet
# The user's settings of gnuplot change nothing.
printf 'set terminal x11\nexit status 3\n' >"$tmp/.gnuplot"
cat >"$tmp/expected" <"$tmp/dir/rate-distortion.png"
last="plot with settings of gnuplot"
HOME=$tmp GNUTERM=x11 GNUPLOT_LIB=/nowhere GNUPLOT_DEFAULT_GDFONT=nothing GDFONTPATH=/nowhere GNUHELP=/nowhere FIT_SCRIPT=exit \
    "$GCBENCH" plot --only rate-distortion,pareto --force -o "$tmp/dir" "$tmp/c.json" >"$out" 2>"$err"
rc=$?
exits 0
quiet
check "the same picture" cmp "$tmp/expected" "$tmp/dir/rate-distortion.png"
# A note says that other rows would make more plots. A plot of --only that lacks its rows is an
# error, before any work.
run plot -o "$tmp/some" "$tmp/c.json"
exits 0
says "more plots need other rows (\`gcbench plot --list\` says which)"
run plot --only rate-distortion,kernels -o "$tmp/asked" "$tmp/c.json"
exits 2
says "no data for kernels"
check "nothing was drawn" test ! -e "$tmp/asked"
# Rows of inspect have the input only.
run inspect --histogram --spectrum --results "$tmp/i.json" --dataset '*c1*' "$sample"
exits 0
run plot -q -o "$tmp/inspect" "$tmp/i.json"
exits 0
quiet
check "only the input" test "$(sed 's,.*/,,' "$out" | tr '\n' ' ')" = "spectrum.png "

run plot -o "$tmp/dir" "$tmp/c.json"
exits 2
says "exists; --force replaces it"
: >"$tmp/file"
run plot -o "$tmp/file" "$tmp/c.json"
exits 1
says "Not a directory"

# Speeds without an interval still have their numbers.
printf '{"record":"summary","schema":1,"file":"g.h5","scope":"tensor","status":"ok","method":"a","spec":"a","encode_gbps":12.3,"decode_gbps":45.6,"encode_seconds_low":null}\n' >"$tmp/few.json"
run plot -q --terminal --only throughput "$tmp/few.json"
exits 0
prints "12.3 /45.6"
run plot -q --only throughput --type svg -o "$tmp/few" "$tmp/few.json"
exits 0
run plot -q --only throughput --type svg -o "$tmp/no/such" "$tmp/few.json"
exits 1
says "no/such: cannot make the folder: No such file"
check "numbers in the picture" sh -c "grep -q '>12.3<' '$tmp/few/throughput.svg' && grep -q '>45.6<' '$tmp/few/throughput.svg'"

run plot --terminal --only rate-distortion "$tmp/c.json"
exits 0
quiet
prints "topk, theta 0.9 to 0.99"
# Rows that do not fit one picture make pages.
sed 's/"scope": "tensor"/"scope": "bucket"/' "$tmp/c.json" >"$tmp/bucket.json"
run plot --only rate-distortion -o "$tmp/pages" "$tmp/c.json" "$tmp/bucket.json"
exits 0
prints "rate-distortion-1.png"
prints "rate-distortion-2.png"
check "each says what it is" grep -q "scope bucket" "$tmp/pages/rate-distortion-2.gp"

# Many rows.
awk 'BEGIN { for (i = 0; i < 30000; i++)
    printf "{\"record\": \"%s\", \"schema\": 1, \"file\": \"g.h5\", \"scope\": \"tensor\", \"tensor\": \"layer%d.weight\", \"method\": \"m%d\", \"spec\": \"m%d:theta=0.%d\", \"status\": \"ok\", \"elements\": %d, \"bits_per_element\": %.3f, \"ratio\": 4, \"encode_gbps\": 2, \"decode_gbps\": 3, \"rel_l2\": %.4f, \"cosine\": 0.5}\n",
        i % 5 ? "result" : "summary", i % 500, i % 20, i % 20, i % 13, i % 5000 + 1, 0.1 + i % 97 / 10, (1 + i % 89) / 90 }' >"$tmp/many.json"
run plot --only rate-distortion,pareto -o "$tmp/many" "$tmp/many.json"
exits 0
quiet

# Rows with few fields, and odd values in them.
cat >"$tmp/odd.json" <<'END'
{"record":"summary","schema":1}
{"record":"histogram","schema":1,"low":5,"high":1,"count":-3}
{"record":"histogram","schema":1,"low":0,"high":0,"count":3}
{"record":"histogram","schema":1,"low":1,"high":2,"count":3,"of":"error"}
{"record":"verdict","schema":1,"ratio":2}
{"record":"kernel","schema":1,"status":"ok","gbps":1}
{"record":"payoff","schema":1,"model":"exchange","seconds":1,"bandwidth_gbit":1}
{"record":"spectrum","schema":1,"by":"frequency"}
{"record":"spectrum","schema":1,"by":"magnitude","density":0.5}
{"record":"replay_step","schema":1}
{"record":"result","schema":1,"status":"ok","rel_l2":1,"tensor":"t"}
{"record":"summary","schema":1,"status":"ok","spec":"range:bits=99,mantissa=-1","method":"range","rel_l2":1e308,"bits_per_element":1e-308}
{"record":"summary","schema":1,"status":"ok","spec":"b","method":"b","rel_l2":1,"ratio":1e308,"encode_gbps":1e-29,"decode_gbps":1}
{"record":"summary","schema":1,"status":"ok","spec":"c","method":"c","rel_l2":null,"ratio":-1,"encode_gbps":3,"decode_gbps":1}
{"record":"summary","schema":1,"status":"ok","spec":"range:bits=9,mantissa=3","method":"range","rel_l2":0,"bits_per_element":3,"encode_gbps":1e300}
END
last="plot of odd rows"
for name in $("$GCBENCH" plot --list | sed -n 's/^\([a-z][a-z-]*\) .*/\1/p'); do
    timeout "$hang" "$GCBENCH" plot --only "$name" --type svg -o "$tmp/odd" "$tmp/odd.json" >"$out" 2>"$err"
    rc=$?
    # a picture, no data, or a complaint of gnuplot that there are no points; never a crash
    check "$name ends in order" test $rc -le 2
    check "$name says one thing" test "$(cat "$out" "$err" | wc -l)" -le 2
done

# Names in a file that look like commands.
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
for type in svg pdf; do
    last="plot of hostile names, $type"
    (cd "$tmp/hostile" && "$GCBENCH" plot -q --type $type --force -o o r.json) >"$out" 2>"$err"
    rc=$?
    exits 0
    quiet
done
(cd "$tmp/hostile" && "$GCBENCH" plot -q --terminal r.json) >"$out" 2>"$err"
rc=$?
exits 0
quiet
check "no escapes reach the terminal" sh -c "! grep -q \"\$(printf '\\033')\" '$out'"
check "nothing was run" sh -c "! find '$tmp/hostile' -name X | grep -q ."
check "labels are text in SVG" sh -c "! grep -q '<script>' '$tmp'/hostile/o/*.svg && grep -q '&lt;script' '$tmp/hostile/o/rate-distortion.svg'"

finish
