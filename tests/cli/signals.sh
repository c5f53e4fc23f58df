#!/bin/sh
# However the process ends, it leaves no half-written file.
. "$(dirname "$0")/lib.sh"

mkdir "$tmp/dir"
cd "$tmp/dir" || exit 99
ulimit -c 0

# Starts gcbench and sends it a signal once its temporary file exists. Python, because background
# jobs of a shell ignore SIGINT.
killed() { # SIGNAL ARGS...
    last="gcbench $* (killed)"
    timeout "$hang" "$PYTHON" - "$GCBENCH" "$@" >"$out" 2>"$err" <<'END'
import glob, signal, subprocess, sys, time

number = getattr(signal, sys.argv[2])
signal.signal(number, signal.SIG_DFL)  # the child would ignore what nohup ignores
p = subprocess.Popen([sys.argv[1]] + sys.argv[3:], stdout=subprocess.DEVNULL)
while not glob.glob(".gcbench-*") and p.poll() is None:
    time.sleep(0.005)
time.sleep(0.05)
p.send_signal(number)
sys.exit(0 if p.wait() == -number else 1)
END
    rc=$?
    exits 0
    only "$keep"
}

run generate --elements 1000 -o in.h5
exits 0
keep=in.h5
for signal in SIGINT SIGTERM SIGHUP SIGQUIT SIGXCPU; do
    killed "$signal" generate --elements 1G -o out.h5
done
killed SIGQUIT compress --method topk --repeat 1000000 --results rows.json in.h5

# plot, report and payoff end at the first signal while they wait for more results.
run compress --method topk --results "$tmp/r.json" in.h5
exits 0
mkfifo "$tmp/fifo"
reading() { # ARGS...
    last="gcbench $* (killed while it reads)"
    timeout "$hang" "$PYTHON" - "$GCBENCH" "$tmp" "$@" >"$out" 2>"$err" <<'END'
import signal, subprocess, sys, time

tmp = sys.argv[2]
signal.signal(signal.SIGINT, signal.SIG_DFL)
p = subprocess.Popen([sys.argv[1]] + sys.argv[3:], stdout=subprocess.DEVNULL)
with open(tmp + "/fifo", "w") as fifo:  # opened once the program has it open
    fifo.write(open(tmp + "/r.json").read())
    fifo.flush()
    time.sleep(0.05)
    p.send_signal(signal.SIGINT)
    sys.exit(0 if p.wait() == -signal.SIGINT else 1)
END
    rc=$?
    exits 0
    only in.h5
}
reading plot "$tmp/fifo" -o plots
reading plot --terminal "$tmp/fifo"
reading report "$tmp/fifo" -o r.html
reading payoff --results rows.json "$tmp/fifo"

# payoff measures by itself and is stopped early. That it has no times then is not a usage error.
for delay in 0.3 0.6 1.2; do
    last="gcbench payoff --model-bytes 1G (killed after $delay s)"
    timeout "$hang" "$PYTHON" - "$GCBENCH" "$delay" 2>"$err" <<'END'
import signal, subprocess, sys, time

signal.signal(signal.SIGINT, signal.SIG_DFL)
p = subprocess.Popen([sys.argv[1], "payoff", "--model-bytes", "1G", "--results", "rows.json"], stdout=subprocess.DEVNULL,
                     stderr=subprocess.PIPE)
time.sleep(float(sys.argv[2]))
p.send_signal(signal.SIGINT)
words = p.communicate()[1]
print(p.returncode, words, file=sys.stderr)
sys.exit(0 if p.returncode == -signal.SIGINT or (p.returncode, words) == (1, b"gcbench: interrupted\n") else 1)
END
    rc=$?
    exits 0
    rm -f rows.json # if all methods had been measured
    only in.h5
done

# A signal that was ignored at the start stays ignored, as with nohup.
last="gcbench generate (ignoring SIGHUP)"
timeout "$hang" "$PYTHON" - "$GCBENCH" <<'END'
import signal, subprocess, sys, time

signal.signal(signal.SIGHUP, signal.SIG_IGN)
p = subprocess.Popen([sys.argv[1], "generate", "--elements", "1M", "-o", "out.h5"])
time.sleep(0.02)
p.send_signal(signal.SIGHUP)
sys.exit(p.wait())
END
rc=$?
exits 0
only in.h5 out.h5
rm out.h5

# A limit on file sizes is an error like a full disk, for every output.
(
    ulimit -f 1
    run compress --method topk --per message --results rows.json in.h5
    echo "$rc" >"$tmp/rc"
) 2>/dev/null
rc=$(cat "$tmp/rc")
exits 1
only in.h5

finish
