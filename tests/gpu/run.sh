#!/bin/bash
# Tests and times a GPU, in a folder that bundle.sh made. Nothing is built, installed or downloaded.
#
#   ./run [--lease SECONDS] [--part more] [--only PATTERN] [--elements N] [--patience SECONDS]
#         [--small] [--out DIR]
#
# Everything ends within --lease (14400 s). Each step has its share; what it leaves goes to the
# next. The steps: a quick comparison with the CPU, times, PyTorch's and CUB's times, the whole
# comparison, sanitizers. --part more: trainings with gcbench.device, gradients of a model of 124
# million parameters, the table of docs/performance.md for this CPU, and racecheck of the other half
# of the cases. --only runs the methods and cases that match a pattern of bash.
# --patience: most seconds for one case or one method.
#
# DIR (report/ next to this script) gets report.md, rows.jsonl and logs.tar.gz, which are rewritten
# after each step. Exit status 0: nothing failed; 1: something failed, and the report says what; 3:
# no GPU.
set -uo pipefail

here=$(cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")" && pwd)
lease=14400 part=first only='*' elements=$((1 << 26)) patience='' out=$here/report depth=full
while (($#)); do
    case $1 in
    --lease | --part | --only | --elements | --patience | --out)
        (($# > 1)) || { echo "run: $1 needs a value" >&2; exit 2; }
        declare "${1#--}=$2"
        shift
        ;;
    -h | --help) sed -n '2,/^set/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    --small) depth=--quick ;;
    *) echo "run: unknown option '$1'" >&2; exit 2 ;;
    esac
    shift
done
for number in "$lease" "$elements" "${patience:=$((lease < 180 ? 10 : lease > 10800 ? 600 : lease / 18))}"; do
    [[ $number =~ ^[1-9][0-9]*$ ]] || { echo "run: '$number' is not a number" >&2; exit 2; }
done
[[ $part == @(first|more) ]] || { echo "run: --part takes more" >&2; exit 2; }

# The bundle has no cuFFT. CUDA's toolkit has it, and PyTorch.
cufft=/usr/local/cuda/lib64
! python=$(command -v python3) ||
    cufft+=:$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/nvidia/cu13/lib
export LD_LIBRARY_PATH=$cufft${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
probe=$("$here/check_device" --probe)
case $? in
0) ;;
3) exit 3 ;;
*)
    echo "run: the programs do not start; they need a C library as new as where they were built" >&2
    exit 1
    ;;
esac

rows=$out/rows.jsonl
mkdir -p "$out" && : >"$rows" || exit 1
work=$(mktemp -d) || exit 1
mkdir "$work/logs"
trap 'rm -rf "$work"' EXIT
trap 'kill $(jobs -p) 2>/dev/null; wait; step interrupted failed "a signal ended the run"; exit 1' HUP INT TERM

say() { printf '[%s s] %s\n' "$SECONDS" "$*" >&2; }

# Writes the report and the archive.
save() {
    "$here/gpu_report" "$rows" >"$work/report.md" 2>"$work/logs/report.log"
    ended=$?
    for file in "$work"/*.table; do
        [[ ! -s $file ]] || { echo; cat "$file"; } >>"$work/report.md"
    done
    tar -C "$work" -czf "$work/logs.tar.gz" logs
    for file in report.md logs.tar.gz; do
        cp "$work/$file" "$out/.$file" && mv "$out/.$file" "$out/$file"
    done
}

step() { # NAME STATUS REASON: the result of a step
    local reason
    reason=$(printf '%s' "$3" | tr -d '"\\' | tr -c '[:print:]' ' ')
    printf '{"record":"step","schema":1,"spec":"%s","status":"%s","reason":"%s"}\n' "$1" "$2" "$reason" >>"$rows"
    say "$1: $2 $3"
    save
}

# Runs a step, which ends after this many of 360 parts of the time, counted from the start.
by() { # PARTS STEP...
    until=$((lease * $1 / 360))
    if ((until > SECONDS)); then "${@:2}"; else step "${*:2:2}" skipped "no time was left"; fi
}

# Starts a command, which is stopped at the step's end, or after so many seconds.
start() { # SECONDS COMMAND...
    local left=$((until - SECONDS))
    timeout -k 2 "$((left < 1 ? 1 : left < $1 ? left : $1))" "${@:2}" &
}

# The same; waits for it. 124 or 137: it was stopped.
limited() {
    start "$@"
    wait $!
}

# The result of a step, from the exit status of its command.
finish() { # NAME STATUS REASON
    case $2 in
    0) step "$1" ok "$3" ;;
    3) step "$1" unsupported "$3" ;;
    124 | 137) step "$1" stopped "$3" ;;
    127) step "$1" skipped "not installed" ;;
    *) step "$1" failed "$3" ;;
    esac
}

checked() {
    grep -c '"record":"check"' "$rows"
}

compare() { # NAME PARTS DEPTH: compares with the CPU, in so many processes
    local i pid status pids=() ended=0 before total
    total=$("$here/check_device" $3 --only "$only" --list | wc -l)
    before=$(checked)
    for ((i = 0; i < $2; i++)); do
        start "$lease" "$here/check_device" $3 --only "$only" --part "$i/$2" --patience "$patience" --results "$rows" \
            >"$work/logs/$1.$i.log" 2>&1
        pids+=($!)
    done
    for pid in "${pids[@]}"; do
        wait "$pid"
        status=$?
        ((ended == 1 || status == 0)) || ended=$status
    done
    finish "$1" "$ended" "$(($(checked) - before)) of $total cases"
}

# Methods, each timed by a process of its own: a fault or a hang costs only its own row.
methods=(fp16 bf16 range:max=1,mantissa=4 range:max=1 range qsgd terngrad topk topk:theta=0.99 sbc redsync dgc randomk
    natural fp8 mxfp8 mxfp4 nvfp4 int8 int4 bf16:rounding=stochastic fft fft:chunk=4096 sparse:transform=fft,chunk=4096,select=chunk,density=0.0078125 demo dct-range)
times() {
    local method log status at=0 budget=2
    [[ $depth == full ]] || budget=0.2
    ((lease < 3600)) || budget=60
    limited "$lease" "$here/gcbench" generate --dist student-t:df=3 --elements "$elements" -o "$work/x.h5" \
        >"$work/logs/generate.log" 2>&1
    for method in "${methods[@]}"; do
        [[ $method == $only ]] || continue
        at=$((at + 1)) log=$work/logs/bench.$at.log
        limited "$patience" "$here/gcbench" bench --device cuda --method "$method" --cache cold --precision 0.01 \
            --time-budget "$budget" --quiet --format json "$work/x.h5" >"$work/bench.jsonl" 2>"$log"
        status=$?
        if ((SECONDS >= until)); then
            step times stopped "before the end of $method"
            return
        elif ((status == 0)); then
            cat "$work/bench.jsonl" >>"$rows"
            say "$method"
        elif ((status == 124 || status == 137)); then
            step "bench $method" failed "no end in $patience s"
        else
            finish "bench $method" "$status" "$(tail -n 1 "$log")"
        fi
    done
    step times ok ""
}

beside() { # NAME COMMAND...: a command that writes rows
    local status
    limited "$lease" "${@:2}" >"$work/beside.jsonl" 2>"$work/logs/$1.log"
    status=$?
    grep '}$' "$work/beside.jsonl" >>"$rows"
    finish "$1" "$status" "$(tail -n 1 "$work/logs/$1.log")"
}

tabled() { # NAME COMMAND...: the same; the report shows the rows
    PYTHONPATH=$here/python GCBENCH_LIBRARY=$here/lib/libgcbench.so.0 \
        LD_LIBRARY_PATH=$here/lib:$LD_LIBRARY_PATH beside "$@"
    [[ ! -s $work/beside.jsonl ]] || python3 "$here/table.py" "$1" <"$work/beside.jsonl" >"$work/$1.table"
    save
}

sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda*/bin/compute-sanitizer 2>/dev/null | head -n 1)
sanitize() { # TOOL I/N: one after another, because they starve beside other processes
    local status log=$work/logs/$1
    [[ $sanitizer ]] || { step "$1" skipped "compute-sanitizer was not found"; return; }
    limited "$lease" "$sanitizer" --tool "$1" --target-processes all --error-exitcode 9 --show-backtrace no \
        --print-limit 1000 "$here/check_device" --small --alone --only "$only" --part "$2" --results "$log.jsonl" \
        >"$log.log" 2>&1
    status=$?
    finish "$1" "$status" "$(cat "$log.jsonl" 2>/dev/null | wc -l) cases, \
$(grep -cE '^=+ .*(Invalid|Uninitialized|Error: )' "$log.log") reports"
}

cpu() {
    local seconds=$(((until - SECONDS) / 13 - 3))
    seconds=$((seconds < 1 ? 1 : seconds > 5 ? 5 : seconds))
    printf '## The CPU\n\n' >"$work/cpu.table"
    limited "$lease" "${python:-python3}" "$here/speeds.py" "$here/gcbench" --seconds "$seconds" >>"$work/cpu.table" \
        2>"$work/logs/cpu.log"
    finish "the CPU's table" $? "$(tail -n 1 "$work/logs/cpu.log")"
}

# A process of the whole comparison takes up to 4 GB of the GPU.
memory=$(nvidia-smi --query-gpu=memory.total --format=csv,noheader,nounits 2>/dev/null | head -n 1)
[[ $memory =~ ^[0-9]+$ ]] || memory=8192
parts=$(((memory + 4095) / 4096))
((parts <= $(nproc))) || parts=$(nproc)
step "part $part" ok "$probe"
if [[ $part == more ]]; then
    by 90 tabled "Training" "${python:-python3}" "$here/hook.py" "$only"
    by 200 tabled "A model of 124 million parameters" "${python:-python3}" "$here/large_model.py" "$here/gcbench" \
        $((lease / 6)) "$only"
    by 280 cpu
    by 350 sanitize racecheck 1/2
else
    by 20 compare quick 1 --quick
    by 40 beside time_device "$here/time_device" --elements "$elements" --only "$only"
    by 175 times
    [[ ! -x $here/time_cub ]] || by 185 beside CUB "$here/time_cub" "$elements"
    by 200 beside PyTorch "${python:-python3}" "$here/compare_torch.py" "$elements" "$only"
    by 280 compare check "$parts" "${depth/full/}"
    by 305 sanitize initcheck 0/1
    by 332 sanitize memcheck 0/1
    by 350 sanitize racecheck 0/2
fi
say "wrote $out/report.md"
exit "$ended"
