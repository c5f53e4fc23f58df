#!/bin/bash
# `./dev gpu --bundle` with the stand-in as its module: the folder, its run script and its report;
# and `./dev gpu` without a GPU.
#   gpu.sh GCBENCH STANDIN LIBRARY CHECK_DEVICE TIME_DEVICE GPU_REPORT
here=$(dirname "$(readlink -f "$0")")
. "$here/../cli/lib.sh"
standin=$2 library=$3 checker=$4 timer=$5 reporter=$6

# The report, from known rows.
last="gpu_report"
"$reporter" "$here/canned.jsonl" >"$out" 2>"$err"
rc=$?
exits 0
quiet
# 4 + 2 bytes for each of a million elements at 1000 GB/s take 6 us; the kernel took 10.
prints '| fp16 | 1 | 0.010 ms | 0.006 ms | 0.80 | 0.60, less than wanted |'
prints '| `qsgd` | 2000 | 1 | 1 | 161 | 0.020 ms | 0.500 ms | 25.0 |'
prints '| `torch.topk` | topk, exact | 0.100 ms | 0.010 ms | 5 at least | 10.00 |'
prints 'Nothing failed.'
sed 's/"status":"ok","reason":null/"status":"failed","reason":"bytes differ"/' "$here/canned.jsonl" >"$tmp/failed.jsonl"
"$reporter" "$tmp/failed.jsonl" >"$out" 2>"$err"
rc=$?
exits 1
prints '| `qsgd` | failed | bytes differ |'
prints 'Something failed'
echo '{"record":"check","schema":1,"spec":"qsgd"' >"$tmp/cut.jsonl"
"$reporter" "$tmp/cut.jsonl" >"$out" 2>"$err"
rc=$?
exits 1
says "cut.jsonl"

# The folder.
last="bundle.sh"
"$here/bundle.sh" "$tmp/made" "$standin" "$library" "$GCBENCH" "$checker" "$timer" "$reporter" >"$out" 2>"$err"
rc=$?
exits 0
"$here/bundle.sh" "$tmp/made" "$standin" "$library" "$GCBENCH" "$checker" "$timer" "$reporter" >"$out" 2>"$err"
rc=$?
exits 1
says "exists already"
mv "$tmp/made" "$tmp/elsewhere"
bundle=$tmp/elsewhere

bare() { # COMMAND...: runs it with an empty environment
    last="$1"
    timeout $((5 * hang)) env -i PATH=/usr/bin:/bin "$@" >"$out" 2>"$err" </dev/null
    rc=$?
}
libraries_are_its_own() { # the loader finds all except the C library in the folder
    env -i PATH=/usr/bin:/bin LD_LIBRARY_PATH="$bundle/lib" ldd "$bundle"/programs/* "$bundle"/lib/libgcbench* |
        grep -E '=> ' | grep -vE '/(libc|libm|libdl|librt|libpthread|libresolv)\.so|ld-linux' |
        grep -v "=> $bundle/lib/" && return 1
    return 0
}
check "every library is in the folder" libraries_are_its_own
bare "$bundle/gcbench" info
exits 0
prints "a stand-in on the CPU, for tests"
bare "$bundle/check_device" --probe
exits 0
prints "a stand-in on the CPU, for tests"
bare "$bundle/gcbench" compress --method qsgd "$bundle/data/sample.h5"
exits 0

# The whole run. Its times mean nothing here.
bare "$bundle/run" --small --elements 4096 --only bf16 --out "$tmp/out"
exits 0
[ "$rc" = 0 ] || grep -h '"failed"' "$tmp/out/rows.jsonl" | head -n 5 >&2
check "no method differs from the CPU" grep -qE '^([1-9][0-9]*) cases tested, \1 the same' "$tmp/out/report.md"
check "the device was timed" grep -qE '^\| bf16 \| 1 \| [0-9.]+ ms' "$tmp/out/report.md"
check "a quantiser's launches are counted" grep -qE '^\| `bf16` \| 4096 \| 3 at most \| 1 \|' "$tmp/out/report.md"
check "the report says that nothing failed" grep -qF 'Nothing failed.' "$tmp/out/report.md"
check "three files come back" test "$(cd "$tmp/out" && echo *)" = "logs.tar.gz report.md rows.jsonl"

# A run that is killed in its first step leaves rows and a report.
setsid "$bundle/run" --small --elements 4096 --out "$tmp/killed" >"$out" 2>"$err" </dev/null &
waited=0
until [ "$(cat "$tmp/killed/rows.jsonl" 2>/dev/null | grep -c '"check"')" -ge 2 ] ||
    [ $((waited += 1)) -gt $((10 * hang)) ]; do
    sleep 0.1
done
pkill -KILL -s $!
wait $! 2>/dev/null
last="run (killed)"
check "rows are left" grep -q '"record":"check"' "$tmp/killed/rows.jsonl"
check "a report is left" grep -q '^## Steps' "$tmp/killed/report.md"

# A fault and a hang cost a row each.
mv "$bundle/gcbench" "$bundle/gcbench.whole"
cat >"$bundle/gcbench" <<'END'
#!/bin/sh
case "$*" in
*bf16*) kill -SEGV $$ ;;
*range:max=1*) exec sleep 1000 ;;
esac
exec "$0.whole" "$@"
END
chmod +x "$bundle/gcbench"
bare "$bundle/run" --small --elements 4096 --only '@(bf16|range:max=1|randomk)' \
    --patience $((10 * ${GCBENCH_TEST_PATIENCE:-1})) --out "$tmp/faulty"
exits 1
check "the fault and the hang are rows" test "$(grep -c '"step".*"bench .*"failed"' "$tmp/faulty/rows.jsonl")" = 2
check "the method after them was timed" grep -qE '^\| randomk \| [0-9]+ \| [0-9.]+ ms' "$tmp/faulty/report.md"

bare "$bundle/run" --help
exits 0
prints "./run [--lease SECONDS] [--part more]"

# Without a module there is no device.
rm "$bundle/lib/libgcbench-cuda.so"
bare "$bundle/run"
exits 3
says "no CUDA module"

# ./dev gpu without a GPU.
if [ ! -e /dev/nvidiactl ] && [ ! -e /dev/dxg ]; then
    last="./dev gpu"
    "$here/../../dev" gpu >"$out" 2>"$err"
    rc=$?
    exits 3
    says "no NVIDIA GPU"
fi
if ! command -v nvcc >/dev/null && [ ! -x /usr/local/cuda/bin/nvcc ]; then
    last="./dev gpu --static"
    "$here/../../dev" gpu --static >"$out" 2>"$err"
    rc=$?
    exits 3
    says "there is no nvcc"
fi
finish
