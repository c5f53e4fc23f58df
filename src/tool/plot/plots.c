/* The table of plots, and what plots do that have no file of their own. */
#include "src/tool/plot/plot_page.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"

/* ---- which rows a plot needs ---- */

/* gnuplot fails for very large and very small numbers, which a hostile file may contain. */
#define LARGEST 1e30

/* True if the number is positive and neither so large nor so small that gnuplot fails. */
static bool is_sane(double value)
{
    return value > 1.0 / LARGEST && value < LARGEST;
}

static bool is_ok(const struct gcb_plot_record *row)
{
    return strcmp(row->status, "ok") == 0;
}

static bool has_error(const struct gcb_plot_record *row)
{
    return is_ok(row) && row->rel_l2 >= 0.0 && row->rel_l2 < LARGEST && is_sane(row->bits) &&
           is_sane(row->ratio) && strcmp(row->method, "memcpy") != 0;
}

static bool has_times(const struct gcb_plot_record *row)
{
    return is_ok(row) && is_sane(row->encode_gbps) && is_sane(row->decode_gbps);
}

static bool has_times_and_error(const struct gcb_plot_record *row)
{
    return has_times(row) && has_error(row);
}

static bool has_match(const struct gcb_plot_record *row)
{
    return has_error(row) && *row->match_field && isfinite(row->match_target);
}

static bool is_error_bin(const struct gcb_plot_record *row)
{
    return strcmp(row->of, "error") == 0;
}

/* Rows of `inspect` have no `of`, because they are always of the input. */
static bool is_input_band(const struct gcb_plot_record *row)
{
    return (!*row->of || strcmp(row->of, "input") == 0) && strcmp(row->by, "frequency") == 0;
}

static bool is_kernel(const struct gcb_plot_record *row)
{
    return is_ok(row) && is_sane(row->gbps);
}

static bool is_exchange(const struct gcb_plot_record *row)
{
    return strcmp(row->model, "exchange") == 0 && is_sane(row->seconds) && is_sane(row->speedup) &&
           is_sane(row->bandwidth) && is_sane(row->workers);
}

static bool is_dated(const struct gcb_plot_record *row)
{
    return *row->spec && is_ok(row) && is_sane(row->ratio) && !isnan(gcb_plot_date(row));
}

static bool is_training(const struct gcb_plot_record *row)
{
    return isfinite(row->quality) && row->step > 0.0 &&
           is_sane(isnan(row->seconds) ? row->link_bytes : row->seconds);
}

/* ---- rate-distortion and ratio-error ---- */

/* True if `a` is at least as good as `b` in the figures x and y, and better in one of them. Less is
 * better. */
static bool beats(double ax, double ay, double bx, double by)
{
    return ax <= bx && ay <= by && (ax < bx || ay < by);
}

/* Ranks the curves by the number of their points that no other point beats in size and error. */
static void rank_curves(struct gcb_plot_page *page)
{
    struct gcb_plot_set *set = &page->set;

    for (size_t s = 0; s < set->count; s++) {
        struct gcb_plot_series *one = &set->items[s];

        one->rank = 0.0;
        for (size_t i = one->first; i < one->first + one->count; i++) {
            const struct gcb_plot_record *c = set->cases.items[i];
            size_t k = 0;

            while (k < set->cases.count && !beats(set->cases.items[k]->bits,
                                                  set->cases.items[k]->rel_l2, c->bits, c->rel_l2))
                k++;
            one->rank -= k == set->cases.count;
        }
    }
    gcb_plot_set_choose(set, GCB_PLOT_NAMED);
}

/* ---- throughput and match ---- */

/* Orders cases by encoding speed, the fastest first. */
static int faster(const void *a, const void *b)
{
    const double x = (*(const struct gcb_plot_record *const *)a)->encode_gbps,
                 y = (*(const struct gcb_plot_record *const *)b)->encode_gbps;

    return (x < y) - (x > y);
}

/* Writes the bandwidths of memory, which limit the speed of methods. */
static void add_limits(struct gcb_plot_page *page)
{
    const struct gcb_plot_record *env = gcb_plot_env_of(page->data, page->first->env);

    gcb_plot_var_real(page, GCB_PLOT_FIELD(READ_GBPS), env->read_gbps);
    gcb_plot_var_real(page, GCB_PLOT_FIELD(FILL_GBPS), env->fill_gbps);
    gcb_plot_var_real(page, "memcpy_gbps", page->set.memcpy_gbps);
}

/* True if the target is a limit on the error. Methods are then compared by their bits per element,
 * otherwise by their error. */
static bool limits_error(const struct gcb_plot_record *c)
{
    const enum gcb_field field = gcb_field_find(c->match_field);

    /* error_of_mean has no gate, because `regress` does not judge it */
    return field == GCB_FIELD_ERROR_OF_MEAN || gcb_field_info(field)->gate == GCB_GATE_ERROR;
}

/* Returns the cost of the settings that `sweep` mixes to meet the target exactly. If the row does
 * not have it, because it is from an older version or missed the target, returns the cost of its
 * own setting. */
static double cost_of(const struct gcb_plot_record *c)
{
    const double matched = limits_error(c) ? c->match_bits : c->match_error;
    const double own = limits_error(c) ? c->bits : c->rel_l2;

    return isnan(matched) ? own : matched;
}

/* Orders cases: those that meet the target come first. Within each of the two groups, the cheaper
 * case comes first. */
static int by_target_and_cost(const void *a, const void *b)
{
    const struct gcb_plot_record *x = *(const struct gcb_plot_record *const *)a,
                                 *y = *(const struct gcb_plot_record *const *)b;
    const bool met_x = x->match_reached > 0.0, met_y = y->match_reached > 0.0;

    if (met_x != met_y)
        return met_y - met_x;
    return (cost_of(x) > cost_of(y)) - (cost_of(x) < cost_of(y));
}

/* Writes the heading and what the target limits. */
static void add_target(struct gcb_plot_page *page)
{
    char title[96];

    snprintf(title, sizeof(title), "Cost at %.40s %g", page->first->match_field,
             page->first->match_target);
    gcb_plot_heading(page, title, NULL);
    gcb_plot_var_real(page, "of_error", limits_error(page->first));
    gcb_plot_var_real(page, "of_cosine", strcmp(page->first->match_field, "cosine") == 0);
}

/* ---- pareto ---- */

/* The largest error of each facet of the picture. */
static const double limits[] = {0.03, 0.3, 0.7, INFINITY};
#define FACETS (sizeof(limits) / sizeof(limits[0]))

/* Returns the index of the facet for a case. */
static size_t facet_of(const struct gcb_plot_record *c)
{
    size_t f = 0;

    while (c->rel_l2 > limits[f])
        f++;
    return f;
}

/* Orders cases by compression ratio, then by encoding speed. */
static int by_ratio_and_speed(const void *a, const void *b)
{
    const struct gcb_plot_record *x = *(const struct gcb_plot_record *const *)a,
                                 *y = *(const struct gcb_plot_record *const *)b;

    if (x->ratio != y->ratio)
        return (x->ratio > y->ratio) - (x->ratio < y->ratio);
    return faster(a, b);
}

/* True if no other case of its facet beats case i in ratio and speed. */
static bool is_front(const struct gcb_plot_cases *cases, size_t i)
{
    const struct gcb_plot_record *c = cases->items[i];

    for (size_t k = 0; k < cases->count; k++)
        if (facet_of(cases->items[k]) == facet_of(c) &&
            beats(-cases->items[k]->ratio, -cases->items[k]->encode_gbps, -c->ratio,
                  -c->encode_gbps))
            return false;
    return true;
}

/* Writes the cases by facet. In each facet, the cases that no other case beats come first. */
static void add_facets(struct gcb_plot_page *page)
{
    const struct gcb_plot_cases *cases = &page->set.cases;

    GCB_PLOT_COLUMNS(page, "label", "series", "facet", "front", "baseline", "ratio",
                     GCB_PLOT_FIELD(ENCODE_GBPS), GCB_PLOT_FIELD(DECODE_GBPS),
                     GCB_PLOT_FIELD(REL_L2));
    for (size_t part = 0; part < 2 * FACETS; part++) {
        const size_t facet = part / 2;
        const bool front = part % 2 == 0;

        for (size_t i = 0; i < cases->count; i++) {
            const struct gcb_plot_record *c = cases->items[i];

            if (facet_of(c) == facet && is_front(cases, i) == front)
                GCB_PLOT_ROW(page, page->set.items[i].label, (double)i + 1, (double)facet + 1,
                             front, gcb_plot_baseline(c->method) != 0, c->ratio, c->encode_gbps,
                             c->decode_gbps, c->rel_l2);
        }
        gcb_plot_break(page);
    }
}

/* ---- kernels ---- */

/* Makes a series for each instruction set, and numbers the kernels in the order of the rows. */
static void add_kernels(struct gcb_plot_page *page)
{
    const struct gcb_plot_record *k = NULL;
    struct gcb_plot_cases kernels = {.items = NULL}; /* the first row of each kernel */
    char text[160];

    snprintf(text, sizeof(text), "Kernels, arrays in %.40s", page->first->cache);
    gcb_plot_heading(page, text, "generated data; all instruction sets give the same bytes");
    GCB_PLOT_COLUMNS(page, "kernel", "row", "series", "gbps", "low", "high");
    while ((k = gcb_plot_next(page->plot, page->data, page->first, k)) != NULL) {
        const double gigabytes = 4.0 * k->elements / 1e9; /* of float32 values */
        size_t row = 0, isa = 0;

        while (row < kernels.count &&
               (kernels.items[row]->family != k->family || kernels.items[row]->kernel != k->kernel))
            row++;
        if (row == kernels.count)
            gcb_plot_cases_add(&kernels, k);
        while (isa < page->set.count && strcmp(page->set.items[isa].method, k->isa) != 0)
            isa++;
        if (isa == page->set.count)
            gcb_plot_set_name(&page->set, k->isa, k->isa);
        page->set.items[isa].style = gcb_plot_style_at((unsigned)isa);
        snprintf(text, sizeof(text), "%.70s/%.70s", k->family, k->kernel);
        GCB_PLOT_ROW(page, text, (double)row + 1, (double)isa + 1, k->gbps,
                     gigabytes / k->seconds_high, gigabytes / k->seconds_low);
    }
    page->set.named = page->set.count;
    gcb_free(kernels.items);
}

/* ---- compaction ---- */

/* True if the row is of tensors that were not shuffled, or of a DCT of shuffled elements in tiles
 * that are not `1x64`. With all rows there would be more series than names (GCB_PLOT_NAMED). */
static bool is_compaction(const struct gcb_plot_record *row)
{
    return !*row->shuffle || (strcmp(row->shuffle, "elements") == 0 &&
                              strcmp(row->transform, "dct") == 0 && strcmp(row->tile, "1x64") != 0);
}

/* Makes a series for each transform, tile and shuffling. The rows of a series follow each other. */
static void add_compaction(struct gcb_plot_page *page)
{
    const struct gcb_plot_record *c = NULL;
    struct gcb_plot_set *set = &page->set;
    char text[GCB_PLOT_LABEL];

    snprintf(text, sizeof(text), "Energy in few coefficients: %.20s tensors (verdict: %.40s)",
             page->first->group, page->first->finding);
    gcb_plot_heading(page, text, NULL);
    GCB_PLOT_COLUMNS(page, "series", "density", GCB_PLOT_FIELD(ENERGY_SHARE));
    while ((c = gcb_plot_next(page->plot, page->data, page->first, c)) != NULL) {
        snprintf(text, sizeof(text), "%.20s %.20s%s", c->transform, c->tile,
                 *c->shuffle ? " shuffled" : "");
        if (set->count == 0 || strcmp(set->items[set->count - 1].label, text) != 0) {
            gcb_plot_set_name(set, text, c->transform);
            set->items[set->count - 1].style = gcb_plot_style_at((unsigned)set->count - 1);
            gcb_plot_break(page);
        }
        GCB_PLOT_ROW(page, NULL, (double)set->count, c->density, c->energy_share);
    }
    set->named = set->count;
}

/* ---- density ---- */

static bool has_density(const struct gcb_plot_record *row)
{
    return is_sane(row->density) && row->index >= 0.0 && row->index < LARGEST;
}

/* Writes the density of each setting, step by step. */
static void add_steps(struct gcb_plot_page *page)
{
    const struct gcb_plot_set *set = &page->set;
    const struct gcb_plot_record *r = NULL;

    gcb_plot_set_choose(&page->set, GCB_PLOT_NAMED);
    GCB_PLOT_COLUMNS(page, "series", GCB_PLOT_FIELD(INDEX), GCB_PLOT_FIELD(DENSITY));
    for (size_t s = 0; s < set->count; s++) {
        gcb_plot_break(page);
        while ((r = gcb_plot_next(page->plot, page->data, page->first, r)) != NULL)
            if (r->setting == set->cases.items[set->items[s].first]->setting)
                GCB_PLOT_ROW(page, NULL, (double)s + 1, r->index, r->density);
    }
}

/* ---- the table of plots ---- */

/* Parts of the table's rows. */
#define F(field) GCB_FIELD_##field
#define NEEDS_SUMMARY "summary rows: `bench`, `sweep` or `compress`, with --results FILE"
#define NEEDS_TRAINING \
    "training rows: `./dev study` or datasets/recipes/train_workers.py in gcbench's source tree"
#define SIZE_AND_ERROR \
    { \
        F(BITS_PER_ELEMENT), F(RATIO), F(REL_L2), F(COSINE), F(WIRE_BYTES), F(SPEC) \
    }
#define RUN \
    { \
        F(FILE), F(SCOPE), F(DEVICE), F(ISA), F(CACHE), F(THREADS) \
    }
#define EXCHANGE \
    F(RESULTS), F(CODING), F(LINK_FILE), F(LATENCY_SECONDS), F(WORKERS_PER_NODE), F(INTRA_GBIT), \
        F(INNER_STEPS), F(SHARDED), F(GRADIENT_BYTES)

static const struct gcb_plot plots[] = {
    {
        .name = "rate-distortion",
        .title = "relative L2 error against bits per element",
        .needs = NEEDS_SUMMARY,
        .heading = "Rate-distortion",
        .record = GCB_RECORD_SUMMARY,
        .is_wanted = has_error,
        .page = {F(FILE), F(SCOPE)},
        .series = GCB_PLOT_CURVES,
        .columns = SIZE_AND_ERROR,
        .add = rank_curves,
    },
    {
        .name = "ratio-error",
        .title = "compression ratio against relative L2 error",
        .needs = NEEDS_SUMMARY,
        .heading = "Compression ratio against error",
        .record = GCB_RECORD_SUMMARY,
        .is_wanted = has_error,
        .page = {F(FILE), F(SCOPE)},
        .series = GCB_PLOT_CURVES,
        .columns = SIZE_AND_ERROR,
        .add = rank_curves,
    },
    {
        .name = "throughput",
        .title = "encoding and decoding speed, compared with the bandwidth of memory",
        .needs = NEEDS_SUMMARY,
        .heading = "Throughput",
        .record = GCB_RECORD_SUMMARY,
        .is_wanted = has_times,
        .runs = GCB_PLOT_ONE_RUN,
        .page = RUN,
        .series = GCB_PLOT_APART,
        .compare = faster,
        .columns = {F(ENCODE_GBPS), F(DECODE_GBPS), F(REL_L2), F(INPUT_BYTES),
                    F(ENCODE_SECONDS_MAD), F(ENCODE_SECONDS_LOW), F(ENCODE_SECONDS_HIGH),
                    F(DECODE_SECONDS_LOW), F(DECODE_SECONDS_HIGH), F(SPEC)},
        .add = add_limits,
    },
    {
        .name = "pareto",
        .title = "ratio and encoding speed, in a facet for each range of errors; a line joins "
                 "methods that no other beats",
        .needs = NEEDS_SUMMARY,
        .heading = "Ratio and speed at similar errors",
        .record = GCB_RECORD_SUMMARY,
        .is_wanted = has_times_and_error,
        .runs = GCB_PLOT_ONE_RUN,
        .page = RUN,
        .series = GCB_PLOT_APART,
        .compare = by_ratio_and_speed,
        .add = add_facets,
    },
    {
        .name = "match",
        .title = "what methods cost if all of them meet one target",
        .needs = "summary rows of a search: `sweep --match FIELD=TARGET --results FILE`",
        .record = GCB_RECORD_SUMMARY,
        .is_wanted = has_match,
        .page = {F(FILE), F(SCOPE), F(MATCH_FIELD), F(MATCH_TARGET)},
        .series = GCB_PLOT_APART,
        .compare = by_target_and_cost,
        .columns = {F(MATCH_REACHED), F(MATCH_BITS), F(MATCH_ERROR), F(MATCH_RATIO),
                    F(BITS_PER_ELEMENT), F(REL_L2), F(RATIO), F(COSINE), F(SPEC)},
        .add = add_target,
    },
    {
        .name = "error-cdf",
        .title = "share of elements with at most a given error",
        .needs = "histograms of the errors, which `compress --histogram --results FILE` writes",
        .heading = "Distribution of |error|",
        .record = GCB_RECORD_HISTOGRAM,
        .is_wanted = is_error_bin,
        .runs = GCB_PLOT_ONE_RUN,
        .add = gcb_plot_add_errors,
    },
    {
        .name = "spectrum",
        .title = "spectrum of the largest tensor before and after compression, and the energy of "
                 "its bins",
        .needs = "spectrum rows: `compress --spectrum --results FILE`, or `inspect` for the input "
                 "only",
        .record = GCB_RECORD_SPECTRUM,
        .is_wanted = is_input_band,
        .runs = GCB_PLOT_ONE_RUN,
        .add = gcb_plot_add_spectrum,
    },
    {
        .name = "compaction",
        .title = "energy that few coefficients keep: of transforms, controls and singular values",
        .needs = "compaction rows: `inspect --compaction --results FILE`",
        .record = GCB_RECORD_COMPACTION,
        .is_wanted = is_compaction,
        .runs = GCB_PLOT_ONE_RUN,
        .page = {F(GROUP)},
        .add = add_compaction,
    },
    {
        .name = "density",
        .title = "share of the elements that each method keeps, step by step",
        .needs = "replay_step rows: `replay --results FILE`",
        .heading = "Density of the messages, step by step",
        .record = GCB_RECORD_REPLAY_STEP,
        .is_wanted = has_density,
        .runs = GCB_PLOT_ONE_RUN,
        .page = {F(SCOPE)},
        .series = GCB_PLOT_APART,
        .add = add_steps,
    },
    {
        .name = "break-even",
        .script = "exchange",
        .title = "time of an exchange by bandwidth, and how much faster each way is than the best "
                 "of fp32, fp16 and bf16",
        .needs = "payoff rows of several bandwidths: `payoff DUMP --bandwidth 1Gb..100Gb "
                 "--results FILE`",
        .record = GCB_RECORD_PAYOFF,
        .is_wanted = is_exchange,
        .runs = GCB_PLOT_ONE_RUN,
        .page = {EXCHANGE, F(WORKERS)},
        .axis = F(BANDWIDTH_GBIT),
        .add = gcb_plot_add_ways,
    },
    {
        .name = "scaling",
        .script = "exchange",
        .title = "the same by number of workers, and how the time splits into coding, network and "
                 "adding",
        .needs = "payoff rows of several numbers of workers: `payoff DUMP --bandwidth 10Gb "
                 "--workers 2..128 --results FILE`",
        .record = GCB_RECORD_PAYOFF,
        .is_wanted = is_exchange,
        .runs = GCB_PLOT_ONE_RUN,
        .page = {EXCHANGE, F(BANDWIDTH_GBIT)},
        .axis = F(WORKERS),
        .add = gcb_plot_add_ways,
    },
    {
        .name = "kernels",
        .title = "speed of each kernel in each instruction set",
        .needs = "kernel rows: `bench --kernels --results FILE`",
        .record = GCB_RECORD_KERNEL,
        .is_wanted = is_kernel,
        .runs = GCB_PLOT_ONE_RUN,
        .page = {F(CACHE)},
        .add = add_kernels,
    },
    {
        .name = "history",
        .title = "how ratio and speed of each method changed from run to run",
        .needs = "summary rows of runs at several dates: `bench --results FILE` now and then",
        .heading = "History: each method in units of its first run",
        .record = GCB_RECORD_SUMMARY,
        .is_wanted = is_dated,
        .runs = GCB_PLOT_DATES,
        .page = {F(FILE), F(SCOPE), F(DEVICE), F(ISA), F(CACHE), F(THREADS), F(MATCH_FIELD),
                 F(MATCH_TARGET)},
        .axis = F(DATE),
        .series = GCB_PLOT_APART,
        .add = gcb_plot_add_history,
    },
    {
        .name = "accuracy-bytes",
        .title = "quality on test data against bytes on a worker's link, or against seconds",
        .needs = NEEDS_TRAINING,
        .record = GCB_RECORD_TRAINING,
        .is_wanted = is_training,
        .runs = GCB_PLOT_ONE_RUN,
        .page = {F(NETWORK), F(WORKERS), F(BANDWIDTH_GBIT), F(LATENCY_SECONDS)},
        .add = gcb_plot_add_training,
    },
};
#define PLOTS (sizeof(plots) / sizeof(plots[0]))
_Static_assert(PLOTS <= GCB_PLOT_MAX, "raise GCB_PLOT_MAX");

const struct gcb_plot *gcb_plot_at(size_t i)
{
    return i < PLOTS ? &plots[i] : NULL;
}

const struct gcb_plot *gcb_plot_find(const char *name, size_t length, struct gcb_diag *diag)
{
    const char *names[PLOTS];
    char word[64], hint[GCB_HINT];

    for (size_t i = 0; i < PLOTS; i++) {
        names[i] = plots[i].name;
        if (strlen(names[i]) == length && memcmp(names[i], name, length) == 0)
            return &plots[i];
    }
    snprintf(word, sizeof(word), "%.*s", length < sizeof(word) ? (int)length : 63, name);
    gcb_invalid(diag, "unknown plot '%s'%s", gcb_show(word).text,
                gcb_hint(hint, word, "", names, PLOTS, "; `gcbench plot --list` lists them"));
    return NULL;
}
