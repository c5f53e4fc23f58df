#include "cli/base/param_text.h"

#include <stdio.h>
#include <string.h>

#include "src/lib/base/text.h"

char *param_range(char *out, size_t size, const struct gcb_param *p)
{
    char low[32], high[32];

    gcb_real_text(high, p->max);
    if (strlen(high) > 12) /* the largest float, say: nobody reads 17 digits */
        snprintf(high, sizeof(high), "%.3g", p->max);
    if (p->type != GCB_PARAM_CHOICE) {
        snprintf(out, size, "in [%s, %s%c", gcb_real_text(low, p->min), high,
                 p->flags & GCB_PARAM_OPEN_MAX ? ')' : ']');
        return out;
    }
    snprintf(out, size, "one of");
    for (size_t i = 0; p->choices[i]; i++)
        snprintf(out + strlen(out), size - strlen(out), "%s %s", i ? "," : "", p->choices[i]);
    return out;
}

char *param_help(char *out, size_t size, const struct gcb_param *p, bool condition)
{
    snprintf(out, size, "%s", p->help);
    for (size_t c = 0; p->complement[c]; c++)
        snprintf(out + strlen(out), size - strlen(out), "%s%s%s", c ? " or " : "; or give --",
                 c ? "--" : "", p->complement[c]);
    if (p->complement[0])
        snprintf(out + strlen(out), size - strlen(out), ", 1 - %s", p->name);
    if (condition && p->needs)
        snprintf(out + strlen(out), size - strlen(out), " (with %s)", p->needs);
    return out;
}
