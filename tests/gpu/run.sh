#!/bin/bash
# Tests and times a GPU, in a folder that bundle.sh made. Nothing is built, installed or downloaded.
#
#   ./run [--elements N] [--small] [--out DIR]
#
# Writes the report DIR/report.md, the rows from which it is made, and the output of every step. DIR
# is report/ next to this script, unless --out is given. Exit status 0: all is well; 1: something
# failed, and the report says what; 3: no GPU.
set -uo pipefail

here=$(cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")" && pwd)
out=$here/report
depth=() budget=()
elements=$((1 << 28))
while (($#)); do
    case $1 in
    --elements) elements=${2:?}; shift ;;
    --out) out=${2:?}; shift ;;
    -h | --help) sed -n '2,/^set/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    --small) depth=(--quick) budget=(--time-budget 1) ;;
    *) echo "run: unknown option '$1'" >&2; exit 2 ;;
    esac
    shift
done
[[ $elements =~ ^[1-9][0-9]*$ ]] || { echo "run: --elements takes a number" >&2; exit 2; }

"$here/check_device" --probe
case $? in
0) ;;
3) exit 3 ;;
*) echo "run: the programs of this folder do not start; they need a C library as new as on the machine where they were built" >&2; exit 1 ;;
esac
mkdir -p "$out" || exit 1
rm -f "$out"/*.jsonl "$out/report.md"

say() { printf '%s\n' "$*" >&2; }
plain() { printf '%s' "$1" | tr -d '"\\' | tr -c '[:print:]' ' '; }
row() { # RECORD SPEC STATUS REASON
    printf '{"record":"%s","schema":1,"spec":"%s","status":"%s","reason":"%s"}\n' "$1" "$2" "$3" "$(plain "$4")"
}

say "comparing every method with the CPU"
"$here/check_device" "${depth[@]}" --results "$out/check.jsonl" >"$out/check.log" 2>&1 ||
    row check check_device failed "see check.log" >>"$out/check.jsonl"

sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda*/bin/compute-sanitizer 2>/dev/null | head -n 1)
for tool in memcheck racecheck; do
    if [[ -z $sanitizer ]]; then
        row sanitizer "$tool" skipped "compute-sanitizer was not found"
        continue
    fi
    say "compute-sanitizer --tool $tool"
    timeout 3600 "$sanitizer" --tool "$tool" --target-processes all --error-exitcode 9 "$here/check_device" --small --alone \
        >"$out/$tool.log" 2>&1
    case $? in
    0) row sanitizer "$tool" ok "" ;;
    124) row sanitizer "$tool" failed "stopped after an hour; see $tool.log" ;;
    *) row sanitizer "$tool" failed "see $tool.log" ;;
    esac
done >"$out/sanitizer.jsonl"

say "timing $elements elements"
sed "s/\"256M\"/$elements/" "$here/data/suite.json" >"$out/suite.json"
"$here/gcbench" bench --suite "$out/suite.json" "${budget[@]}" --quiet --results "$out/bench.jsonl" >"$out/bench.log" 2>&1
case $? in
0) ;;
3) row check "gcbench bench" unsupported "$(tail -n 1 "$out/bench.log")" >>"$out/check.jsonl" ;;
*) row check "gcbench bench" failed "$(tail -n 1 "$out/bench.log")" >>"$out/check.jsonl" ;;
esac

"$here/time_device" --elements "$elements" >"$out/timing.jsonl" 2>"$out/timing.log" ||
    row check time_device failed "$(tail -n 1 "$out/timing.log")" >>"$out/check.jsonl"

if python=$(command -v python3); then
    say "PyTorch"
    "$python" "$here/compare_torch.py" "$elements" >"$out/torch.jsonl" 2>"$out/torch.log" ||
        row torch PyTorch skipped "it failed: $(tail -n 1 "$out/torch.log")" >>"$out/torch.jsonl"
else
    row torch PyTorch skipped "python3 was not found" >"$out/torch.jsonl"
fi

files=()
for file in check sanitizer bench timing torch; do
    [[ ! -s $out/$file.jsonl ]] || files+=("$out/$file.jsonl")
done
"$here/gpu_report" "${files[@]}" >"$out/report.md"
ended=$?
say "wrote $out/report.md"
exit "$ended"
