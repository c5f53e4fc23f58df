#!/bin/bash
# Installs the Debian packages in a bare root of this Debian release and uses them there; then does the same with what
# `meson install` puts into /usr/local. Needs mmdebstrap and a Debian mirror, and says so where they are missing.
#   try.sh BUILD_FOLDER PACKAGES_FOLDER
set -euo pipefail

build=$1 packages=$(realpath "$2")
here=$(dirname "$(realpath "$0")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

skip() {
    printf 'skipped: packages in a bare root (%s)\n0 passed, 0 failed, 1 skipped\n' "$1"
    exit 0
}

command -v mmdebstrap >/dev/null || skip 'no mmdebstrap'
release=$(. /etc/os-release && [[ $ID == debian ]] && echo "$VERSION_CODENAME") || skip 'not a Debian release'

chmod 755 "$work"
mkdir "$work/try"
cp "$packages"/{gcbench,gcbench-mpi,libgcbench0,libgcbench-dev,python3-gcbench}_*.deb "$here"/{check,try_inside}.sh "$work/try/"
meson install -C "$build" --no-rebuild --quiet --destdir "$work/try/local"

# The first hook runs when the root is there: what fails before is the network's fault, what fails later is ours.
ended=0
mmdebstrap --quiet --variant=apt --format=null --include=gcc,libc6-dev,pkg-config \
    --customize-hook="copy-in '$work/try' /tmp" --customize-hook="touch '$work/made'" \
    --customize-hook='chroot "$1" bash /tmp/try/try_inside.sh >&2' \
    "$release" /dev/null 2>"$work/log" || ended=$?
[[ -e $work/made ]] || skip "mmdebstrap: $(tail -n 1 "$work/log")"
cat "$work/log"
exit "$ended"
