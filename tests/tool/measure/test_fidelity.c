/* Fidelity, compared with the same figures computed by simple loops in long double. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/hd.h"
#include "src/tool/measure/fidelity.h"
#include "tests/support/test.h"

#define N 70001 /* several blocks, several tasks, a short tail */

static struct gcb_kernels kernels;
static const struct gcb_queue one = {.threads = 1};

static uint32_t next(uint32_t *s)
{
    *s ^= *s << 13;
    *s ^= *s >> 17;
    *s ^= *s << 5;
    return *s;
}

/* x: values of different sizes and signs, a tenth of them zero; y: x with some errors and some
 * zeros. */
static void fill(float *x, float *y, size_t n, uint32_t seed)
{
    uint32_t s = seed * 2654435761u + 1;

    for (size_t i = 0; i < n; i++) {
        const float u = (float)(next(&s) >> 8) * 0x1p-23f - 1.0f;

        x[i] = next(&s) % 10 ? ldexpf(u, (int)(next(&s) % 20) - 16) : 0.0f;
        y[i] = next(&s) % 3 ? x[i] * (1.0f + 0.1f * u) : 0.0f;
        if (next(&s) % 50 == 0)
            y[i] = -0.01f * u;
    }
}

struct naive {
    long double xx, yy, xy, dd, d, max;
    uint64_t signs, zeros, kept, n;
};

static int sign_of(float v)
{
    return (v > 0) - (v < 0);
}

static struct naive work_out(const float *x, const float *y, size_t n)
{
    struct naive v = {0};

    for (size_t i = 0; i < n; i++) {
        const long double a = x[i], b = y[i];

        if (!isfinite(x[i]))
            continue;
        v.xx += a * a;
        v.yy += b * b;
        v.xy += a * b;
        v.dd += (a - b) * (a - b);
        v.d += b - a;
        v.max = fmaxl(v.max, fabsl(a - b));
        v.signs += sign_of(x[i]) == sign_of(y[i]);
        v.zeros += x[i] == 0;
        v.kept += x[i] == 0 && y[i] == 0;
        v.n++;
    }
    return v;
}

static void assert_near(double got, long double want)
{
    if (!(fabsl(got - want) <= 1e-12L * fmaxl(fabsl(want), 1e-3L)))
        fail_msg("%.17g, expected %.17Lg", got, want);
}

static void assert_agrees(const struct gcb_fidelity *f, const float *x, const float *y, size_t n,
                          double bits)
{
    const struct naive v = work_out(x, y, n);
    struct gcb_fidelity_figures g;

    gcb_fidelity_figures(&g, f, bits);
    assert_int_equal(f->elements, n);
    assert_int_equal(f->nonfinite, n - v.n);
    assert_near(g.rel_l2, sqrtl(v.dd / v.xx));
    assert_near(g.cosine, v.xy / sqrtl(v.xx * v.yy));
    assert_near(g.max_abs_error, v.max);
    assert_near(g.mean_error, v.d / v.n);
    assert_near(g.sign_agreement, (long double)v.signs / v.n);
    assert_near(g.zeros_preserved, (long double)v.kept / v.zeros);
    assert_near(g.snr_db, 10 * log10l(v.xx / v.dd));
    assert_near(g.accuracy_gain_bits, log2l(v.xx / v.dd) / 2 - bits);
    assert_near(g.compression_gain, v.yy / v.xx);
}

static struct gcb_fidelity measure(const float *x, const float *y, size_t n)
{
    struct gcb_fidelity f = {0};

    gcb_fidelity_add(&f, x, y, n, &kernels, &one);
    return f;
}

static void test_against_plain_formulas(void **state)
{
    static const size_t sizes[] = {40, 4095, 4096, 4097, N};
    static float x[N], y[N];

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct gcb_fidelity f;

        fill(x, y, sizes[i], (uint32_t)i);
        f = measure(x, y, sizes[i]);
        assert_agrees(&f, x, y, sizes[i], 3.25);
    }
}

/* More than one round of blocks: the number of threads must not change a bit of any sum. */
static void test_threads_change_nothing(void **state)
{
    const size_t n = 3 * 1048576 + 777;
    float *x = test_malloc(n * sizeof(*x)), *y = test_malloc(n * sizeof(*y));
    struct gcb_fidelity f;

    fill(x, y, n, 5);
    f = measure(x, y, n);
    for (int threads = 2; threads <= 5; threads++) {
        const struct gcb_queue queue = {.threads = threads};
        struct gcb_fidelity g = {0};

        gcb_fidelity_add(&g, x, y, n, &kernels, &queue);
        assert_memory_equal(&f, &g, sizeof(f));
    }
    assert_agrees(&f, x, y, n, 0.0);
    test_free(x);
    test_free(y);
}

/* A sum has exactly the bits that the project's rule for sums gives. */
static void test_blocks_in_index_order(void **state)
{
    static float x[N], y[N];
    struct gcb_fidelity f;
    double xx = 0.0, dd = 0.0, d = 0.0;

    fill(x, y, N, 11);
    for (size_t at = 0; at < N; at += GCB_SUM_BLOCK) {
        struct gcb_compare c;

        kernels.compare.block(&c, x + at, y + at, N - at < GCB_SUM_BLOCK ? N - at : GCB_SUM_BLOCK);
        xx += c.xx;
        dd += c.dd;
        d += c.d;
    }
    f = measure(x, y, N);
    assert_true(f.xx == xx && f.dd == dd && f.d == d);
}

static void test_parts_add_up(void **state)
{
    static float x[N], y[N];
    const size_t cut = 12345;
    struct gcb_fidelity f, g;

    fill(x, y, N, 2);
    f = measure(x, y, cut);
    g = measure(x + cut, y + cut, N - cut);
    gcb_fidelity_merge(&f, &g);
    assert_agrees(&f, x, y, N, 1.0);
}

static void test_zeros_and_nothing(void **state)
{
    const float zero[3] = {0.0f, -0.0f, 0.0f}, some[3] = {0.0f, 1.0f, 0.0f};
    struct gcb_fidelity_figures g;
    struct gcb_fidelity f = measure(zero, zero, 3);

    gcb_fidelity_figures(&g, &f, 1.0);
    assert_true(g.rel_l2 == 0.0 && g.cosine == 1.0 && g.zeros_preserved == 1.0);
    assert_true(isnan(g.snr_db) && isnan(g.accuracy_gain_bits));
    f = measure(zero, some, 3);
    gcb_fidelity_figures(&g, &f, 1.0);
    assert_true(isnan(g.rel_l2) && g.cosine == 0.0 && g.max_abs_error == 1.0);
    f = measure(some, zero, 3);
    gcb_fidelity_figures(&g, &f, 1.0);
    assert_true(g.rel_l2 == 1.0 && g.cosine == 0.0 && g.snr_db == 0.0);
    f = measure(some, some, 3);
    gcb_fidelity_figures(&g, &f, 1.0);
    assert_true(g.rel_l2 == 0.0 && g.cosine == 1.0 && isinf(g.snr_db));
    assert_true(g.mean_error == 0.0 && !signbit(g.mean_error));
    f = measure(NULL, NULL, 0);
    gcb_fidelity_figures(&g, &f, NAN);
    assert_true(g.rel_l2 == 0.0 && g.cosine == 1.0 && g.max_abs_error == 0.0);
    assert_true(isnan(g.mean_error) && isnan(g.sign_agreement) && isnan(g.zeros_preserved));
}

/* Equal values have a cosine of exactly 1, although sqrt(s) * sqrt(s) is often not s. */
static void test_equal(void **state)
{
    for (uint32_t i = 1; i < 200; i++) {
        const float x[2] = {1.0f, (float)i / 64.0f};
        const struct gcb_fidelity f = measure(x, x, 2);
        struct gcb_fidelity_figures g;

        gcb_fidelity_figures(&g, &f, 0.0);
        assert_true(g.cosine == 1.0);
    }
}

/* Squares of the smallest and largest floats do not underflow or overflow. */
static void test_extremes(void **state)
{
    const float scale[] = {0x1p-149f, 0x1p-126f, 0x1p127f};

    for (size_t i = 0; i < 3; i++) {
        const float x[2] = {scale[i], scale[i]}, y[2] = {scale[i], 0.0f};
        const struct gcb_fidelity f = measure(x, y, 2);
        struct gcb_fidelity_figures g;

        gcb_fidelity_figures(&g, &f, 0.0);
        assert_near(g.rel_l2, sqrtl(0.5L));
        assert_near(g.cosine, sqrtl(0.5L));
        assert_near(g.accuracy_gain_bits, 0.5L);
    }
}

/* Infinities and NaNs in x are left out of the sums; those with the same bits in y are counted. */
static void test_nonfinite_input(void **state)
{
    static float x[N], y[N];
    struct gcb_fidelity f;

    fill(x, y, N, 7);
    for (size_t i = 17; i < N; i += 5000) {
        x[i] = i % 2 ? NAN : -INFINITY;
        y[i] = x[i];
    }
    y[17] = 0.0f;                       /* lost */
    y[5017] = gcb_float_of(0x7fc00001); /* another NaN than was sent */
    f = measure(x, y, N);
    assert_int_equal(f.nonfinite, 14);
    assert_int_equal(f.nonfinite_kept, 12);
    assert_agrees(&f, x, y, N, 2.0);
}

/* A decoder that invents an infinity must not get a good figure. */
static void test_broken_decoder_shows(void **state)
{
    static float x[N], y[N];
    const float bad[] = {INFINITY, NAN};

    for (size_t i = 0; i < 2; i++) {
        struct gcb_fidelity_figures g;
        struct gcb_fidelity f;

        fill(x, y, N, 7);
        y[1000] = bad[i];
        f = measure(x, y, N);
        gcb_fidelity_figures(&g, &f, 2.0);
        assert_false(isfinite(g.rel_l2));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_plain_formulas),
        cmocka_unit_test(test_threads_change_nothing),
        cmocka_unit_test(test_blocks_in_index_order),
        cmocka_unit_test(test_parts_add_up),
        cmocka_unit_test(test_zeros_and_nothing),
        cmocka_unit_test(test_equal),
        cmocka_unit_test(test_extremes),
        cmocka_unit_test(test_nonfinite_input),
        cmocka_unit_test(test_broken_decoder_shows),
    };

    gcb_kernels_init(&kernels, gcb_cpu_detect());
    return cmocka_run_group_tests(tests, NULL, NULL);
}
