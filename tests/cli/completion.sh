#!/bin/bash
# Completion in bash: calls the function as the shell does, with the words as readline splits them.
# shellcheck disable=SC1090,SC1091,SC2154
. "$(dirname "$0")/lib.sh"

script=${GCBENCH%/*}/docs/gcbench
[ -f "$script" ] || skip "no completion was built: cross build"

asked=
compopt() { # replaces the builtin, which works only during a completion
    asked+="${asked:+ }$*"
}
. "$script"

completes() { # LINE EXPECTED...: checks what is offered to complete LINE, in order, then the options given to compopt
    local line=$1 IFS=$' \t\n'
    shift
    read -ra COMP_WORDS < <(sed -E 's/([=:]+)/ \1 /g' <<<"$line")
    [[ $line != *' ' ]] || COMP_WORDS+=('')
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    COMPREPLY=('left from before') asked=
    _gcbench gcbench
    last="completion of '$line'"
    local offered=${COMPREPLY[*]}${asked:+ ($asked)}
    [[ ${offered# } == "$*" ]]
    verdict $? "offers '${offered# }', not '$*'" /dev/null
}


last='completion script'
check "is registered" grep -qF -- '-F _gcbench' <(complete -p gcbench)
if command -v shellcheck >/dev/null; then
    check "shellcheck has nothing to say" shellcheck -s bash -e SC2034 "$script"
else
    leave_out "no shellcheck (Debian package shellcheck)"
fi

# commands
completes 'gcbench comp' compress
completes 'gcbench de' demo decompress
completes 'gcbench help ch' choose
completes 'gcbench no-such'
completes 'gcbench --v' --version
completes 'gcbench help deco' decompress
completes 'gcbench help compress '
run --help
mapfile -t commands < <(sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' "$out")
completes 'gcbench ' "${commands[*]}"

# every option of every command
for command in "${commands[@]}"; do
    [[ $command != help ]] || continue
    run help "$command"
    mapfile -t options < <(sed -n '/^Usage:/,$s/^ \{2,6\}\(-., \)\{0,1\}\(--[a-z0-9-]*\).*/\2/p' "$out")
    COMPREPLY=()
    COMP_WORDS=(gcbench "$command" --) COMP_CWORD=2
    _gcbench gcbench
    last="completion of options of $command"
    for option in "${options[@]}" --help; do
        check "offers $option" grep -qxF -- "$option" <(printf '%s\n' "${COMPREPLY[@]}")
    done
    check "offers each once" test -z "$(printf '%s\n' "${COMPREPLY[@]}" | sort | uniq -d)"
done
completes 'gcbench compress --nonf' --nonfinite
completes 'gcbench compress --thet' --theta
completes 'gcbench info --thet'

# values
completes 'gcbench compress --format ' table json csv tsv
completes 'gcbench compress --format j' json
completes 'gcbench compress --format=' table json csv tsv
completes 'gcbench compress --format=c' csv
completes 'gcbench compress --scope=b' bucket
completes 'gcbench compress a.h5 --isa avx' avx2 avx512
completes 'gcbench compress --threads '
completes 'gcbench compress --threads='
completes 'gcbench compress --values=sign' sign-mean
completes 'gcbench compress --index go' golomb
completes 'gcbench compress --theta '
completes 'gcbench compress --no-such='

# methods; readline has cut off the part up to the last = or :
completes 'gcbench compress --method terng' terngrad
completes 'gcbench compress --method=fp' 'fp16 fp8'
run methods --format json
mapfile -t methods < <(sed -n 's/.*"record": *"method".*"method": *"\([^"]*\)".*/\1/p' "$out")
completes 'gcbench compress --method ' "${methods[*]}"
completes 'gcbench methods ' "${methods[*]}"
completes 'gcbench compress --method qsgd:le' 'levels= (-o nospace)'
completes 'gcbench compress --method qsgd:bits=4,buck' '4,bucket= (-o nospace)'
completes 'gcbench compress --method qsgd:norm=' max l2
completes 'gcbench compress --method=topk:theta=0.9,index=ru'
completes 'gcbench compress --method=topk:theta=0.9,index=bi' bitmap

# files are left to the shell, which knows how to quote them
completes 'gcbench compress ' '(-o default)'
completes 'gcbench compress --method fft gra' '(-o default)'
completes 'gcbench compress -o ' '(-o default)'
completes 'gcbench compress --results=' '(-o default)'
completes 'gcbench compress -- --format ' '(-o default)'
completes 'gcbench compress -- --' '(-o default)'
completes 'gcbench generate '
completes 'gcbench compress -q ' '(-o default)'

finish
