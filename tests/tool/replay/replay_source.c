#include "tests/tool/replay/replay_source.h"

#include <math.h>

struct gcb_source replay_source;

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
    memcpy(out, s->data[i], s->tensor[i].count * sizeof(*out));
    return 0;
}

/* The library's allocator, but for one call that fails. */
size_t replay_calls, replay_fail_at;

void *gcb_alloc(size_t bytes)
{
    if (++replay_calls == replay_fail_at)
        return NULL;
    return aligned_alloc(GCB_ALIGN, (bytes + GCB_ALIGN) / GCB_ALIGN * GCB_ALIGN);
}

void gcb_free(void *p)
{
    free(p);
}

static void fill_source(void)
{
    static const char *const names[NAMES] = {"large", "small"};
    static const uint64_t counts[NAMES] = {LARGEST, 70};
    uint32_t seed = 1;

    for (size_t i = 0; i < TENSORS; i++) {
        replay_source.tensor[i] = (struct gcb_tensor){
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
            replay_source.data[i][k] = ((float)(seed >> 8) * 0x1p-24f - 0.5f) * 0.01f;
        }
    }
}

static int on_step(void *ctx, const struct gcb_replay_step *step, struct gcb_diag *diag)
{
    struct seen *s = ctx;

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

int replay_set_up(void **state)
{
    struct replay_setup *s = test_calloc(1, sizeof(*s));

    fill_source();
    gcb_kernels_init(&s->kernels, gcb_cpu_detect());
    s->queue.threads = 1;
    s->config = (struct gcb_replay_config){.source = &replay_source,
                                           .compute.kernels = &s->kernels,
                                           .compute.queue = &s->queue,
                                           .compute.seed = 1};
    *state = s;
    return 0;
}

int replay_tear_down(void **state)
{
    struct replay_setup *s = *state;

    gcb_replay_close(&s->replay);
    gcb_layout_fini(&s->plan);
    test_free(s);
    return 0;
}

int replay_start(struct replay_setup *s, const char *spec)
{
    const struct gcb_replay_observer observer = {
        on_step, &s->seen, {on_progress, on_stop, &s->seen, 0.0, 0.0}};
    struct gcb_method method;
    int err;

    s->seen.steps = 0;
    s->seen.shown = 0.0;
    assert_int_equal(gcb_method_parse(&method, spec, &s->diag), 0);
    s->config.layout = &s->plan;
    err = gcb_replay_open(&s->replay, &s->config, &s->diag);
    return err ? err : gcb_replay_run(&s->replay, &method, &observer, &s->total, &s->diag);
}

int replay_run(struct replay_setup *s, const char *spec)
{
    gcb_replay_close(&s->replay);
    gcb_layout_fini(&s->plan);
    gcb_layout_init(&s->plan, &replay_source, &s->layout);
    return replay_start(s, spec);
}

void replay_expect(double got, double want, double tolerance)
{
    if (!(fabs(got - want) <= tolerance * fabs(want) + 1e-300))
        fail_msg("%.17g, not %.17g", got, want);
}

const char *gcb_source_what(const struct gcb_source *s)
{
    return NULL;
}
