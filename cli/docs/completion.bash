
_gcbench() {
    local IFS=$' \t\n' line=() found prefix ask current before word i glued=0
    # readline cuts words at = and :, and replaces what follows the last of these
    for ((i = 1; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if ((i > 1)) && { ((glued)) || [[ $word == [=:]* ]]; }; then
            line[${#line[@]} - 1]+=$word
        else
            line+=("$word")
        fi
        glued=0
        [[ $word != [=:]* ]] || glued=1
    done
    _gcbench_find "${line[@]}"
    [[ -z $ask ]] || compopt -o "$ask"
    current=${line[${#line[@]} - 1]}
    before=${current%"${current##*[=:]}"}
    COMPREPLY=()
    for word in "${found[@]}"; do
        word=$prefix${word%%:*}
        [[ $word != "$current"* ]] || COMPREPLY+=("${word#"$before"}")
    done
}
complete -F _gcbench gcbench
