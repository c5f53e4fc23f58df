#include "cli/compress_options.h"

#include <string.h>

#include "src/base/alloc.h"
#include "src/base/text.h"
#include "src/data/outfile.h"

static const char *const pers[] = {"message", "tensor", "step", "worker", "none", NULL};

const struct opt_row compress_own_rows[] = {
    {"per", 0, "WHAT",
     "a line per message, tensor, step or worker too; none: totals alone, in every format",
     OPT_CHOICE, offsetof(struct compress_own, per), 0, 0, pers},
    {"top", 0, "N", "at most N lines of --per, or N tensors that lose most (default 5)", OPT_INT,
     offsetof(struct compress_own, top), 1, 1e6, NULL},
    {"sort", 0, "FIELD", "sort lines by a field, largest first: rel_l2, ratio, encode_gbps, ...",
     OPT_TEXT, offsetof(struct compress_own, sort), 0, 0, NULL},
    {"no-baselines", 0, NULL, "no fp16 row for comparison", OPT_FLAG,
     offsetof(struct compress_own, no_baselines), 0, 0, NULL},
    {"histogram", 0, NULL, "rows of counts by magnitude, of input and of what was decoded",
     OPT_FLAG, offsetof(struct compress_own, histogram), 0, 0, NULL},
    {"spectrum", 0, NULL, "rows of energy by frequency and by magnitude, of both", OPT_FLAG,
     offsetof(struct compress_own, spectrum), 0, 0, NULL},
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

int compress_check(gcb_tally_figure_fn **sort, const struct compress_options *o,
                   struct gcb_diag *diag)
{
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
    if ((o->own.histogram || o->own.spectrum) && o->show.format != GCB_FORMAT_JSON &&
        !o->save.results)
        return gcb_diag_set(diag, GCB_E_INVALID,
                            "--histogram and --spectrum give rows: --format json or --results FILE "
                            "takes them");
    if (o->own.sort) {
        *sort = gcb_tally_figure(o->own.sort);
        if (!*sort)
            return unknown_field(o->own.sort, diag);
    }
    return o->make.output ? opt_make_check(&o->make, diag) : 0;
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
    if (o->own.no_baselines)
        return 0;
    with = gcb_alloc_array(*given + 1, sizeof(*with));
    if (!with)
        return gcb_diag_nomem(diag, 0, "the methods");
    memcpy(with, *out, *given * sizeof(*with));
    gcb_free(*out);
    *out = with;
    return gcb_method_parse(&with[(*count)++], "fp16", diag);
}
