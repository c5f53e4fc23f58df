#!/bin/bash
# What a user of an installed library meets: installs to a temporary root, compiles the example with what
# pkg-config says and nothing else, and runs it; the installed command and the map of symbols too.
#   test_install.sh MESON SOURCE_ROOT BUILD_ROOT SANITIZER CC...
set -euo pipefail

meson=$1 source=$2 build=$3 sanitizer=$4
shift 4
passed=0 failed=0
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

check() { # name, command...
    local name=$1
    shift
    if "$@"; then
        passed=$((passed + 1))
        printf 'ok: %s\n' "$name"
    else
        failed=$((failed + 1))
        printf 'not ok: %s\n' "$name"
    fi
}

destination=$root/destination
check 'installs' "$meson" install -C "$build" --no-rebuild --quiet --destdir "$destination"

pc=$(find "$destination" -name gcbench.pc -print -quit)
library=$(find "$destination" -name libgcbench.so.0 -print -quit)
header=$(find "$destination" -name gcbench.h -print -quit)
check 'has a pkg-config file, a library and a header' test -n "$pc" -a -n "$library" -a -n "$header"
[[ $sanitizer == none ]] || set -- "$@" "-fsanitize=$sanitizer"

export PKG_CONFIG_PATH=${pc%/*} PKG_CONFIG_SYSROOT_DIR=$destination LD_LIBRARY_PATH=${library%/*}
version=$(pkg-config --modversion gcbench)
check 'pkg-config knows the version' test -n "$version"

# pkg-config quotes for a shell, so a shell reads it.
eval "flags=($(pkg-config --cflags --libs gcbench))"
# shellcheck disable=SC2154 # flags is set by the eval
check 'the example compiles' "$@" -std=c11 -Wall -Wextra -pedantic -Werror -o "$root/example" \
    "$source/tests/api/example.c" "${flags[@]}" -lm
check 'the example runs' "$root/example"

if nm=$(command -v nm); then
    "$nm" -D --defined-only "$library" | sed -n 's/.* T \(gcb_[a-z0-9_]*\)@@GCBENCH_0$/\1/p' | sort >"$root/exported"
    sed -n 's/^[^ /*].*[ *]\(gcb_[a-z0-9_]*\)(.*/\1/p' "$header" | sort >"$root/declared"
    check 'what the header declares is what the library exports' diff "$root/declared" "$root/exported"
    sed -n 's/^ \(gcb_[a-z0-9_]*\)@GCBENCH_0 .*/\1/p' "$source/packaging/debian/libgcbench0.symbols" | sort >"$root/listed"
    check 'packaging/debian/libgcbench0.symbols lists what the library exports' diff "$root/listed" "$root/exported"
fi

command=$(find "$destination" -name gcbench -type f -perm -u+x -print -quit)
check 'the installed command is of that version' grep -qF "$version" <<<"$("$command" --version)"

check 'CHANGELOG.md begins with that version' test "$(sed -n 's/^## \([0-9.]*\).*/\1/p' "$source/CHANGELOG.md" | head -n 1)" = "$version"
check 'the package is of that version' grep -qF "gcbench ($version-" <<<"$(head -n 1 "$source/packaging/debian/changelog")"

for page in gcbench gcbench-compress gcbench-methods; do
    check "the manual has $page(1)" test -n "$(find "$destination" -path "*/man/man1/$page.1" -print -quit)"
done
check 'completion of bash' test -n "$(find "$destination" -path '*/share/bash-completion/completions/gcbench' -print -quit)"
check 'completion of zsh' test -n "$(find "$destination" -path '*/share/zsh/site-functions/_gcbench' -print -quit)"

printf '%d passed, %d failed, 0 skipped\n' "$passed" "$failed"
exit $((failed != 0))
