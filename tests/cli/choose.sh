#!/bin/sh
# `gcbench help choose` fits one screen and names every command, and each command that it shows in
# full works.
. "$(dirname "$0")/lib.sh"
cd "$tmp" || exit 99

run help choose
exits 0
quiet
check "at most 24 lines" test "$(wc -l <"$out")" -le 24
check "its last line is the dumper" test -f "$(sed -n '$s/^ *//p' "$out")"
cp "$out" choose
run help
for command in $(sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' "$out" | grep -vx help); do
    last="help choose"
    check "names $command" grep -qE "(gcbench|,) $command( |,|\$)" choose
done

run generate --elements 20000 --steps 3 --workers 2 -o grads.h5
exits 0
run bench grads.h5 --method topk --repeat 1 --results old.json
cp old.json new.json
# The commands in full: joins the lines that end with \, and leaves out placeholders and the
# sample's own demo.
sed -n '/\\$/{N;s/ *\\\n.\{39\}/ /};s/^.\{39\}\(gcbench .*\)/\1/p' choose | grep -vE 'GCBENCH|[.]{3}|gcbench demo' >commands
check "shows commands" test "$(wc -l <commands)" -ge 12
while read -r line; do
    last=$line
    case $line in
    "gcbench plot"*) command -v gnuplot >/dev/null || continue ;;
    *sweep*) line="$line --method topk" ;; # one method, to save time
    *bench*--results*) line="$line --method topk --repeat 1" ;;
    esac
    timeout "$hang" "$GCBENCH" ${line#gcbench } >"$out" 2>"$err" </dev/null
    rc=$?
    exits 0
done <commands
finish
