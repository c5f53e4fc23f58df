#!/bin/sh
# Help goes to stdout, with examples first, within 80 columns; each command prints it in three ways.
. "$(dirname "$0")/lib.sh"

run --help
exits 0
quiet
prints "Usage: gcbench COMMAND"
commands=$(sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' "$out")
check "lists commands" test "$(echo "$commands" | wc -w)" -ge 7

run help
exits 0
run -h
exits 0

for command in $commands; do
    [ "$command" = help ] && continue
    run help "$command"
    exits 0
    quiet
    prints "Usage: gcbench $command"
    check "$command: examples come first" sh -c "
        sed -n 3p '$out' | grep -qx 'Examples:' && sed -n 4p '$out' | grep -q '^  gcbench '"
    check "$command: at most 80 columns" sh -c "! grep -qE '.{81}' '$out'"
    cp "$out" "$tmp/help"
    run "$command" --help
    exits 0
    check "$command --help is the same" cmp -s "$out" "$tmp/help"
    run "$command" -h --no-such-option
    exits 0
    check "$command -h is the same" cmp -s "$out" "$tmp/help"
done

run --version
exits 0
quiet
check "one line" test "$(wc -l <"$out")" -eq 1
prints "gcbench "

run help nonsense
exits 2
says "unknown command 'nonsense'"

finish
