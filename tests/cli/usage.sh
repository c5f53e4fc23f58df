#!/bin/sh
# Wrong usage: exit 2, nothing on stdout, and one line that names the word. test_optparse.c has every
# way to write an option wrongly.
. "$(dirname "$0")/lib.sh"

while IFS='|' read -r text words; do
    # shellcheck disable=SC2086
    refused 2 "$text" $words
done <<'END'
no command given|
-: this output needs a file|generate -o -
-: this output needs a file|report r.json -o -
'inspect'|inpsect
'xyzzy'|xyzzy
--formt|--formt
--method|--method topk compress x.h5
topk is a method|topk:theta=0.9 x.h5
no input file given|inspect
'--step'|inspect --stpe 1 x.h5
--threads|inspect --threads 0 x.h5
needs a file that can seek|inspect -
info takes no operand|info x.h5
'topk'|methods tokp
repeat --method|compress --method topk,fft x.h5
theta|sweep --vary theta=0.5-0.9/5 x.h5
'theta'|methods topk:thta=0.5
given twice|methods topk:theta=0.5,density=0.5
-o FILE is needed|generate
-o writes HDF5|generate -o x.csv
generate reads no file|generate in.h5 -o out.h5
'resnet50'|generate --layout resnet5 -o x.h5
--elements is for --layout flat|generate --layout gpt2 --elements 5 -o x.h5
normall|generate --dist normall -o x.h5
no file of messages given|decompress -o x.h5
END
refused 2 "'\\x1b[31m'" "$(printf '\033[31m')"

# after --, a name that looks like an option is a file
fails 1 "--no-such-file" inspect -- --no-such-file

# without a CUDA module the device is not available, which is not a usage error
fails 3 "cuda" decompress --device cuda -o "$tmp/x.h5" in.h5

sample=$(dirname "$0")/../../datasets/sample.h5
fails 2 "--scope bucket" compress --method topk --bucket-bytes 1M "$sample"
run compress --method qsgd --method topk --bits 8 --format json --per none "$sample"
exits 0
prints '"spec": "qsgd:bits=8,'
fails 2 "values=range|uniform" compress --method topk --bits 8 "$sample"
fails 2 "is a folder" decompress "$(dirname "$sample")" -o "$tmp/x.h5"

finish
