#include <math.h>

#include "cli/payoff/payoff_table.h"
#include "src/tool/print/number.h"

/* Coding times, unlike the link's, are what other work on the machine made of them. */
static void note_load(FILE *out, const struct gcb_payoff_case *c)
{
    if (c->load1 > 0.5 * c->cpus)
        fprintf(out, "note: measured at load %.1f on %.0f cpu%s: times may be too long\n", c->load1,
                c->cpus, c->cpus == 1.0 ? "" : "s");
}

/* A single run says what the machine did at that moment. */
static void note_runs(FILE *out, const struct payoff_view *v)
{
    size_t methods = 0, once = 0;
    char some[48] = "", text[200];

    for (size_t i = 0; i < v->methods; i++) {
        const struct gcb_payoff_case *c = v->points[i * v->bandwidths].c;

        methods += c != NULL;
        once += c && c->once;
    }
    if (once == 0)
        return;
    if (once < methods)
        snprintf(some, sizeof(some), "of %zu method%s ", once, once == 1 ? "" : "s");
    snprintf(text, sizeof(text),
             "times %sof one run each, so another run's verdicts may differ: --repeat 9 of sweep, "
             "bench or compress gives medians",
             some);
    opt_wrap(out, text, fprintf(out, "note:"), 2);
}

/* Adding is no measured time: one number for the machine, which may be a poor one, decides it. */
static void note_adding(FILE *out, const struct payoff_view *v)
{
    const struct gcb_payoff_point *most = NULL;
    double largest = 1.0 / 3.0;
    char share[32], text[500];

    for (size_t i = 0; i < v->methods * v->bandwidths; i++) {
        const struct gcb_exchange *e = &v->points[i].verdict.method;

        if (v->points[i].c && e->add > largest * e->seconds) {
            most = &v->points[i];
            largest = e->add / e->seconds;
        }
    }
    if (!most)
        return;
    snprintf(text, sizeof(text),
             "adding decoded gradients is up to %s of a method's total (%s); it rests on "
             "copy_gbps %.3g, measured in that run",
             gcb_percent(share, largest), most->c->label, 1e-9 * most->of->copy);
    opt_wrap(out, text, fprintf(out, "note:"), 2);
}

/* Speed at different errors is no comparison. Where a search has done what can be done, only those that it failed on
 * are told. */
static void note_errors(FILE *out, const struct payoff_view *v)
{
    double least = INFINITY, most = 0.0;
    size_t methods = 0, searched = 0, missed = 0;

    for (size_t i = 0; i < v->methods; i++) {
        const struct gcb_payoff_point *p = &v->points[i * v->bandwidths];

        if (!p->c || isnan(p->rel_l2))
            continue;
        least = fmin(least, p->rel_l2);
        most = fmax(most, p->rel_l2);
        methods++;
        searched += p->c->searched;
        missed += p->c->missed;
    }
    if (methods > 0 && searched == methods) {
        if (missed)
            fprintf(out, "note: %zu of these cannot meet the search's target: see rel L2\n",
                    missed);
    } else if (most > 1.5 * least)
        opt_wrap(out,
                 "these settings lose differently much: `gcbench sweep --match rel_l2=0.4 "
                 "--repeat 9 --results s.json FILE`, then `gcbench payoff s.json`, compares at "
                 "equal error",
                 fprintf(out, "note:"), 2);
}

static void note_doubt(FILE *out, const struct payoff_view *v)
{
    bool any = false;

    for (size_t i = 0; i < v->methods; i++)
        any |= v->points[i * v->bandwidths].verdict.doubt != NULL;
    if (any)
        opt_wrap(out,
                 "* and doubtful: by lines that miss what was measured; messages were not all "
                 "coded in one way, large ones leave the caches, or the machine was busy",
                 fprintf(out, "note:"), 2);
}

void payoff_show_notes(const struct out_report *report, const struct payoff_view *view,
                       bool half_measured)
{
    const struct gcb_payoff_point *p = view->points;
    bool scaled = false, fitted = true, beyond = false;

    for (size_t i = 0; i < view->methods; i++) {
        const struct gcb_payoff_point *q = p + i * view->bandwidths;

        fitted &= q->scale.fitted;
        scaled |= q->scale.fitted;
        beyond |= q->scale.beyond;
    }
    if (scaled && fitted)
        fprintf(report->out, "note: times by lines through those measured, a part for each message "
                             "and one\n  for each byte\n");
    else if (beyond)
        fprintf(report->out, "note: times in proportion to those measured: messages of one size "
                             "tell no more\n");
    if (beyond)
        fprintf(report->out, "note: messages of another size than any measured, so times are "
                             "extrapolated\n");
    if (p->scale.bytes != 4.0 * p->of->total.elements / p->of->exchanges)
        fprintf(report->out, "note: rel L2 is of the tensors measured, not of a gradient of the "
                             "size asked for\n");
    note_doubt(report->out, view);
    if (!half_measured)
        fprintf(report->out,
                "note: fp16's conversions are free here; the results have no fp16 row\n");
    if (!(p->of->copy > 0.0))
        fprintf(report->out, "adding gradients up is free here; the results have no copy_gbps\n");
    note_adding(report->out, view);
    note_runs(report->out, view);
    note_load(report->out, p->of);
    note_errors(report->out, view);
    if (p->of->summary_only)
        fprintf(report->out, "note: of a summary: its whole input counts as one exchange\n");
    if (view->bandwidths > PAYOFF_SHOWN)
        fprintf(report->out, "note: %d of %zu bandwidths; --format json has all\n", PAYOFF_SHOWN,
                view->bandwidths);
}
