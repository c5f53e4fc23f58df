
# Above: what the tables of the command say.

# A method as --method takes it: its name, then parameters, then what they may be.
_gcbench_method() {
    local name=${PREFIX%%:*} key
    local -a found
    if [[ $PREFIX != *:* ]]; then
        _describe -t methods method _gcbench_methods
        return
    fi
    compset -P '*[:,]'
    if [[ $PREFIX == *=* ]]; then
        key=${PREFIX%%=*}
        compset -P '*='
        _gcbench_choices $key
        compadd -- $found
    else
        _gcbench_keys $name
        compadd -S = -- $found
    fi
}

# An option that is a parameter of methods.
_gcbench_parameter() { # NAME
    local -a found
    _gcbench_choices $1
    (($#found)) && compadd -- $found
}

_gcbench() {
    local curcontext=$curcontext state line ret=1
    typeset -A opt_args

    _arguments -C '(- *)'{-h,--help}'[list the commands]' '(- *)'{-V,--version}'[show the version]' \
        '1:command:->command' '*::argument:->argument' && ret=0
    case $state in
    command)
        _describe -t commands command _gcbench_commands && ret=0
        ;;
    argument)
        if [[ $words[1] == help ]]; then
            _arguments '1:command:->command' && ret=0
            [[ $state == command ]] && _describe -t commands command _gcbench_commands && ret=0
        else
            curcontext=${curcontext%:*:*}:gcbench-$words[1]:
            _gcbench_arguments $words[1] && ret=0
        fi
        ;;
    esac
    return ret
}

_gcbench "$@"
