#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/philox/philox_elem.h"
#include "tests/support/test.h"
#include "tests/support/trip.h"

/* ---- the coefficients of a message: all of them, as float32, from its payload ---- */

/* Drops few coefficients, so that nearly all can be checked, but enough that the message is not
 * stored. */
#define THETA "0.1"

struct sent {
    double *coef; /* n coefficients; 0 if one was not sent. The caller frees them. */
    uint64_t key, kept;
    double energy;
};

static void read_sent(struct sent *s, const struct trip *t, uint64_t side)
{
    const uint8_t *p = t->message + t->parts.header_bytes + 4, *values = p + side, *map;

    s->kept = t->parts.payload.kept;
    s->key = side ? gcb_load_u64(p) : 0;
    s->coef = calloc(t->n, sizeof(double));
    s->energy = 0.0;
    map = values + 4 * s->kept;
    for (uint64_t i = 0, j = 0; i < t->n; i++) {
        float value;

        if (!(map[i / 8] >> i % 8 & 1))
            continue;
        memcpy(&value, values + 4 * j++, sizeof(value));
        s->coef[i] = value;
        s->energy += (double)value * value;
    }
}

/* ---- naive transforms in double ---- */

/* Orthonormal DCT-II of x[0..n). */
static void naive_dct(double *c, const float *x, uint64_t n)
{
    for (uint64_t k = 0; k < n; k++) {
        double sum = 0.0;

        for (uint64_t j = 0; j < n; j++)
            sum += x[j] * cos(M_PI * (double)(k * (2 * j + 1) % (4 * n)) / (2.0 * (double)n));
        c[k] = sum * sqrt((k ? 2.0 : 1.0) / (double)n);
    }
}

/* Orthonormal Walsh-Hadamard transform in natural order: entry (k, j) is -1 to the number of common
 * bits. */
static void naive_hadamard(double *c, const float *x, uint64_t n)
{
    for (uint64_t k = 0; k < n; k++) {
        double sum = 0.0;

        for (uint64_t j = 0; j < n; j++)
            sum += __builtin_popcountll(k & j) % 2 ? -(double)x[j] : (double)x[j];
        c[k] = sum / sqrt((double)n);
    }
}

/* Bit i mod 8 of byte i / 8 of stream 0 under the key. */
static void naive_flip(float *x, uint64_t n, uint64_t key)
{
    for (uint64_t i = 0; i < n; i++)
        if (gcb_philox_byte(key, i / 8, 0) >> i % 8 & 1)
            x[i] = -x[i];
}

/* Chunks, and then for hadamard powers of two, largest first. */
static uint64_t piece(uint64_t left, uint64_t n, uint64_t chunk, bool hadamard)
{
    uint64_t power = 1;

    if (chunk && chunk <= left)
        return chunk;
    if (!hadamard)
        return chunk ? left : n;
    while (2 * power <= left)
        power *= 2;
    return power;
}

static double *naive(const float *x, uint64_t n, uint64_t chunk, bool hadamard, uint64_t key)
{
    double *c = malloc(n * sizeof(*c));
    float *y = malloc(n * sizeof(*y));

    memcpy(y, x, n * sizeof(*y));
    if (hadamard)
        naive_flip(y, n, key);
    for (uint64_t from = 0, m; from < n; from += m) {
        m = piece(n - from, n, chunk, hadamard);
        (hadamard ? naive_hadamard : naive_dct)(c + from, y + from, m);
    }
    free(y);
    return c;
}

/* ---- one message against them ---- */

static const struct {
    uint64_t n, chunk;
} shapes[] = {/* lengths of our own FFT, then others */
              {64, 0},  {100, 0}, {1024, 0}, {100, 32},   {1000, 8},    {700, 1024}, {9000, 64},
              {127, 0}, {997, 0}, {1023, 1}, {1023, 256}, {1537, 1024}, {4099, 4096}};
#define SHAPES (sizeof(shapes) / sizeof(*shapes))

static void spec_of(char *spec, size_t size, const char *transform, uint64_t chunk)
{
    snprintf(spec, size, "sparse:theta=" THETA ",transform=%s%s,chunk=%u,index=bitmap", transform,
             strcmp(transform, "dct") == 0 ? ",pad=none" : "", (unsigned)chunk);
}

static void matches_naive(const char *transform, const float *x, uint64_t n, uint64_t chunk)
{
    const bool hadamard = strcmp(transform, "hadamard") == 0;
    const double norm = sqrt(trip_norm(x, n));
    double *want, dropped = 0.0, worst = 0.0;
    struct trip t = {0};
    struct sent s;
    char spec[128];

    if (!hadamard)
        trip_need_fftw(n, chunk);
    spec_of(spec, sizeof(spec), transform, chunk);
    trip_run(&t, spec, x, n, &(struct trip_options){.seed = 5, .step = n});
    assert_false(t.parts.stored);
    read_sent(&s, &t, hadamard ? 8 : 0);
    want = naive(x, n, chunk, hadamard, s.key);
    for (uint64_t i = 0; i < n; i++) {
        if (s.coef[i] != 0.0)
            worst = fmax(worst, fabs(s.coef[i] - want[i]));
        else
            dropped += want[i] * want[i];
    }
    if (worst > 2e-6 * norm)
        fail_msg("%s, n = %u: %g off", spec, (unsigned)n, worst / norm);
    /* Parseval: the energy sent is the energy less the dropped energy, and the error is the dropped
     * energy */
    assert_true(fabs(s.energy + dropped - norm * norm) < 4e-6 * norm * norm);
    assert_true(fabs(trip_distance(x, t.back, n) - dropped) < 2e-6 * norm * norm);
    free(want);
    free(s.coef);
    trip_free(&t);
}

static void like_naive(const char *transform)
{
    for (size_t i = 0; i < SHAPES; i++) {
        float *x = trip_tensor(shapes[i].n, i % 2 ? TRIP_AR9 : TRIP_GAUSS, i);

        matches_naive(transform, x, shapes[i].n, shapes[i].chunk);
        free(x);
    }
}

static void dct_is_orthonormal(void **state)
{
    like_naive("dct");
}

static void hadamard_is_orthonormal(void **state)
{
    like_naive("hadamard");
}

/* The selection compares all chunks at unitary scale, so a larger constant in the short last chunk
 * wins. */
static void short_chunks_weigh_alike(void **state)
{
    static const char *const transforms[] = {"dct", "hadamard"};
    enum { N = 1056, CHUNK = 1024 }; /* the last: 32 elements */

    for (int h = 0; h < 2; h++) {
        for (int last = 0; last < 2; last++) {
            /* the 1024 elements have energy 1, the 32 elements a tenth more or less */
            const float big = 1.0f / 32.0f, small = sqrtf((last ? 1.1f : 0.9f) / 32.0f);
            float x[N], flipped[N];
            struct trip t = {0};
            struct sent s;
            uint64_t first;
            char spec[128];

            for (int i = 0; i < N; i++)
                x[i] = i < CHUNK ? big : small;
            snprintf(spec, sizeof(spec), "sparse:p=0.0001,transform=%s,chunk=1024,index=bitmap",
                     transforms[h]);
            memcpy(flipped, x, sizeof(x));
            if (h) { /* so that the signs do not change the constants */
                trip_run(&t, spec, x, N, NULL);
                read_sent(&s, &t, 8);
                naive_flip(flipped, N, s.key);
                free(s.coef);
                trip_free(&t);
            }
            trip_run(&t, spec, flipped, N, NULL);
            read_sent(&s, &t, h ? 8 : 0);
            assert_int_equal(s.kept, 1);
            for (first = 0; s.coef[first] == 0.0; first++)
                ;
            assert_int_equal(first, last ? CHUNK : 0);
            free(s.coef);
            trip_free(&t);
        }
    }
}

/* ---- signs ---- */

static uint64_t key_of(uint64_t seed, uint64_t step, uint32_t worker, const char *path)
{
    float *x = trip_tensor(200, TRIP_GAUSS, 1);
    struct trip t = {0};
    uint64_t key;

    trip_run(&t, "sparse:transform=hadamard,chunk=64,index=bitmap", x, 200,
             &(struct trip_options){.seed = seed, .step = step, .worker = worker, .path = path});
    key = gcb_load_u64(t.message + t.parts.header_bytes + 4);
    trip_free(&t);
    free(x);
    return key;
}

static void signs_are_shared_between_workers_only(void **state)
{
    const uint64_t key = key_of(1, 2, 0, "a");

    assert_true(key == key_of(1, 2, 0, "a"));
    assert_true(key == key_of(1, 2, 9, "a"));
    assert_true(key != key_of(1, 3, 0, "a"));
    assert_true(key != key_of(2, 2, 0, "a"));
    assert_true(key != key_of(1, 2, 0, "b"));
}

/* The decoder has another seed, path, step and worker, and takes the key from the message. */
static void decoding_needs_the_message_alone(void **state)
{
    static const char *const specs[] = {
        "sparse:transform=hadamard,chunk=256,theta=0.3,index=bitmap",
        "sparse:transform=hadamard,theta=0.3,index=bitmap",
        "sparse:transform=dct,chunk=100,theta=0.3,index=bitmap"};
    enum { N = 3001 };
    float *x = trip_tensor(N, TRIP_LAPLACE, 1);

    for (size_t i = 0; i < 3; i++) {
        struct trip a = {0}, b = {0};

        trip_run(&a, specs[i], x, N, &(struct trip_options){.seed = 4, .step = 9, .path = "a"});
        b.n = N;
        b.length = a.length;
        b.message = malloc(a.length);
        memcpy(b.message, a.message, a.length);
        trip_decode(&b, &(struct trip_options){.seed = 5, .step = 1, .worker = 3, .path = "b"});
        assert_memory_equal(a.back, b.back, N * sizeof(float));
        trip_free(&a);
        trip_free(&b);
    }
    free(x);
}

RUN_TESTS(cmocka_unit_test(dct_is_orthonormal), cmocka_unit_test(hadamard_is_orthonormal),
          cmocka_unit_test(short_chunks_weigh_alike),
          cmocka_unit_test(signs_are_shared_between_workers_only),
          cmocka_unit_test(decoding_needs_the_message_alone))
