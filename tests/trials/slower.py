#!/usr/bin/python3
"""Makes a copy of the source in which one method is slower, for trials of `regress`.

    slower.py FOLDER METHOD SHARE

In FOLDER/src/codec/coder.c encoding with METHOD goes on for SHARE of the time it took, doing nothing.
"""

import sys

folder, method, share = sys.argv[1], sys.argv[2], float(sys.argv[3])
path = folder + "/src/codec/coder.c"
call = "    err = c->method.codec->ops->encode(c->state, at, in, out);\n"
with open(path) as f:
    source = f.read()
if source.count(call) != 1:
    sys.exit(f"{path}: the call to slow down is not there once")
source = source.replace(call, f"""    const double began = gcb_clock();
{call}    if (strcmp(c->method.name, "{method}") == 0) {{
        const double until = gcb_clock() + {share} * (gcb_clock() - began);

        while (gcb_clock() < until)
            ;
    }}
""").replace('#include "src/base/alloc.h"\n', '#include "src/base/alloc.h"\n#include "src/base/clock.h"\n', 1)
with open(path, "w") as f:
    f.write(source)
