/* Compares steps with error feedback that is fused into a device's encoder with steps in which it
 * is not. */
#include <stdlib.h>
#include <string.h>

#include "src/lib/memory/memory.h"
#include "tests/kernels/check.h"
#include "tests/support/cuda_host/host.h"
#include "tests/support/device_coder.h"
#include "tests/support/device_made.h"
#include "tests/support/test.h"

#define COUNT(list) (sizeof(list) / sizeof(*(list)))

/* A coder on the device, memory for its messages, and its residual, if it has one. */
struct fused {
    struct gcb_coder *c;
    struct place p;
    void *residual;
};

static void open_fused(struct fused *f, const struct gcb_device *device, const struct gcb_method *m,
                       const struct gcb_coder_config *config, double carry)
{
    const uint64_t n = config->env.count;
    struct gcb_diag diag = {0};

    memset(f, 0, sizeof(*f));
    if (device_coder_create(&f->c, device, m, config, &diag))
        fail_msg("device coder: %s", diag.text);
    device_open_place(&f->p, device, n, gcb_coder_max_payload(f->c),
                      gcb_device_coder_scratch(f->c));
    if (!config->env.feedback)
        return;
    assert_int_equal(device->module->memory.alloc(&f->residual, n * sizeof(float), NULL), 0);
    device->module->stream.zero(gcb_device_batch_stream(f->p.batch), f->residual,
                                n * sizeof(float));
    f->p.m.residual_dev = f->residual;
    f->p.m.carry = (float)carry;
}

static void close_fused(struct fused *f)
{
    f->p.device->module->memory.free(f->residual);
    device_close_place(&f->p);
    gcb_coder_destroy(f->c);
}

/* Encodes g; checks that queueing neither waits nor allocates. */
static struct made step_device(struct fused *f, const struct gcb_step *at, const float *g,
                               uint64_t n)
{
    struct made made = {.bytes = malloc(gcb_coder_bound(f->c))};
    struct gcb_wbuf w = {.data = made.bytes, .cap = gcb_coder_bound(f->c)};
    struct gcb_host_counts before, after;
    struct gcb_frame frame;
    struct place *p = &f->p;

    assert_int_equal(gcb_device_batch_upload(p->batch, p->tensor, g, n * sizeof(float), NULL), 0);
    assert_int_equal(gcb_device_batch_begin(p->batch), 0);
    gcb_host_count(&before);
    assert_int_equal(gcb_device_coder_encode_async(f->c, at, &p->m, NULL), 0);
    gcb_host_count(&after);
    assert_int_equal(after.waits, before.waits);
    assert_int_equal(after.allocations, before.allocations);
    assert_int_equal(gcb_device_batch_finish(p->batch, NULL), 0);
    assert_int_equal(gcb_device_coder_encode_finish(f->c, &p->m, &frame, NULL), 0);
    assert_int_equal(gcb_device_coder_fetch(f->c, &p->m, &frame, &w, NULL), 0);
    made.length = w.len;
    gcb_message_seal(made.bytes, made.length, 0);
    return made;
}

/* The unfused path: a memory around the device's coder if there is one, otherwise around the
 * CPU's. */
struct unfused {
    struct gcb_memory *memory;
    struct gcb_coder *cpu;
    struct fused *dev;
    float *back;
};

static struct made step_unfused(struct unfused *u, const struct gcb_step *at, const float *g,
                                uint64_t n)
{
    const float *p = gcb_memory_compensate(u->memory, g);
    struct made made =
        u->dev ? step_device(u->dev, at, p, n) : device_encode_with(u->cpu, at, p, n);

    assert_int_equal(made.err, 0);
    assert_int_equal(u->dev ? device_decode_device(u->dev->p.device, &made, u->back, n)
                            : device_decode_cpu(&made, u->back, n),
                     0);
    gcb_memory_update(u->memory, u->back);
    return made;
}

static void open_unfused(struct unfused *u, const struct gcb_method *m,
                         const struct gcb_coder_config *config, double carry, struct fused *dev)
{
    const struct gcb_memory_params params = {.kind = GCB_MEMORY_EF, .decay = carry};
    const struct gcb_queue queue = {.threads = 1};
    const uint64_t n = config->env.count;
    struct gcb_kernels kernels;

    gcb_kernels_init(&kernels, gcb_cpu_detect());
    *u = (struct unfused){.dev = dev, .back = malloc((n + 1) * sizeof(float))};
    assert_int_equal(gcb_memory_create(&u->memory, &params, n, 1, &queue, &kernels, NULL), 0);
    assert_int_equal(gcb_coder_create(&u->cpu, m, config, NULL), 0);
}

static void close_unfused(struct unfused *u)
{
    gcb_memory_destroy(u->memory);
    gcb_coder_destroy(u->cpu);
    free(u->back);
}

/* Kinds of tensors, step by step. */
enum step_fill {
    STEP_DENORMAL = FILL_COUNT, /* noise of subnormal floats */
    STEP_UNEVEN,                /* noise; every other 4096 elements are much smaller */
};

static void fill_step(float *g, uint64_t n, int fill, uint64_t seed)
{
    check_fill(g, n, fill < FILL_COUNT ? (enum check_fill)fill : FILL_NOISE, seed);
    for (uint64_t i = 0; fill == STEP_UNEVEN && i < n; i++)
        g[i] *= i / 4096 % 2 ? 0x1p-60f : 1.0f;
    for (uint64_t i = 0; fill == STEP_DENORMAL && i < n; i++)
        g[i] = (g[i] > 1e3f ? 1e3f : g[i] < -1e3f ? -1e3f : g[i]) * 0x1p-138f;
}

static void same_step(const char *spec, uint64_t n, uint64_t step, const struct made *want,
                      const struct made *got)
{
    if (want->length != got->length || memcmp(want->bytes, got->bytes, want->length) != 0)
        fail_msg("%s, n=%llu, step %d: messages with feedback differ", spec, (unsigned long long)n,
                 (int)step);
}

static void same_residual(const char *spec, uint64_t n, uint64_t step, struct fused *f,
                          const float *want, const float *near)
{
    float *got = malloc((n + 1) * sizeof(float));
    uint64_t first;

    assert_int_equal(
        gcb_device_batch_download(f->p.batch, got, f->residual, n * sizeof(float), NULL), 0);
    first = device_first_unequal(spec, want, got, n);
    if (first < n)
        fail_msg("%s, n=%llu, step %d: residuals differ from element %llu on, %a and %a", spec,
                 (unsigned long long)n, (int)step, (unsigned long long)first, (double)want[first],
                 (double)got[first]);
    if (near && device_distance(near, got, n) > 1e-4)
        fail_msg("%s, n=%llu, step %d: residuals differ by %g of the CPU's norm", spec,
                 (unsigned long long)n, (int)step, device_distance(near, got, n));
    free(got);
}

void device_same_steps(const struct gcb_device *device, const char *spec, uint64_t n,
                       const struct device_steps *how)
{
    static const int plain[] = {FILL_NOISE, FILL_NOISE, FILL_TIES, FILL_NOISE};
    static const int wild[] = {STEP_DENORMAL, STEP_UNEVEN, STEP_UNEVEN, FILL_NOISE,     FILL_ZERO,
                               FILL_HOSTILE,  FILL_NOISE,  FILL_TIES,   FILL_NONFINITE, FILL_NOISE};
    const struct device_setting setting = {
        .source = how->source, .seed = 3, .nonfinite = how->wild ? GCB_NONFINITE_RAW : 0};
    const bool near = how->near && how->itself && !how->wild && device_tolerant(spec);
    const uint64_t steps = how->wild ? COUNT(wild) : COUNT(plain);
    float *g = malloc((n + 1) * sizeof(float));
    struct gcb_coder_config config;
    struct unfused u, cpu;
    struct fused f, own;
    struct gcb_method m;

    assert_int_equal(gcb_method_parse(&m, spec, NULL), 0);
    device_configure(&config, &setting, n);
    open_fused(&own, device, &m, &config, 0.0);
    open_unfused(&u, &m, &config, how->carry, how->itself ? &own : NULL);
    open_unfused(&cpu, &m, &config, how->carry, NULL);
    config.env.feedback = true;
    open_fused(&f, device, &m, &config, how->carry);
    for (uint64_t step = 0; step < steps; step++) {
        const struct gcb_step at = {.step = step};
        struct made want, got;

        fill_step(g, n, how->wild ? wild[step] : plain[step], 31 * step + n);
        want = step_unfused(&u, &at, g, n);
        got = step_device(&f, &at, g, n);
        same_step(spec, n, step, &want, &got);
        free(want.bytes);
        free(got.bytes);
        if (near)
            free(step_unfused(&cpu, &at, g, n).bytes);
        same_residual(spec, n, step, &f, gcb_memory_residual(u.memory),
                      near ? gcb_memory_residual(cpu.memory) : NULL);
    }
    close_fused(&f);
    close_fused(&own);
    close_unfused(&u);
    close_unfused(&cpu);
    free(g);
}

void device_same_feedback(const struct gcb_device *device, const char *spec, uint64_t n,
                          enum gcb_dtype source, double carry)
{
    const struct device_steps how = {.source = source, .carry = carry};

    device_same_steps(device, spec, n, &how);
}
