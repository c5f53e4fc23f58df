#include "cli/base/table_options.h"

#include "src/lib/base/text.h"

/* clang-format off */
const struct opt_row opt_lines_rows[] = {
    {.name = "sort", .metavar = "FIELD", .type = OPT_TEXT,
     .offset = offsetof(struct opt_lines, sort),
     .help = "sort lines by a field, largest first: rel_l2, ratio, encode_gbps, ..."},
    {.name = "no-baselines", .type = OPT_FLAG, .offset = offsetof(struct opt_lines, no_baselines),
     .help = "no fp16 row for comparison"},
    {.name = NULL},
};

const struct opt_row opt_shapes_rows[] = {
    {.name = "histogram", .type = OPT_FLAG, .offset = offsetof(struct opt_shapes, histogram),
     .help = "rows of counts by magnitude, of input and of what was decoded"},
    {.name = "spectrum", .type = OPT_FLAG, .offset = offsetof(struct opt_shapes, spectrum),
     .help = "rows of energy by frequency and by magnitude, of both"},
    {.name = NULL},
};
/* clang-format on */

static int unknown_field(const char *field, struct gcb_diag *diag)
{
    const char *names[32], *near;
    char shown[64];
    size_t n = 0;

    while (n < 32 && gcb_tally_figure_name(n)) {
        names[n] = gcb_tally_figure_name(n);
        n++;
    }
    near = gcb_suggest(field, names, n);
    gcb_escape(shown, sizeof(shown), field);
    if (near)
        return gcb_diag_set(diag, GCB_E_INVALID, "--sort: no field '%s'; did you mean '%s'?", shown,
                            near);
    return gcb_diag_set(diag, GCB_E_INVALID,
                        "--sort: no field '%s'; rel_l2, ratio and encode_gbps are some", shown);
}

int opt_lines_sort(gcb_tally_figure_fn **out, const struct opt_lines *in, struct gcb_diag *diag)
{
    *out = in->sort ? gcb_tally_figure(in->sort) : NULL;
    return !in->sort || *out ? 0 : unknown_field(in->sort, diag);
}

int opt_shapes_check(const struct opt_shapes *in, const struct opt_show *show,
                     const struct opt_save *save, struct gcb_diag *diag)
{
    if ((!in->histogram && !in->spectrum) || show->format == GCB_FORMAT_JSON || save->results)
        return 0;
    return gcb_diag_set(diag, GCB_E_INVALID,
                        "--histogram and --spectrum give rows: --format json or --results FILE "
                        "takes them");
}
