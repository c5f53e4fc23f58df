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
    run payoff "$folder/1-bench"
    run regress "$folder/1-bench" "$folder/1-bench"
}

# Logs of network tests: text, JSON and CSV.
make_logs() {
    cp "$here"/../data/net/*.log "$folder"
    {
        printf '{"args": ["all_reduce_perf"], "config": {"nthreads": 1, "ngpus": 4, "devices": [{"group": 0}]}, "results": ['
        printf '{"size": 8, "type": "float", "redop": "sum", "root": "-1", "out_of_place": {"time": 18.66, "alg_bw": 1.0, "bus_bw": '
        printf '1.5, "nwrong": 0.0}, "in_place": {"nwrong": null}}], "out_of_bounds": {"count": 0}}\n'
    } >"$folder/nccl.json"
    echo '[{"name": "AllReduce", "gpus": 4, "size": 8, "inPlace": 0, "time": 18.66, "algBw": 1.0, "busBw": 1.5, "wrong": "0"}]' \
        >"$folder/rccl.json"
    printf '%s\n' 'numCycle,collective,ranks,rankspernode,gpusperrank,size,type,redop,inplace,time,algbw,busbw,#wrong' \
        '0,"AllGather",1,4,4,1,8192,"float","none",0,18.66,1.0,0.75,"0"' >"$folder/rccl.csv"
}

count=0
run() {
    "$gcbench" "$@" --format json >"$folder/$((++count))-$1"
}

case $target in
results) make_results ;;
logs) make_logs ;;
*) "$make_seeds" "$target" "$folder" ;;
esac
