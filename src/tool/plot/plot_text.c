#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/tool/plot/plot_draw.h"

int gcb_plot_svg(char **out, const struct gcb_plot *plot, const struct gcb_plot_data *data,
                 size_t page, const char *folder, struct gcb_diag *diag)
{
    const struct gcb_plot_job job = {plot, data, page, folder, GCB_PLOT_SVG, false};
    const int err = gcb_plot_draw(out, &job, diag);
    char *start;

    if (err)
        return err;
    start = strstr(*out, "<svg");
    if (!start) {
        gcb_free(*out);
        *out = NULL;
        return gcb_diag_set(diag, GCB_E_IO, "gnuplot drew no SVG");
    }
    memmove(*out, start, strlen(start) + 1);
    return 0;
}

/* Without the form feed in front, empty lines around the picture, and blanks at the ends of lines. */
static void trim(char *text)
{
    const char *next = text;
    char *to = text;
    size_t empty = 0; /* lines held back */

    while (*next) {
        const char *line = next + (*next == '\f');
        size_t n = strcspn(line, "\n");

        next = line + n + (line[n] == '\n');
        while (n && line[n - 1] == ' ')
            n--;
        if (n == 0) {
            empty++;
            continue;
        }
        for (; empty && to > text; empty--)
            *to++ = '\n';
        empty = 0;
        memmove(to, line, n);
        to += n;
        *to++ = '\n';
    }
    *to = '\0';
}

int gcb_plot_text(char **out, const struct gcb_plot *plot, const struct gcb_plot_data *data,
                  size_t page, const char *folder, struct gcb_diag *diag)
{
    const struct gcb_plot_job job = {plot, data, page, folder, GCB_PLOT_TEXT, false};
    const int err = gcb_plot_draw(out, &job, diag);

    if (!err)
        trim(*out);
    return err;
}
