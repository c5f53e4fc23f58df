
# Above: what the tables of the command say. Each function fills `words`, and `kind` where it depends.

# What continues a method as --method takes it: its name, then parameters, then what they may be.
_gcbench_method() { # WHAT_IS_THERE
    local last=${1##*[:,]} before
    if [[ $1 != *:* ]]; then
        words=("${_gcbench_methods[@]}")
        return
    fi
    before=${1%"$last"}
    if [[ $last == *=* ]]; then
        _gcbench_choices "${last%%=*}"
        words=("${words[@]/#/$before${last%%=*}=}")
    else
        _gcbench_keys "${1%%:*}"
        words=("${words[@]/#/$before}")
        words=("${words[@]/%/=}")
        compopt -o nospace
    fi
}

# The words of the command line, put together again: readline cuts them at = and :.
_gcbench_line() { # fills `line`, up to the cursor
    local i piece glued=0
    for ((i = 1; i <= COMP_CWORD; i++)); do
        piece=${COMP_WORDS[i]}
        if ((i > 1)) && { ((glued)) || [[ $piece == [=:]* ]]; }; then
            line[${#line[@]} - 1]+=$piece
        else
            line+=("$piece")
        fi
        glued=0
        [[ $piece != [=:]* ]] || glued=1
    done
}

# What a word behind a command may be. Fills `words`.
_gcbench_word() { # COMMAND WORD WORD_BEFORE; 1 as $4: no options any more
    local kind='file' option='' prefix='' value=$2 i
    if (($4)); then
        _gcbench_operands "$1"
    elif [[ $3 == -* && $3 != *=* ]] && _gcbench_value "$1" "$3"; then
        option=$3
    elif [[ $2 == --*=* ]]; then
        option=${2%%=*} prefix=${2%%=*}= value=${2#*=} kind='any'
        _gcbench_value "$1" "$option"
    elif [[ $2 == -* ]]; then
        _gcbench_options "$1"
        return
    else
        _gcbench_operands "$1"
    fi
    case $kind in
    file) compopt -o default ;; # with nothing of ours, the shell completes files itself
    method) _gcbench_method "$value" ;;
    esac
    for i in "${!words[@]}"; do
        words[i]=$prefix${words[i]}
    done
}

_gcbench() {
    local IFS=$' \t\n' line=() words=() count current before word ended=0
    COMPREPLY=()
    _gcbench_line
    count=${#line[@]}
    ((count)) || return
    current=${line[count - 1]}
    for ((word = 1; word < count - 1; word++)); do
        [[ ${line[word]} != -- ]] || ended=1
    done

    if ((count == 1)) || [[ ${line[0]} == help && count -eq 2 ]]; then
        words=("${_gcbench_commands[@]}")
        [[ $current != -* ]] || words=(--help --version)
    elif [[ ${line[0]} != help ]]; then
        _gcbench_word "${line[0]}" "$current" "${line[count - 2]}" "$ended"
    fi

    # readline replaces what is behind the last = or :, and nothing before it
    before=${current%"${current##*[=:]}"}
    for word in "${words[@]}"; do
        [[ $word != "$current"* ]] || COMPREPLY+=("${word#"$before"}")
    done
}
complete -F _gcbench gcbench
