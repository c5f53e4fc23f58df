#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/lib/sparse/stages.h"
#include "tests/support/test.h"
#include "tests/support/trip.h"

/* ---- against a full sort ---- */

struct place {
    uint32_t magnitude;
    uint64_t index;
};

static int larger_first(const void *a, const void *b)
{
    const struct place *p = a, *q = b;

    if (p->magnitude != q->magnitude)
        return p->magnitude < q->magnitude ? 1 : -1;
    return p->index > q->index ? 1 : -1;
}

/* rank[i]: number of elements before i, ordered by falling magnitude, then by index. The caller
 * frees it. */
static uint32_t *ranks_of(const float *x, uint64_t n)
{
    struct place *all = malloc((n + 1) * sizeof(*all));
    uint32_t *rank = malloc((n + 1) * sizeof(*rank));

    for (uint64_t i = 0; i < n; i++)
        all[i] = (struct place){gcb_magnitude(x[i]), i};
    qsort(all, n, sizeof(*all), larger_first);
    for (uint64_t i = 0; i < n; i++)
        rank[all[i].index] = (uint32_t)i;
    free(all);
    return rank;
}

/* Kept flags from the bitmaps of a message with float32 values, segment by segment. */
static char *sent_choice(const struct trip *t, uint64_t n, uint64_t k, uint64_t segment)
{
    const uint64_t segments = (n + segment - 1) / segment;
    const uint8_t *kept = t->message + t->parts.header_bytes;
    const uint8_t *map = kept + 4 * segments + 4 * k;
    char *sent = calloc(n + 1, 1);

    for (uint64_t g = 0; g < segments; g++) {
        const uint64_t first = g * segment, length = n - first < segment ? n - first : segment;
        uint64_t found = 0;

        for (uint64_t i = 0; i < length && gcb_load_u32(kept + 4 * g); i++)
            found += (uint64_t)(sent[first + i] = map[i / 8] >> i % 8 & 1);
        assert_int_equal(found, gcb_load_u32(kept + 4 * g));
        map += found ? (length + 7) / 8 : 0;
    }
    assert_true(map == t->message + t->length);
    return sent;
}

/* The elements of the first k ranks are sent. */
static void selection_is(const float *x, const uint32_t *rank, uint64_t n, uint64_t k,
                         const struct trip_options *o)
{
    struct trip t = {0};
    char spec[96], *sent;
    uint64_t wrong = 0;

    snprintf(spec, sizeof(spec), "topk:density=%.17g,values=fp32,index=bitmap",
             (double)k / (double)n);
    trip_run(&t, spec, x, n, o);
    if (t.parts.stored) { /* nearly all are kept */
        assert_memory_equal(t.back, x, n * sizeof(float));
    } else {
        assert_int_equal(t.parts.payload.kept, k);
        sent = sent_choice(&t, n, k, o->segment ? o->segment : UINT64_C(1) << 31);
        for (uint64_t i = 0; i < n; i++)
            wrong += sent[i] != (rank[i] < k);
        assert_int_equal(wrong, 0);
        free(sent);
    }
    trip_free(&t);
}

enum input { NOISE, TIES, EQUAL, ZERO, MOSTLY_ZERO, HUGE_AND_TINY, PERIODIC, LURKING, INPUTS };

/*
 * PERIODIC repeats with each power of two up to 4096, and LURKING has its large values outside any
 * even grid. So an evenly spaced sample sees only large or only small values.
 */
static void fill(float *x, uint64_t n, enum input in)
{
    trip_fill(x, n, TRIP_LAPLACE, 9);
    for (uint64_t i = 0; i < n; i++) {
        if (in == TIES)
            x[i] = (float)((int)(fabsf(x[i]) * 3.0f) % 4) * (i % 3 ? 0.5f : -0.5f);
        if (in == EQUAL)
            x[i] = i % 2 ? 0.25f : -0.25f;
        if (in == ZERO || (in == MOSTLY_ZERO && i % 997))
            x[i] = i % 2 ? 0.0f : -0.0f;
        if (in == HUGE_AND_TINY)
            x[i] = gcb_float_of((gcb_bits_of(x[i]) * 2654435761u & 0x807fffffu) |
                                (uint32_t)(i * 40503u % 255u) << 23);
        if (in == PERIODIC)
            x[i] = (float)(i % 4096 + 1) * (i % 2 ? 1.0f : -1.0f);
        if (in == LURKING)
            x[i] = i % 2 ? 100.0f + x[i] : 1e-3f * x[i];
    }
}

static const struct trip_options plans[] = {
    {.threads = 1}, {.threads = 3}, {.threads = 2, .segment = 1000}, {.threads = 1, .segment = 64}};

static void equals_a_full_sort(void **state)
{
    static const uint64_t sizes[] = {1,    2,    3,     10,    127,   1000,
                                     4097, 5000, 65535, 65536, 65537, 131072};
    static const double densities[] = {0.0, 0.0001, 0.001, 0.01, 0.15, 0.5, 0.9, 0.999, 1.0};
    float *x = malloc(131072 * sizeof(float));

    for (size_t s = 0; s < sizeof(sizes) / sizeof(*sizes); s++) {
        for (int in = 0; in < INPUTS; in++) {
            uint32_t *rank;

            fill(x, sizes[s], (enum input)in);
            rank = ranks_of(x, sizes[s]);
            for (size_t d = 0; d < sizeof(densities) / sizeof(*densities); d++) {
                selection_is(x, rank, sizes[s], gcb_kept_of(densities[d], sizes[s]),
                             &plans[(s + (size_t)in + d) % 4]);
            }
            free(rank);
        }
    }
    free(x);
}

/* The large values are exactly at the places of an evenly spaced sample, or exactly at all other
 * places. Then the sample's threshold is useless, but the selection is right. */
static void misled_samples(void **state)
{
    enum { N = 1 << 18, K = 3000 };
    float *x = malloc(N * sizeof(float));
    uint32_t *rank;

    for (uint64_t stride = 2; stride <= 64; stride *= 2) {
        for (uint64_t shift = 0; shift < 2; shift++) {
            trip_fill(x, N, TRIP_GAUSS, stride);
            for (uint64_t i = shift; i < N; i += stride)
                x[i] *= 1000.0f;
            rank = ranks_of(x, N);
            selection_is(x, rank, N, K, &plans[0]);
            selection_is(x, rank, N, N / stride + 1, &plans[1]);
            free(rank);
        }
    }
    for (uint64_t i = 0; i < N; i++)
        x[i] = i < N / 2 ? 1.0f : (float)(i % 7); /* half of the elements are equal */
    rank = ranks_of(x, N);
    selection_is(x, rank, N, K, &plans[0]);
    selection_is(x, rank, N, N / 2 + 17, &plans[2]);
    free(rank);
    free(x);
}

/* Each k of a small tensor with many ties. */
static void every_k(void **state)
{
    float x[400];
    uint32_t *rank;

    fill(x, 400, TIES);
    rank = ranks_of(x, 400);
    for (uint64_t k = 1; k <= 400; k++)
        for (size_t p = 0; p < 4; p++)
            selection_is(x, rank, 400, k, &plans[p]);
    free(rank);
}

static void k_of_density(void **state)
{
    assert_int_equal(gcb_kept_of(0.5, 0), 0);
    assert_int_equal(gcb_kept_of(0.0001, 10), 1);
    assert_int_equal(gcb_kept_of(1.0, 10), 10);
    assert_int_equal(gcb_kept_of(0.15, 100), 15);
    assert_int_equal(gcb_kept_of(0.25, 10), 2); /* 2.5 to even */
    assert_int_equal(gcb_kept_of(0.35, 10), 4); /* 3.5 to even */
    assert_true(gcb_kept_of(0.001, UINT64_C(1) << 40) == 1099511628);
}

RUN_TESTS(cmocka_unit_test(equals_a_full_sort), cmocka_unit_test(misled_samples),
          cmocka_unit_test(every_k), cmocka_unit_test(k_of_density))
