#ifndef SRC_TOOL_SEARCH_VARY_H
#define SRC_TOOL_SEARCH_VARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/lib/base/diag.h"
#include "src/lib/codec/param.h"

/*
 * Values of a parameter, as a user varies it: "KEY=v1,v2,...", or "KEY=LO..HI/COUNT", with `log` behind COUNT
 * for even steps of the logarithm. A parameter that has a complement (theta) is then stepped in the logarithm
 * of the complement, because a density is what spans decades. Ends are as written; what lies between them is
 * rounded to five significant digits, or to whole numbers, and equal ones stand once. LO may be above HI.
 */
#define GCB_VARY_TEXT 64  /* of a key or a value, with its end */
#define GCB_VARY_MAX 4096 /* values of a key */

struct gcb_vary {
    char key[GCB_VARY_TEXT];
    const char *list; /* "v1,v2,...", borrowed; NULL: a range */
    char low[GCB_VARY_TEXT], high[GCB_VARY_TEXT];
    uint64_t count; /* of a range */
    bool log;
};

/* GCB_E_INVALID with words. */
int gcb_vary_parse(struct gcb_vary *out, const char *text, struct gcb_diag *diag);

struct gcb_values {
    char (*text)[GCB_VARY_TEXT]; /* count of them, to be set under the key */
    size_t count;
};

/* For a row that has the key as its name or complement. Values of a list are not looked at; ends of a range have
 * to be the parameter's. Release with gcb_values_fini, also on failure. */
int gcb_vary_values(struct gcb_values *out, const struct gcb_vary *v, const struct gcb_param *p,
                    struct gcb_diag *diag);
void gcb_values_fini(struct gcb_values *v); /* zeroed is fine */

#endif
