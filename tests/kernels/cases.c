/*
 * Compares every variant of the cases of `gcbench bench --kernels` with C: other sizes, inputs and
 * parameters than the bench has, arrays that are not aligned, and guards around them.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/tool/run/kernels.h"
#include "tests/kernels/check.h"

#define GUARD 64

/* Replaces the library's allocator: a block ends where it should, so that a sanitizer detects a
 * read past it. */
void *gcb_alloc(size_t bytes)
{
    void *p = NULL;

    return posix_memalign(&p, GCB_ALIGN, bytes ? bytes : 1) ? NULL : p;
}

void gcb_free(void *p)
{
    free(p);
}

static enum check_fill kind; /* of the current inputs */

static void fill(float *x, size_t n, unsigned seed)
{
    check_fill(x, n, kind, n + seed);
}

static bool is_family(const struct gcb_kernel_case *c, const char *family)
{
    return strcmp(c->family, family) == 0;
}

/* Which NaN results is not promised. */
static bool computes(const struct gcb_kernel_case *c)
{
    static const char *const names[] = {"sum", "power", "transform", "add"};
    bool found = is_family(c, "compare") || is_family(c, "accumulate");

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        found = found || strncmp(c->name, names[i], strlen(names[i])) == 0;
    return found;
}

/* Block numbers that carry into the high word, in the first vector or later, and the last block
 * numbers. */
static uint64_t first_draw(uint64_t random)
{
    static const uint64_t blocks[] = {0, 1, UINT64_C(0xfffffffe), UINT64_C(0xffffffff),
                                      UINT64_C(0x0ffffffffffffc00)};

    return random % 8 < 5 ? blocks[random % 8] * 16 : random & ~UINT64_C(15);
}

/* A norm of any exponent, of subnormal numbers too. */
static float any_norm(uint64_t random)
{
    return random % 16 ? ldexpf(1.0f + (float)(random % 7) / 7.0f, (int)(random >> 8) % 277 - 149)
                       : FLT_MAX;
}

static void set_format(struct gcb_range_format *f, uint64_t *state)
{
    const uint64_t random = check_random(state);
    const float max = random >> 60 ? any_norm(random) : 0.0f;
    unsigned bits, m;

    do {
        const uint64_t r = check_random(state);

        bits = 2 + (unsigned)(r % 15);
        m = (unsigned)(r >> 32) % bits;
    } while (!gcb_range_valid(bits, m));
    gcb_range_format(f, bits, m, max, random >> 50 & 1 ? GCB_ROUND_NEAREST : GCB_ROUND_TRUNCATE);
}

/* Bytes that often equal the top byte of the probability, so that the second draw is tested. */
static void aim_draws(struct gcb_kernel_job *job, uint64_t *state)
{
    const struct gcb_dither *d = &job->dither;

    for (size_t i = 0; i < job->n; i++) {
        const float t = fminf(fabsf(job->x[i]) * d->factor * d->inv, (float)d->levels);
        const uint64_t r = check_random(state);

        job->random[i] = (uint8_t)(r >> 63 ? (uint32_t)((t - floorf(t)) * 256.0f) : r);
    }
}

/* Fills the array that begins at `p` with random bytes. */
static void scramble(const struct gcb_kernel_job *job, const void *p, uint64_t *state)
{
    for (size_t k = 0; k < GCB_KERNEL_ARRAYS; k++)
        for (size_t i = job->guard; job->array[k] && job->array[k] + job->guard == p &&
                                    i < job->array_bytes[k] - job->tail;
             i++)
            job->array[k][i] = (uint8_t)(check_random(state) >> 20);
}

/* Replaces inputs of the bench by harder ones: decoders take any bytes and codes. */
static void harden(struct gcb_kernel_job *job, const struct gcb_kernel_case *c, uint64_t seed)
{
    const bool packs = strncmp(c->name, "pack", 4) == 0 || strcmp(c->name, "trits") == 0;
    uint64_t state = seed;

    set_format(&job->format, &state);
    if (is_family(c, "dither"))
        aim_draws(job, &state);
    if (job->out != job->bytes)
        scramble(job, job->bytes, &state);
    if (job->out != job->code && !packs)
        scramble(job, job->code, &state);
    if (!job->out && job->y)
        check_fill(job->y, job->n, kind, seed);
    if (job->bytes && job->tail) /* messages have any alignment */
        job->bytes += 1 + seed % 3;
}

/* Makes one call of a case with kernels of these instruction sets. */
static struct gcb_kernel_job run(const struct gcb_kernel_case *c, size_t i, unsigned round,
                                 unsigned flags)
{
    const bool packed = is_family(c, "bitpack") || is_family(c, "dither");
    uint64_t state = i * 16 + round;
    struct gcb_kernel_job job = {
        .offset = c->offset,
        .n = strcmp(c->name, "flip") && is_family(c, "hadamard") ? (size_t)1 << i % 18
                                                                 : check_size(i),
        .param = is_family(c, "hadamard") ? 0
                 : packed && c->param     ? 1 + round
                                          : c->param,
        .norm = any_norm(check_random(&state)),
        .weight = round % 2 ? -0.3f : 1.0f,
        .fill = fill,
        .guard = GUARD + i % 8 * sizeof(float),
        .tail = (i + round) % 2 ? GUARD : 0,
        .first = first_draw(check_random(&state)),
    };

    gcb_kernels_init(&job.kernels, 0);
    c->prepare(&job);
    harden(&job, c, i * 16 + round);
    gcb_kernels_init(&job.kernels, flags);
    c->run(&job);
    if (job.out == job.pos && job.pos) { /* what is after the collected entries is not promised */
        memset(job.pos + job.kept, 0, (job.n - job.kept) * sizeof(*job.pos));
        memset(job.y + job.kept, 0, (job.n - job.kept) * sizeof(*job.y));
    }
    return job;
}

static void compare(const struct gcb_kernel_case *c, const char *isa,
                    const struct gcb_kernel_job *want, const struct gcb_kernel_job *got)
{
    check_equal(c->name, isa, want->n, kind, &want->number, &got->number, sizeof(got->number));
    check_equal(c->name, isa, want->n, kind, &want->kept, &got->kept, sizeof(got->kept));
    check_equal(c->name, isa, want->n, kind, want->count, got->count, sizeof(got->count));
    check_equal(c->name, isa, want->n, kind, &want->compare, &got->compare, sizeof(got->compare));
    for (size_t k = 0; k < GCB_KERNEL_ARRAYS && want->array[k]; k++)
        check_equal(c->name, isa, want->n, kind, want->array[k], got->array[k],
                    want->array_bytes[k]);
}

/* Runs a case with every width that its family has. */
static void check_case(const struct gcb_kernel_case *c)
{
    const unsigned rounds = is_family(c, "range")     ? 15
                            : !c->param               ? FILL_COUNT
                            : is_family(c, "bitpack") ? 16
                            : is_family(c, "dither")  ? 15
                                                      : FILL_COUNT;

    for (size_t i = 0; i < CHECK_SIZES; i++)
        for (unsigned round = 0; round < rounds; round++) {
            struct gcb_kernel_job want, got;

            kind = (enum check_fill)((i + round) % FILL_COUNT);
            if (kind == FILL_NONFINITE && computes(c))
                kind = FILL_HOSTILE;
            want = run(c, i, round, 0);
            for (const struct check_isa *isa = check_isas(); isa->name; isa++) {
                got = run(c, i, round, isa->flags);
                compare(c, isa->name, &want, &got);
                gcb_kernel_release(&got);
            }
            gcb_kernel_release(&want);
        }
}

static void body(void)
{
    for (const struct gcb_kernel_case *c = gcb_kernel_cases; c->name; c++)
        if (c->offset != GCB_KERNEL_LIBRARY && !is_family(c, "fft") && /* see fft_own.c */
            (c == gcb_kernel_cases || c->offset != c[-1].offset))
            check_case(c);
}

int main(void)
{
    return check_main("cases", body);
}
