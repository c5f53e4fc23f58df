#!/usr/bin/python3
"""Makes a copy of the source in which one method is slower, for trials of `regress`.

    slower.py FOLDER METHOD FILE

In FOLDER/src/lib/codec/coder.c encoding with METHOD goes on for a share of the time it took, doing nothing; FILE has the share.
"""

import sys

folder, method, share = sys.argv[1:]
path = folder + "/src/lib/codec/coder.c"
call = "    err = c->method.codec->ops->encode(c->state, at, in, out);\n"
with open(path) as f:
    source = f.read()
if source.count(call) != 1:
    sys.exit(f"{path}: the call to slow down is not there once")
source = source.replace(call, f"""    static double share = -1.0;
    const double began = gcb_clock();
{call}    if (strcmp(c->method.name, "{method}") == 0) {{
        double until;
        FILE *f = share < 0.0 ? fopen("{share}", "re") : NULL;

        if (share < 0.0 && (!f || fscanf(f, "%lf", &share) != 1))
            share = 0.0;
        if (f)
            fclose(f);
        until = gcb_clock() + share * (gcb_clock() - began);
        while (gcb_clock() < until)
            ;
    }}
""").replace('#include "src/lib/base/alloc.h"\n', '#include <stdio.h>\n\n#include "src/lib/base/alloc.h"\n#include "src/tool/base/clock.h"\n', 1)
with open(path, "w") as f:
    f.write(source)
