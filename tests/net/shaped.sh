#!/bin/sh
# Runs a program of MPI ranks, each in a network namespace of its own, over links of a given speed.
#
#     shaped.sh [--rate RATE] [--delay TIME] [--seconds N] RANKS PROGRAM [ARGUMENTS]
#
# RATE is a rate of `tc` (100mbit; none: not limited), TIME a delay that each link adds (1ms). A
# bridge joins the links. A token bucket limits both directions of each link; it holds 12 kB,
# because a larger one lets small messages through for free. The run ends after N seconds (120).
#
# Everything happens in private user, mount, network and process namespaces. So no other network is
# touched, and the kernel removes everything when the first process of these namespaces ends, even
# if it is killed. Exit status: the program's; 77 if namespaces are not permitted here, or a tool is
# missing. Needs OpenMPI.
set -eu

rate=none delay= seconds=120
while [ $# -gt 0 ]; do
    case $1 in
    --rate) rate=$2; shift 2 ;;
    --delay) delay=$2; shift 2 ;;
    --seconds) seconds=$2; shift 2 ;;
    *) break ;;
    esac
done
ranks=$1
shift

skip() {
    echo "skipped: $1" >&2
    exit 77
}

if [ "${GCB_SHAPED:-}" != inside ]; then
    PATH=$PATH:/usr/sbin:/sbin
    for tool in ip tc unshare mpirun timeout; do
        command -v $tool >/dev/null || skip "$tool is missing"
    done
    mpirun --version 2>&1 | grep -q 'Open MPI' || skip "mpirun is not OpenMPI's"
    unshare --user --map-root-user --net --mount --uts sh -c "mount -t tmpfs tmpfs /run &&
        ip link add bridge type bridge && ip link add one type veth peer name two &&
        tc qdisc add dev one root tbf rate 1mbit burst 12kb latency 50ms" >/dev/null 2>&1 ||
        skip "namespaces, bridges or shaped links are not permitted here"
    GCB_SHAPED=inside PATH=$PATH exec unshare --user --map-root-user --net --mount --uts --pid --fork \
        --kill-child --mount-proc "$0" --rate "$rate" ${delay:+--delay "$delay"} --seconds "$seconds" \
        "$ranks" "$@"
fi

# ---- inside the namespaces ----

mount -t tmpfs tmpfs /run
mkdir /run/netns
host() { echo "gcb$1"; }

limit() { # limit DEVICE [in NAMESPACE]: shapes what the device sends
    parent=root
    if [ -n "$delay" ]; then
        $2 tc qdisc add dev "$1" root handle 1: netem delay "$delay" limit 10000
        parent='parent 1:1'
    fi
    # shellcheck disable=SC2086
    [ "$rate" = none ] || $2 tc qdisc add dev "$1" $parent tbf rate "$rate" burst 12kb latency 50ms
}

ip link set lo up
ip link add bridge type bridge
ip link set bridge up
i=0
while [ $i -lt "$ranks" ]; do
    ns=$(host $i)
    ip netns add "$ns"
    ip -n "$ns" link set lo up
    ip -n "$ns" link add eth0 type veth peer name "port$i" netns $$
    ip -n "$ns" addr add "10.77.0.$((10 + i))/24" dev eth0
    # small packets, as on a real link: the bucket holds no more
    ip -n "$ns" link set eth0 gso_max_size 9000 up
    ip link set "port$i" gso_max_size 9000 master bridge up
    limit eth0 "ip netns exec $ns"
    limit "port$i" ''
    i=$((i + 1))
done

# What mpirun calls instead of ssh: agent HOST COMMAND...
cat >/run/agent <<'EOF'
#!/bin/sh
host=$1
shift
exec unshare --uts sh -c 'hostname "$0"; exec ip netns exec "$0" sh -c "$1"' "$host" "$*"
EOF
chmod +x /run/agent
hosts=$(i=0; while [ $i -lt "$ranks" ]; do printf '%s:1,' "$(host $i)"; i=$((i + 1)); done)
hostname "$(host 0)"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 TMPDIR=/run
timeout -k 5 "$seconds" ip netns exec "$(host 0)" mpirun --bind-to none -H "${hosts%,}" -np "$ranks" \
    --mca plm rsh --mca plm_rsh_agent /run/agent --mca plm_rsh_no_tree_spawn 1 \
    --mca btl self,tcp --mca pml ob1 --mca btl_tcp_if_include 10.77.0.0/24 \
    --mca oob_tcp_if_include 10.77.0.0/24 --mca mpi_yield_when_idle 1 "$@"
