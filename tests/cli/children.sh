#!/bin/sh
# gcbench starts gnuplot, or another gcbench, which hangs. A signal ends both and leaves nothing
# behind.
. "$(dirname "$0")/lib.sh"

mkdir "$tmp/bin" "$tmp/dir"
cat >"$tmp/bin/gnuplot" <<END
#!/bin/sh
echo \$\$ >"$tmp/child.new"
mv "$tmp/child.new" "$tmp/child"
exec sleep 300
END
chmod +x "$tmp/bin/gnuplot"
run generate --elements 1000 -o "$tmp/g.h5"
exits 0
run compress --histogram --method topk --method fft --results "$tmp/r.json" "$tmp/g.h5"
exits 0

# Sends a signal to gcbench once its child runs, and prints how gcbench ended. Python, because
# background jobs of a shell ignore SIGINT.
ended() { # SIGNAL ARGS...
    last="gcbench $* (with a child that hangs)"
    rm -f "$tmp/child"
    PATH=$tmp/bin:$PATH TMPDIR=$tmp/dir timeout "$hang" "$PYTHON" - "$GCBENCH" "$tmp/child" "$@" >"$out" 2>"$err" <<'END'
import os, signal, subprocess, sys, time

number = getattr(signal, sys.argv[3])
signal.signal(number, signal.SIG_DFL)
p = subprocess.Popen([sys.argv[1]] + sys.argv[4:], stdout=subprocess.DEVNULL)
while not os.path.exists(sys.argv[2]) and p.poll() is None:
    time.sleep(0.005)
p.send_signal(number)
print(p.wait())
child = int(open(sys.argv[2]).read())
while True:
    try:
        os.kill(child, 0)
        if "Z" in open("/proc/%d/stat" % child).read().rsplit(")", 1)[1][:3]:
            raise ProcessLookupError  # a zombie: it has ended
    except (ProcessLookupError, FileNotFoundError):
        sys.exit(0)
    time.sleep(0.005)
END
    rc=$?
    exits 0 # 124: it left its child running
    [ "$rc" -eq 0 ] || kill -KILL "$(cat "$tmp/child")"
    check "ends at the signal, and so does its child" test "$(cat "$out")" = "$expected"
    rm -f "$tmp"/dir/rate-distortion.gp "$tmp"/dir/rate-distortion.csv # complete, so they stay whatever gnuplot does
    only
}

for signal in SIGINT SIGTERM SIGHUP; do
    expected=1
    ended $signal plot --only rate-distortion -o "$tmp/dir" "$tmp/r.json"
    says "interrupted"
    ended $signal plot --terminal "$tmp/r.json"
    says "interrupted"
    ended $signal report -o "$tmp/dir/r.html" "$tmp/r.json"
    says "interrupted"
    ended $signal regress --against "$tmp/bin/gnuplot" "$tmp/g.h5"
    says "interrupted"
done
finish
