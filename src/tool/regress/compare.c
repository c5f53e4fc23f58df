#include "src/tool/regress/compare.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/codec/method.h"

double gcb_compare_tolerance(const struct gcb_case *c)
{
    const char *device = c->text[GCB_CASE_DEVICE];
    struct gcb_method method;

    if (device[0] && strcmp(device, "cpu") != 0)
        return GCB_TOLERANCE;
    return !gcb_method_parse(&method, c->text[GCB_CASE_SPEC], NULL) &&
                   gcb_method_caps(&method) & GCB_CAP_LIBRARY_MATH
               ? GCB_TOLERANCE
               : 0.0;
}

static int compare_size(struct gcb_verdicts *out, const struct gcb_match *m)
{
    const struct gcb_case *a = m->base, *b = m->next;
    const double was = (double)a->wire_bytes, is = (double)b->wire_bytes;
    const bool near = gcb_compare_tolerance(a) > 0.0 && a->header_bytes == b->header_bytes &&
                      fabs(is - was) <= GCB_TOLERANCE * was;
    struct gcb_verdict *v = gcb_verdicts_add(out, m, GCB_OF_SIZE, GCB_SAME);

    if (!v)
        return GCB_E_NOMEM;
    v->base = was;
    v->next = is;
    v->ratio = is / was;
    if (is == was || near)
        return 0;
    v->kind = is > was ? GCB_LARGER : GCB_SMALLER;
    return gcb_verdict_say(v, "%+.0f bytes in %" PRIu64 " message%s, of them %+.0f in headers",
                           is - was, b->messages, b->messages == 1 ? "" : "s",
                           (double)b->header_bytes - (double)a->header_bytes);
}

/* -1, 0, 1: b is better, the same, worse than a; NAN is worse than any figure. */
static int worse(double a, double b, double tolerance)
{
    if (isnan(a) || isnan(b))
        return (int)isnan(b) - (int)isnan(a);
    if (fabs(b - a) <= tolerance)
        return 0;
    return b > a ? 1 : -1;
}

static int compare_error(struct gcb_verdicts *out, const struct gcb_match *m)
{
    const struct gcb_case *a = m->base, *b = m->next;
    const bool near = gcb_compare_tolerance(a) > 0.0;
    const char *figure = "rel_l2";
    double was = a->rel_l2, is = b->rel_l2;
    int way = worse(was, is, near ? GCB_TOLERANCE : 0.0);
    struct gcb_verdict *v = gcb_verdicts_add(out, m, GCB_OF_ERROR, GCB_SAME);

    if (!v)
        return GCB_E_NOMEM;
    v->base = was;
    v->next = is;
    v->ratio = is / was;
    if (way == 0 && !near) {
        figure = "cosine";
        was = a->cosine;
        is = b->cosine;
        way = isnan(was) || isnan(is) ? worse(was, is, 0.0) : worse(-was, -is, 0.0);
    }
    if (way == 0 && !near) {
        figure = "max_abs_error";
        was = a->max_abs_error;
        is = b->max_abs_error;
        way = worse(was, is, 0.0);
    }
    if (way == 0)
        return 0;
    v->kind = way > 0 ? GCB_WORSE : GCB_BETTER;
    return gcb_verdict_say(v, "%s is %.12g, was %.12g", figure, is, was);
}

static const char *status_words(const struct gcb_case *c)
{
    static const char *const words[] = {"ran", "is not supported", "failed", "was interrupted"};

    return words[c->status];
}

/* A case of which at least one side is not there or did not work. */
static int compare_presence(struct gcb_verdicts *out, const struct gcb_match *m)
{
    const struct gcb_case *a = m->base, *b = m->next;
    const char *why = b && b->status && b->reason ? b->reason : a && a->reason ? a->reason : NULL;
    const char *colon = why ? ": " : "";
    struct gcb_verdict *v = gcb_verdicts_add(out, m, GCB_OF_CASE, GCB_NOT_COMPARED);

    if (!v)
        return GCB_E_NOMEM;
    why = why ? why : "";
    if (!b) {
        v->kind = GCB_GONE;
        return gcb_verdict_say(v, "the new run has no such case");
    }
    if (!a) {
        v->kind = GCB_NEW;
        return gcb_verdict_say(v, "the base has no such case");
    }
    if (a->status == GCB_CASE_OK && b->status == GCB_CASE_FAILED) {
        v->kind = GCB_GONE;
        return gcb_verdict_say(v, "it failed, and worked in the base%s%.200s", colon, why);
    }
    if (a->status == GCB_CASE_FAILED && b->status == GCB_CASE_OK) {
        v->kind = GCB_NEW;
        return gcb_verdict_say(v, "it failed in the base%s%.200s", colon, why);
    }
    return gcb_verdict_say(v, "it %s in the base and %s in the new run%s%.200s", status_words(a),
                           status_words(b), colon, why);
}

static int compare_inputs(struct gcb_verdicts *out, const struct gcb_runs *runs,
                          const struct gcb_match *m, bool *same)
{
    const struct gcb_case *a = m->base, *b = m->next;
    const bool counts = a->elements == b->elements && a->messages == b->messages &&
                        a->input_bytes == b->input_bytes;
    struct gcb_verdict *v;

    *same = counts && !gcb_places_inputs_differ(runs->base.environment, runs->next.environment,
                                                a->text[GCB_CASE_FILE]);
    if (*same)
        return 0;
    v = gcb_verdicts_add(out, m, GCB_OF_CASE, GCB_NOT_COMPARED);
    if (!v)
        return GCB_E_NOMEM;
    if (counts)
        return gcb_verdict_say(v, "the input file has other contents");
    return gcb_verdict_say(v,
                           "the inputs differ: %" PRIu64 " elements in %" PRIu64
                           " messages against %" PRIu64 " in %" PRIu64,
                           b->elements, b->messages, a->elements, a->messages);
}

int gcb_compare_rows(struct gcb_verdicts *out, const struct gcb_runs *runs,
                     const struct gcb_match *match, bool *timed, struct gcb_diag *diag)
{
    const struct gcb_case *a = match->base, *b = match->next;
    bool same = false;
    int err = 0;

    if (!a || !b || a->status || b->status)
        err = compare_presence(out, match);
    else if (a->kernel)
        same = true;
    else
        err = compare_inputs(out, runs, match, &same);
    if (!err && same && !a->kernel) {
        err = compare_size(out, match);
        if (!err)
            err = compare_error(out, match);
    }
    if (timed)
        *timed = same;
    return err ? gcb_diag_nomem(diag, 0, "verdicts") : 0;
}

/* The rule of two runs: the best of each have to say so too. */
static enum gcb_verdict_kind judge(const struct gcb_verdict *v, double best)
{
    const enum gcb_verdict_kind kind = gcb_verdict_judge(v->low, v->high, v->delta);

    return kind == GCB_SAME || kind == gcb_verdict_judge(best, best, v->delta) ? kind
                                                                               : GCB_AMBIGUOUS;
}

static int compare_time(struct gcb_verdict *v, const struct gcb_case_time *a,
                        const struct gcb_case_time *b, const char *apart)
{
    const double best = b->min / a->min;

    v->base = a->seconds;
    v->next = b->seconds;
    v->ratio = b->seconds / a->seconds;
    v->low = b->low / a->high;
    v->high = b->high / a->low;
    if (apart[0])
        return gcb_verdict_say(v, "%s", apart);
    if (isnan(v->low) || isnan(v->high) || isnan(best))
        return gcb_verdict_say(v, "too few samples for an interval (`bench` without --repeat takes "
                                  "enough)");
    v->kind = judge(v, best);
    if (v->kind == GCB_SAME)
        return 0;
    return gcb_verdict_say(v, "%+.1f %% (%+.1f to %+.1f %%); the best run %+.1f %%",
                           100.0 * (v->ratio - 1.0), 100.0 * (v->low - 1.0),
                           100.0 * (v->high - 1.0), 100.0 * (best - 1.0));
}

static int compare_times(struct gcb_verdicts *out, const struct gcb_match *m, double delta,
                         const char *differ)
{
    const char *isa[2] = {m->base->text[GCB_CASE_ISA], m->next->text[GCB_CASE_ISA]};
    char apart[400];
    int err = 0;

    snprintf(apart, sizeof(apart), "%s", differ);
    if (!apart[0] && strcmp(isa[0], isa[1]) != 0)
        snprintf(apart, sizeof(apart), "isa differs: %.40s, was %.40s", isa[1], isa[0]);
    for (int i = 0; !err && i < (m->base->kernel ? 1 : 2); i++) {
        struct gcb_verdict *v = gcb_verdicts_add(
            out, m, m->base->kernel ? GCB_OF_KERNEL : GCB_OF_ENCODE + (enum gcb_quantity)i,
            GCB_NOT_COMPARED);

        if (!v)
            return GCB_E_NOMEM;
        v->delta = delta;
        err = compare_time(v, &m->base->time[i], &m->next->time[i], apart);
    }
    return err;
}

/* "environments differ: cpu_model, kernel", or nothing. */
static void differences(char *out, size_t size, const struct gcb_runs *runs)
{
    struct gcb_place_difference fields[24];
    const size_t count =
        gcb_places_differ(fields, 24, runs->base.environment, runs->next.environment);
    size_t used = 0;

    out[0] = '\0';
    for (size_t i = 0; i < count && i < 24 && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%s",
                                 i ? ", " : "other environment: ", fields[i].field);
}

int gcb_compare_runs(struct gcb_verdicts *out, const struct gcb_runs *runs, double delta,
                     struct gcb_diag *diag)
{
    struct gcb_match *matches = NULL;
    size_t count = 0;
    char differ[400];
    int err = gcb_match_cases(&matches, &count, &runs->base, &runs->next, diag);

    differences(differ, sizeof(differ), runs);
    for (size_t i = 0; !err && i < count; i++) {
        bool timed = false;

        err = gcb_compare_rows(out, runs, &matches[i], &timed, diag);
        if (!err && timed && compare_times(out, &matches[i], delta, differ))
            err = gcb_diag_nomem(diag, 0, "verdicts");
    }
    gcb_free(matches);
    return err;
}
