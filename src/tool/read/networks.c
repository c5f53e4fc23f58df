#include "src/tool/read/synthetic.h"

#include <string.h>

#include "src/lib/base/text.h"

size_t gcb_network_layout(struct gcb_shape_row rows[GCB_LAYOUT_ROWS], const char *name)
{
    size_t n = 0;

    for (size_t i = 0; gcb_network_names[i]; i++)
        if (strcmp(name, gcb_network_names[i]) == 0)
            for (; n < GCB_LAYOUT_ROWS && gcb_network_rows[i][n].rank; n++)
                rows[n] = gcb_network_rows[i][n];
    return n;
}

int gcb_network_unknown(const char *name, const char *others, struct gcb_diag *diag)
{
    char names[80] = "";

    for (const char *const *p = gcb_network_names; *p; p++) {
        if (p > gcb_network_names)
            gcb_append(names, sizeof(names), "%s", p[1] ? ", " : " or ");
        gcb_append(names, sizeof(names), "%s", *p);
    }
    return gcb_invalid(diag, "unknown layout '%s'; give %s%s", gcb_show(name).text, others, names);
}

uint64_t gcb_shape_elements(const struct gcb_shape_row *row)
{
    uint64_t n = 1;

    for (unsigned i = 0; i < row->rank; i++)
        n *= row->dims[i];
    return n;
}
