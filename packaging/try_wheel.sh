#!/bin/bash
# Installs the wheel in bare roots of Debian 12 and 13, as a user who is not root and has no compiler, and uses it there.
# Needs mmdebstrap and a Debian mirror, and says so where they are missing.
#   try_wheel.sh WHEEL [DEBIAN_PACKAGE...]
# With the package python3-torch, the DDP example of docs/python.md runs too. PYTHONS: folders of other versions of
# Python, such as "$HOME/.pyenv/versions/3.9.18", which are copied into the roots.
set -euo pipefail

wheel=$(realpath "$1")
shift
root=$(realpath "$(dirname "$0")/..")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
packages=(python3 python3-venv gnuplot-nox "$@")

command -v mmdebstrap >/dev/null || {
    printf 'skipped: the wheel in bare roots (no mmdebstrap)\n0 passed, 0 failed, 1 skipped\n'
    exit 0
}

chmod 755 "$work"
mkdir -p "$work/try/pythons"
cp "$wheel" "$root"/{packaging/{check,try_wheel_inside}.sh,docs/python.md} "$work/try/"
for folder in ${PYTHONS-}; do
    cp -a "$folder" "$work/try/pythons/"
done

failed=0
for release in bookworm trixie; do
    # As in try.sh: the first hook runs when the root is there.
    rm -f "$work/made"
    ended=0
    mmdebstrap --quiet --variant=apt --format=null --include="$(IFS=,; echo "${packages[*]}")" \
        --customize-hook='echo "127.0.0.1 localhost $(hostname)" >"$1/etc/hosts"' \
        --customize-hook="copy-in '$work/try' /tmp" --customize-hook="touch '$work/made'" \
        --customize-hook='chroot --userspec=65534:65534 "$1" env HOME=/tmp bash /tmp/try/try_wheel_inside.sh >&2' \
        "$release" /dev/null 2>"$work/log" || ended=$?
    [[ -e $work/made ]] || printf '0 passed, 0 failed, 1 skipped\n'
    if [[ ! -e $work/made ]]; then
        printf 'skipped: the wheel on %s (mmdebstrap: %s)\n' "$release" "$(tail -n 1 "$work/log")"
        continue
    fi
    printf '== %s\n' "$release"
    cat "$work/log"
    ((ended == 0)) || failed=1
done
exit "$failed"
