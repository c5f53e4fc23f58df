#!/usr/bin/python3
"""Makes a copy of the source in which one method is slower, for trials of `regress`.

    slower.py FOLDER METHOD FILE

After encoding with METHOD, FOLDER/src/lib/coder/coder.c waits for a share of the time that the encoding took. FILE has the share.
"""

import sys

folder, method, share = sys.argv[1:]
path = folder + "/src/lib/coder/coder.c"
call = "    err = gcb_coder_ops(c)->encode(c->base.state, at, in, out);\n"
with open(path) as f:
    source = f.read()
if source.count(call) != 1:
    sys.exit(f"{path}: expected the call to slow down exactly once")
source = source.replace(call, f"""    static double share = -1.0;
    const double began = trial_clock();
{call}    if (strcmp(c->base.method.name, "{method}") == 0) {{
        double until;
        FILE *f = share < 0.0 ? fopen("{share}", "re") : NULL;

        if (share < 0.0 && (!f || fscanf(f, "%lf", &share) != 1))
            share = 0.0;
        if (f)
            fclose(f);
        until = trial_clock() + share * (trial_clock() - began);
        while (trial_clock() < until)
            ;
    }}
""").replace("#include <string.h>\n", """#include <stdio.h>
#include <string.h>
#include <time.h>

static double trial_clock(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
""", 1)
with open(path, "w") as f:
    f.write(source)
