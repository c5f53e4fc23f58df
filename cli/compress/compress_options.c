#include "cli/compress/compress_options.h"

#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/tool/hdf5/outfile.h"

static const char *const pers[] = {"message", "tensor", "step", "worker", "none", NULL};

/* clang-format off */
const struct opt_row compress_own_rows[] = {
    {.name = "per", .metavar = "WHAT", .type = OPT_CHOICE,
     .offset = offsetof(struct compress_own, per), .choices = pers,
     .help = "a line per message, tensor, step or worker too; none: totals alone, in every format"},
    {.name = "top", .type = OPT_INT, .offset = offsetof(struct compress_own, top), .min = 1,
     .max = 1e6,
     .help = "at most N lines of --per, or N tensors that lose most (default 5)"},
    {.name = NULL},
};
/* clang-format on */

int compress_check(gcb_tally_figure_fn **sort, const struct compress_options *o,
                   struct gcb_diag *diag)
{
    int err;

    *sort = NULL;
    if (o->methods.specs.count == 0)
        return gcb_diag_set(diag, GCB_E_INVALID,
                            "no method given: --method fft --method topk, for example; "
                            "`gcbench methods` lists them");
    if (o->make.output && o->methods.specs.count > 1)
        return gcb_diag_set(diag, GCB_E_INVALID,
                            "-o keeps the messages of one method, and %zu are given",
                            o->methods.specs.count);
    if (o->make.output && o->save.results && gcb_outfile_same(o->make.output, o->save.results))
        return gcb_diag_set(diag, GCB_E_INVALID, "-o and --results name the same file");
    err = opt_shapes_check(&o->shapes, &o->show, &o->save, diag);
    if (!err)
        err = opt_lines_sort(sort, &o->lines, diag);
    return err || !o->make.output ? err : opt_make_check(&o->make, diag);
}

int compress_methods(struct gcb_method **out, size_t *given, size_t *count,
                     const struct compress_options *o, struct gcb_diag *diag)
{
    struct gcb_method *with;
    int err = opt_methods_resolve(out, given, &o->methods, diag);

    if (err)
        return err;
    *count = *given;
    for (size_t i = 0; i < *given; i++)
        if (strcmp((*out)[i].name, "fp16") == 0)
            return 0;
    if (o->lines.no_baselines)
        return 0;
    with = gcb_alloc_array(*given + 1, sizeof(*with));
    if (!with)
        return gcb_diag_nomem(diag, 0, "the methods");
    memcpy(with, *out, *given * sizeof(*with));
    gcb_free(*out);
    *out = with;
    return gcb_method_parse(&with[(*count)++], "fp16", diag);
}
