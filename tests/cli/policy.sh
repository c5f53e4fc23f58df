#!/bin/sh
# --method-for: a method for each tensor.
. "$(dirname "$0")/lib.sh"

here=$(dirname "$(realpath "$0")")
sample=$(realpath "$here/../../datasets/sample.h5")
one="--step 400 --worker 0"
set -f # options have globs

# ---- each tensor's message is that of its method ----
rows() { # FILE OPTIONS...
    to=$1
    shift
    run compress --no-baselines --repeat 2 --format json "$@" $one "$sample"
    exits 0
    cp "$out" "$tmp/$to"
}
rows policy.json --method-for '*bias=fp16' --method-for 'layers.1*=dct-range:bits=6' --method topk --theta 0.9
rows bias.json --method fp16
rows one.json --method dct-range:bits=6,theta=0.9
rows rest.json --method topk:theta=0.9
check "bytes and errors of every tensor and in all" python3 -c "
import fnmatch, json
def read(name):
    rows = [json.loads(line) for line in open('$tmp/' + name)]
    return ({row['tensor']: row for row in rows if row['record'] == 'result'},
            [row for row in rows if row['record'] == 'summary'])
rules = [('*bias', 'bias.json', '*bias=fp16'), ('layers.1*', 'one.json', 'layers.1*=dct-range:theta=0.9,bits=6'),
         ('*', 'rest.json', '*=topk:theta=0.9')]
alone = {name: read(name)[0] for _, name, _ in rules}
rows, (total,) = read('policy.json')
used, errors, squares = set(), 0.0, 0.0
for tensor, row in rows.items():
    glob, name, text = next(rule for rule in rules if fnmatch.fnmatchcase(tensor, rule[0]))
    other = alone[name][tensor]
    used.add(glob)
    assert row['policy'] == text and other['policy'] is None, (tensor, row['policy'])
    assert row['method'] == 'policy' and row['spec'] == total['spec'], row['spec']
    assert all(row[key] == other[key] for key in ('wire_bytes', 'index_bytes', 'rel_l2', 'kept')), tensor
    errors += other['sums']['error_squares']
    squares += other['sums']['input_squares']
assert len(used) == 3 and len(rows) == total['messages'] > 20, used
assert total['wire_bytes'] == sum(row['wire_bytes'] for row in rows.values())
assert abs(total['rel_l2'] - (errors / squares) ** 0.5) < 1e-12, total['rel_l2']
assert total['policy'] == \"--method-for '*bias=fp16' --method-for 'layers.1*=dct-range:theta=0.9,bits=6' --method topk:theta=0.9\"
assert total['params']['rules'] == 3 and total['collectives'] == ['allgather'], total['params']"
rows other.json --method-for '*bias=bf16' --method-for 'layers.1*=dct-range:bits=6' --method topk --theta 0.9
check "another policy has another spec" sh -c "
    ! grep -q \"\$(grep -o 'policy:rules=3,id=[0-9]*' '$tmp/policy.json' | head -1)\" '$tmp/other.json'"

# ---- other commands say which policy it is ----
fails 2 "left out: policy (\`replay\` judges policies)" payoff --bandwidth 1Gb "$tmp/policy.json"
run report -o "$tmp/policy.html" "$tmp/policy.json" "$tmp/other.json"
exits 0
check "the page has the rules" grep -q "method-for '\*bias=bf16'" "$tmp/policy.html"

# ---- the table ----
run compress --method-for '*bias=fp16' --method topk --per tensor $one "$sample"
exits 0
prints 'policy:rules=2'
prints "policy: --method-for '*bias=fp16' --method topk:theta=0.85"
check "which method each tensor has" sh -c "
    grep -q '^bn.bias  *fp16 ' '$out' && grep -q ' topk:theta=0.85  ' '$out' && ! grep -qE '.{81}' '$out'"

# ---- messages ----
run compress --method-for '*bias=identity' --method fp16 -o "$tmp/messages.h5" $one "$sample"
exits 0
run decompress "$tmp/messages.h5" -o "$tmp/back.h5"
exits 0
check "decompressed" python3 -c "
import h5py, numpy
kept = {}
def compare(name, item):
    if isinstance(item, h5py.Dataset):
        want = h5py.File('$sample')[name][:]
        kept[name.endswith('bias')] = kept.get(name.endswith('bias'), True) and (item[:] == want).all()
        assert numpy.allclose(item[:], want, rtol=1e-3, atol=1e-7), name
h5py.File('$tmp/back.h5').visititems(compare)
assert kept == {True: True, False: False}, kept
assert '--method fp16' in h5py.File('$tmp/messages.h5').attrs['method'].decode()"

# ---- sweep --budget finds a policy ----
budget() { # OPTIONS...
    rm -f "$tmp/found.json"
    run sweep "$@" $part --results "$tmp/found.json" "$sample"
    exits 0
    quiet
    check "compress with the printed options gives the same bytes and error" python3 "$here/check_budget.py" "$GCBENCH" \
        "$tmp/found.json" "$out" $part "$sample"
}
part="$one --dataset layers.[01].c*" # the full search takes long
budget --budget rel_l2=0.3
part="$one --dataset layers.[01].*"
budget --budget ratio=12 --published-only
budget --budget bytes=7K --method topk-range --method range --no-baselines
# hostile names, and tensors that cost bytes without an error
python3 -c "
import h5py, numpy
draws = numpy.random.default_rng(1)
with h5py.File('$tmp/odd.h5', 'w') as odd, h5py.File('$tmp/zero.h5', 'w') as zero:
    names = ['--method', 'a=b', 'it\\'s', 'q?z', 'we[x]', 'back' + chr(92), 'new' + chr(10) + 'line', chr(228)]
    for i, name in enumerate(names):
        odd['step_0/worker_0/' + name] = numpy.float32(draws.standard_normal(300) * 10.0 ** (i % 4))
    for i in range(8):
        odd['step_0/worker_0/empty%d' % i] = numpy.zeros(0, 'f4')
    zero['step_0/worker_0/zero'] = numpy.zeros(500, 'f4')
"
odd() { # OPTIONS...
    run sweep "$@" --force --results "$tmp/found.json" "$tmp/odd.h5"
    exits 0
    check "options with odd names can be copied" python3 "$here/check_budget.py" "$GCBENCH" "$tmp/found.json" "$out" "$tmp/odd.h5"
}
odd --budget rel_l2=0.02 --method topk --method range
odd --budget ratio=5 --method topk --method range
run sweep --budget ratio=3 --method topk --method range "$tmp/zero.h5"
exits 0
prints "does not pay: it has 1 times"
fails 2 "'theta' is searched for" sweep --budget rel_l2=0.0001 --method topk --method terngrad --theta 0.9 $part "$sample"
run sweep --budget rel_l2=1e-9 --method terngrad $part "$sample"
exits 0
prints "answer: at rel_l2 1e-09, no policy was found that meets the target;"
fails 2 "--budget takes rel_l2=" sweep --budget cosine=0.9 "$sample"

# ---- called wrongly ----
fails 2 "--method-for convv*: no tensor matches" compress --method-for '*bias=fp16' --method-for 'convv*=topk' --method fft "$sample"
fails 2 "no --method-for matches the tensor bn.weight: add --method" compress --method-for '*bias=fp16' "$sample"
fails 2 "--method-for takes GLOB=SPEC" compress --method-for '=fp16' --method fft "$sample"
fails 2 "a glob has at most 1023 bytes" compress --method-for "$(printf '%1024s' '*')=fp16" "$sample"
fails 2 "leave out --scope model" compress --method-for '*=fp16' --scope model "$sample"
fails 2 "--shard" compress --method-for '*=fp16' --shard 0/2 "$sample"
fails 2 "name one method, not 2" compress --method-for '*=fp16' --method topk --method fft "$sample"
fails 2 "--theta: no method given has this parameter" compress --method-for '*=fp16' --theta 0.5 "$sample"

finish
