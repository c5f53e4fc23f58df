# The table above has a line for each word: WHERE|WORD|KIND|VALUES|HELP; cli/docs/generate.py describes it.
# The functions below run in bash, and in zsh by the rules of ksh. They fill
#   found   what may be typed, each as WORD:HELP
#   prefix  what stands before these words on the command line already
#   ask     what else the shell has to do: offer files (default), add no space (nospace)

_gcbench_list() { # WHERE SUFFIX: finds the words of WHERE, each with SUFFIX; finds options only after a dash
    local where word kind values help
    while IFS='|' read -r where word kind values help; do
        [[ $where != "$1" || $word == '*' || ($word == -* && $current != -*) ]] ||
            found+=("$word$2:$help")
    done <<<"$_gcbench_table"
}

_gcbench_look() { # WHERE WORD: sets kind, finds the values of WORD; WHERE '' is any method. Fails if the table lacks WORD
    local where word is values help value
    kind=
    while IFS='|' read -r where word is values help; do
        [[ $word == "$2" && ($where == "$1" || (-z $1 && $where == *:)) ]] || continue
        kind=$is
        for value in $values; do
            [[ " ${found[*]} " == *" $value: "* ]] || found+=("$value:")
        done
    done <<<"$_gcbench_table"
    [[ -n $kind ]]
}

_gcbench_method() { # TYPED: completes a method's name, then names of its parameters, then their values
    local last=${1##*[:,]}
    if [[ $1 != *:* ]]; then
        _gcbench_list : ''
    elif [[ $last == *=* ]]; then
        prefix+=${1%"$last"}${last%%=*}=
        _gcbench_look "${1%%:*}:" "${last%%=*}"
    else
        prefix+=${1%"$last"} ask=nospace
        _gcbench_list "${1%%:*}:" =
    fi
}

_gcbench_find() { # WORD...: the words after gcbench; the last is cut at the cursor
    [[ -z ${ZSH_VERSION-} ]] || emulate -L ksh
    local IFS=$' \t\n' option='' before='' current='' ended=0 kind='' word
    found=() prefix='' ask=''
    for word; do
        [[ $current != -- ]] || ended=1
        before=$current current=$word
    done
    if (($# < 2)) || [[ $1 == help ]]; then
        (($# > 2)) || _gcbench_list gcbench ''
        [[ $1 != help || $# -gt 2 ]] || found+=('choose:tell which command answers which question')
        return
    fi
    if ((ended)); then
        _gcbench_look "$1" '*'
    elif [[ $before == -*[!=]* ]] && _gcbench_look "$1" "$before" && [[ $kind != flag ]]; then
        option=$before
    elif [[ $current == --*=* ]]; then
        option=${current%%=*} prefix=${current%%=*}=
        _gcbench_look "$1" "$option"
    elif [[ $current == -* ]]; then
        _gcbench_list "$1" ''
        return
    else
        _gcbench_look "$1" '*'
    fi
    case $kind in
    file) ask=default ;;
    method) _gcbench_method "${current#"$prefix"}" ;;
    parameter) _gcbench_look '' "${option#--}" ;;
    esac
}
