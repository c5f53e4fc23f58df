#include "src/tool/search/pareto.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"

/* Is `a` at least as good as `b` in every figure, and better in at least one? */
static bool beats(const double *a, const double *b, size_t figures)
{
    bool better = false;

    for (size_t i = 0; i < figures; i++) {
        if (!(a[i] <= b[i]))
            return false;
        better |= a[i] < b[i];
    }
    return better;
}

static bool has_all(const double *a, size_t figures)
{
    for (size_t i = 0; i < figures; i++)
        if (isnan(a[i]))
            return false;
    return true;
}

void gcb_pareto_mark(bool *mark, const double *cost, size_t count, size_t figures)
{
    for (size_t i = 0; i < count; i++) {
        mark[i] = has_all(cost + i * figures, figures);
        for (size_t k = 0; mark[i] && k < count; k++)
            mark[i] = !beats(cost + k * figures, cost + i * figures, figures);
    }
}

/* Can settings be compared by the field? A tally must have the figure, and either more or less of it must be better. */
static bool has_direction(enum gcb_field field)
{
    return gcb_tally_has_figure(field) && gcb_field_info(field)->better != GCB_BETTER_NEITHER;
}

static int parse_field(struct gcb_pareto_field *out, const char *name, struct gcb_diag *diag)
{
    const enum gcb_field field = gcb_field_find(name);
    const char *names[GCB_FIELDS], *near;
    size_t count = 0;
    char shown[64];

    if (has_direction(field)) {
        *out = (struct gcb_pareto_field){field, gcb_field_info(field)->better == GCB_BETTER_MORE};
        return 0;
    }
    for (enum gcb_field f = 0; f < GCB_FIELDS; f++)
        if (has_direction(f))
            names[count++] = gcb_field_name(f);
    near = gcb_suggest(name, names, count);
    gcb_escape(shown, sizeof(shown), name);
    if (near)
        return gcb_diag_set(diag, GCB_E_INVALID, "--pareto: no field '%s'; did you mean '%s'?",
                            shown, near);
    return gcb_diag_set(diag, GCB_E_INVALID,
                        "--pareto: no field '%s'; choose fields such as rel_l2, ratio and "
                        "encode_gbps",
                        shown);
}

int gcb_pareto_parse(struct gcb_pareto_field out[GCB_PARETO_FIELDS], size_t *count,
                     const char *text, struct gcb_diag *diag)
{
    char name[64];
    int err = 0;

    *count = 0;
    for (const char *p = text;; p++) {
        const size_t n = strcspn(p, ",");

        if (*count == GCB_PARETO_FIELDS)
            return gcb_diag_set(diag, GCB_E_INVALID, "--pareto takes at most %d fields",
                                GCB_PARETO_FIELDS);
        snprintf(name, sizeof(name), "%.*s", (int)(n < sizeof(name) ? n : sizeof(name)), p);
        err = parse_field(&out[*count], name, diag);
        for (size_t i = 0; !err && i < *count; i++)
            if (out[i].field == out[*count].field)
                err = gcb_diag_set(diag, GCB_E_INVALID, "--pareto: '%s' is given twice", name);
        if (err)
            return err;
        ++*count;
        p += n;
        if (*p == '\0')
            break;
    }
    return *count > 1 ? 0
                      : gcb_diag_set(diag, GCB_E_INVALID,
                                     "--pareto takes at least two fields: rel_l2,bits_per_element");
}

int gcb_pareto_totals(bool *mark, const struct gcb_run_result *result, const bool *left_out,
                      const struct gcb_pareto_field *fields, size_t count, struct gcb_diag *diag)
{
    const size_t n = result->method_count;
    double *cost = gcb_alloc_array(n * count, sizeof(*cost));

    if (!cost)
        return gcb_diag_nomem(diag, n * count * sizeof(*cost), "figures");
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < count; k++) {
            const struct gcb_run_total *total = &result->totals[i];
            const bool whole = total->tally.messages && !total->failure.status && !left_out[i];
            const double value =
                whole ? gcb_tally_figure(&total->tally, fields[k].field) : (double)NAN;

            cost[i * count + k] = fields[k].more ? -value : value;
        }
    gcb_pareto_mark(mark, cost, n, count);
    gcb_free(cost);
    return 0;
}
