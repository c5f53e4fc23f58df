#!/bin/bash
# Checks and measures a GPU in one go, in a folder that bundle.sh made: nothing is built, installed or fetched.
#
#   ./run [--elements N] [--small] [--out DIR]
#
# The report is DIR/report.md (DIR: report/ beside this script unless told), with the rows it is made from and what every step
# said. Exit status 0: all is well; 1: something failed, the report says what; 3: no GPU.
set -uo pipefail

here=$(cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")" && pwd)
out=$here/report
depth=() budget=()
elements=$((1 << 28))
while (($#)); do
    case $1 in
    --elements) elements=${2:?}; shift ;;
    --out) out=${2:?}; shift ;;
    --small) depth=(--quick) budget=(--time-budget 4) ;;
    *) echo "run: unknown option '$1'" >&2; exit 2 ;;
    esac
    shift
done
[[ $elements =~ ^[1-9][0-9]*$ ]] || { echo "run: --elements takes a number" >&2; exit 2; }

"$here/check_device" --probe || exit 3
mkdir -p "$out" || exit 1
rm -f "$out"/*.jsonl "$out/report.md"

say() { printf '%s\n' "$*" >&2; }
plain() { printf '%s' "$1" | tr -d '"\\' | tr -c '[:print:]' ' '; }
row() { # RECORD SPEC STATUS REASON
    printf '{"record":"%s","schema":1,"spec":"%s","status":"%s","reason":"%s"}\n' "$1" "$2" "$3" "$(plain "$4")"
}

say "every method against the CPU"
"$here/check_device" "${depth[@]}" --results "$out/check.jsonl" >"$out/check.log" 2>&1 ||
    row check check_device failed "see check.log" >>"$out/check.jsonl"

sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda*/bin/compute-sanitizer 2>/dev/null | head -n 1)
for tool in memcheck racecheck; do
    if [[ -z $sanitizer ]]; then
        row sanitizer "$tool" skipped "compute-sanitizer was not found"
        continue
    fi
    say "compute-sanitizer --tool $tool"
    if "$sanitizer" --tool "$tool" --target-processes all --error-exitcode 9 "$here/check_device" --small --alone \
        >"$out/$tool.log" 2>&1; then
        row sanitizer "$tool" ok ""
    else
        row sanitizer "$tool" failed "see $tool.log"
    fi
done >"$out/sanitizer.jsonl"

say "speed, $elements elements"
sed "s/\"256M\"/$elements/" "$here/data/suite.json" >"$out/suite.json"
"$here/gcbench" bench --suite "$out/suite.json" "${budget[@]}" --quiet --results "$out/bench.jsonl" >"$out/bench.log" 2>&1
case $? in
0) ;;
3) row check "gcbench bench" unsupported "$(tail -n 1 "$out/bench.log")" >>"$out/check.jsonl" ;;
*) row check "gcbench bench" failed "$(tail -n 1 "$out/bench.log")" >>"$out/check.jsonl" ;;
esac

if python=$(command -v python3); then
    "$python" "$here/compare_torch.py" "$elements" >"$out/torch.jsonl" 2>"$out/torch.log"
else
    row torch PyTorch skipped "there is no python3" >"$out/torch.jsonl"
fi

files=()
for file in check sanitizer bench torch; do
    [[ ! -s $out/$file.jsonl ]] || files+=("$out/$file.jsonl")
done
"$here/gpu_report" "${files[@]}" >"$out/report.md"
ended=$?
say "the report: $out/report.md"
exit "$ended"
