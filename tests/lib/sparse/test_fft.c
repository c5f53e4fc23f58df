#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/convert/convert_elem.h"
#include "src/lib/sparse/stages.h"
#include "src/lib/wire/message.h"
#include "tests/support/test.h"
#include "tests/support/trip.h"

#define TAU 6.283185307179586476925

/* ---- the spectrum in double, by definition ---- */

struct bin {
    double re, im;  /* of the unitary transform */
    double energy;  /* weight in the norm: 2 for interior bins */
    uint64_t index; /* over all chunks */
};

static double weight_of(uint64_t k, uint64_t length)
{
    return k == 0 || 2 * k == length ? 1.0 : 2.0;
}

/* Computes the bins of all chunks and returns their number. O(n * chunk), so only for small
 * tensors. */
static uint64_t spectrum(struct bin *bins, const float *x, uint64_t n, uint64_t chunk)
{
    uint64_t count = 0;

    for (uint64_t at = 0; at < n; at += chunk) {
        const uint64_t length = n - at < chunk ? n - at : chunk;

        for (uint64_t k = 0; k <= length / 2; k++) {
            struct bin b = {.index = count};

            for (uint64_t j = 0; j < length; j++) {
                const double angle = TAU * (double)(j * k % length) / (double)length;

                b.re += x[at + j] * cos(angle);
                b.im -= x[at + j] * sin(angle);
            }
            b.re /= sqrt((double)length);
            b.im /= sqrt((double)length);
            b.energy = weight_of(k, length) * (b.re * b.re + b.im * b.im);
            bins[count++] = b;
        }
    }
    return count;
}

static double size_of(const struct bin *b)
{
    return b->re * b->re + b->im * b->im;
}

static int larger_first(const void *a, const void *b)
{
    const struct bin *p = a, *q = b;
    const double x = size_of(p), y = size_of(q);

    if (x != y)
        return x < y ? 1 : -1;
    return p->index > q->index ? 1 : -1;
}

/* Energy of all but the k largest bins by unitary magnitude. */
static double dropped_energy(const float *x, uint64_t n, uint64_t chunk, uint64_t k)
{
    struct bin *bins = malloc((n + 2) * sizeof(*bins));
    const uint64_t count = spectrum(bins, x, n, chunk ? chunk : n);
    double dropped = 0.0;

    qsort(bins, count, sizeof(*bins), larger_first);
    for (uint64_t i = k; i < count; i++)
        dropped += bins[i].energy;
    free(bins);
    return dropped;
}

/*
 * Parseval: without quantisation the squared error is the dropped energy, for any length. The
 * transform is accurate to 1e-6 log2 n of the norm (docs/method.md), and so is the root of the
 * error.
 */
static void error_is_the_dropped_energy(const float *x, uint64_t n, uint64_t chunk, double theta)
{
    struct trip t = {0};
    double want, got, norm, slack;
    char spec[96];

    trip_need_fftw(n, chunk);
    snprintf(spec, sizeof(spec), "fft:pad=none,theta=%g,values=fp32,index=u32,chunk=%llu", theta,
             (unsigned long long)chunk);
    trip_run(&t, spec, x, n, &(struct trip_options){.source = GCB_F32});
    norm = sqrt(trip_norm(x, n));
    slack = 1e-6 * log2((double)n + 2.0) * norm;
    got = sqrt(trip_distance(x, t.back, n));
    want = t.parts.stored ? 0.0 : sqrt(dropped_energy(x, n, chunk, t.parts.payload.kept));
    if (fabs(got - want) > slack)
        fail_msg("%s, n %llu: error %g, dropped %g", spec, (unsigned long long)n, got, want);
    trip_free(&t);
}

/* First the lengths of our own FFT, as in all tables here. */
static void any_length(void **state)
{
    static const uint64_t sizes[] = {2, 4, 8,  16, 64, 100, 128, 1000, 1024, 1,    3,   5,
                                     7, 9, 17, 31, 97, 99,  127, 251,  1009, 2003, 2310};
    float *x = trip_tensor(2310, TRIP_AR9, 1);

    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        error_is_the_dropped_energy(x, sizes[i], 0, 0.7);
        error_is_the_dropped_energy(x, sizes[i], 0, 0.95);
        error_is_the_dropped_energy(x, sizes[i], 0, 0.0);
    }
    free(x);
}

/*
 * Bins of a short last chunk are compared at unitary scale: they win against bins of a whole chunk
 * only if they have more energy. With white noise all bins are alike, so a wrong weight shows at
 * once.
 */
static void last_chunk_has_its_weight(void **state)
{
    static const uint64_t tails[] = {2, 16, 50, 1, 3, 5, 99, 127};
    float *x = trip_tensor(2000, TRIP_GAUSS, 2);

    for (size_t i = 0; i < sizeof(tails) / sizeof(*tails); i++) {
        for (uint64_t whole = 1; whole <= 8; whole *= 2) {
            error_is_the_dropped_energy(x, whole * 128 + tails[i], 128, 0.6);
            error_is_the_dropped_energy(x, whole * 128 + tails[i], 128, 0.9);
        }
        /* nearly all of the energy in the tail */
        for (uint64_t j = 1024; j < 1024 + tails[i]; j++)
            x[j] *= 50.0f;
        error_is_the_dropped_energy(x, 1024 + tails[i], 128, 0.97);
        trip_fill(x, 2000, TRIP_GAUSS, 2);
    }
    free(x);
}

static void odd_chunks(void **state)
{
    static const uint64_t chunks[] = {2, 64, 100, 1000, 1001, 5000, 1, 3, 5, 7, 97, 999};
    float *x = trip_tensor(1000, TRIP_LAPLACE, 3);

    for (size_t i = 0; i < sizeof(chunks) / sizeof(*chunks); i++) {
        error_is_the_dropped_energy(x, 1000, chunks[i] > 1000 ? 1000 : chunks[i], 0.5);
        error_is_the_dropped_energy(x, 1000, chunks[i] > 1000 ? 1000 : chunks[i], 0.8);
    }
    free(x);
}

/* An interior bin counts twice in the energy but once in the selection: a pure tone costs one
 * bin. */
static void a_tone_is_one_bin(void **state)
{
    enum { N = 4096 };
    float x[N];
    struct trip t = {0};

    for (int j = 0; j < N; j++)
        x[j] = (float)(3.0 * cos(TAU * 37.0 * j / N + 0.3));
    trip_run(&t, "fft:pad=none,theta=0.9999,values=fp32", x, N, NULL);
    assert_int_equal(t.parts.payload.kept, 1);
    assert_int_equal(t.parts.payload.positions, N / 2 + 1);
    assert_true(sqrt(trip_distance(x, t.back, N) / trip_norm(x, N)) < 1e-6 * 12);
    trip_free(&t);
}

/* The error beyond the unquantised error comes from the range floats of the kept bins: below
 * 2^-m. */
static void quantised_error(void **state)
{
    enum { N = 50000 };
    float *x = trip_tensor(N, TRIP_AR9, 5);
    const double plain = trip_error("fft:pad=none,values=fp32", x, N, NULL);

    for (unsigned m = 3; m <= 6; m++) {
        char spec[64];
        double more;

        snprintf(spec, sizeof(spec), "fft:pad=none,bits=10,mantissa=%u", m);
        more = trip_error(spec, x, N, NULL) - plain;
        assert_true(more > -1e-7 && more < ldexp(1.0, -2 * (int)m - 2) * (1.0 - plain) + 1e-9);
    }
    free(x);
}

/* The sums overflow float32: the tensor is sent raw and comes back unchanged. */
static void overflow_is_sent_raw(void **state)
{
    enum { N = 1000 };
    float *x = trip_tensor(N, TRIP_GAUSS, 7);
    struct trip t = {0};

    for (int i = 0; i < N; i++)
        x[i] = 3e38f + 1e37f * (float)(i % 3);
    trip_run(&t, "fft:pad=none", x, N, NULL);
    assert_true(t.parts.stored);
    assert_memory_equal(t.back, x, N * sizeof(float));
    trip_free(&t);
    for (int i = 0; i < N; i++) /* values as large, but their sums do not overflow */
        x[i] = i == 500 ? 1e38f : 0.0f;
    trip_run(&t, "fft:pad=none,theta=0.5", x, N, NULL);
    assert_false(t.parts.stored);
    for (int i = 0; i < N; i++)
        assert_true(isfinite(t.back[i]));
    trip_free(&t);
    free(x);
}

/* Values whose squares underflow are still ordered. */
static void tiny_values(void **state)
{
    static const float scales[] = {1e-18f, 1e-25f, 1e-30f, 1e-35f};
    float x[512];

    for (size_t s = 0; s < 4; s++) {
        trip_fill(x, 512, TRIP_AR9, 8);
        for (int i = 0; i < 512; i++)
            x[i] *= scales[s];
        error_is_the_dropped_energy(x, 512, 0, 0.8);
        error_is_the_dropped_energy(x, 498, 64, 0.8);
    }
}

/* input=fp16 sends the message of the rounded tensor. Nothing else changes, so a decoder need not
 * know. */
static void input_is_rounded_first(void **state)
{
    static const char *const specs[][2] = {
        {"fft:pad=none", "fft:pad=none,input=fp16"},
        {"fft:pad=none,chunk=100,values=fp32", "fft:pad=none,chunk=100,values=fp32,input=fp16"},
        {"sparse:transform=dct,pad=none", "sparse:transform=dct,pad=none,input=fp16"},
        {"sparse:transform=hadamard", "sparse:transform=hadamard,input=fp16"},
    };
    static const float special[] = {1e5f, -7e4f, 65519.99f, 65520.0f, 6e-8f, -3.1e-5f, 2.9e-8f};
    enum { N = 303750 }; /* our own FFT takes it, and the rest of its chunks */
    const struct trip_options threads = {.threads = 2, .flags = gcb_cpu_detect()};
    float *x = trip_tensor(N, TRIP_STUDENT3, 10), *rounded = malloc(N * sizeof(*rounded));

    memcpy(x, special, sizeof(special));
    for (int i = 0; i < N; i++)
        rounded[i] = gcb_float_of(gcb_fp32_of_fp16(gcb_fp16_of_fp32(gcb_bits_of(x[i]))));
    for (size_t i = 0; i < sizeof(specs) / sizeof(*specs); i++) {
        struct trip want = {0}, got = {0};

        trip_encode(&want, specs[i][0], rounded, N, &threads);
        trip_encode(&got, specs[i][1], x, N, &threads);
        assert_int_equal(want.length, got.length);
        assert_memory_equal(want.message, got.message, want.length);
        assert_int_equal(got.clamped, want.clamped + 3);
        trip_free(&want);
        trip_free(&got);
    }
    free(rounded);
    free(x);
}

/* ---- pad=smooth ---- */

static const uint8_t *payload_of(const struct trip *t, struct gcb_frame *frame)
{
    struct gcb_rbuf payload;

    assert_int_equal(gcb_frame_parse(frame, &payload, t->message, t->length, NULL), 0);
    return payload.data;
}

/* The message of a padded tensor has the payload of the tensor with zeros after it, is decoded to
 * its beginning, and loses at most as much. */
static void pads_like(const char *given, uint64_t n, uint64_t length)
{
    float *x = trip_tensor(length, TRIP_LAPLACE, n);
    struct trip padded = {0}, longer = {0};
    struct gcb_frame frame[2];
    const uint8_t *payload[2];
    char spec[128];

    memset(x + n, 0, (length - n) * sizeof(*x));
    snprintf(spec, sizeof(spec), "%s,pad=smooth", given);
    trip_run(&padded, spec, x, n, &(struct trip_options){.source = GCB_F64});
    trip_run(&longer, given, x, length, &(struct trip_options){.source = GCB_F64});
    payload[0] = payload_of(&padded, &frame[0]);
    payload[1] = payload_of(&longer, &frame[1]);
    assert_int_equal(frame[0].param_bytes, frame[1].param_bytes + (length > n));
    assert_false(frame[0].flags & GCB_WIRE_STORED);
    assert_int_equal(frame[0].payload_bytes, frame[1].payload_bytes);
    assert_memory_equal(payload[0], payload[1], frame[0].payload_bytes);
    assert_memory_equal(padded.back, longer.back, n * sizeof(*x));
    assert_true(trip_distance(x, padded.back, n) <= trip_distance(x, longer.back, length));
    trip_free(&padded);
    trip_free(&longer);
    free(x);
}

static void padding_is_zeros_after_the_tensor(void **state)
{
    static const struct {
        const char *spec;
        uint64_t n, length;
    } cases[] = {
        {"fft:theta=0.9", 1094, 1120},
        {"fft:theta=0.5,values=fp32,index=varint", 33, 36},
        {"fft:theta=0.9,chunk=64", 64 * 5 + 17, 64 * 5 + 18},
        {"fft:theta=0.9,chunk=100,select=chunk", 2097, 2098},
        {"fft:theta=0.9,chunk=512", 1024, 1024},
        {"fft:theta=0.9,input=fp16", 2003, 2016},
        {"fft:theta=0.99", 270218, 272160},
        {"fft:theta=0.99,values=fp16,index=golomb", 1000003, 1000188},
        {"sparse:transform=dct,theta=0.8", 1093, 1120},
        {"sparse:transform=dct,theta=0.9,chunk=100,values=range", 2011, 2012},
        {"sparse:transform=dct,select=threshold,threshold=2000", 100003, 100352},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        pads_like(cases[i].spec, cases[i].n, cases[i].length);
    trip_need_fftw(281, 95);
    pads_like("fft:theta=0.9,chunk=95", 281, 281); /* FFTW's chunks get no zeros */
}

/* The parameter is in the header only if it is `smooth`, and only with a transform that takes
 * zeros. */
static void damaged_padding_is_refused(void **state)
{
    enum { TRANSFORM = 16, PAD = TRANSFORM + 8 };
    static const struct {
        size_t at;
        uint8_t value;
    } damage[] = {{PAD, 0},
                  {PAD, 2},
                  {PAD, 255},
                  {TRANSFORM, GCB_TRANSFORM_NONE},
                  {TRANSFORM, GCB_TRANSFORM_HADAMARD}};
    struct trip t = {0};
    struct gcb_queue queue;
    struct gcb_kernels kernels;
    struct gcb_coder_config config;
    float *x = trip_tensor(1094, TRIP_GAUSS, 12);

    trip_run(&t, "fft:theta=0.9,pad=smooth", x, 1094, NULL);
    trip_configure(&config, &queue, &kernels, &(struct trip_options){0}, 1094);
    assert_int_equal(t.message[PAD], 1);
    for (size_t i = 0; i < sizeof(damage) / sizeof(*damage); i++) {
        const uint8_t before = t.message[damage[i].at];
        struct gcb_coder *c = NULL;
        struct gcb_diag diag = {0};

        t.message[damage[i].at] = damage[i].value;
        assert_int_equal(gcb_coder_create_decoder(&c, t.message, t.length, &config, &diag),
                         GCB_E_CORRUPT);
        assert_non_null(strstr(diag.text, "'pad'"));
        gcb_coder_destroy(c);
        t.message[damage[i].at] = before;
    }
    trip_free(&t);
    free(x);
}

RUN_TESTS(cmocka_unit_test(any_length), cmocka_unit_test(last_chunk_has_its_weight),
          cmocka_unit_test(odd_chunks), cmocka_unit_test(a_tone_is_one_bin),
          cmocka_unit_test(quantised_error), cmocka_unit_test(overflow_is_sent_raw),
          cmocka_unit_test(tiny_values), cmocka_unit_test(input_is_rounded_first),
          cmocka_unit_test(padding_is_zeros_after_the_tensor),
          cmocka_unit_test(damaged_padding_is_refused))
