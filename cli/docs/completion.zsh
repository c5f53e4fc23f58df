
_gcbench() {
    local -a found no_space
    local prefix ask
    _gcbench_find "${(@)words[2,CURRENT-1]}" "$PREFIX"
    IPREFIX+=$prefix
    PREFIX=${PREFIX#"$prefix"}
    [[ $ask != nospace ]] || no_space=(-S '')
    if [[ $ask == default ]]; then
        _files
    else
        _describe -t words word found $no_space
    fi
}
_gcbench "$@"
