#!/bin/bash
# Runs gcbench-mpi on a simulated cluster; `./dev simulate` builds what it needs and calls it.
#
#     simulate.sh PROGRAM.so [--hosts N] [--bandwidth RATE] [--latency TIME] [--platform
#     star|fattree|dragonfly]
#                 [--nodes AxB --intra RATE] [METHOD...] [options of gcbench-mpi]
#
# docs/exchange.md describes the platforms. The network is a fluid model: streams share links
# fairly, a message takes the latency of its route plus its bytes at that rate. Messages in the
# other direction cost 5 % (acknowledgements). SimGrid's own default instead scales both for one
# cluster with 1 Gb/s that was measured once.
set -euo pipefail

die() {
    echo "simulate: $1" >&2
    exit 2
}

usage() {
    cat <<'END'
./dev simulate [options] METHOD... [options of gcbench-mpi]
exchange gradients between the hosts of a simulated cluster; coding takes no
time without --coding

      --hosts N         number of workers, one on each host (default 16)
      --bandwidth RATE  of a host's link, in each direction (default 10Gb)
      --latency TIME    of the route between two hosts (default 20us)
      --platform NAME   star: one switch that is never busy (default); fattree;
                        dragonfly
      --nodes AxB       instead of --hosts: A nodes of B workers, which share the
                        node's link
      --intra RATE      with --nodes: of each worker's link inside its node

Options of gcbench-mpi come last. Often used ones:
      --elements N      size of the gradients (default 256K)
      --coding RESULTS  add the times of coding, from rows of `gcbench bench`
      --algorithm NAME  library, ring or doubling; repeatable
      --results FILE    save every row, for `gcbench payoff`

Example: ./dev simulate --hosts 4 --bandwidth 10Gb topk:theta=0.99 qsgd
docs/exchange.md describes the platforms and what a simulation cannot say.
END
}

program=$1 hosts=16 bandwidth=10Gb latency=20us platform=star nodes='' intra=''
shift
own=() rest=()
while (($#)); do
    case $1 in
    -h | --help)
        usage
        exit 0
        ;;
    --hosts | --bandwidth | --latency | --platform | --nodes | --intra)
        (($# > 1)) || die "$1 needs a value"
        declare "${1#--}=$2"
        shift 2
        ;;
    -*) break ;; # from here on, options of gcbench-mpi, after all methods and options of the platform
    *)
        own+=(--method "$1")
        shift
        ;;
    esac
done
rest=("$@")
for word in "${rest[@]}"; do
    case $word in
    -h | --help)
        usage
        exit 0
        ;;
    --hosts | --bandwidth | --latency | --platform | --nodes | --intra) die "give $word before ${rest[0]}, an option of gcbench-mpi" ;;
    esac
done

# A rate of gcbench in SimGrid's words: 10Gb or 10Gbit/s are 10Gbps, 1.25GB/s is 1.25GBps.
rate() { # NAME RATE
    [[ $2 =~ ^([0-9.]+)([kMGT])(b|bit|bit/s|b/s|B|B/s)$ ]] || die "--$1: give a rate such as 10Gb or 1.25GB/s, not '$2'"
    case ${BASH_REMATCH[3]} in
    B*) printf '%s%sBps' "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}" ;;
    *) printf '%s%sbps' "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}" ;;
    esac
}

bw=$(rate bandwidth "$bandwidth")
[[ $latency =~ ^([0-9.]+)(ns|us|ms|s)$ ]] || die "--latency: give a time such as 20us, not '$latency'"
half=$(awk "BEGIN { print ${BASH_REMATCH[1]} / 2 }")${BASH_REMATCH[2]} # of one link; each route has two or more
per=1
if [[ -n $nodes ]]; then
    [[ $nodes =~ ^([1-9][0-9]*)x([1-9][0-9]*)$ ]] || die "--nodes: give 16x8 for 16 nodes of 8 workers, not '$nodes'"
    [[ $platform == star && -n $intra ]] || die "--nodes needs --intra RATE, and no --platform"
    hosts=$((BASH_REMATCH[1] * BASH_REMATCH[2])) per=${BASH_REMATCH[2]} platform=nodes intra=$(rate intra "$intra")
elif [[ -n $intra ]]; then
    die "--intra needs --nodes, such as --nodes 16x8"
fi
[[ $hosts =~ ^[1-9][0-9]{0,3}$ ]] && ((hosts >= 2)) || die "--hosts: give a number of hosts from 2 on, not '$hosts'"

cluster() { # ATTRIBUTES: one of SimGrid's clusters; each host has links of its own, one for each direction
    printf '<cluster id="c" prefix="h" suffix="" radical="0-%d" speed="1Gf" bw="%s" lat="%s"\n' \
        $((hosts - 1)) "$bw" "$half"
    printf ' sharing_policy="SPLITDUPLEX" %s/>\n' "$1"
}

describe() {
    echo '<?xml version="1.0"?>'
    echo '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">'
    echo '<platform version="4.1">'
    case $platform in
    star) cluster '' ;;
    fattree) # switches of 4 hosts, each with a link to 2 switches above: half of the hosts' bandwidth
        ((hosts % 4 == 0)) || die "--platform fattree needs a multiple of 4 hosts"
        cluster "topology=\"FAT_TREE\" topo_parameters=\"2;4,$((hosts / 4));1,2;1,1\""
        ;;
    dragonfly) # 4 groups of 4 routers; one link between each two routers of a group, and between each two groups
        ((hosts % 16 == 0)) || die "--platform dragonfly needs a multiple of 16 hosts"
        cluster "topology=\"DRAGONFLY\" topo_parameters=\"4,1;1,1;4,1;$((hosts / 16))\""
        ;;
    nodes) # each worker has a link of --intra to its node's switch, and the node one of --bandwidth to all others
        awk -v n="$hosts" -v per="$per" -v inside="$intra" -v outside="$bw" -v lat="$half" 'BEGIN {
            print "<zone id=\"world\" routing=\"Full\">"
            for (i = 0; i < n; i++) printf "<host id=\"h%d\" speed=\"1Gf\"/>\n", i
            link = "<link id=\"%s%d\" bandwidth=\"%s\" latency=\"%s\" sharing_policy=\"SPLITDUPLEX\"/>\n"
            for (i = 0; i < n; i++) printf link, "w", i, inside, lat
            for (i = 0; i < n / per; i++) printf link, "n", i, outside, lat
            for (i = 0; i < n; i++) for (j = 0; j < n; j++) {
                if (i == j) continue
                a = int(i / per); b = int(j / per)
                printf "<route src=\"h%d\" dst=\"h%d\" symmetrical=\"NO\"><link_ctn id=\"w%d\" direction=\"UP\"/>", i, j, i
                if (a != b) printf "<link_ctn id=\"n%d\" direction=\"UP\"/><link_ctn id=\"n%d\" direction=\"DOWN\"/>", a, b
                printf "<link_ctn id=\"w%d\" direction=\"DOWN\"/></route>\n", j
            }
            print "</zone>"
        }'
        ;;
    *) die "--platform is star, fattree or dragonfly, not '$platform'" ;;
    esac
    echo '</platform>'
}

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
describe >"$folder/platform.xml"
seq 0 $((hosts - 1)) | sed 's/^/h/' >"$folder/hosts"

repeat=1 gradients=0
for word in "${rest[@]}"; do
    case $word in
    --repeat*) repeat=0 ;;
    --elements* | --sizes* | *.h5 | *.hdf5) gradients=1 ;;
    --calibrate) ((${#own[@]})) || gradients=1 ;; # only the network
    esac
done
((!repeat)) || own+=(--repeat 1) # times do not vary
((gradients)) || own+=(--elements 256K)
status=0
# After a failure smpirun prints two lines about itself, which grep drops.
# The library's own collectives choose like Open MPI. A call of the clock takes no time.
OMP_NUM_THREADS=1 smpirun -np "$hosts" -platform "$folder/platform.xml" -hostfile "$folder/hosts" \
    --log=root.thresh:error --log=root.fmt:%m%n --cfg=smpi/tmpdir:"$folder" --cfg=smpi/host-speed:1Gf \
    --cfg=smpi/simulate-computation:no --cfg=smpi/wtime:0 --cfg=smpi/coll-selector:ompi --cfg=network/model:CM02 \
    "$program" "${own[@]}" "${rest[@]}" > >(grep -v -e '--cfg=smpi' -e '^Execution failed with code') || status=$?
wait # for grep
exit "$status"
