/*
 * Replays over a source that lives in memory: these definitions stand in for src/data/source.c, so that
 * what a replay reports can be compared with plain sums over what was put in.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "src/base/alloc.h"
#include "src/bench/replay.h"
#include "src/bench/staleness.h"

#define STEPS 6
#define WORKERS 3
#define NAMES 2
#define TENSORS (STEPS * WORKERS * NAMES)
#define LARGEST 600

struct gcb_source {
    struct gcb_tensor tensor[TENSORS];
    float data[TENSORS][LARGEST];
    double lr, epoch; /* of step 10 + s: lr / (s + 1), epoch + s / 2; NAN: none */
};

static struct gcb_source source;

size_t gcb_source_count(const struct gcb_source *s)
{
    (void)s;
    return TENSORS;
}

const struct gcb_tensor *gcb_source_tensor(const struct gcb_source *s, size_t i)
{
    return &s->tensor[i];
}

int gcb_source_read(struct gcb_source *s, size_t i, float *out, struct gcb_diag *diag)
{
    (void)diag;
    memcpy(out, s->data[i], s->tensor[i].count * sizeof(*out));
    return 0;
}

bool gcb_source_step_value(const struct gcb_source *s, uint64_t step, const char *name,
                           double *value)
{
    const double at = (double)(step - 10);

    *value = strcmp(name, "lr") == 0 ? s->lr / (at + 1.0) : s->epoch + at / 2.0;
    return !isnan(*value);
}

/* The library's allocator, but for one call that fails. */
static size_t calls, fail_at; /* from 1; 0: none */

void *gcb_alloc(size_t bytes)
{
    if (++calls == fail_at)
        return NULL;
    return aligned_alloc(GCB_ALIGN, (bytes + GCB_ALIGN) / GCB_ALIGN * GCB_ALIGN);
}

void gcb_free(void *p)
{
    free(p);
}

void *gcb_alloc_array(uint64_t count, size_t size)
{
    return gcb_alloc(count * size);
}

void *gcb_alloc_zero(uint64_t count, size_t size)
{
    void *p = gcb_alloc_array(count, size);

    return p ? memset(p, 0, count * size) : NULL;
}

static void fill_source(void)
{
    static const char *const names[NAMES] = {"large", "small"};
    static const uint64_t counts[NAMES] = {LARGEST, 70};
    uint32_t seed = 1;

    source.lr = source.epoch = NAN;
    for (size_t i = 0; i < TENSORS; i++) {
        source.tensor[i] = (struct gcb_tensor){
            .path = names[i % NAMES],
            .dataset = names[i % NAMES],
            .file = "memory",
            .step = 10 + i / (NAMES * WORKERS),
            .worker = (uint32_t)(i / NAMES % WORKERS),
            .rank = 1,
            .dims = {counts[i % NAMES]},
            .count = counts[i % NAMES],
            .index = -1,
        };
        for (size_t k = 0; k < LARGEST; k++) {
            seed = seed * 1664525u + 1013904223u;
            source.data[i][k] = ((float)(seed >> 8) * 0x1p-24f - 0.5f) * 0.01f;
        }
    }
}

struct seen {
    struct gcb_replay_step step[256];
    size_t steps, stop_after;
    double shown;
};

static int on_step(void *ctx, const struct gcb_replay_step *step, struct gcb_diag *diag)
{
    struct seen *s = ctx;

    (void)diag;
    assert_int_equal(step->index, s->steps);
    s->step[s->steps++] = *step;
    return 0;
}

static void on_progress(void *ctx, double done)
{
    struct seen *s = ctx;

    assert_true(done >= s->shown && done <= 1.0 + 1e-12);
    s->shown = done;
}

static bool on_stop(void *ctx)
{
    const struct seen *s = ctx;

    return s->stop_after && s->steps >= s->stop_after;
}

struct setup {
    struct gcb_kernels kernels;
    struct gcb_queue queue;
    struct gcb_layout_config layout;
    struct gcb_layout plan;
    struct gcb_replay_config config;
    struct gcb_replay *replay;
    struct gcb_replay_total total;
    struct seen seen;
    struct gcb_diag diag;
};

static int setup(void **state)
{
    struct setup *s = test_calloc(1, sizeof(*s));

    fill_source();
    gcb_kernels_init(&s->kernels, gcb_cpu_detect());
    s->queue.threads = 1;
    s->config = (struct gcb_replay_config){
        .source = &source, .kernels = &s->kernels, .queue = &s->queue, .seed = 1};
    *state = s;
    return 0;
}

static int teardown(void **state)
{
    struct setup *s = *state;

    gcb_replay_close(s->replay);
    gcb_layout_fini(&s->plan);
    test_free(s);
    return 0;
}

/* With a layout. */
static int replay(struct setup *s, const char *spec)
{
    const struct gcb_replay_observer observer = {on_step, on_progress, on_stop, &s->seen};
    struct gcb_method method;
    int err;

    s->seen.steps = 0;
    s->seen.shown = 0.0;
    assert_int_equal(gcb_method_parse(&method, spec, &s->diag), 0);
    s->config.layout = &s->plan;
    err = gcb_replay_open(&s->replay, &s->config, &s->diag);
    return err ? err : gcb_replay_run(s->replay, &method, &observer, &s->total, &s->diag);
}

static int run(struct setup *s, const char *spec)
{
    gcb_replay_close(s->replay);
    s->replay = NULL;
    gcb_layout_fini(&s->plan);
    assert_int_equal(gcb_layout_init(&s->plan, &source, &s->layout, &s->diag), 0);
    return replay(s, spec);
}

static void expect(double got, double want, double tolerance)
{
    if (!(fabs(got - want) <= tolerance * fabs(want) + 1e-300))
        fail_msg("%.17g, not %.17g", got, want);
}

/* What is sent whole arrives whole: nothing is left, nothing is wrong, nothing is late. */
static void lossless(void **state)
{
    static const char *const specs[] = {"identity",
                                        "identity:memory=ef",
                                        "identity:memory=demo",
                                        "identity:memory=dgc,momentum=0.9,masking=yes",
                                        "identity:memory=delay,delay=1",
                                        "topk:theta=0,memory=ef"};
    struct setup *s = *state;

    for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
        assert_int_equal(run(s, specs[i]), 0);
        assert_int_equal(s->total.steps, STEPS);
        assert_true(s->total.alpha == 0.0 && s->total.cumulative_error == 0.0);
        assert_true(s->total.contraction_min == 1.0 && s->total.cosine > 1.0 - 1e-12);
        assert_int_equal(s->total.staleness_max, 0);
        assert_true(i == 0 ? isnan(s->total.residual_norm) : s->total.residual_norm == 0.0);
        assert_true(s->total.union_density == 1.0);
    }
}

/* ---- error feedback with top-k, worked out again with plain loops and in double ---- */

struct plain {
    double p[WORKERS][NAMES][LARGEST], e[WORKERS][NAMES][LARGEST];
    unsigned age[WORKERS][NAMES][LARGEST];
    double sent[NAMES][LARGEST], due[NAMES][LARGEST]; /* since the start */
    double alpha, cumulative, residual, gradient, touched;
};

static bool is_kept(const double *p, uint64_t n, uint64_t i, uint64_t k)
{
    uint64_t before = 0;

    for (uint64_t j = 0; j < n; j++)
        before += fabs(p[j]) > fabs(p[i]) || (fabs(p[j]) == fabs(p[i]) && j < i);
    return before < k;
}

static void plain_step(struct plain *f, size_t step, double density)
{
    double dd = 0, rr = 0, drift = 0, owed = 0;

    f->residual = f->gradient = f->touched = 0.0;
    for (size_t j = 0; j < NAMES; j++) {
        const uint64_t n = source.tensor[j].count, k = (uint64_t)rint(density * (double)n);
        double update[LARGEST] = {0}, mean[LARGEST] = {0};
        bool any[LARGEST] = {false};

        for (size_t w = 0; w < WORKERS; w++) {
            const float *g = source.data[(step * WORKERS + w) * NAMES + j];
            double *p = f->p[w][j], *e = f->e[w][j];

            for (uint64_t i = 0; i < n; i++)
                p[i] = (double)(float)(e[i] + (double)g[i]);
            for (uint64_t i = 0; i < n; i++) {
                const bool kept = is_kept(p, n, i, k);

                e[i] = kept ? 0.0 : p[i];
                update[i] += kept ? p[i] / WORKERS : 0.0;
                mean[i] += (double)g[i] / WORKERS;
                any[i] |= kept;
                f->age[w][j][i] = kept ? 0 : f->age[w][j][i] + 1;
                f->residual += e[i] * e[i] / WORKERS;
                f->gradient += (double)g[i] * (double)g[i] / WORKERS;
            }
        }
        for (uint64_t i = 0; i < n; i++) {
            f->sent[j][i] += update[i];
            f->due[j][i] += mean[i];
            f->touched += any[i];
            dd += (update[i] - mean[i]) * (update[i] - mean[i]);
            rr += mean[i] * mean[i];
            drift += (f->sent[j][i] - f->due[j][i]) * (f->sent[j][i] - f->due[j][i]);
            owed += f->due[j][i] * f->due[j][i];
        }
    }
    f->alpha = sqrt(dd / rr);
    f->cumulative = sqrt(drift / owed);
    f->residual = sqrt(f->residual);
    f->gradient = sqrt(f->gradient);
}

static int by_size(const void *a, const void *b)
{
    const unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;

    return (x > y) - (x < y);
}

static void expect_ages(const struct plain *f, const struct gcb_replay_step *step)
{
    static unsigned all[WORKERS * (LARGEST + 70)];
    size_t n = 0;

    for (size_t w = 0; w < WORKERS; w++)
        for (size_t j = 0; j < NAMES; j++)
            for (uint64_t i = 0; i < source.tensor[j].count; i++)
                all[n++] = f->age[w][j][i];
    qsort(all, n, sizeof(*all), by_size);
    assert_int_equal(step->staleness_median, all[(size_t)ceil(0.5 * (double)n) - 1]);
    assert_int_equal(step->staleness_p99, all[(size_t)ceil(0.99 * (double)n) - 1]);
    assert_int_equal(step->staleness_max, all[n - 1]);
}

static void feedback_is_what_it_says(void **state)
{
    struct setup *s = *state;
    struct plain *f = calloc(1, sizeof(*f));

    s->config.loops = 3;
    assert_int_equal(run(s, "topk:density=0.1,memory=ef"), 0);
    assert_int_equal(s->seen.steps, 3 * STEPS);
    for (size_t t = 0; t < 3 * STEPS; t++) {
        const struct gcb_replay_step *step = &s->seen.step[t];

        plain_step(f, t % STEPS, 0.1);
        assert_int_equal(step->step, 10 + t % STEPS);
        assert_int_equal(step->loop, t / STEPS);
        expect(step->alpha, f->alpha, 1e-5);
        expect(step->cumulative_error, f->cumulative, 1e-5);
        expect(step->residual_norm, f->residual, 1e-5);
        expect(step->gradient_norm, f->gradient, 1e-9);
        expect(step->density, 0.1, 1e-9);
        expect(step->union_density, f->touched / (LARGEST + 70), 1e-12);
        expect_ages(f, step);
    }
    assert_true(s->total.feedback && s->total.bound_ratio > 0.0 && s->total.bound_ratio <= 1.0);
    free(f);
}

/* ||e||^2 <= 4 (1 - d) / d^2 max ||g||^2, and the ratio is of these very figures. */
static void bound(void **state)
{
    static const char *const specs[] = {"topk:density=0.05,memory=ef",
                                        "sbc:p=0.1",
                                        "stc:p=0.1",
                                        "dgc:density=0.1,momentum=0",
                                        "demo:density=0.1,chunk=64",
                                        "fft:theta=0.8,memory=ef",
                                        "topk:density=0.05,memory=ef,decay=0.9",
                                        "topk:density=0.2,memory=delay,delay=3",
                                        "range:bits=4,memory=ef",
                                        "fp16:memory=ef"};
    struct setup *s = *state;

    s->config.loops = 20;
    for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
        double d = 1.0;

        assert_int_equal(run(s, specs[i]), 0);
        assert_true(s->total.feedback);
        assert_true(s->total.bound_ratio <= 1.0);
        for (size_t t = 0; t < s->seen.steps; t++)
            if (!isnan(s->seen.step[t].contraction))
                d = fmin(d, s->seen.step[t].contraction);
        expect(s->total.contraction_min, d, 1e-15);
    }
    assert_int_equal(run(s, "dgc:density=0.1"), 0); /* momentum */
    assert_true(!s->total.feedback && isnan(s->total.bound_ratio));
    assert_int_equal(run(s, "topk"), 0); /* no memory */
    assert_true(!s->total.feedback && isnan(s->total.bound_ratio));
}

static void delay_counts_its_input(void **state)
{
    struct setup *s = *state;
    const uint64_t step_bytes = WORKERS * (LARGEST + 70) * sizeof(float);

    assert_int_equal(run(s, "identity:memory=delay,delay=4"), 0);
    assert_int_equal(s->total.silent_steps, 5);
    assert_int_equal(s->total.unsent_steps, 2);
    assert_int_equal(s->total.input_bytes, STEPS * step_bytes);
    assert_int_equal(s->total.tally.input_bytes, 4 * step_bytes);
    expect(s->total.ratio, 4.0 * (double)step_bytes / (double)s->total.tally.wire_bytes, 1e-12);
    assert_true(isnan(s->seen.step[0].alpha) && isnan(s->seen.step[0].ratio));
    assert_int_equal(s->seen.step[0].tally.wire_bytes, 0);
    assert_true(s->seen.step[0].cumulative_error == 1.0);
    expect(s->seen.step[3].ratio, s->total.ratio, 1e-12);
    assert_true(s->seen.step[3].alpha < 1e-6 && s->seen.step[3].cumulative_error < 1e-6);
    assert_int_equal(s->seen.step[2].staleness_median, 3);
    assert_int_equal(s->seen.step[3].staleness_max, 0);
    assert_int_equal(s->total.staleness_median, 2);
    assert_int_equal(run(s, "identity:memory=delay,delay=2"), 0);
    assert_int_equal(s->total.tally.input_bytes, STEPS * step_bytes);
    assert_true(s->total.alpha < 1e-6 && s->total.cumulative_error < 1e-6);
}

/* Workers that are alike have the norms that rows show; with a delay g is as large as its parts together. */
static void bound_is_of_these_figures(void **state)
{
    struct setup *s = *state;
    double gradient = 0.0, window = 0.0, residual = 0.0, d;

    for (size_t i = 0; i < TENSORS; i++)
        memcpy(source.data[i], source.data[i / (NAMES * WORKERS) * NAMES * WORKERS + i % NAMES],
               sizeof(source.data[i]));
    for (size_t k = 0; k < LARGEST; k++) /* the largest come first, and are not the last */
        for (size_t i = 0; i < NAMES * WORKERS; i++)
            source.data[i][k] *= 4.0f;
    s->config.loops = 3;
    assert_int_equal(run(s, "topk:density=0.2,memory=delay,delay=3"), 0);
    d = s->total.contraction_min;
    for (size_t t = 0; t < s->seen.steps; t++) {
        gradient += s->seen.step[t].gradient_norm;
        window = fmax(window, gradient);
        if (t % 3 != 2)
            continue;
        gradient = 0.0;
        residual = fmax(residual, s->seen.step[t].residual_norm);
    }
    expect(s->total.bound_ratio,
           residual * residual / (4.0 * (1.0 - d) / (d * d) * window * window), 1e-9);
}

/* Momentum: what is owed is what entered the memory, so that what is missing is what is still in it. */
static void momentum_owes_what_it_added(void **state)
{
    struct setup *s = *state;

    assert_int_equal(run(s, "identity:memory=dgc,momentum=0.5,masking=no"), 0);
    assert_true(s->total.alpha < 1e-6 && s->total.cumulative_error < 1e-6);
    assert_int_equal(run(s, "identity:memory=dgc,momentum=0.5,nesterov=yes,masking=no"), 0);
    assert_true(s->total.alpha < 1e-6 && s->total.cumulative_error < 1e-6);
    assert_int_equal(run(s, "identity:memory=dgc,momentum=0.5,clip-norm=0.001"), 0);
    assert_true(s->total.alpha < 1e-6 && s->total.cumulative_error < 1e-6);
    assert_int_equal(run(s, "identity:memory=dgc,momentum=0.5,nesterov=yes,clip-norm=0.001"), 0);
    assert_true(s->total.alpha < 1e-6 && s->total.cumulative_error < 1e-6);
    assert_int_equal(run(s, "topk:density=0.1,memory=dgc,momentum=0.5"), 0);
    assert_true(s->total.alpha > 0.1 && s->total.cumulative_error > 0.1);
}

/* One worker alone sends element 0, another element 1; the third has nothing. */
static void constructed(void **state)
{
    struct setup *s = *state;

    for (size_t i = 0; i < TENSORS; i++) {
        memset(source.data[i], 0, sizeof(source.data[i]));
        if (i / NAMES % WORKERS < 2)
            source.data[i][i / NAMES % WORKERS] = 2.0f;
        if (i / NAMES % WORKERS == 0)
            source.data[i][5] = 1.0f; /* never among the largest until it has added up */
    }
    assert_int_equal(run(s, "topk:density=0.001,memory=ef"), 0);
    expect(s->seen.step[0].union_density, 4.0 / (LARGEST + 70), 1e-12);
    assert_int_equal(s->seen.step[0].staleness_max, 1); /* element 5 of worker 0 */
    assert_int_equal(s->seen.step[0].staleness_p99, 0); /* what is zero is not late */
    expect(s->seen.step[0].alpha, 1.0 / 3.0, 1e-6);     /* 1 of (2, 2, 1), in both tensors */
    assert_int_equal(s->seen.step[1].staleness_max, 2); /* a tie: the lower index goes */
    assert_int_equal(s->seen.step[2].staleness_max, 1); /* 3 beats 2, which has to wait */
}

static void schedules(void **state)
{
    struct setup *s = *state;

    assert_int_equal(gcb_schedule_parse(&s->config.schedule, "0.9@1,0.7@2,0@4", &s->diag), 0);
    assert_int_equal(run(s, "topk:theta=0.8,memory=ef"), 0);
    expect(s->seen.step[0].density, 0.2, 1e-9);
    expect(s->seen.step[1].density, 0.1, 1e-9);
    expect(s->seen.step[2].density, 0.3, 1e-9);
    expect(s->seen.step[3].theta, 0.7, 0.0);
    expect(s->seen.step[4].density, 1.0, 0.0);
    assert_true(s->seen.step[3].residual_norm > 0.0);
    assert_true(s->seen.step[4].residual_norm == 0.0); /* memory outlives the encoders */
    assert_true(s->seen.step[4].cumulative_error < 1e-6);
    assert_int_equal(run(s, "qsgd"), 0);
    assert_true(isnan(s->seen.step[1].theta));
}

static void schedule_by_learning_rate(void **state)
{
    struct setup *s = *state;

    assert_int_equal(gcb_schedule_parse(&s->config.schedule, "sqrt-lr", &s->diag), 0);
    s->config.schedule.lipschitz = 2.0;
    assert_int_equal(run(s, "topk"), GCB_E_INVALID);
    assert_non_null(strstr(s->diag.text, "step 10 has no attribute lr"));
    source.lr = 0.32;
    assert_int_equal(run(s, "topk"), 0);
    expect(s->seen.step[0].theta, 0.8, 1e-12);
    expect(s->seen.step[3].theta, 0.4, 1e-12);
    expect(s->seen.step[3].lr, 0.08, 1e-12);
    assert_int_equal(gcb_curve_parse(&s->config.schedule.lr, "5@0,0.02@2", "--lr", NULL), 0);
    assert_int_equal(run(s, "topk"), 0);
    expect(s->seen.step[0].theta, 0.999999, 0.0);
    expect(s->seen.step[2].theta, 0.2, 1e-12);
}

static void schedule_by_epoch(void **state)
{
    static const double density[STEPS] = {0.25, 0.25, 0.0625, 0.0625, 0.015625, 0.015625};
    struct setup *s = *state;

    assert_int_equal(gcb_schedule_parse(&s->config.schedule, "dgc-warmup", &s->diag), 0);
    assert_int_equal(run(s, "dgc"), GCB_E_INVALID);
    assert_non_null(strstr(s->diag.text, "has no attribute epoch"));
    source.epoch = 7.0; /* two steps to an epoch */
    assert_int_equal(run(s, "dgc"), 0);
    for (size_t t = 0; t < STEPS; t++)
        expect(s->seen.step[t].theta, 1.0 - density[t], 1e-12);
    assert_int_equal(gcb_schedule_parse(&s->config.schedule, "dgc-warmup:1", &s->diag), 0);
    assert_int_equal(run(s, "dgc"), 0);
    expect(s->seen.step[3].theta, 0.996, 1e-12);
    expect(s->seen.step[4].theta, 0.999, 1e-12);
    expect(s->seen.step[5].theta, 0.999, 1e-12);
}

static void schedules_explain_themselves(void **state)
{
    static const char *const bad[][2] = {
        {"", "is not VALUE@STEP"},
        {"0.9@", "'0.9@' is not"},
        {"x@0", "'x@0' is not"},
        {"0.9@0,", "is not VALUE@STEP"},
        {"0.9@0,0.5", "'0.5' is not"},
        {"0.9@4,0.5@4", "steps must rise"},
        {"1@0", "theta must be in [0, 1)"},
        {"dgc-warmup:0", "STEPS_PER_EPOCH"},
        {"nan@0", "'nan@0' is not"},
        {"sqrt-lr:3", "is not VALUE@STEP"},
    };
    struct gcb_schedule schedule;
    struct gcb_diag diag;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        memset(&schedule, 0, sizeof(schedule));
        assert_int_equal(gcb_schedule_parse(&schedule, bad[i][0], &diag), GCB_E_INVALID);
        if (!strstr(diag.text, bad[i][1]))
            fail_msg("'%s' says '%s'", bad[i][0], diag.text);
    }
}

/* The range of the first steps holds for all, and what is larger later is clamped and counted. */
static void tuning(void **state)
{
    struct setup *s = *state;
    const struct gcb_tensor *later = &source.tensor[4 * WORKERS * NAMES];

    for (size_t k = 0; k < 30; k++)
        source.data[later - source.tensor][k] = 1.0f; /* the others stay below 0.005 */
    s->config.tune_steps = 2;
    assert_int_equal(run(s, "range:bits=8"), 0);
    assert_true(isnan(s->seen.step[1].clamped_share));
    expect(s->seen.step[4].clamped_share, 30.0 / (WORKERS * (LARGEST + 70)), 1e-12);
    assert_true(s->seen.step[4].alpha > 0.9);
    s->config.tune_steps = 5; /* sees it */
    assert_int_equal(run(s, "range:bits=8"), 0);
    assert_true(s->seen.step[5].clamped_share == 0.0);
    s->config.tune_steps = 2;
    assert_int_equal(run(s, "fft:theta=0.5,memory=ef"), 0);
    assert_true(s->seen.step[4].clamped_share > 0.0 && s->seen.step[4].clamped_share < 1.0);
}

static void scopes_and_threads(void **state)
{
    struct setup *s = *state;
    struct gcb_replay_total before;

    s->layout.scope = GCB_SCOPE_MODEL;
    assert_int_equal(run(s, "topk:density=0.1,memory=ef"), 0);
    assert_int_equal(s->total.tally.messages, STEPS * WORKERS);
    before = s->total;
    s->queue.threads = 4;
    assert_int_equal(run(s, "topk:density=0.1,memory=ef"), 0);
    assert_true(s->total.alpha == before.alpha && s->total.residual_norm == before.residual_norm);
    assert_true(s->total.cumulative_error == before.cumulative_error);
    s->layout = (struct gcb_layout_config){.min_elements = 100};
    assert_int_equal(run(s, "topk:density=0.1,memory=ef"), 0);
    assert_int_equal(s->total.tally.dense, STEPS * WORKERS);
}

/* Random draws differ between repetitions. */
static void repetitions_draw_apart(void **state)
{
    struct setup *s = *state;

    s->config.loops = 2;
    assert_int_equal(run(s, "qsgd:bits=2"), 0);
    for (size_t t = 0; t < STEPS; t++)
        assert_true(s->seen.step[t].alpha != s->seen.step[t + STEPS].alpha);
    assert_int_equal(run(s, "topk"), 0);
    for (size_t t = 0; t < STEPS; t++)
        assert_true(s->seen.step[t].alpha == s->seen.step[t + STEPS].alpha);
}

static void refuses(void **state)
{
    struct setup *s = *state;

    source.data[3][7] = NAN;
    assert_int_equal(run(s, "topk"), GCB_E_NONFINITE);
    assert_non_null(strstr(s->diag.text, "step 10 worker 1 small (1 of 70)"));
    s->config.nonfinite = GCB_POLICY_RAW;
    assert_int_equal(run(s, "topk"), GCB_E_INVALID);
    s->config.nonfinite = GCB_POLICY_SKIP;
    assert_int_equal(run(s, "topk:memory=ef"), 0);
    assert_int_equal(s->total.steps, STEPS - 1);
    assert_int_equal(s->seen.step[0].step, 11);
    assert_int_equal(gcb_replay_skipped_steps(s->replay), 1);
    s->config.nonfinite = GCB_POLICY_ZERO;
    assert_int_equal(run(s, "topk:memory=ef"), 0);
    assert_int_equal(s->total.steps, STEPS);
    for (size_t i = 4 * WORKERS * NAMES; i < TENSORS; i++)
        source.tensor[i].step += 3;
    assert_int_equal(run(s, "topk"), GCB_E_INVALID);
    assert_non_null(strstr(s->diag.text, "step 17 follows step 13: 3 between them are missing"));
    s->config.allow_gaps = true;
    assert_int_equal(run(s, "topk"), 0);
    source.tensor[TENSORS - 1].count = 69;
    assert_int_equal(run(s, "topk"), GCB_E_INVALID);
    assert_non_null(strstr(s->diag.text, "step 18 worker 2 small"));
    source.tensor[TENSORS - 1].count = 70;
    source.tensor[TENSORS - 1].path = "other";
    assert_int_equal(run(s, "topk"), GCB_E_INVALID);
}

/* Every allocation fails once: it is said, and (sanitizers see it) nothing is left behind. */
static void without_memory(void **state)
{
    struct setup *s = *state;
    size_t failed = 0;
    int err;

    s->config.tune_steps = 1;
    gcb_schedule_parse(&s->config.schedule, "0.9@3", NULL);
    do {
        s->diag.text[0] = '\0';
        gcb_replay_close(s->replay);
        s->replay = NULL;
        calls = 0;
        fail_at = 0;
        gcb_layout_fini(&s->plan);
        assert_int_equal(gcb_layout_init(&s->plan, &source, &s->layout, NULL), 0);
        calls = 0;
        fail_at = ++failed;
        err = replay(s, "topk:theta=0.8,values=range,memory=delay,momentum=0.5,delay=2");
        fail_at = 0;
        if (err && (err != GCB_E_NOMEM || !strstr(s->diag.text, "out of memory")))
            fail_msg("allocation %zu: %d, '%s'", failed, err, s->diag.text);
    } while (err);
    assert_true(failed > 60);
}

static void stops(void **state)
{
    struct setup *s = *state;

    s->seen.stop_after = 2;
    assert_int_equal(run(s, "topk:memory=ef"), 0);
    assert_true(s->total.interrupted);
    assert_int_equal(s->total.steps, 2);
}

static void staleness_percentiles(void **state)
{
    struct gcb_staleness *s = malloc(sizeof(*s));
    const uint16_t age[] = {0, 0, 0, 5, 9, 65535};

    (void)state;
    gcb_staleness_clear(s);
    assert_int_equal(gcb_staleness_at(s, 0.5), 0);
    assert_int_equal(gcb_staleness_max(s), 0);
    gcb_staleness_add(s, age, 6);
    assert_int_equal(gcb_staleness_at(s, 0.5), 0);
    assert_int_equal(gcb_staleness_at(s, 0.51), 5);
    assert_int_equal(gcb_staleness_at(s, 0.99), 65535);
    assert_int_equal(gcb_staleness_max(s), 65535);
    free(s);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(lossless),
        CASE(feedback_is_what_it_says),
        CASE(bound),
        CASE(delay_counts_its_input),
        CASE(bound_is_of_these_figures),
        CASE(momentum_owes_what_it_added),
        CASE(constructed),
        CASE(schedules),
        CASE(schedule_by_learning_rate),
        CASE(schedule_by_epoch),
        cmocka_unit_test(schedules_explain_themselves),
        CASE(tuning),
        CASE(scopes_and_threads),
        CASE(repetitions_draw_apart),
        CASE(refuses),
        CASE(without_memory),
        CASE(stops),
        cmocka_unit_test(staleness_percentiles),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
