#!/bin/sh
# The manual has a page for each command, with each option of its help and each method.
# manual_lint.sh checks that the pages are well-formed.
. "$(dirname "$0")/lib.sh"

pages=${GCBENCH%/*}/docs
[ -f "$pages/gcbench.1" ] || skip "no manual was built: cross build"

# Prints roff source as a reader sees it, with escapes replaced.
plain() {
    sed -e '/^\.\\"/d' -e 's/\\f[BIPR]//g' -e 's/\\&//g' -e 's/\\-/-/g' -e "s/\\\\(aq/'/g" -e 's/\\(dq/"/g' \
        -e 's/\\(ga/`/g' -e 's/\\(ha/^/g' -e 's/\\(ti/~/g' -e 's/\\e/\\/g' "$1"
}

run --help
commands=$(sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' "$out" | grep -v '^help$')
check "there are commands" test -n "$commands"
plain "$pages/gcbench.1" >"$tmp/overview"
check "no page of what is no command" test "$(ls "$pages"/gcbench-*.1 | wc -l)" -eq "$(echo "$commands" | wc -l)"
check "every exit code of --help" sh -c "sed -n '/^Exit status/,\$p' '$out' | grep -oE '[0-9] ' | while read -r code; do
    grep -qx \".B \$code\" '$tmp/overview' || exit 1; done"

for command in $commands; do
    last="manual of $command"
    page=$pages/gcbench-$command.1
    check "gcbench(1) names it" grep -qxF "gcbench-$command(1)" "$tmp/overview"
    plain "$page" >"$tmp/page"
    for section in NAME SYNOPSIS DESCRIPTION EXAMPLES OPTIONS '"EXIT STATUS"' '"SEE ALSO"'; do
        check "has $section" grep -qxF ".SH $section" "$tmp/page"
    done
    run help "$command"
    summary=$(sed -n "1s/^gcbench $command: //p" "$out")
    check "its summary" sh -c "tr '\n' ' ' <'$tmp/page' | grep -qF -- \"- $summary \""
    sed -n '/^Usage:/,$s/^ \{2,6\}\(-., \)\{0,1\}\(--[a-z0-9-]*\).*/\2/p' "$out" | sort -u >"$tmp/options"
    check "has options, unless its usage shows none" sh -c "
        [ -s '$tmp/options' ] || grep -qx 'Usage: gcbench $command' '$out'"
    while read -r option; do
        check "explains $option" grep -qE -- "^(-., )?$option( |\$)" "$tmp/page"
    done <"$tmp/options"
    check "examples as they are" sh -c "
        sed -n '/^Examples:/,/^\$/s/^  gcbench/&/p' '$out' | while IFS= read -r line; do
            grep -qxF -- \"\$line\" '$tmp/page' || exit 1; done"
done

last="manual of methods"
plain "$pages/gcbench-methods.1" >"$tmp/page"
run methods --format json
sed -n 's/.*"record": *"method".*"method": *"\([^"]*\)".*/\1/p' "$out" >"$tmp/methods"
check "methods are listed" test -s "$tmp/methods"
while read -r method; do
    check "explains $method" grep -qxF ".SS \"$method\"" "$tmp/page"
    check "compress names $method" grep -qxF ".B $(echo "$method" | sed 's/-/\\-/g')" "$pages/gcbench-compress.1"
done <"$tmp/methods"
check "parameters with their defaults" grep -qxF 'theta=0.85' "$tmp/page"

finish
