#include "src/tool/payoff/payoff_verdict.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/lib/base/text.h"

#define WORTH 1.1 /* how much more a collective that enlarges the error must gain to be mentioned */

/* ---- verdicts ---- */

/* Finds up to which bandwidth the method pays by a lossy collective, if that is further than without it. */
static void find_lossy_end(struct gcb_payoff_verdict *v, const struct gcb_link *link,
                           const struct gcb_payoff_loads *loads)
{
    const struct gcb_rivals rivals = {loads->baselines[GCB_BOUND_MEDIAN], GCB_BASELINES};
    struct gcb_payoff_ranges ranges;
    struct gcb_payoff_times t;
    struct gcb_link at = *link;

    ranges.count = gcb_payoff_bandwidths(ranges.items, link, &loads->lossy, &rivals);
    v->lossy_below = gcb_payoff_below(&ranges);
    if (!(v->lossy_below > WORTH * gcb_payoff_below(&v->ranges[GCB_BOUND_MEDIAN])))
        return;
    at.bandwidth = isinf(v->lossy_below) ? GCB_PAYOFF_FASTEST : v->lossy_below;
    gcb_payoff_exchange(&t, &at, &loads->lossy);
    v->lossy_there = t.collective;
}

static void find_ranges(struct gcb_payoff_verdict *v, const struct gcb_link *link,
                        const struct gcb_payoff_loads *loads, bool lossy)
{
    for (enum gcb_bound b = 0; b < GCB_BOUNDS; b++) {
        const struct gcb_rivals rivals = {loads->baselines[b], GCB_BASELINES};

        v->ranges[b].count = gcb_payoff_bandwidths(v->ranges[b].items, link,
                                                   &loads->method[GCB_BOUND_HIGH - b], &rivals);
    }
    if (lossy)
        find_lossy_end(v, link, loads);
}

void gcb_payoff_judge(struct gcb_payoff_verdict *out, const struct gcb_link *link,
                      const struct gcb_payoff_loads *loads, const struct gcb_payoff_verdict *known)
{
    const struct gcb_load *method = &loads->method[GCB_BOUND_MEDIAN];
    const struct gcb_rivals cheap = {loads->baselines[GCB_BOUND_LOW], GCB_BASELINES};
    const struct gcb_rivals dear = {loads->baselines[GCB_BOUND_HIGH], GCB_BASELINES};
    bool lossy;

    *out = (struct gcb_payoff_verdict){.bar = GCB_BASELINE_FP32};
    for (enum gcb_bound b = 0; b < GCB_BOUNDS; b++)
        gcb_payoff_exchange(&out->method[b], link, &loads->method[b]);
    for (enum gcb_baseline i = 0; i < GCB_BASELINES; i++) {
        gcb_payoff_exchange(&out->baselines[i], link, &loads->baselines[GCB_BOUND_MEDIAN][i]);
        out->speedups[i] = out->baselines[i].cost / out->method[GCB_BOUND_MEDIAN].cost;
        if (out->baselines[i].cost < out->baselines[out->bar].cost)
            out->bar = i;
    }
    out->least_speedup = gcb_payoff_least(NULL, link, &cheap) / out->method[GCB_BOUND_HIGH].cost;
    out->most_speedup = gcb_payoff_least(NULL, link, &dear) / out->method[GCB_BOUND_LOW].cost;
    out->answer = out->least_speedup > 1.0   ? GCB_PAYOFF_YES
                  : out->most_speedup <= 1.0 ? GCB_PAYOFF_NO
                                             : GCB_PAYOFF_UNDECIDED;
    out->least_ratio = gcb_payoff_least_ratio((method->encode + method->decode) / method->gradient,
                                              link->bandwidth);
    lossy = loads->lossy.collectives && gcb_payoff_exchange(&out->lossy, link, &loads->lossy);
    if (!lossy || WORTH * out->lossy.cost >= out->method[GCB_BOUND_MEDIAN].cost)
        out->lossy.collective = NULL;
    out->lossy_speedup =
        out->lossy.collective ? out->baselines[out->bar].cost / out->lossy.cost : NAN;
    gcb_payoff_workers(&out->least_workers, &out->most_workers, link,
                       &loads->method[GCB_BOUND_HIGH], &cheap);
    if (known) {
        memcpy(out->ranges, known->ranges, sizeof(out->ranges));
        out->lossy_below = known->lossy_below;
        out->lossy_there = known->lossy_there;
    } else {
        find_ranges(out, link, loads, lossy);
    }
}

void gcb_payoff_point(struct gcb_payoff_point *p, const struct gcb_payoff_baselines *baselines,
                      const struct gcb_link *link, const struct gcb_payoff_model *model,
                      const struct gcb_payoff_verdict *known)
{
    const struct gcb_payoff_case *measured = p->c ? p->c : baselines->cases[p->baseline];

    p->link = *link;
    p->rel_l2 = !p->c && p->baseline == GCB_BASELINE_FP32 ? 0.0 : measured ? measured->rel_l2 : NAN;
    gcb_payoff_load(&p->loads, &p->scale, p->group, baselines, model);
    for (enum gcb_bound b = 0; b < GCB_BOUNDS && !p->c; b++)
        p->loads.method[b] = p->loads.baselines[b][p->baseline];
    gcb_payoff_judge(&p->verdict, link, &p->loads, known);
    p->verdict.doubt = p->c ? p->scale.doubt : NULL;
    p->verdict.miss = p->scale.miss;
}

double gcb_payoff_below(const struct gcb_payoff_ranges *ranges)
{
    return ranges->count > 0 && ranges->items[0].from == 0.0 ? ranges->items[0].to : 0.0;
}

char *gcb_payoff_bandwidth_text(char *out, double bandwidth)
{
    static const struct {
        double from;
        const char *name;
    } units[] = {{1e12, "Tb/s"}, {1e9, "Gb/s"}, {1e6, "Mb/s"}, {1e3, "kb/s"}, {0.0, "b/s"}};
    const double bits = 8.0 * bandwidth;
    size_t i = 0;

    while (bits < 0.9995 * units[i].from)
        i++;
    if (bits < 1e15)
        snprintf(out, 32, "%.3g %s", units[i].from > 0.0 ? bits / units[i].from : bits,
                 units[i].name);
    else
        snprintf(out, 32, "%.2e %s", bits / units[i].from, units[i].name);
    return out;
}

/* ---- words ---- */

static char *ranges_text(char *out, size_t size, const struct gcb_payoff_ranges *r)
{
    char from[32], to[32];

    snprintf(out, size, r->count ? "" : "at no bandwidth");
    for (size_t i = 0; i < r->count; i++) {
        const struct gcb_payoff_range *at = &r->items[i];

        gcb_payoff_bandwidth_text(from, at->from);
        gcb_payoff_bandwidth_text(to, at->to);
        gcb_append(out, size, "%s", i > 0 ? " and " : "");
        if (isinf(at->to) && at->from > 0.0)
            gcb_append(out, size, "above %s", from);
        else if (isinf(at->to))
            gcb_append(out, size, "at any bandwidth");
        else if (at->from > 0.0)
            gcb_append(out, size, "between %s and %s", from, to);
        else
            gcb_append(out, size, "below %s", to);
    }
    return out;
}

/* Appends why the method does not pay. */
static void say_why(char *out, size_t size, const struct gcb_payoff_verdict *v)
{
    const struct gcb_payoff_times *m = &v->method[GCB_BOUND_MEDIAN], *bar = &v->baselines[v->bar];
    const char *name = gcb_baseline_names[v->bar];

    if (m->link_bytes >= 1.005 * bar->link_bytes)
        gcb_append(out, size, "sends %.3g times the bytes of %s", m->link_bytes / bar->link_bytes,
                   name);
    else if (m->link_bytes >= bar->link_bytes)
        gcb_append(out, size, "sends as many bytes as %s", name);
    else if (m->encode > bar->seconds)
        gcb_append(out, size, "encoding takes longer than sending %s", name);
    else if (m->add > bar->seconds)
        gcb_append(out, size, "adding %.6g messages takes longer than sending %s", m->adds, name);
    else if (m->copy > 0.0 && m->seconds - m->copy < bar->seconds)
        gcb_append(out, size, "copying to the host and back takes too long");
    else
        gcb_append(out, size, "coding takes longer than it saves");
}

static void say_workers(char *out, size_t size, const struct gcb_payoff_verdict *v,
                        const struct gcb_link *link)
{
    const bool ends = v->most_workers < GCB_PAYOFF_WORKERS;
    const bool begins = v->least_workers > 2 * link->per_node;

    if (begins && ends && v->least_workers == v->most_workers)
        gcb_append(out, size, "%u workers", v->least_workers);
    else if (begins && ends)
        gcb_append(out, size, "%u to %u workers", v->least_workers, v->most_workers);
    else if (begins)
        gcb_append(out, size, "%u workers or more", v->least_workers);
    else if (ends)
        gcb_append(out, size, "up to %u workers", v->most_workers);
    else
        gcb_append(out, size, "any number of workers");
}

static bool say_doubt(char *out, size_t size, const struct gcb_payoff_verdict *v)
{
    if (v->doubt)
        gcb_append(out, size, "doubtful: fitted and measured %s differ by %.0f %%", v->doubt,
                   100.0 * fmin(v->miss, 9.99));
    return v->doubt;
}

char *gcb_payoff_curve(char *out, size_t size, const struct gcb_payoff_verdict *v)
{
    char certain[160], perhaps[160], below[32];

    out[0] = '\0';
    if (say_doubt(out, size, v))
        return out;
    ranges_text(certain, sizeof(certain), &v->ranges[GCB_BOUND_LOW]);
    ranges_text(perhaps, sizeof(perhaps), &v->ranges[GCB_BOUND_HIGH]);
    if (v->ranges[GCB_BOUND_HIGH].count == 0) {
        gcb_append(out, size, "never: ");
        say_why(out, size, v);
    } else if (v->ranges[GCB_BOUND_LOW].count == 0) {
        gcb_append(out, size, "undecided; by the medians it pays %s",
                   ranges_text(perhaps, sizeof(perhaps), &v->ranges[GCB_BOUND_MEDIAN]));
    } else {
        gcb_append(out, size, "pays %s", certain);
        if (strcmp(certain, perhaps) != 0)
            gcb_append(out, size, ", perhaps %s", perhaps);
    }
    if (!v->lossy_there)
        return out;
    gcb_append(out, size, "; with a larger error by %s: ", v->lossy_there);
    if (isinf(v->lossy_below))
        gcb_append(out, size, "at any bandwidth");
    else
        gcb_append(out, size, "below %s", gcb_payoff_bandwidth_text(below, v->lossy_below));
    return out;
}

static void say_undecided(char *out, size_t size, const struct gcb_payoff_verdict *v)
{
    const char *bar = gcb_baseline_names[v->bar];

    if (v->least_speedup > 0.0 && isfinite(v->most_speedup))
        gcb_append(out, size, "undecided: %.3g to %.3g times as fast as %s", v->least_speedup,
                   v->most_speedup, bar);
    else
        gcb_append(out, size, "undecided: about %.3g times as fast as %s", v->speedups[v->bar],
                   bar);
}

char *gcb_payoff_here(char *out, size_t size, const struct gcb_payoff_verdict *v,
                      const struct gcb_link *link)
{
    const bool among = link->workers >= v->least_workers && link->workers <= v->most_workers;

    out[0] = '\0';
    if (say_doubt(out, size, v))
        return out;
    if (v->answer == GCB_PAYOFF_YES) {
        gcb_append(out, size, "pays with ");
        if (among)
            say_workers(out, size, v, link);
        else
            gcb_append(out, size, "%u workers", link->workers);
    } else if (v->answer == GCB_PAYOFF_UNDECIDED) {
        say_undecided(out, size, v);
    } else if (v->least_workers > 0) {
        gcb_append(out, size, "no, only with ");
        say_workers(out, size, v, link);
    } else {
        gcb_append(out, size, "no: ");
        say_why(out, size, v);
    }
    if (v->lossy_speedup > 1.0)
        gcb_append(out, size, "; with a larger error by %s: about %.3g times as fast",
                   v->lossy.collective, v->lossy_speedup);
    return out;
}

char *gcb_payoff_words(char *out, size_t size, const struct gcb_payoff_verdict *v,
                       const struct gcb_link *link)
{
    const struct gcb_payoff_times *bar = &v->baselines[v->bar], *m = &v->method[GCB_BOUND_MEDIAN];
    char here[GCB_PAYOFF_WORDS / 2], at[32];

    gcb_payoff_curve(out, size, v);
    if (v->doubt)
        return out;
    gcb_append(out, size, "; at %s with %u workers: %s",
               gcb_payoff_bandwidth_text(at, link->bandwidth), link->workers,
               gcb_payoff_here(here, sizeof(here), v, link));
    gcb_append(out, size, "; by %s (%s), %s by %s (%s)", m->collective, m->algorithm,
               gcb_baseline_names[v->bar], bar->collective, bar->algorithm);
    return out;
}
