#include "cli/exchange/exchange.h"

#include "src/lib/base/diag.h"
#include "src/lib/base/text.h"
#include "src/tool/base/memory.h"

#define EXCHANGE_MOST_BYTES (UINT64_C(1) << 36) /* largest synthetic gradient */

/* clang-format off */
const struct opt_row exchange_work_rows[] = {
    {OPT_ROW("algorithm", LIST, exchange_own, algorithms), .metavar = "NAME",
     .choices = gcb_net_algorithm_names,
     .help = "what moves the bytes: library (functions of the MPI library, default), ring or "
             "doubling; repeatable: every method then runs with each"},
    {OPT_ROW("no-baselines", FLAG, exchange_own, no_baselines),
     .help = "do not add fp32, fp16 and bf16"},
    {OPT_ROW("repeat", U64, exchange_own, repeats), .min = 1, .max = 100000, .initial = 21,
     .help = "exchange N times with each method (default 21)"},
    {OPT_ROW("time-limit", TIME, exchange_own, seconds), .initial = 60,
     .help = "begin no repeat after TIME, for each size (default 60s)"},
    {OPT_ROW("no-serial", FLAG, exchange_own, no_serial),
     .help = "do not compare with a serial exchange, for which rank 0 holds the gradients of all "
             "workers; ranks are still compared with each other"},
    {.name = NULL},
};

const struct opt_row exchange_input_rows[] = {
    {OPT_ROW("elements", SIZE, exchange_own, elements), .metavar = "N", .min = 1,
     .max = EXCHANGE_MOST_BYTES / 4,
     .help = "instead of FILE: synthetic gradients of N elements"},
    {OPT_ROW("sizes", TEXT, exchange_own, sizes), .metavar = "A-B/xF",
     .help = "instead of FILE: synthetic gradients of A, A F, A F^2, ..., B bytes: 64K-64M/x4"},
    {OPT_ROW("dist", TEXT, exchange_own, dist), .metavar = "DIST", .choices = opt_dists,
     .help = "their distribution, as in `gcbench generate` (default laplace)"},
    {.name = NULL},
};

const struct opt_row exchange_link_rows[] = {
    {OPT_ROW("calibrate", FLAG, exchange_own, calibrate),
     .help = "measure the network too: transfers of several sizes from each rank to the next, in "
             "turn with the exchanges"},
    {OPT_ROW("coding", TEXT, exchange_own, coding), .metavar = "RESULTS",
     .help = "in a simulated cluster: how long encoding, decoding and adding take (default: no "
             "time); rows of `gcbench bench`"},
    {.name = NULL},
};
/* clang-format on */

bool exchange_is_baseline(const struct gcb_method *method)
{
    return gcb_method_collective(method) == GCB_COLLECTIVE_ALLREDUCE && method->codec->baseline;
}

/* Appends the baselines that are not among the methods. */
static int add_baselines(struct gcb_method **methods, size_t *count, struct gcb_diag *diag)
{
    static const char *const specs[] = {"identity", "fp16", "bf16"}; /* identity sends fp32 */
    const size_t named = *count;
    char spec[64];
    int err = 0;

    for (size_t b = 0; !err && b < sizeof(specs) / sizeof(specs[0]); b++) {
        bool there = false;

        for (size_t i = 0; i < named; i++)
            there |=
                strcmp((*methods)[i].name, specs[b]) == 0 && exchange_is_baseline(&(*methods)[i]);
        snprintf(spec, sizeof(spec), "%s:collective=allreduce", specs[b]);
        if (!there)
            err = opt_methods_append(methods, count, spec, diag);
    }
    return err;
}

int exchange_make_lanes(struct gcb_lane **out, size_t *count, const struct exchange_options *o,
                        struct gcb_diag *diag)
{
    const struct opt_list *names = &o->own.algorithms;
    bool chosen[GCB_NET_ALGORITHMS] = {[GCB_NET_LIBRARY] = names->count == 0};
    struct gcb_method *methods = NULL;
    size_t method_count = 0;
    int algorithm, err = 0;

    *out = NULL;
    *count = 0;
    for (size_t i = 0; !err && i < names->count; i++) {
        err = gcb_choose(&algorithm, "--", "algorithm", gcb_net_algorithm_names, names->items[i],
                         diag);
        if (!err)
            chosen[algorithm] = true;
    }
    if (!err)
        err = opt_methods_resolve(&methods, &method_count, &o->methods, NULL, diag);
    if (!err && (method_count || !o->own.calibrate) && !o->own.no_baselines)
        err = add_baselines(&methods, &method_count, diag);
    if (!err && !method_count && !o->own.calibrate)
        err = gcb_invalid(diag, "no method given: add --method topk, for example");
    if (!err)
        *out = gcb_must_zero(method_count * GCB_NET_ALGORITHMS, sizeof(**out));
    for (size_t i = 0; !err && i < method_count; i++)
        for (enum gcb_net_algorithm a = 0; a < GCB_NET_ALGORITHMS; a++)
            if (chosen[a])
                (*out)[(*count)++] = (struct gcb_lane){.method = methods[i], .algorithm = a};
    gcb_free(methods);
    return err;
}

int exchange_sizes(uint64_t sizes[EXCHANGE_SIZES], size_t *count, const struct exchange_own *own,
                   struct gcb_diag *diag)
{
    const char *text = own->sizes;
    char part[3][24] = {"", "", ""};
    uint64_t from, to, factor;
    int end = 0;

    *count = 0;
    if (own->elements)
        sizes[(*count)++] = own->elements;
    if (!text)
        return 0;
    if (sscanf(text, "%23[0-9A-Za-z.]-%23[0-9A-Za-z.]/x%23[0-9]%n", part[0], part[1], part[2],
               &end) != 3 ||
        text[end] || !gcb_parse_size(part[0], &from) || !gcb_parse_size(part[1], &to) ||
        !gcb_parse_size(part[2], &factor) || from < sizeof(float) || to < from ||
        to > EXCHANGE_MOST_BYTES || factor < 2)
        return gcb_invalid(diag, "--sizes: give the smallest size, the largest (at most 64G), and "
                                 "a factor from 2 on: 64K-64M/x4");
    for (uint64_t bytes = from; bytes <= to; bytes *= factor) {
        if (*count == EXCHANGE_SIZES)
            return gcb_invalid(diag, "--sizes %s: more than %d sizes; give a larger factor", text,
                               EXCHANGE_SIZES);
        sizes[(*count)++] = bytes / sizeof(float);
        if (bytes > to / factor) /* bytes * factor might overflow */
            break;
    }
    return 0;
}
