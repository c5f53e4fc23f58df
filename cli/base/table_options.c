#include "cli/base/table_options.h"

#include "src/lib/base/text.h"

const struct opt_row opt_lines_rows[] = {
    {"sort", 0, "FIELD", "sort lines by a field, largest first: rel_l2, ratio, encode_gbps, ...",
     OPT_TEXT, offsetof(struct opt_lines, sort), 0, 0, NULL},
    {"no-baselines", 0, NULL, "no fp16 row for comparison", OPT_FLAG,
     offsetof(struct opt_lines, no_baselines), 0, 0, NULL},
    {.name = NULL},
};

const struct opt_row opt_shapes_rows[] = {
    {"histogram", 0, NULL, "rows of counts by magnitude, of input and of what was decoded",
     OPT_FLAG, offsetof(struct opt_shapes, histogram), 0, 0, NULL},
    {"spectrum", 0, NULL, "rows of energy by frequency and by magnitude, of both", OPT_FLAG,
     offsetof(struct opt_shapes, spectrum), 0, 0, NULL},
    {.name = NULL},
};

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
