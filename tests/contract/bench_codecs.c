/*
 * Times encode and decode of every method at its defaults, on one thread. Run it by hand: it is not a test.
 *
 *   bench_codecs [n [spec ...]]     n elements (default 2^24); these specs instead of all methods
 *
 * GB/s count the float32 input. Each is the median of several runs after one warm-up.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "src/lib/coder/coder.h"
#include "tests/kernels/check.h"

#define RUNS 7

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *seconds)
{
    qsort(seconds, RUNS, sizeof(*seconds), ascending);
    return seconds[RUNS / 2];
}

struct bench {
    const float *x;
    float *back;
    uint64_t n;
    struct gcb_coder *encoder, *decoder;
    struct gcb_wbuf w;
};

static double time_encode(struct bench *b)
{
    const struct gcb_step at = {0};
    const struct gcb_view in = {.data = b->x, .count = b->n};
    double seconds[RUNS];

    for (int i = -1; i < RUNS; i++) {
        const double start = now();

        b->w.len = 0;
        if (gcb_coder_encode(b->encoder, &at, &in, &b->w, NULL))
            abort();
        seconds[i < 0 ? 0 : i] = now() - start;
    }
    return median(seconds);
}

static double time_decode(struct bench *b)
{
    const struct gcb_mview out = {.data = b->back, .count = b->n};
    double seconds[RUNS];

    for (int i = -1; i < RUNS; i++) {
        const double start = now();

        if (gcb_coder_decode(b->decoder, b->w.data, b->w.len, &out, NULL))
            abort();
        seconds[i < 0 ? 0 : i] = now() - start;
    }
    return median(seconds);
}

static void bench_method(struct bench *b, const struct gcb_method *m)
{
    const struct gcb_coder_config config = {.env = {.count = b->n, .seed = 1},
                                            .nonfinite = GCB_NONFINITE_TRUSTED};
    const double bytes = 4e-9 * (double)b->n;
    struct gcb_diag diag = {0};
    char spec[256];
    double in, out;

    gcb_method_spec(spec, sizeof(spec), m, GCB_SPEC_LABEL);
    if (gcb_coder_create(&b->encoder, m, &config, &diag)) {
        printf("%-48s %s\n", spec, diag.text);
        return;
    }
    b->w = (struct gcb_wbuf){.cap = gcb_coder_bound(b->encoder)};
    b->w.data = malloc(b->w.cap);
    in = time_encode(b);
    if (gcb_coder_create_decoder(&b->decoder, b->w.data, b->w.len, &config, &diag))
        abort();
    out = time_decode(b);
    printf("%-48s %7.3f bits  encode %6.2f  decode %6.2f GB/s\n", spec,
           8.0 * (double)b->w.len / (double)b->n, bytes / in, bytes / out);
    fflush(stdout);
    gcb_coder_destroy(b->encoder);
    gcb_coder_destroy(b->decoder);
    free(b->w.data);
}

int main(int argc, char **argv)
{
    struct bench b = {.n = argc > 1 ? strtoull(argv[1], NULL, 0) : UINT64_C(1) << 24};
    float *x = malloc(b.n * sizeof(float));
    struct gcb_method m;
    struct gcb_diag diag = {0};

    b.back = malloc(b.n * sizeof(float));
    if (!x || !b.back)
        return 1;
    check_fill(x, b.n, FILL_NOISE, 1);
    b.x = x;
    for (int i = 2; i < argc; i++) {
        if (gcb_method_parse(&m, argv[i], &diag)) {
            fprintf(stderr, "%s\n", diag.text);
            return 2;
        }
        bench_method(&b, &m);
    }
    for (size_t i = 0; argc <= 2 && gcb_method_at(&m, i); i++)
        bench_method(&b, &m);
    free(x);
    free(b.back);
    return 0;
}
