/* Moments, histogram and spectrum: compared with simple loops, after joins, and for values at the
 * ends of bins. */
#include <math.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/tool/measure/survey.h"
#include "tests/support/test.h"

#define N 10007 /* three blocks, the last one short */

static void fill(float *x, size_t n, float offset)
{
    uint32_t r = 12345;

    for (size_t i = 0; i < n; i++) {
        r = r * 1664525u + 1013904223u;
        x[i] = offset + (float)((double)(r >> 8) * 0x1p-24 - 0.5);
    }
}

static void close_to(double got, double want, double tolerance)
{
    if (!(fabs(got - want) <= tolerance * fabs(want)))
        fail_msg("%.17g is not %.17g", got, want);
}

/* Two passes in long double. */
static void plain(double out[4], const float *x, size_t n)
{
    long double mean = 0, m2 = 0, m3 = 0, m4 = 0;

    for (size_t i = 0; i < n; i++)
        mean += (long double)x[i];
    mean /= (long double)n;
    for (size_t i = 0; i < n; i++) {
        const long double d = (long double)x[i] - mean;

        m2 += d * d;
        m3 += d * d * d;
        m4 += d * d * d * d;
    }
    out[0] = (double)mean;
    out[1] = (double)m2;
    out[2] = (double)m3;
    out[3] = (double)m4;
}

static struct gcb_moments_figures figures(const struct gcb_moments *m)
{
    struct gcb_moments_figures out;

    gcb_moments_figures(&out, m);
    return out;
}

static void test_against_plain(void **state)
{
    static const float offsets[] = {0.0f, 0.125f, 1000.0f};
    struct gcb_kernels kernels;
    static float x[N];
    double want[4];

    gcb_kernels_init(&kernels, 0);
    for (size_t i = 0; i < 3; i++) {
        struct gcb_moments m = {.count = 0};

        fill(x, N, offsets[i]);
        plain(want, x, N);
        gcb_moments_add(&m, &kernels, &(struct gcb_view){x, N});
        assert_int_equal(m.count, N);
        close_to(m.mean, want[0], 1e-12);
        close_to(m.m2, want[1], 1e-11);
        close_to(m.m4, want[3], 1e-11);
        assert_true(fabs(m.m3 - want[2]) <= 1e-9 * want[1]);
        close_to(figures(&m).kurtosis, want[3] * N / want[1] / want[1], 1e-10);
    }
}

static void test_join_is_add(void **state)
{
    struct gcb_moments whole = {.count = 0}, left = whole, right = whole, empty = whole;
    struct gcb_kernels kernels;
    static float x[N];

    gcb_kernels_init(&kernels, 0);
    fill(x, N, 3.0f);
    gcb_moments_add(&whole, &kernels, &(struct gcb_view){x, N});
    gcb_moments_add(&left, &kernels, &(struct gcb_view){x, 77});
    gcb_moments_add(&right, &kernels, &(struct gcb_view){x + 77, N - 77});
    gcb_moments_join(&empty, &left); /* joining with empty statistics, in both directions */
    gcb_moments_join(&left, &(struct gcb_moments){.count = 0});
    assert_true(left.m4 == empty.m4 && left.mean == empty.mean);
    gcb_moments_join(&left, &right);
    assert_int_equal(left.count, N);
    close_to(left.mean, whole.mean, 1e-13);
    close_to(left.m2, whole.m2, 1e-11);
    close_to(left.m4, whole.m4, 1e-11);
    close_to(left.max_abs, whole.max_abs, 0);
}

static void test_nonfinite_are_left_out(void **state)
{
    const float x[] = {INFINITY, 1.0f, -0.0f, NAN, -3.0f, -INFINITY, 0.0f};
    const float only[] = {NAN, INFINITY};
    struct gcb_moments m = {.count = 0}, none = m;
    struct gcb_kernels kernels;

    gcb_kernels_init(&kernels, 0);
    gcb_moments_add(&m, &kernels, &(struct gcb_view){x, 7});
    assert_int_equal(m.count, 7);
    assert_int_equal(m.nonfinite, 3);
    assert_int_equal(m.zeros, 2);
    close_to(m.mean, -0.5, 1e-15);
    close_to(m.max_abs, 3.0, 0);
    close_to(figures(&m).l2, sqrt(10.0), 1e-15);
    close_to(figures(&m).zeros, 2.0 / 7.0, 1e-15);
    gcb_moments_add(&none, &kernels, &(struct gcb_view){only, 2});
    assert_true(isnan(figures(&none).deviation) && isnan(figures(&none).kurtosis));
}

static void test_no_spread(void **state)
{
    const float x[] = {0.3f, 0.3f, 0.3f};
    struct gcb_moments m = {.count = 0}, empty = m;
    struct gcb_kernels kernels;

    gcb_kernels_init(&kernels, 0);
    gcb_moments_add(&m, &kernels, &(struct gcb_view){x, 3});
    assert_true(figures(&m).deviation < 1e-15);
    gcb_moments_add(&empty, &kernels, &(struct gcb_view){x, 0});
    assert_int_equal(empty.count, 0);
    assert_true(isnan(figures(&empty).deviation) && isnan(figures(&empty).zeros));
}

static void test_histogram_holds_everything(void **state)
{
    const float x[] = {0.0f,      -0.0f,           1.0f,     1.2499999f, 1.25f, -1.0f,
                       0x1p-149f, 0x1.fffffep127f, INFINITY, -NAN};
    static struct gcb_histogram h, sum;
    struct gcb_histogram_bin bin;
    double last = -INFINITY;
    uint64_t total = 0;

    memset(&h, 0, sizeof(h));
    gcb_histogram_add(&h, &(struct gcb_view){x, 10});
    assert_int_equal(h.bins[GCB_HISTOGRAM_BINS], 2);
    assert_int_equal(h.nonfinite, 2);
    for (size_t i = 0; gcb_histogram_bin(&bin, &h, i); i++) {
        assert_true(bin.low >= last && bin.high >= bin.low);
        last = bin.high;
        total += bin.count;
        if (bin.low == 1.0)
            assert_int_equal(bin.count, 2);
        if (bin.low == 1.25)
            assert_int_equal(bin.count, 1);
    }
    assert_int_equal(total, 8);
    assert_true(last == 0x1p128);
    assert_int_equal(gcb_histogram_octave(&h, 0), 4);
    assert_int_equal(gcb_histogram_octave(&h, -127), 1);
    assert_int_equal(gcb_histogram_octave(&h, 127), 1);
    gcb_histogram_join(&sum, &h);
    gcb_histogram_join(&sum, &h);
    assert_int_equal(gcb_histogram_octave(&sum, 0), 8);
    assert_int_equal(sum.count, 20);
}

/* A cosine of frequency 5/64: all energy is in one bin, and so in one band and one level. */
static void test_spectrum_of_a_cosine(void **state)
{
    const struct gcb_queue queue = {.threads = 1};
    struct gcb_spectrum_point points[GCB_SPECTRUM_LEVELS];
    struct gcb_spectrum_band band;
    struct gcb_spectrum_plan plan = {0};
    struct gcb_kernels kernels;
    static struct gcb_spectrum s;
    float x[64];

    for (size_t i = 0; i < 64; i++)
        x[i] = (float)cos(2.0 * 3.14159265358979323846 * 5.0 * (double)i / 64.0);
    gcb_spectrum_init(&s, 64);
    gcb_kernels_init(&kernels, gcb_cpu_detect());
    assert_int_equal(gcb_spectrum_plan_for(&plan, 64, &kernels, &queue, NULL), 0);
    gcb_spectrum_add(&s, &plan, &(struct gcb_view){x, 64});
    close_to(s.total, 32.0, 1e-6);
    for (size_t i = 0; gcb_spectrum_band(&band, &s, i); i++) {
        assert_int_equal(band.bins, 1);
        if (i == 5) {
            close_to(band.energy, 32.0, 1e-6);
            close_to(band.largest, 4.0, 1e-6);
        } else {
            assert_true(band.share < 1e-9);
        }
    }
    assert_true(gcb_spectrum_curve(points, &s) >= 1);
    close_to(points[0].density, 1.0 / 33.0, 1e-12);
    close_to(points[0].energy_share, 1.0, 1e-6);
    close_to(gcb_spectrum_kept(&s, 1.0 / 66.0), 0.5, 1e-6);
    gcb_spectrum_plan_fini(&plan);
}

RUN_TESTS(cmocka_unit_test(test_against_plain), cmocka_unit_test(test_join_is_add),
          cmocka_unit_test(test_nonfinite_are_left_out), cmocka_unit_test(test_no_spread),
          cmocka_unit_test(test_histogram_holds_everything),
          cmocka_unit_test(test_spectrum_of_a_cosine))
