#include "src/tool/payoff/ways.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/lib/base/text.h"
#include "src/tool/base/clock.h"
#include "src/tool/base/memory.h"
#include "src/tool/measure/stats.h"

#define DRAWS 4 /* exchanges of each step, to find the part of the error that lasts */
/* Without m->all, errors are measured on at most this many steps, and on at most this many elements
 * of all workers and steps together. */
#define STEPS 3
#define TOGETHER (UINT64_C(12) << 20)
/* most elements of each worker on which times, and the bytes of all-reduces, are measured */
#define TIMED (UINT64_C(1) << 20)

/* Methods whose error lasts are tried with error feedback. qgz and range, whose error is small
 * at many bits, are also tried without it. */
const char *const gcb_ways_default[] = {
    "identity",
    "fp16",
    "bf16",
    "qsgd:bits=8",
    "qsgd:bits=6",
    "qsgd:bits=5",
    "qsgd:bits=4",
    "qsgd:bits=3",
    "qgz:bits=8",
    "qgz:bits=6",
    "qgz:bits=5",
    "qgz:bits=4",
    "qgz:bits=8,rounding=stochastic",
    "qgz:bits=5,rounding=stochastic",
    "qgz:bits=4,rounding=stochastic",
    "qgz:bits=5,memory=ef",
    "qgz:bits=4,memory=ef",
    "qgz:bits=3,memory=ef",
    "range:bits=8",
    "range:bits=6",
    "range:bits=5",
    "range:bits=6,memory=ef",
    "range:bits=5,memory=ef",
    "natural",
    "terngrad",
    "signsgd:scale=mean,memory=ef",
    "randomk:theta=0.9,scaling=unbiased",
    "randomk:theta=0.9,memory=ef",
    "powersgd:rank=4,memory=ef",
    "powersgd:rank=16,memory=ef",
    "topk:theta=0.9,memory=ef",
    "topk:theta=0.99,memory=ef",
    "topk-range:theta=0.9,memory=ef",
    "topk-range:theta=0.99,memory=ef",
    "dct-range:theta=0.9,memory=ef",
    "dct-range:theta=0.99,memory=ef",
    "fft:chunk=4096,memory=ef",
    "sbc:memory=ef",
    "stc:memory=ef",
    "dgc:memory=ef",
    "redsync:memory=ef",
    NULL,
};

/* ---- the set of ways ---- */

struct gcb_way *gcb_ways_new(struct gcb_ways *w, const struct gcb_method *method,
                             enum gcb_collective collective)
{
    struct gcb_way *way;

    gcb_must_grow(&w->items, &w->cap, w->count, sizeof(*w->items));
    way = &w->items[w->count++];
    *way = (struct gcb_way){.method = *method,
                            .collective = collective,
                            .cost = {.code = -1.0},
                            .mean = {.error = (double)NAN,
                                     .lasting = (double)NAN,
                                     .second_error = (double)NAN,
                                     .shared = 1.0}};
    /* a failure leaves the method as it is */
    (void)gcb_method_change(&way->method, "collective", gcb_collective_names[collective], NULL);
    way->baseline = collective == GCB_COLLECTIVE_ALLREDUCE && method->codec->baseline;
    return way;
}

int gcb_ways_add(struct gcb_ways *w, const char *spec, struct gcb_diag *diag)
{
    struct gcb_method method;
    unsigned collectives;
    int err = gcb_method_parse(&method, spec, diag);

    if (err)
        return err;
    collectives = gcb_method_gives_collective(&method)
                      ? GCB_COLLECTIVE_BIT(gcb_method_collective(&method))
                      : gcb_method_collectives(&method);
    if (method.codec->baseline && !gcb_method_gives_collective(&method))
        collectives = GCB_COLLECTIVE_BIT(GCB_COLLECTIVE_ALLREDUCE);
    for (unsigned c = 0; c < GCB_COLLECTIVES; c++)
        if (collectives & GCB_COLLECTIVE_BIT(c) &&
            (!gcb_collectives[c].named || gcb_method_gives_collective(&method))) {
            const struct gcb_way *way = gcb_ways_new(w, &method, c);

            for (size_t i = 0; i + 1 < w->count; i++)
                if (gcb_method_equal(&w->items[i].method, &way->method))
                    w->count--; /* the way is there already */
        }
    return 0;
}

bool gcb_way_is_fp32(const struct gcb_way *way)
{
    return way->baseline && gcb_method_caps(&way->method) & GCB_CAP_LOSSLESS;
}

const char *gcb_shown_name(const char *name)
{
    return strcmp(name, "identity") == 0 ? "fp32" : name;
}

char *gcb_way_label(char out[GCB_WAY_LABEL], const char *label, const char *collective)
{
    char text[GCB_LABEL];

    snprintf(text, sizeof(text), "%s", gcb_shown_name(label));
    snprintf(out, GCB_WAY_LABEL, "%s %s", gcb_spec_drop(text, "collective"), collective);
    return out;
}

void gcb_ways_label(struct gcb_ways *w)
{
    struct gcb_label *labels =
        w->count ? gcb_label_methods(&w->items->method, sizeof(*w->items), w->count) : NULL;

    for (size_t i = 0; i < w->count; i++)
        gcb_way_label(w->items[i].label, labels[i].text,
                      gcb_collective_names[w->items[i].collective]);
    gcb_free(labels);
}

void gcb_leave_out(char list[GCB_LEFT_OUT], const char *name, const char *why)
{
    static const char more[] = ", ...";
    char shown[160], entry[GCB_LEFT_OUT];
    const size_t used = strlen(list);

    if (used >= strlen(more) && strcmp(list + used - strlen(more), more) == 0)
        return; /* the list is full, also for a shorter entry */
    snprintf(entry, sizeof(entry), ", %s (%.160s)", gcb_escape(shown, sizeof(shown), name), why);
    if (strstr(list, entry) || strncmp(list, entry + 2, strlen(entry + 2)) == 0)
        return;
    if (used + strlen(entry) + sizeof(more) <= GCB_LEFT_OUT)
        strcpy(list + used, used ? entry : entry + 2);
    else
        strcat(list, more);
}

void gcb_ways_fini(struct gcb_ways *w)
{
    for (size_t i = 0; i < w->count; i++)
        gcb_free(w->items[i].reduced);
    gcb_free(w->items);
    memset(w, 0, sizeof(*w));
}

/* ---- measuring ways ---- */

/* Takes the result `err` of measuring a way. If `err` is an error, notes the way in w->left_out,
 * with the message of `own` as the reason. Returns 0, or what ends all measuring: GCB_E_NOMEM, or 1
 * if the user stopped the measurement. */
static int leave_out_failed(struct gcb_ways *w, const struct gcb_way *way, int err,
                            const struct gcb_diag *own, struct gcb_diag *diag)
{
    if (err == GCB_E_NOMEM)
        return gcb_diag_set(diag, err, "%s", own->text);
    if (err < 0)
        gcb_leave_out(w->left_out, way->label, own->text);
    return err > 0 ? err : 0;
}

/* Measures the errors of all ways, and removes the ways whose error cannot be measured. */
static int measure_errors(struct gcb_ways *w, const struct gcb_ways_measuring *m,
                          const struct gcb_gradients *g, struct gcb_diag *diag)
{
    size_t kept = 0;

    for (size_t i = 0; i < w->count; i++) {
        struct gcb_way *way = &w->items[i];
        struct gcb_mean mean;
        struct gcb_diag own = {.status = 0};
        int failed, err;

        /* what sparse all-reduces send and drop depends on the number of workers */
        if (g->workers < 2 && gcb_collectives[way->collective].sends == GCB_SENDS_SUMS) {
            gcb_leave_out(w->left_out, gcb_collective_names[way->collective],
                          "one recorded worker");
            continue;
        }
        failed = gcb_mean_measure(&mean, g, &m->config, &way->method, &own);
        err = leave_out_failed(w, way, failed, &own, diag);
        if (err)
            return err;
        if (!failed && isfinite(mean.error)) {
            way->mean = mean;
            way->workers = g->workers;
        } else if (!failed) {
            gcb_leave_out(w->left_out, way->label, "its error is not finite");
        }
        gcb_watch_show(&m->config.watch, 0.5 * (double)(i + 1) / (double)w->count);
    }
    for (size_t i = 0; i < w->count; i++) /* NAN: not measured */
        if (!isnan(w->items[i].mean.error))
            w->items[kept++] = w->items[i];
    w->count = kept;
    if (w->count == 0)
        return gcb_invalid(diag, "there is nothing to judge; left out: %s", w->left_out);
    return 0;
}

/* Measures the bytes of all-reduces for each number of workers, because sums of integers need more
 * bits if there are more workers. */
static int measure_bytes(struct gcb_ways *w, const struct gcb_ways_measuring *m,
                         const struct gcb_gradients *g, struct gcb_diag *diag)
{
    int err = 0;

    w->reduced_workers = m->workers;
    w->reduced_count = m->worker_count;
    for (size_t i = 0; !err && i < w->count; i++) {
        struct gcb_way *way = &w->items[i];

        if (gcb_collectives[way->collective].sends != GCB_SENDS_VALUES || way->baseline)
            continue;
        way->reduced = gcb_must_array(w->reduced_count, sizeof(*way->reduced));
        for (size_t k = 0; !err && k < w->reduced_count; k++) {
            struct gcb_diag own = {.status = 0};
            const int failed = gcb_mean_reduced(&way->reduced[k], g, &m->config, &way->method,
                                                (unsigned)w->reduced_workers[k], &own);

            err = leave_out_failed(w, way, failed, &own, diag);
            if (failed) /* so many workers cannot use the way */
                way->reduced[k] = (double)NAN;
        }
    }
    return err;
}

/* Measures the cost of one way in one round. A way that fails is left out of later rounds. */
static int time_way(struct gcb_ways *w, const struct gcb_ways_measuring *m,
                    const struct gcb_gradients *g, struct gcb_way *way, size_t round,
                    struct gcb_diag *diag)
{
    struct gcb_diag own = {.status = 0};
    int failed;

    if (way->cost.code < 0.0)
        return 0;
    failed = gcb_mean_time(&way->rounds[round], g, &m->config, &way->method, &own);
    if (failed)
        way->cost.code = -1.0;
    return leave_out_failed(w, way, failed, &own, diag);
}

/* Sets the cost of each way to the medians over the rounds, separately for each member. Sets
 * w->add_fp32. */
static void take_medians(struct gcb_ways *w)
{
    enum { NUMBERS = sizeof(struct gcb_cost) / sizeof(double) }; /* all members are double */

    for (size_t i = 0; i < w->count; i++) {
        struct gcb_way *way = &w->items[i];
        double values[GCB_WAY_ROUNDS], medians[NUMBERS];

        for (size_t k = 0; k < NUMBERS; k++) {
            for (size_t r = 0; r < w->round_count; r++)
                memcpy(&values[r], (const double *)(const void *)&way->rounds[r] + k,
                       sizeof(values[r]));
            medians[k] = gcb_stats_make(values, w->round_count).median;
        }
        if (way->cost.code >= 0.0)
            memcpy(&way->cost, medians, sizeof(medians));
        if (gcb_way_is_fp32(way))
            w->add_fp32 = way->cost.combine;
    }
}

/* Times all ways in turn, in rounds, so that a disturbance of the machine slows all of them. */
static int measure_times(struct gcb_ways *w, const struct gcb_ways_measuring *m,
                         const struct gcb_gradients *g, struct gcb_diag *diag)
{
    const double begun = gcb_clock();
    int err = 0;

    for (size_t i = 0; i < w->count; i++)
        w->items[i].cost.code = 0.0; /* below 0 after the way has failed */
    for (size_t r = 0; !err && r < GCB_WAY_ROUNDS; r++) {
        if (r >= GCB_STATS_LEAST && gcb_clock() - begun > m->seconds)
            break;
        for (size_t i = 0; !err && i < w->count; i++) {
            /* rounds begin with different ways, so that no way always comes first */
            err = time_way(w, m, g, &w->items[(i + r) % w->count], r, diag);
            if (!err && gcb_watch_stopped(&m->config.watch))
                return 1;
            gcb_watch_show(
                &m->config.watch,
                0.5 +
                    0.5 * fmin(((double)r + (double)i / (double)w->count) / GCB_STATS_LEAST, 0.99));
        }
        w->round_count += !err;
    }
    if (!err)
        take_medians(w);
    return err;
}

int gcb_ways_measure(struct gcb_ways *w, struct gcb_source *source, const struct gcb_layout *layout,
                     struct gcb_ways_measuring *m, struct gcb_diag *diag)
{
    struct gcb_gradients_config errors = {.workers = 1,
                                          .steps = m->all ? 0 : STEPS,
                                          .most = m->all ? 0 : GCB_WAYS_SAMPLE,
                                          .most_together = m->all ? 0 : TOGETHER};
    const struct gcb_gradients_config times = {.workers = 2, .steps = 1, .most = TIMED};
    struct gcb_gradients g = {.steps = 0};
    struct gcb_evict evict = {.data = NULL};
    int err;

    for (size_t i = 0; i < m->worker_count; i++)
        errors.workers = (unsigned)fmax(errors.workers, m->workers[i]);
    err = gcb_gradients_read(&g, source, layout, &errors, m->config.compute.kernels, diag);
    m->config.draws = DRAWS;
    w->dump = g;
    w->dump.tensors = NULL;
    w->dump.data = w->dump.means = NULL;
    if (!err)
        err = measure_errors(w, m, &g, diag);
    gcb_gradients_fini(&g);
    if (err)
        return err;
    err = gcb_gradients_read(&g, source, layout, &times, m->config.compute.kernels, diag);
    if (!err)
        err = measure_bytes(w, m, &g, diag);
    if (!err && !m->untimed)
        err = gcb_evict_init(&evict, m->config.compute.queue, m->cpu_flags, diag);
    m->config.evict = &evict;
    if (!err && !m->untimed)
        err = measure_times(w, m, &g, diag);
    gcb_evict_fini(&evict);
    gcb_gradients_fini(&g);
    return err;
}

/* ---- other numbers of workers ---- */

double gcb_way_bytes(const struct gcb_ways *w, const struct gcb_way *way, double n)
{
    for (size_t k = 0; way->reduced && k < w->reduced_count; k++)
        if (!(w->reduced_workers[k] < n) && !(w->reduced_workers[k] > n))
            return way->reduced[k];
    return way->mean.bytes;
}

double gcb_way_error(const struct gcb_ways *w, const struct gcb_way *way, double n, double per_node,
                     bool half)
{
    /* `own`: workers send their own values; in other ways they send sums of their nodes */
    const bool own = gcb_collectives[way->collective].sends == GCB_SENDS_VALUES ||
                     way->collective == GCB_COLLECTIVE_HIERARCHICAL;
    const double p = own ? 1.0 : per_node;
    const double error = gcb_mean_among(&way->method, &way->mean, w->dump.signal, w->dump.noise,
                                        way->workers, n / p, p);

    if (!half || !(way->mean.second_error > 0.0))
        return error;
    return sqrt(fmax(error * error - way->mean.second_error * way->mean.second_error, 0.0));
}
