#!/usr/bin/python3 -SE
"""A valgrind whose callgrind says what a file NAME.counts beside the program NAME says, so that tests know the truth:

    METHOD ENCODE DECODE        instructions; a METHOD that is not there makes the program fail as an unknown one does

In $FAKE_LOG, if it is set, each call appends its arguments after the program's name.
"""

import os
import sys

arguments = sys.argv[1:]
if arguments == ["--version"]:
    print("valgrind-3.19.0")
    sys.exit(0)
out = next(a.split("=", 1)[1] for a in arguments if a.startswith("--callgrind-out-file="))
at = next(i for i, a in enumerate(arguments) if not a.startswith("--"))
name, rest = arguments[at], arguments[at + 1:]
if "FAKE_LOG" in os.environ:
    with open(os.environ["FAKE_LOG"], "a") as log:
        log.write(" ".join([os.path.basename(name)] + rest) + "\n")
method = rest[rest.index("--method") + 1].split(":")[0]
with open(name + ".counts") as f:
    counts = {words[0]: words[1:] for words in map(str.split, f)}
if method not in counts:
    sys.exit(f"gcbench: unknown method '{method}'")
encode, decode = map(int, counts[method])
with open(out, "w") as f:
    # its own lines and those of its calls; other functions' do not count
    f.write(f"# callgrind format\nevents: Ir\n\nfn=gcb_coder_encode\n0 {encode // 2}\ncfn=gcb_sparse_encode\n"
            f"calls=3 0\n0 {encode - encode // 2}\n\nfn=other\n0 777\n\nfn=gcb_coder_decode\n0 {decode}\n")
