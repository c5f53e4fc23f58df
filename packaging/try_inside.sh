#!/bin/bash
# Runs as root in a bare root, where /tmp/try has the packages and, in /tmp/try/local, an installed tree: uses both as a
# new user would.
set -uo pipefail

. /tmp/try/check.sh

# README's line for a program that uses the library, with `cc` and pkg-config and nothing else.
compile_example() { # README EXAMPLE_C
    local line
    line=$(sed -n 's,^ *\(cc [^ ]*/example.c .*pkg-config.*\),\1,p' "$1" | head -n 1)
    [[ -n $line ]] && cd /tmp && eval "${line/tests\/api\/example.c/$2}"
}

# README's example on NumPy arrays.
python_example() { # README
    sed -n '/^    import gcbench$/,/^[^ ]/s/^    //p' "$1" >/tmp/example.py
    python3 /tmp/example.py
}

use() { # WHAT SHARE README EXAMPLE_C
    local what=$1 share=$2 readme=$3 example=$4
    hash -r
    check "$what: gcbench demo" gcbench demo
    check "$what: the demo has its last row" grep -q 'fp16 (baseline)' /tmp/said
    check "$what: gcbench help choose" gcbench help choose
    check "$what: the dumper is where the help says" test -f "$(tail -n 1 /tmp/said | tr -d ' ')"
    printf '\200\2\212\12' >/tmp/a.pt
    check "$what: the converter that a message names" test -f "$(gcbench inspect /tmp/a.pt 2>&1 | sed 's/.*python3 \([^ ]*\) .*/\1/')"
    check "$what: a named suite" gcbench bench --suite quick --repeat 1 --method topk
    check "$what: what methods promise holds" gcbench verify --method topk --method fft "$share/gcbench/datasets/sample.h5"
    check "$what: the manual" test -e "$share/man/man1/gcbench.1" -o -e "$share/man/man1/gcbench.1.gz"
    check "$what: completion of bash" bash -c ". $share/bash-completion/completions/gcbench && complete -p gcbench"
    rm -f /tmp/example
    check "$what: README's line compiles the example" compile_example "$readme" "$example"
    check "$what: the example runs" /tmp/example
}

export DEBIAN_FRONTEND=noninteractive
check 'apt installs the packages' apt-get -qq install -y --no-install-recommends /tmp/try/{gcbench,libgcbench0,libgcbench-dev}_*.deb
check 'gcbench brings no MPI' bash -c '! dpkg-query -W | grep -i mpi | grep -v -e libmpc -e libmpfr'
use packages /usr/share /usr/share/doc/gcbench/README.md /usr/share/doc/libgcbench-dev/examples/example.c
check 'a low-rank method names the library that it lacks' grep -q libopenblas0 \
    <(gcbench compress --method powersgd /usr/share/gcbench/datasets/sample.h5 2>&1)
check 'the packages link only what they depend on' bash -c \
    '! ldd /usr/bin/gcbench /usr/lib/*/libgcbench.so.0 | grep "not found"'
check 'apt installs gcbench-mpi' apt-get -qq install -y --no-install-recommends /tmp/try/gcbench-mpi_*.deb
check 'gcbench-mpi: two ranks' env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_plm_rsh_agent=/bin/false \
    mpirun --oversubscribe -n 2 gcbench-mpi --method topk /usr/share/gcbench/datasets/sample.h5
check 'apt installs python3-gcbench' apt-get -qq install -y --no-install-recommends python3-numpy /tmp/try/python3-gcbench_*.deb
check "README's Python example" python_example /usr/share/doc/gcbench/README.md
check 'the example encoded, added and decoded' grep -q 'bytes; norm of the mean' /tmp/said
check 'Python uses the library of libgcbench0' python3 -c 'import gcbench; assert gcbench.lib._name == "libgcbench.so.0"'
cp /usr/share/doc/gcbench/README.md /usr/share/doc/libgcbench-dev/examples/example.c /tmp
check 'apt removes them' apt-get -qq purge -y gcbench gcbench-mpi libgcbench0 libgcbench-dev python3-gcbench
check 'and leaves nothing' bash -c '! find /usr /etc -iname "*gcbench*" | grep .'

check 'this root has no dpkg-dev' bash -c '! command -v dpkg-architecture'
cp -a /tmp/try/local/. /
check 'ldconfig' ldconfig
use 'meson install' /usr/local/share /tmp/README.md /tmp/example.c

printf '%d passed, %d failed, 0 skipped\n' "$passed" "$failed"
exit $((failed != 0))
