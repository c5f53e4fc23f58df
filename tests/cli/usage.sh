#!/bin/sh
# Wrong usage: exit 2, nothing on stdout, and one line that names the word and suggests another.
. "$(dirname "$0")/lib.sh"

wrong() { # TEXT ARGS...
    text=$1
    shift
    run "$@"
    exits 2
    says "$text"
    check "nothing on stdout" test ! -s "$out"
}

wrong "no command given"
wrong "-: this output needs a file" generate -o -
wrong "-: this output needs a file" report r.json -o -
wrong "unknown command 'inpsect'; did you mean 'inspect'?" inpsect
wrong "unknown command 'xyzzy'" xyzzy
wrong "unknown command '\\x1b[31m'" "$(printf '\033[31m')"
wrong "'--formt' comes before the command: write gcbench COMMAND --formt" --formt
wrong "comes before the command" --method topk compress x.h5
wrong "topk is a method: gcbench compress --method topk" topk x.h5
wrong "topk is a method: gcbench compress --method topk:theta=0.9" topk:theta=0.9 x.h5

wrong "no input file given" inspect
wrong "unknown option '--stpe'; did you mean '--step'?" inspect --stpe 1 x.h5
wrong "unknown option '--data'" inspect --data x.h5
wrong "unknown option '-x'" inspect -x
wrong "unknown option '--xyzzyx'" inspect --xyzzyx=1
wrong "--step needs a value" inspect --step
wrong "--step needs a value" inspect --step --order name x.h5
wrong "--step is given twice" inspect --step 1 --step 2 x.h5
wrong "--order is given twice" inspect --order=name --order=name x.h5
wrong "--format is one of table, json, csv, tsv, not 'jsno'; did you mean 'json'?" inspect --format jsno x.h5
wrong "--allow-external takes no value" inspect --allow-external=yes x.h5
wrong "--threads takes a whole number, in [1, 256], not '0'" inspect --threads 0 x.h5
wrong "not '1.5'" inspect --threads 1.5 x.h5
wrong "not '-1'" inspect --threads -1 x.h5
wrong "not ''" inspect --threads= x.h5
wrong "--max-bytes takes a size" inspect --max-bytes 12Q x.h5
wrong "needs a file that can seek" inspect -
wrong "info takes no operand" info x.h5

wrong "unknown method 'tokp'; did you mean 'topk'?" methods tokp
wrong "unknown method 'topk,fft'; repeat --method for each method" compress --method topk,fft x.h5
wrong "theta must be a number in [0, 1), not" sweep --vary theta=0.5-0.9 x.h5
wrong "theta must be a number in [0, 1), not" sweep --vary theta=0.5-0.9/5 x.h5
wrong "theta must be a number in [0, 1)" methods topk:theta=1
wrong "did you mean 'theta'?" methods topk:thta=0.5
wrong "given twice" methods topk:theta=0.5,theta=0.6
wrong "given twice" methods topk:theta=0.5,density=0.5

wrong "-o FILE is needed" generate
wrong "-o writes HDF5" generate -o x.json
wrong "-o writes HDF5" generate -o x.csv
wrong "--output is given twice" generate -o a.h5 --output b.h5
wrong "generate reads no file" generate in.h5 -o out.h5
wrong "--layout is one of flat, resnet50, gpt2, alexnet, vgg16, lstm, not 'resnet5'; did you mean 'resnet50'?" generate --layout resnet5 -o "$tmp/x.h5"
wrong "--elements is for --layout flat" generate --layout gpt2 --elements 5 -o "$tmp/x.h5"
wrong "--worker-correlation takes a number, in [0, 1], not '1.5'" generate --worker-correlation 1.5 -o "$tmp/x.h5"
wrong "--seed takes a whole number, at least 1, not '0'" generate --seed 0 -o "$tmp/x.h5"
wrong "normall" generate --dist normall -o "$tmp/x.h5"
wrong "no file of messages given" decompress -o "$tmp/x.h5"
wrong "--device is cpu or cuda[:N], not 'gpu'" decompress --device gpu -o "$tmp/x.h5" in.h5
wrong "--isa is one of" decompress --isa sse9 -o "$tmp/x.h5" in.h5

# after --, a name that looks like an option is a file
run inspect -- --no-such-file
exits 1
says "--no-such-file"

# without a CUDA module the device is not available, which is not a usage error
run decompress --device cuda -o "$tmp/x.h5" in.h5
exits 3
says "cuda"

sample=$(dirname "$0")/../../datasets/sample.h5
run compress --method topk --bucket-bytes 1M "$sample"
exits 2
says "--bucket-bytes has a meaning only with --scope bucket"
run compress --method qsgd --method topk --bits 8 --format json --per none "$sample"
exits 0
prints '"spec": "qsgd:bits=8,'
run compress --method topk --bits 8 "$sample"
exits 2
says "uses this parameter only with values=range|uniform"
run inspect "$(dirname "$sample")"
exits 2
says "is a folder"

finish
