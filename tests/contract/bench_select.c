/*
 * Times the selectors of src/lib/sparse against a full radix select, on one thread. Not a test: run
 * by hand, and by ./dev papers, which reads the table.
 *
 *   bench_select [uniform|normal [density [most]]]    up to `most` bytes of float32, 2^29 unless told
 *
 * A line for each size from 4 KiB, each twice the one before up to 1 MiB and eight times from
 * there. Times are of the thread (other work on the machine hardly changes them), medians of rounds
 * that run every selector once; "x" is how many times as fast as the radix select of the same size,
 * the median of the rounds' ratios. All give positions in ascending order. `reused` is RedSync's
 * threshold that serves five steps: a search and four reuses, over five.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "src/lib/sparse/select.h"
#include "src/tool/base/host.h"
#include "tests/kernels/check.h"

#define ROUNDS_MOST 101
#define ROUNDS_LEAST 5
#define METHODS 6 /* radix first */

static const char *const names[METHODS] = {"radix",  "topk",   "trimmed",
                                           "search", "reused", "sampled"};

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- the baseline: three passes over all elements, a fourth to collect ---- */

static uint64_t radix_select(uint32_t *pos, const float *x, uint64_t n, uint64_t k)
{
    static const unsigned shifts[] = {20, 10, 0}, widths[] = {11, 10, 10};
    uint32_t prefix = 0;
    uint64_t histogram[2048], left = k, kept = 0;

    for (int pass = 0; pass < 3; pass++) {
        const unsigned above = shifts[pass] + widths[pass];
        uint32_t digit = (1u << widths[pass]) - 1;

        memset(histogram, 0, sizeof(histogram));
        for (uint64_t i = 0; i < n; i++) {
            const uint32_t m = gcb_magnitude(x[i]);

            if (pass == 0 || m >> above == prefix >> above)
                histogram[m >> shifts[pass] & ((1u << widths[pass]) - 1)]++;
        }
        while (histogram[digit] < left)
            left -= histogram[digit--];
        prefix |= digit << shifts[pass];
    }
    for (uint64_t i = 0; i < n; i++) { /* the larger ones, and the first `left` equal ones */
        const uint32_t m = gcb_magnitude(x[i]);
        const int tie = m == prefix && left > 0;

        if (m > prefix || tie)
            pos[kept++] = (uint32_t)i;
        left -= (uint64_t)tie;
    }
    return kept;
}

/* ---- what is timed ---- */

struct bench {
    float *x;
    uint32_t *pos;
    uint64_t n, k, kept;
    struct gcb_kernels kernels;
    struct gcb_queue queue;
    struct gcb_selection s;
};

static const struct gcb_selector *selector(int method)
{
    switch (method) {
    case 1:
        return &gcb_selector_topk;
    case 2:
        return &gcb_selector_trimmed;
    case 3:
        return &gcb_selector_search;
    case 4:
        return &gcb_selector_redsync;
    default:
        return &gcb_selector_sampled;
    }
}

/* Seconds of one selection; small tensors are selected from several times. */
static double run(struct bench *b, int method)
{
    const uint64_t times = b->n < 1 << 20 ? ((uint64_t)1 << 20) / b->n : 1;
    const uint64_t steps = method == 4 ? 5 * ((times + 4) / 5) : times;
    const double start = now();

    b->s.found = false;
    for (uint64_t i = 0; i < steps; i++) {
        b->s.at.step = i;
        if (method == 0)
            b->kept = radix_select(b->pos, b->x, b->n, b->k);
        else
            selector(method)->select(&b->s, b->k);
    }
    if (method)
        b->kept = b->s.kept;
    return (now() - start) / (double)steps;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *x, int n)
{
    qsort(x, (size_t)n, sizeof(*x), ascending);
    return n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2.0;
}

static int rounds_of(uint64_t n)
{
    const uint64_t rounds = ((uint64_t)1 << 27) / (n < 1 << 20 ? 1 << 20 : n);

    return rounds < ROUNDS_LEAST ? ROUNDS_LEAST : rounds > ROUNDS_MOST ? ROUNDS_MOST : (int)rounds;
}

static void bench_size(struct bench *b, double density)
{
    const struct gcb_codec_env env = {
        .count = b->n,
        .segment = UINT64_C(1) << 31,
        .kernels = &b->kernels,
        .queue = &b->queue,
    };
    double seconds[METHODS][ROUNDS_MOST], ratio[ROUNDS_MOST];
    uint64_t kept[METHODS] = {0};
    const int rounds = rounds_of(b->n);

    b->k = gcb_kept_of(density, b->n);
    b->s = (struct gcb_selection){.p = {.density = density, .sample = 0.01, .interval = 5}};
    if (gcb_selection_init(&b->s, b->n, &env, NULL))
        abort();
    b->s.from = (struct gcb_source){.order = b->x, .ops = &gcb_transform_none};
    for (int i = -1; i < rounds; i++) /* the first round warms up */
        for (int m = 0; m < METHODS; m++) {
            seconds[m][i < 0 ? 0 : i] = run(b, m);
            kept[m] = b->kept;
        }
    printf("%9llu", (unsigned long long)(b->n * sizeof(float) / 1024));
    for (int m = 1; m < METHODS; m++) {
        for (int i = 0; i < rounds; i++)
            ratio[i] = seconds[0][i] / seconds[m][i];
        printf("  %6.1fx (%.2f k)", median(ratio, rounds), (double)kept[m] / (double)b->k);
    }
    printf("  %8.3f ms\n", 1e3 * median(seconds[0], rounds));
    fflush(stdout);
    if (kept[0] != b->k)
        abort();
    gcb_selection_fini(&b->s);
}

static void fill(float *x, uint64_t n, int normal)
{
    uint64_t state = 1;

    for (uint64_t i = 0; i < n; i++) {
        const uint64_t r = check_random(&state);
        const float u = (float)(r >> 40) * 0x1p-24f, v = (float)(r >> 8 & 0xFFFFFF) * 0x1p-24f;

        x[i] = normal ? sqrtf(-2.0f * logf(1.0f - u)) * cosf(6.2831853f * v) : u;
    }
}

int main(int argc, char **argv)
{
    const int normal = argc > 1 && strcmp(argv[1], "normal") == 0;
    const double density = argc > 2 ? strtod(argv[2], NULL) : 0.001;
    const uint64_t most = (argc > 3 ? strtoull(argv[3], NULL, 0) : UINT64_C(1) << 29) / 4;
    struct bench b = {.queue = {1}};

    b.x = malloc(most * sizeof(float));
    b.pos = malloc(most * sizeof(uint32_t));
    if (!b.x || !b.pos || !(density > 0.0 && density <= 1.0))
        return 1;
    gcb_kernels_init(&b.kernels, gcb_cpu_detect());
    fill(b.x, most, normal);
    printf("%s data, density %g\n%9s", normal ? "normal" : "uniform", density, "KiB");
    for (int m = 1; m < METHODS; m++)
        printf("  %16s", names[m]);
    printf("  %11s\n", names[0]);
    for (b.n = 1024; b.n <= most; b.n *= b.n < 1 << 18 ? 2 : 8)
        bench_size(&b, density);
    free(b.x);
    free(b.pos);
    return 0;
}
