# What the tests of the command line share. Source it with "$1" the path of gcbench, then use
#
#   run ARGS...            runs gcbench; its status in $rc, its output in $out and $err (files)
#   exits N                the last run ended so
#   says TEXT              its stderr is one line and has TEXT in it
#   quiet                  its stderr is empty
#   prints TEXT            its stdout has TEXT in it
#   check NAME COMMAND...  the command succeeds
#   counts_instructions    whether valgrind can run this build: it is here, and there are no sanitizers in the build
#   finish                 the count and the exit status
#
# $tmp is a folder of the test's own.

GCBENCH=$(realpath "$1") # tests change their folder
tmp=$(mktemp -d "${TMPDIR:-/tmp}/gcbench-test.XXXXXX") || exit 99
trap 'rm -rf "$tmp"' EXIT
trap 'exit 99' HUP INT TERM
out=$tmp/.out
err=$tmp/.err
ran=0
failed=0
last=
unset NO_COLOR
PYTHON=python3
python3 -c 'import h5py, numpy' 2>/dev/null || PYTHON=/usr/bin/python3 # where Debian puts its packages
PYTHONDONTWRITEBYTECODE=1
export PYTHONDONTWRITEBYTECODE

run() {
    last="gcbench $*"
    timeout 60 "$GCBENCH" "$@" >"$out" 2>"$err" </dev/null
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

counts_instructions() {
    command -v valgrind >/dev/null && ! "$GCBENCH" info | grep -q 'with sanitizers'
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

# Nothing but the names given is in $tmp/dir: no half-written file was left behind.
only() {
    [ "$(ls -A "$tmp/dir" | LC_ALL=C sort | tr '\n' ' ')" = "$*${*:+ }" ]
    verdict $? "in the folder: $(ls -A "$tmp/dir" | tr '\n' ' ')"
}

skip() {
    echo "skipped: $1"
    exit 77
}

finish() {
    echo "$ran checks, $failed failed"
    [ "$failed" -eq 0 ] && [ "$ran" -gt 0 ]
    exit
}
