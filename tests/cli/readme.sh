#!/bin/sh
# Each gcbench command in README.md works as written, with a part of the shipped gradients as
# grads.h5. Not run: commands that need another build, and the library's example.
#   readme.sh GCBENCH
. "$(dirname "$0")/lib.sh"
# Other tests run the same commands on smaller input under sanitizers.
! has_sanitizers || skip "this test reads what is printed; a sanitizer adds only time"
root=$(realpath "$(dirname "$0")/../..")
cd "$tmp" || exit 99
mkdir datasets dumps bin
ln -s "$root/datasets/sample.h5" datasets/sample.h5
check "a part of the sample" python3 -c "
import h5py
with h5py.File('datasets/sample.h5', 'r') as sample, h5py.File('grads.h5', 'w') as part:
    def copy(name, node):
        if isinstance(node, h5py.Dataset) and name.split('/')[2].startswith(('fc.', 'layers.0.')):
            sample.copy(node, part.require_group(node.parent.name), node.name.rpartition('/')[2])
    sample.visititems(copy)"
ln -s ../grads.h5 dumps/run1_1.h5
ln -s "$root/tests/data/net/link.json" link.json
ln -s "$GCBENCH" bin/gcbench
PATH=$tmp/bin:$PATH

# One line for each command: removes comments, and joins lines that end with \.
sed -n '/\\$/{:more;N;s/\\\n *//;/\\$/b more};s/^    \(\$ \)\{0,1\}\(gcbench .*\)/\2/p' "$root/README.md" |
    sed 's/ \{2,\}#.*//;s/ *$//' >commands
sed -n 's/.*`\(gcbench plot [^`]*\)`.*/\1/p' "$root/README.md" >>commands
sed -n 's/^| .* | `\(--[^`]*\)` | .*/gcbench payoff \1/p' "$root/README.md" >>commands # the table of networks
check "README has commands" test "$(wc -l <commands)" -ge 16
while read -r line; do
    case $line in
    *--against*) continue ;;                   # cli_regress_against has it
    "gcbench regress base.json"*) cp r.json base.json && cp r.json new.json ;;
    "gcbench plot"*) command -v gnuplot >/dev/null || continue ;;
    "gcbench payoff"*) line="$line --method qsgd" ;; # few methods, to save time
    "gcbench sweep"*) line="$line --method topk --method range" ;;
    "gcbench bench"*) line="$line --repeat 7" ;;
    esac
    last=$line
    timeout $((5 * hang)) sh -c "$line" >"$out" 2>"$err" </dev/null
    rc=$?
    exits 0
done <commands
finish
