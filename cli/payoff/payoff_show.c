#include "cli/payoff/payoff_show.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "src/lib/base/text.h"
#include "src/tool/base/columns.h"
#include "src/tool/print/number.h"

/* ---- the table ---- */

static const char *point_name(const struct gcb_payoff_point *p)
{
    return p->c ? p->c->label : gcb_baseline_names[p->baseline];
}

static char *error_text(char *out, const struct gcb_payoff_point *p)
{
    if (p->rel_l2 < 0.001) /* no wider than the title of the column */
        return strcpy(out, p->rel_l2 > 0.0 ? "<0.001" : "0");
    return gcb_field_number(out, GCB_FIELD_REL_L2, p->rel_l2, 0);
}

/* Appends "*" to a doubtful figure. Returns out. */
static char *mark_doubt(char *out, const struct gcb_payoff_point *p)
{
    return p->verdict.doubt ? strcat(out, "*") : out;
}

/* Writes a speed-up, no wider than the title of its column. */
static char *times_text(char *out, double times, const struct gcb_payoff_point *p)
{
    if (times < 0.001)
        return strcpy(out, "<0.001");
    return mark_doubt(gcb_number(out, times, p->verdict.doubt ? 2 : 3), p);
}

static void add_terms(struct gcb_table *table, const struct gcb_payoff_point *p)
{
    const struct gcb_payoff_times *e = &p->verdict.method[GCB_BOUND_MEDIAN];
    const double times[] = {e->encode + e->copy, e->wire + e->sizes + e->inside,
                            e->decode + e->add + e->average, e->cost};
    char text[32];

    gcb_table_cell(table, point_name(p));
    gcb_table_cell(table, error_text(text, p));
    for (size_t i = 0; i < 4; i++)
        gcb_table_cell(table, gcb_seconds(text, times[i]));
    gcb_table_cell(table, times_text(text, p->verdict.speedups[p->verdict.bar], p));
}

static int show_terms(const struct out_report *report, const struct payoff_view *v,
                      struct gcb_diag *diag)
{
    const bool overlapped = !isnan(v->points->loads.method->compute);
    char bar[16];
    const struct gcb_table_column columns[] = {
        {.title = "method", .elastic = true},
        {.title = "rel L2"},
        {.title = "encode"},
        {.title = "wire"},
        {.title = "add"},
        {.title = overlapped ? "exposed" : "total"},
        {.title = bar},
    };
    struct gcb_table *table;

    snprintf(bar, sizeof(bar), "x %s", gcb_baseline_names[v->points->verdict.bar]);
    table = gcb_table_create(columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < v->methods; i++)
        add_terms(table, &v->points[i]);
    return out_table(report, table, diag);
}

/* The index of the i-th bandwidth in the table. It shows all, or PAYOFF_SHOWN of them from the first to the last. */
static size_t shown_at(const struct payoff_view *v, size_t i)
{
    return v->bandwidths <= PAYOFF_SHOWN ? i : i * (v->bandwidths - 1) / (PAYOFF_SHOWN - 1);
}

static size_t shown_count(const struct payoff_view *v)
{
    return v->bandwidths < PAYOFF_SHOWN ? v->bandwidths : PAYOFF_SHOWN;
}

static void add_curve(struct gcb_table *table, const struct payoff_view *v, size_t method)
{
    const struct gcb_payoff_point *p = v->points + method * v->bandwidths;
    char text[32];

    gcb_table_cell(table, point_name(p));
    gcb_table_cell(table, error_text(text, p));
    for (size_t i = 0; i < shown_count(v); i++)
        gcb_table_cell(
            table,
            mark_doubt(gcb_seconds(text, p[shown_at(v, i)].verdict.method[GCB_BOUND_MEDIAN].cost),
                       p));
}

static int show_curves(const struct out_report *report, const struct payoff_view *v,
                       struct gcb_diag *diag)
{
    const size_t shown = shown_count(v);
    struct gcb_table_column columns[PAYOFF_SHOWN + 2] = {{.title = "method", .elastic = true},
                                                         {.title = "rel L2"}};
    char titles[PAYOFF_SHOWN][32];
    struct gcb_table *table = gcb_table_create(columns, shown + 2);

    for (size_t i = 0; i < shown; i++) {
        gcb_payoff_bandwidth_text(titles[i], v->points[shown_at(v, i)].link.bandwidth);
        columns[2 + i] = (struct gcb_table_column){.title = titles[i]};
    }
    for (size_t i = 0; i < v->methods; i++)
        add_curve(table, v, i);
    return out_table(report, table, diag);
}

/* Writes a size: "105 MB", or "105 MB (100 MiB)" if it is a whole number of MiB. */
static char *size_text(char *out, double bytes)
{
    char *end = gcb_bytes(out, bytes);
    const double mib = bytes / 0x1p20;

    end += strlen(end);
    if (mib >= 1.0 && mib < 1e6 && mib == floor(mib))
        snprintf(end, 32, " (%.0f MiB)", mib);
    return out;
}

static void describe_network(char *out, size_t size, const struct payoff_view *v)
{
    const struct gcb_link *link = &v->points->link;
    char latency[32], rate[32], name[48];

    gcb_append(out, size, ", %u workers", link->workers);
    if (link->per_node > 1)
        gcb_append(out, size, " in %u nodes, %s inside", link->workers / link->per_node,
                   gcb_payoff_bandwidth_text(rate, link->intra));
    if (link->topology != GCB_TOPOLOGY_BEST)
        gcb_append(out, size, ", %s", gcb_topology_names[link->topology]);
    if (link->curve)
        gcb_append(out, size, ", network of %s", gcb_escape(name, sizeof(name), link->curve->path));
    else
        gcb_append(out, size, ", %s latency", gcb_seconds(latency, link->latency));
    if (v->bandwidths == 1)
        gcb_append(out, size, ", %s", gcb_payoff_bandwidth_text(rate, link->bandwidth));
}

/* Prints two lines: what is exchanged and how, and which case the times are from. */
static void show_head(FILE *out, const struct payoff_view *v)
{
    const struct gcb_payoff_point *p = v->points;
    const struct gcb_payoff_case *c = p->group;
    const struct gcb_load *load = p->loads.method;
    char bytes[64], time[32], name[48], text[400];

    snprintf(text, sizeof(text), "gradient of %s, %.6g message%s in %.6g transfer%s",
             size_text(bytes, p->scale.bytes), p->scale.messages,
             p->scale.messages == 1.0 ? "" : "s", p->scale.transfers,
             p->scale.transfers == 1.0 ? "" : "s");
    describe_network(text, sizeof(text), v);
    if (!isnan(load->compute))
        gcb_append(text, sizeof(text), ", %s %s of computation",
                   load->inner_steps > 1.0 ? "after" : "overlapping",
                   gcb_seconds(time, load->compute));
    if (load->inner_steps > 1.0)
        gcb_append(text, sizeof(text), ", once in %.6g steps", load->inner_steps);
    opt_wrap(out, text, 0, 0);
    opt_wrapf(
        out, 0, 0, "times of %s: scope %s, %s, %" PRIu64 " thread%s, %s%s%s",
        gcb_escape(name, sizeof(name), strcmp(c->path, "-") == 0 ? "standard input" : c->path),
        c->scope, c->device, c->threads, c->threads == 1 ? "" : "s", c->isa,
        c->cache[0] ? ", cache " : "", c->cache);
}

/* The widest name of a method that has a verdict next to it; longer names have a line of their own. */
#define NAME_MOST 24

static size_t find_name_width(const struct payoff_view *view)
{
    size_t width = 0;

    for (size_t i = 0; i < view->methods; i++) {
        const struct gcb_payoff_point *p = view->points + i * view->bandwidths;
        const size_t own = gcb_text_columns(point_name(p));

        if (p->c && own > width && own <= NAME_MOST)
            width = own;
    }
    return width;
}

/* Prints the verdict of each method: short ones, or with -v one of each bandwidth in full. */
static void show_verdicts(const struct out_report *report, const struct payoff_view *view)
{
    const size_t width = find_name_width(view), step = report->verbose ? 1 : view->bandwidths;

    for (size_t i = 0; i < view->methods * view->bandwidths; i += step) {
        const struct gcb_payoff_point *p = &view->points[i];
        char words[GCB_PAYOFF_WORDS];
        int at;

        if (!p->c)
            continue;
        at = 2 + (int)gcb_text_columns(point_name(p));
        if (at <= 2 + (int)width)
            fprintf(report->out, "  %s", point_name(p));
        else
            opt_wrap(report->out, point_name(p), 0, 2);
        if (report->verbose)
            gcb_payoff_words(words, sizeof(words), &p->verdict, &p->link);
        else if (view->bandwidths == 1)
            gcb_payoff_here(words, sizeof(words), &p->verdict, &p->link);
        else
            gcb_payoff_curve(words, sizeof(words), &p->verdict);
        opt_wrap(report->out, words, at <= 2 + (int)width ? at : 0, 4 + (int)width);
    }
}

/* Says what each policy is: its rules as options of compress. */
static void show_policies(const struct out_report *report, const struct payoff_view *view)
{
    for (size_t i = 0; i < view->methods; i++) {
        const struct gcb_payoff_point *p = &view->points[i * view->bandwidths];

        if (p->c && p->c->policy)
            opt_wrap(report->out, p->c->policy, fprintf(report->out, "%s:", point_name(p)), 2);
    }
}

int payoff_show(const struct out_report *report, const struct payoff_view *view,
                struct gcb_diag *diag)
{
    int err;

    show_head(report->out, view);
    err = view->bandwidths == 1 ? show_terms(report, view, diag) : show_curves(report, view, diag);
    if (err)
        return err;
    show_verdicts(report, view);
    show_policies(report, view);
    return 0;
}

/* ---- notes ---- */

/* Returns the point of a method at the first bandwidth. */
static const struct gcb_payoff_point *point_of(const struct payoff_view *v, size_t method)
{
    return &v->points[method * v->bandwidths];
}

static void note_scale(const struct out_report *report, const struct payoff_view *v)
{
    bool scaled = false, fitted = true, extrapolated = false, doubtful = false;

    for (size_t i = 0; i < v->methods; i++) {
        const struct gcb_payoff_point *p = point_of(v, i);

        fitted &= p->scale.fitted;
        scaled |= p->scale.fitted;
        extrapolated |= p->scale.extrapolated;
        doubtful |= p->verdict.doubt != NULL;
    }
    if (scaled && fitted)
        opt_note(report->out,
                 "times are from fitted lines, with a fixed part per message and a part per byte");
    else if (extrapolated)
        opt_note(report->out,
                 "only one message size was measured, so times are scaled in proportion");
    if (extrapolated)
        opt_note(report->out,
                 "the messages are of a size that was not measured, so times are extrapolated");
    if (v->points->scale.bytes !=
        4.0 * v->points->group->total.elements / v->points->group->exchanges)
        opt_note(report->out,
                 "rel L2 is that of the measured tensors, not of a gradient of this size");
    if (doubtful)
        opt_note(report->out,
                 "* and doubtful: the fitted lines miss the measured values, because messages "
                 "were coded in different ways, large messages leave the caches, or the "
                 "machine was busy");
}

static bool has_intervals(const struct gcb_payoff_case *c)
{
    bool all = true;

    for (size_t q = 0; q < GCB_PAYOFF_SUM16; q++)
        all &= isnan(c->total.value[q]) || !isnan(c->total.low[q]);
    return all;
}

/* Notes that times without intervals leave verdicts undecided. */
static void note_runs(const struct out_report *report, const struct payoff_view *v)
{
    const struct gcb_curve *curve = v->points->link.curve;
    size_t methods = 0, without = 0;

    for (size_t i = 0; i < v->methods; i++) {
        const struct gcb_payoff_case *c = point_of(v, i)->c;

        methods += c != NULL;
        without += c && !has_intervals(c);
    }
    if (without)
        opt_note(
            report->out,
            "times of %zu of %zu methods have no interval, because some messages were timed fewer "
            "than 6 times: --repeat 9 of sweep, bench or compress gives intervals",
            without, methods);
    if (curve && isinf(gcb_curve_at(curve, GCB_PATTERN_SHIFT, false, GCB_BOUND_HIGH, 0.0)))
        opt_note(report->out,
                 "the network's times have no interval, because they were measured fewer than 6 "
                 "times: `gcbench-mpi --calibrate --repeat 9` gives intervals");
}

/* Notes what was not measured of a network: small transfers, this number of workers. */
static void note_network(const struct out_report *report, const struct payoff_view *v)
{
    const struct gcb_link *link = &v->points->link;
    const struct gcb_curve *curve = link->curve;
    const unsigned measured = curve ? curve->workers : 0;
    bool extrapolated = false;
    char size[32], latency[32], unused[256];

    for (size_t i = 0; i < v->methods * v->bandwidths; i++)
        extrapolated |= v->points[i].verdict.method[GCB_BOUND_MEDIAN].extrapolated;
    if (extrapolated)
        opt_note(report->out,
                 "the log begins with %s, and some transfers are smaller: their times are "
                 "extrapolated, down to a latency of %s a step; measure from small sizes, as "
                 "`all_reduce_perf -b 8 -e 8G -f 2` does",
                 gcb_bytes(size, curve->logged), gcb_seconds(latency, link->latency));
    if (curve && *curve->unused)
        opt_note(report->out, "tables in the logs that were not used: %s",
                 gcb_escape(unused, sizeof(unused), curve->unused));
    if (measured && measured != link->workers)
        opt_note(report->out,
                 "the network was measured with %u workers; among %u, which may share switches or "
                 "links, transfers may take longer",
                 measured, link->workers);
}

/* Notes which methods have no times of adding, and that some ways of sending enlarge the error. */
static void note_adding(const struct out_report *report, const struct payoff_view *v)
{
    size_t methods = 0, unmeasured = 0;
    bool again = false;

    for (size_t i = 0; i < v->methods; i++) {
        const struct gcb_payoff_point *p = point_of(v, i);

        again |= p->c && (p->c->collectives & GCB_PAYOFF_LOSSY ||
                          (v->bandwidths == 1 ? p->verdict.lossy_speedup > 1.0
                                              : p->verdict.lossy_there != NULL));
        methods += p->c != NULL;
        unmeasured += p->c && !gcb_payoff_adding_measured(p->c);
    }
    if (unmeasured)
        opt_note(
            report->out,
            "adding messages was not measured for %zu of %zu methods: each is charged as a "
            "decoding and an addition, the most that it can take; `bench` measures it, and `sweep` "
            "with --repeat",
            unmeasured, methods);
    if (again)
        opt_note(report->out,
                 "twoshot, oktopk and spardl compress sums again, so their error is larger than "
                 "rel L2; measure it with `replay --method METHOD:collective=...`");
}

/* Notes that speeds at different errors cannot be compared. After a search, counts methods that missed the target. */
static void note_errors(const struct out_report *report, const struct payoff_view *v)
{
    double least = INFINITY, most = 0.0;
    size_t methods = 0, searched = 0, missed = 0;

    for (size_t i = 0; i < v->methods; i++) {
        const struct gcb_payoff_point *p = point_of(v, i);

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
            opt_note(report->out,
                     "%zu of these methods cannot meet the target of the search: see rel L2",
                     missed);
    } else if (most > 1.5 * least) {
        opt_note(report->out,
                 "the errors of these methods differ; to compare them at equal error, run "
                 "`gcbench sweep --match rel_l2=0.4 --repeat 9 --results s.json FILE`, then "
                 "`gcbench payoff s.json`");
    }
}

void payoff_show_notes(const struct out_report *report, const struct payoff_view *view,
                       bool halves_measured)
{
    const struct gcb_payoff_case *c = view->points->group;

    note_scale(report, view);
    if (!halves_measured)
        opt_note(report->out,
                 "conversions to fp16 and bf16 count as free, because the results have rows of "
                 "neither");
    if (!(c->copy > 0.0))
        opt_note(report->out,
                 "adding and weighting fp32 count as free, because the results have no copy_gbps");
    if (strcmp(c->cache, "warm") == 0)
        opt_note(report->out,
                 "times are those of warm caches; in training they may be twice as long: "
                 "measure with `bench --cache cold`");
    note_adding(report, view);
    note_runs(report, view);
    note_network(report, view);
    if (c->load1 > 0.5 * c->cpus)
        opt_note(report->out, "measured at load %.1f on %.0f cpu%s, so times may be too long",
                 c->load1, c->cpus, c->cpus == 1.0 ? "" : "s");
    note_errors(report, view);
    if (view->bandwidths > PAYOFF_SHOWN)
        opt_note(report->out, "%d of %zu bandwidths are shown; --format json has all", PAYOFF_SHOWN,
                 view->bandwidths);
}

void payoff_show_left_out(const struct out_report *report, const char *left_out)
{
    if (*left_out)
        opt_note(report->out, "left out: %s", left_out);
}

/* ---- the papers' models ---- */

void payoff_show_symbols(const struct out_report *report)
{
    opt_wrap(report->out,
             "Tf transform, Ts selection, Tm precision change, Tp packing, Tcomm network: "
             "throughputs; k: compression ratio",
             0, 0);
}

static const char *ratio_text(char *out, double ratio)
{
    return isinf(ratio) ? "none" : gcb_number(out, ratio, 3);
}

void payoff_show_stages(const struct out_report *report, const struct gcb_payoff_case *c,
                        const struct gcb_fft_stages *s, const struct gcb_payoff_grid *bandwidths)
{
    const double gbps[] = {s->transform, s->select, s->quantise, s->index};
    char text[4][32], even[32], ratio[32], line[600];

    for (size_t i = 0; i < 4; i++)
        if (isinf(gbps[i]))
            snprintf(text[i], sizeof(text[i]), "free");
        else
            gcb_number(text[i], 1e-9 * gbps[i], 3);
    snprintf(line, sizeof(line),
             "the FFT paper's condition: Tf %s, Ts %s, Tm %s, Tp %s GB/s; ratio %s;", text[0],
             text[1], text[2], text[3],
             gcb_number(ratio, 4.0 * c->total.elements / c->total.value[GCB_PAYOFF_BYTES], 3));
    for (size_t i = 0; i < bandwidths->count && i < PAYOFF_SHOWN; i++) {
        const double least = gcb_fft_stages_least_ratio(s, bandwidths->values[i]);

        if (isfinite(least))
            gcb_append(line, sizeof(line), " k_min %s at %s,", gcb_number(ratio, least, 3),
                       gcb_payoff_bandwidth_text(even, bandwidths->values[i]));
    }
    gcb_append(line, sizeof(line), " no ratio pays from %s on",
               gcb_payoff_bandwidth_text(even, gcb_fft_stages_break_even(s)));
    opt_wrap(report->out, line, fprintf(report->out, "  %s,", c->label), 4);
}

int payoff_show_fft(const struct out_report *report, const struct gcb_fft_stages *stages,
                    const struct gcb_payoff_grid *bandwidths, struct gcb_diag *diag)
{
    static const struct gcb_table_column columns[] = {{.title = "network"}, {.title = "k_min"}};
    struct gcb_table *table = gcb_table_create(columns, 2);
    char text[32];
    int err;

    for (size_t i = 0; i < bandwidths->count; i++) {
        gcb_table_cell(table, gcb_payoff_bandwidth_text(text, bandwidths->values[i]));
        gcb_table_cell(table,
                       ratio_text(text, gcb_fft_stages_least_ratio(stages, bandwidths->values[i])));
    }
    fprintf(report->out, "the FFT paper's condition: k > k_min\nk_min = 1 / (1 - 2 Tcomm (4/Tm + "
                         "1/Tf + 1/Tp + 1/Ts))\n");
    err = out_table(report, table, diag);
    if (err)
        return err;
    payoff_show_symbols(report);
    opt_wrapf(report->out, fprintf(report->out, "answer:"), 2,
              "compression pays below %s if its ratio k exceeds k_min; at higher bandwidths it "
              "never pays",
              gcb_payoff_bandwidth_text(text, gcb_fft_stages_break_even(stages)));
    return 0;
}

static void add_redsync(struct gcb_table *table, const struct gcb_redsync *in,
                        const struct gcb_redsync_times *t)
{
    char text[32];

    snprintf(text, sizeof(text), "%.0f", in->workers);
    gcb_table_cell(table, text);
    gcb_table_cell(table, gcb_payoff_bandwidth_text(text, in->bandwidth));
    gcb_table_cell(table, gcb_percent(text, t->bandwidth_ratio));
    gcb_table_cell(table, gcb_seconds(text, t->sparse));
    gcb_table_cell(table, gcb_seconds(text, t->dense));
    gcb_table_cell(table, gcb_number(text, t->dense / t->sparse, 3));
}

int payoff_show_redsync(const struct out_report *report, const struct payoff_plan *plan,
                        struct gcb_diag *diag)
{
    static const struct gcb_table_column columns[] = {
        {.title = "workers"},  {.title = "network"}, {.title = "of dense"},
        {.title = "T_sparse"}, {.title = "T_dense"}, {.title = "speed-up"},
    };
    struct gcb_table *table = gcb_table_create(columns, sizeof(columns) / sizeof(columns[0]));
    struct gcb_redsync in = plan->redsync;
    struct gcb_redsync_times t;
    int err;

    for (size_t w = 0; w < plan->workers.count; w++) {
        for (size_t b = 0; b < plan->bandwidths.count; b++) {
            in.workers = plan->workers.values[w];
            in.bandwidth = plan->bandwidths.values[b];
            gcb_redsync_times(&t, &in);
            add_redsync(table, &in, &t);
        }
    }
    err = out_table(report, table, diag);
    if (err)
        return err;
    if (isnan(in.bytes) && !report->quiet)
        opt_note(report->out, "give --model-bytes to see times too");
    opt_wrapf(
        report->out, fprintf(report->out, "answer:"), 2,
        "at a density of %g, with %g word%s for each kept element, sparse messages send fewer "
        "bytes than dense ones with fewer than %.6g workers",
        in.density, in.words, in.words == 1.0 ? "" : "s", ceil(t.even_workers));
    return 0;
}
