# Shared by the tests of the command line. Source it with the path of gcbench as "$1", then use
#
#   run ARGS...            runs gcbench; its status in $rc, its output in $out and $err (files)
#   interrupted N ARGS...  the same with the copy that interrupts itself (interrupt.c), at the clock's reading number N
#   exits N                checks the exit status of the last run
#   says TEXT              checks that its stderr is one line that contains TEXT
#   quiet                  checks that its stderr is empty
#   prints TEXT            checks that its stdout contains TEXT
#   fails EXIT TEXT ARGS...    runs gcbench; checks its exit status and its one line on stderr
#   refused EXIT TEXT ARGS...  the same, and that it prints nothing
#   check NAME COMMAND...  checks that the command succeeds
#   has_fftw               succeeds if the build has FFTW
#   has_sanitizers         succeeds if the build has them
#   counts_instructions    succeeds if valgrind is installed and the build has no sanitizers
#   leave_out WHY          says that a part of the test is left out
#   widest_counted         prints the widest instruction set of this processor that valgrind knows: avx2 or c
#   finish                 prints the count of checks, and exits
#
# $tmp is a folder for the test's files. $hang is the number of seconds after which a command is
# ended as hanging; ./dev sets the factor from the machine's load and processors.

GCBENCH=$(realpath "$1") # absolute, because tests change the folder
tmp=$(mktemp -d "${TMPDIR:-/tmp}/gcbench-test.XXXXXX") || exit 99
trap 'rm -rf "$tmp"' EXIT
trap 'exit 99' HUP INT TERM
interrupted=$(realpath "${2:-/}")
out=$tmp/.out
err=$tmp/.err
hang=$((60 * ${GCBENCH_TEST_PATIENCE:-1}))
ran=0
failed=0
last=
unset NO_COLOR
for PYTHON in python3 /usr/bin/python3 none; do # the second has Debian's packages
    ! $PYTHON -c 'import importlib.util as u; assert u.find_spec("h5py") and u.find_spec("numpy")' 2>/dev/null || break
done
[ $PYTHON != none ] || { echo "skipped: needs python3 with h5py and numpy"; exit 77; }
PYTHON=$(command -v $PYTHON) # its path: the function python3 below has the same name
PYTHONDONTWRITEBYTECODE=1
export PYTHONDONTWRITEBYTECODE

run() {
    last="gcbench $*"
    timeout "$hang" "$GCBENCH" "$@" >"$out" 2>"$err" </dev/null
    rc=$?
}

interrupted() {
    at=$1=$2
    shift 2
    last="gcbench $* (interrupted)"
    env "GCBENCH_INTERRUPT_AT_$at" timeout "$hang" "$interrupted" "$@" >"$out" 2>"$err" </dev/null
    rc=$?
}

python3() {
    command "$PYTHON" "$@"
}

verdict() { # RESULT WORDS [FILE]
    ran=$((ran + 1))
    [ "$1" -eq 0 ] && return
    failed=$((failed + 1))
    echo "FAILED: $last: $2"
    tail -n 5 "${3:-$err}" 2>/dev/null | sed 's/^/  stderr: /'
}

has_sanitizers() {
    [ "${GCBENCH_SANITIZERS:-none}" != none ]
}

has_fftw() {
    ldd "$GCBENCH" | grep -q libfftw3f
}

counts_instructions() {
    command -v valgrind >/dev/null && ! has_sanitizers
}

widest_counted() {
    if "$GCBENCH" bench --kernels --isa avx2 --size l1 --repeat 1 reduce/sum >/dev/null 2>&1; then echo avx2; else echo c; fi
}

exits() {
    [ "$rc" -eq "$1" ]
    verdict $? "exit status $rc, not $1"
}

says() {
    [ "$(wc -l <"$err")" -eq 1 ] && grep -qF -- "$1" "$err"
    verdict $? "does not say '$1' in one line"
}

quiet() {
    [ ! -s "$err" ]
    verdict $? "stderr is not empty"
}

prints() {
    grep -qF -- "$1" "$out"
    verdict $? "does not print '$1'"
}

check() {
    name=$1
    shift
    "$@" >/dev/null 2>"$tmp/.check"
    verdict $? "$name" "$tmp/.check"
}

fails() {
    status=$1
    text=$2
    shift 2
    run "$@"
    exits "$status"
    says "$text"
}

refused() {
    fails "$@"
    check "nothing on stdout" test ! -s "$out"
}

# $tmp/dir holds only the files named: no half-written file is left.
only() {
    [ "$(ls -A "$tmp/dir" | LC_ALL=C sort | tr '\n' ' ')" = "$*${*:+ }" ]
    verdict $? "in the folder: $(ls -A "$tmp/dir" | tr '\n' ' ')"
}

skip() {
    echo "skipped: $1"
    exit 77
}

# The rest of the test runs.
leave_out() { # WHAT AND WHY
    echo "skipped: $1"
}

finish() {
    echo "$ran checks, $failed failed"
    [ "$failed" -eq 0 ] && [ "$ran" -gt 0 ]
    exit
}
