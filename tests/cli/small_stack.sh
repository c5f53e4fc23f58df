#!/bin/sh
# Every command runs with stacks of 64 KiB, also on files nested to the greatest depth allowed.
. "$(dirname "$0")/lib.sh"

! has_sanitizers || skip "sanitizers need larger stacks"
h5=$(realpath "$(dirname "$0")/../../datasets/sample.h5")
mkdir "$tmp/dir"
cd "$tmp/dir" || exit 99
ulimit -c 0
# gnuplot itself needs more
gnuplot=$(command -v gnuplot) && {
    mkdir "$tmp/bin"
    printf '#!/bin/sh\nulimit -S -s 8192\nexec "%s" "$@"\n' "$gnuplot" >"$tmp/bin/gnuplot"
    chmod +x "$tmp/bin/gnuplot"
    PATH=$tmp/bin:$PATH
}
ulimit -S -s 64 || skip "the limit of the stack cannot be set"

done_by() { # ARGS...
    run "$@"
    exits 0
}

few="--step last --worker 0"
done_by bench --scope model --threads 3 --repeat 6 --results b.json --histogram --spectrum $few "$h5"
done_by bench --kernels --size l1 --max-time 0.002 --precision 1
done_by verify --scope model --results v.json $few "$h5"
done_by sweep --match rel_l2=0.4 --threads 3 --scope model --results s.json $few --dataset 'layers.0.*' "$h5"
done_by replay --method dgc --method redsync --method qsgd:memory=ef --allow-gaps --results y.json "$h5"
for method in fft topk:index=adaptive sparse:transform=dct,chunk=512,values=means qsgd; do
    done_by compress --repeat 1 --method $method --threads 3 --scope model -o m.h5 --force "$h5"
    done_by decompress m.h5 -o d.h5 --force
done
done_by inspect --histogram --spectrum "$h5"
done_by generate --layout resnet50 -o g.h5
done_by info
done_by methods fft
done_by payoff b.json
done_by payoff --model-bytes 1M --method topk
done_by regress b.json b.json
if command -v gnuplot >/dev/null; then
    done_by plot b.json s.json y.json -o plots
    done_by plot --terminal b.json
else
    leave_out "no gnuplot (Debian package gnuplot-nox)"
fi
done_by report b.json s.json v.json y.json -o r.html

# as deep as the JSON reader goes; and deeper than groups may be
for depth in 2046 3000; do
    python3 -c "print('{\"record\": \"summary\", \"schema\": 1, \"x\": %s}' % ('[' * $depth + ']' * $depth))" >deep.json
    for command in 'report --no-plots --force -o r.html' 'plot --terminal' payoff 'regress deep.json'; do
        run $command deep.json
        check "no crash: $rc" test "$rc" -le 6
    done
done
python3 -c "
import h5py
at = h5py.File('deep.h5', 'w')
for _ in range(3000):
    at = at.create_group('a')
at['x'] = [1.0, 2.0]" 2>/dev/null && {
    run inspect deep.h5
    exits 1
}

finish
