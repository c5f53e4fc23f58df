#!/bin/bash
# Writes the seeds of a fuzz target into a folder.
#   seeds.sh TARGET MAKE_SEEDS GCBENCH FOLDER
set -euo pipefail

target=$1 make_seeds=$2 gcbench=$3 folder=$4
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)

# Rows of each record.
make_results() {
    local h5=$here/../../datasets/sample.h5 small="--step last --worker 0 --dataset layers.0.c*"
    run bench --repeat 2 --no-bandwidth --method topk --method fft --histogram $small "$h5"
    run compress --method qsgd --method fft $small "$h5"
    run sweep --vary theta=0.9,0.99 --method topk $small "$h5"
    run sweep --match rel_l2=0.4 --method topk --method qsgd $small "$h5"
    run verify --method terngrad $small "$h5"
    run replay --method dgc --allow-gaps --dataset 'layers.0.c*' "$h5"
    run inspect --histogram --spectrum $small "$h5"
    run payoff --workers 4 --bandwidth 10Gb "$folder/1-bench"
    run regress "$folder/1-bench" "$folder/1-bench"
    python3 "$here"/../cli/check_payoff.py results >"$folder/times" # of bench and replay, which payoff takes together
    head -n 6 "$here"/../data/net/exchanges.json >"$folder/exchanges"
}

count=0
run() {
    "$gcbench" "$@" --format json >"$folder/$((++count))-$1"
}

case $target in
arrays) python3 "$here/make_arrays.py" "$folder" ;;
results) make_results ;;
*) "$make_seeds" "$target" "$folder" ;;
esac
