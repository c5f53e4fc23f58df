#include "tests/tool/run/run_source.h"

#include <math.h>

struct gcb_source run_source;

size_t gcb_source_count(const struct gcb_source *s)
{
    return TENSORS;
}

const struct gcb_tensor *gcb_source_tensor(const struct gcb_source *s, size_t i)
{
    return &s->tensor[i];
}

int gcb_source_read(struct gcb_source *s, size_t i, float *out, struct gcb_diag *diag)
{
    if (s->heals && s->reads == s->heals)
        s->data[1][5] = 0.0f;
    s->reads++;
    if (s->tensor[i].count)
        memcpy(out, s->data[i], s->tensor[i].count * sizeof(*out));
    return 0;
}

bool gcb_source_has_parts(const struct gcb_source *s, size_t i)
{
    return true;
}

int gcb_source_read_part(struct gcb_source *s, size_t i, uint64_t from, uint64_t count, float *out,
                         struct gcb_diag *diag)
{
    assert_true(from <= s->tensor[i].count && count <= s->tensor[i].count - from);
    memcpy(out, s->data[i] + from, count * sizeof(*out));
    s->parts++;
    return 0;
}

void run_fill(void)
{
    static const char *const names[NAMES] = {"empty", "large", "small"};
    static const uint64_t counts[NAMES] = {0, LARGEST, 120};
    uint32_t seed = 1;

    for (size_t i = 0; i < TENSORS; i++) {
        run_source.tensor[i] = (struct gcb_tensor){
            .path = names[i % NAMES],
            .dataset = names[i % NAMES],
            .file = "memory",
            .step = 100 * (i / (NAMES * WORKERS)),
            .worker = (uint32_t)(i / NAMES % WORKERS),
            .rank = 1,
            .dims = {counts[i % NAMES]},
            .count = counts[i % NAMES],
            .index = -1,
        };
        for (size_t k = 0; k < LARGEST; k++) {
            seed = seed * 1664525u + 1013904223u;
            run_source.data[i][k] = ((float)(seed >> 8) * 0x1p-24f - 0.5f) * 0.01f;
        }
    }
}

static int on_trial(void *ctx, const struct gcb_run_trial *t, struct gcb_diag *diag)
{
    struct run_seen *s = ctx;

    s->trials++;
    gcb_tally_merge(&s->sum[t->method], &t->tally);
    s->elements[t->method] += t->plan->count;
    assert_true(!t->input == (t->original != NULL));
    for (uint64_t i = 0; t->input && i < t->plan->count; i++) {
        const double d = (double)t->input[i] - (double)t->decoded[i];

        if (isfinite(t->input[i]))
            s->lost[t->method] += d * d;
    }
    if (s->groups)
        gcb_groups_add(s->groups, t);
    if (s->losses)
        assert_int_equal(gcb_losses_add(s->losses, &run_source, t, s->trial, diag), 0);
    return 0;
}

static void on_progress(void *ctx, double done)
{
    struct run_seen *s = ctx;

    assert_true(done >= s->shown && done <= 1.0 + 1e-12);
    s->shown = done;
}

static bool on_stop(void *ctx)
{
    const struct run_seen *s = ctx;

    return s->stop_after && s->trials >= s->stop_after;
}

int run_set_up(void **state)
{
    struct run_setup *s = test_calloc(1, sizeof(*s));

    run_fill();
    run_source.parts = 0;
    gcb_kernels_init(&s->kernels, gcb_cpu_detect());
    s->queue.threads = 1;
    s->config.source = &run_source;
    s->config.methods = s->methods;
    s->config.trial = (struct gcb_trial_config){.compute.kernels = &s->kernels,
                                                .compute.queue = &s->queue,
                                                .compute.seed = 1,
                                                .timing = {.repeat = 1}};
    s->seen.trial = &s->config.trial;
    *state = s;
    return 0;
}

int run_tear_down(void **state)
{
    struct run_setup *s = *state;

    gcb_run_result_fini(&s->result);
    gcb_layout_fini(&s->plan);
    test_free(s);
    return 0;
}

void run_use(struct run_setup *s, const char *spec)
{
    assert_int_equal(gcb_method_parse(&s->methods[s->config.method_count++], spec, NULL), 0);
}

int run_all(struct run_setup *s)
{
    const struct gcb_run_observer observer = {
        on_trial, &s->seen, {on_progress, on_stop, &s->seen, 0.0, 0.0}};

    gcb_layout_init(&s->plan, &run_source, &s->layout);
    s->config.layout = &s->plan;
    return gcb_run(&s->result, &s->config, &observer, &s->diag);
}

const char *gcb_source_what(const struct gcb_source *s)
{
    return NULL;
}
