/* Synthetic gradients: their moments, the same values on all machines, layouts of networks. */
#include <stdlib.h>
#include <string.h>

#include <math.h>

#include "src/tool/read/synthetic.h"
#include "tests/support/test.h"

#define N 400000

static float *fill(const char *text, uint64_t seed, uint64_t stream)
{
    struct gcb_synthetic s;
    float *x = malloc(N * sizeof(*x));

    assert_non_null(x);
    assert_int_equal(gcb_synthetic_parse(&s, text, NULL), 0);
    gcb_synthetic_fill(&s, x, N, seed, stream);
    return x;
}

/* The mean of x^power / 0.01^power over the values that are not zero. */
static double moment(const float *x, int power)
{
    double sum = 0.0;
    size_t n = 0;

    for (size_t i = 0; i < N; i++) {
        assert_true(isfinite(x[i]));
        sum += pow(100.0 * (double)x[i], power);
        n += x[i] != 0.0f;
    }
    return sum / (double)n;
}

/* Correlation of x[i] and y[i + lag]; both have unit variance. */
static double correlation(const float *x, const float *y, size_t lag)
{
    double sum = 0.0;

    for (size_t i = 0; i + lag < N; i++)
        sum += 1e4 * (double)x[i] * (double)y[i + lag];
    return sum / (double)(N - lag);
}

static void near(double got, double want, double tolerance)
{
    if (!(fabs(got - want) <= tolerance))
        fail_msg("%g is not within %g of %g", got, tolerance, want);
}

/* Tolerances: about five standard errors of N independent values. */
static void check_moments(const char *text, double kurtosis, double tolerance)
{
    float *x = fill(text, 7, 1);

    near(moment(x, 1), 0.0, 0.008);
    near(moment(x, 2), 1.0, 0.03);
    near(moment(x, 3), 0.0, tolerance);
    near(moment(x, 4), kurtosis, tolerance);
    near(correlation(x, x, 1), 0.0, 0.008);
    near(correlation(x, x, 2), 0.0, 0.008);
    free(x);
}

static void test_moments(void **state)
{
    check_moments("normal", 3.0, 0.08);
    check_moments("laplace", 6.0, 0.5);
    check_moments("student-t:df=20", 3.375, 0.15);
}

/* Three degrees of freedom have a variance but no fourth moment, so quantiles are checked. */
static void test_student_tails(void **state)
{
    float *x = fill("student-t", 7, 2);
    size_t beyond[2] = {0, 0};

    for (size_t i = 0; i < N; i++) {
        const double t = fabs((double)x[i]) * 100.0 * sqrt(3.0);

        beyond[0] += t > 3.18245; /* 5 % of |t| */
        beyond[1] += t > 12.9240; /* 0.1 % */
    }
    near((double)beyond[0] / N, 0.05, 0.002);
    near((double)beyond[1] / N, 0.001, 0.0003);
    free(x);
}

static void test_heaviest_tails_are_finite(void **state)
{
    float *x = fill("student-t:df=0.001", 7, 3);

    moment(x, 0);
    free(x);
}

static void test_sparse(void **state)
{
    static const double shares[] = {0.0, 0.25, 0.9, 1.0};
    static const char *const texts[] = {"sparse:zeros=0", "sparse:zeros=0.25", "sparse",
                                        "sparse:zeros=1"};

    for (size_t k = 0; k < 4; k++) {
        float *x = fill(texts[k], 7, 4);
        size_t zeros = 0;

        for (size_t i = 0; i < N; i++)
            zeros += x[i] == 0.0f;
        near((double)zeros / N, shares[k], shares[k] > 0.0 && shares[k] < 1.0 ? 0.004 : 0.0);
        if (shares[k] < 1.0) {
            near(moment(x, 2), 1.0, 0.03);
            near(moment(x, 4), 3.0, 0.25);
        }
        free(x);
    }
}

static void test_autoregressive(void **state)
{
    static const double rhos[] = {0.9, -0.5, 0.0};
    static const char *const texts[] = {"ar", "ar:rho=-0.5", "ar:rho=0"};

    for (size_t k = 0; k < 3; k++) {
        float *x = fill(texts[k], 7, 5);

        near(moment(x, 2), 1.0, 0.04);
        near(correlation(x, x, 1), rhos[k], 0.03);
        near(correlation(x, x, 3), pow(rhos[k], 3), 0.04);
        free(x);
    }
}

static const char *const all[] = {"normal", "laplace", "student-t", "sparse", "ar"};

/* A fill gives the same values again and is the beginning of a longer fill; another seed or stream
 * gives other values. */
static void test_determinism(void **state)
{
    for (size_t k = 0; k < 5; k++) {
        float *x = fill(all[k], 1, 1), *again = fill(all[k], 1, 1);
        float *stream = fill(all[k], 1, 2), *seed = fill(all[k], 2, 1);
        struct gcb_synthetic s;

        assert_memory_equal(x, again, N * sizeof(*x));
        assert_int_equal(gcb_synthetic_parse(&s, all[k], NULL), 0);
        for (size_t n = 0; n < 10; n++) {
            memset(again, 0x55, 10 * sizeof(*again));
            gcb_synthetic_fill(&s, again, n, 1, 1);
            assert_memory_equal(again, x, n * sizeof(*x));
            for (size_t i = n; i < 10; i++) /* and nothing after it */
                assert_int_equal(((const uint8_t *)(again + i))[0], 0x55);
        }
        near(correlation(x, stream, 0), 0.0, 0.03);
        near(correlation(x, seed, 0), 0.0, 0.03);
        free(x);
        free(again);
        free(stream);
        free(seed);
    }
}

/* Fixed values, so that a change of the generator is noticed. */
static void test_known_values(void **state)
{
    static const double want[5][3] = {{-0.0102162668, 0.00469899504, 0.0111120753},
                                      {0.0027891912, -0.000244988943, -0.00697987527},
                                      {0.000905375637, -0.0127809634, -0.00239693653},
                                      {0, 0, 0},
                                      {-0.00119274703, 0.000974772091, 0.00572093623}};

    for (size_t k = 0; k < 5; k++) {
        float *x = fill(all[k], 1, 1);

        for (size_t i = 0; i < 3; i++)
            near((double)x[i + 9], want[k][i], 1e-8);
        free(x);
    }
}

static void test_parse(void **state)
{
    static const char *const bad[] = {"",
                                      "norml",
                                      "normal:",
                                      "normal:a=1",
                                      "student-t:",
                                      "student-t:df=0",
                                      "student-t:df=-1",
                                      "student-t:nu=3",
                                      "sparse:zeros=1.1",
                                      "sparse:zeros=-0.1",
                                      "sparse:zeros=",
                                      "ar:rho=1",
                                      "ar:rho=-1",
                                      "ar:rho=nan",
                                      "ar:rho=0.5,x=1",
                                      "laplace:b=1",
                                      "ar:rho"};
    struct gcb_synthetic s = {0};
    struct gcb_diag diag;

    assert_int_equal(gcb_synthetic_parse(&s, "normal", NULL), 0);
    assert_int_equal(s.dist, GCB_DIST_NORMAL);
    assert_true(s.df == 3.0 && s.zeros == 0.9 && s.rho == 0.9);
    assert_int_equal(gcb_synthetic_parse(&s, "student-t:df=0.5", NULL), 0);
    assert_true(s.dist == GCB_DIST_STUDENT_T && s.df == 0.5);
    assert_int_equal(gcb_synthetic_parse(&s, "sparse:zeros=1", NULL), 0);
    assert_true(s.dist == GCB_DIST_SPARSE && s.zeros == 1.0);
    assert_int_equal(gcb_synthetic_parse(&s, "ar:rho=-0.99", NULL), 0);
    assert_true(s.dist == GCB_DIST_AR && s.rho == -0.99);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        diag = (struct gcb_diag){0};
        assert_int_equal(gcb_synthetic_parse(&s, bad[i], &diag), GCB_E_INVALID);
        assert_true(diag.text[0] != '\0');
    }
    assert_true(s.rho == -0.99); /* unchanged after a failure */
    gcb_synthetic_parse(&s, "laplce:x=1", &diag);
    assert_non_null(strstr(diag.text, "did you mean 'laplace'?"));
    gcb_synthetic_parse(&s, "\x1b[2J", &diag);
    assert_null(strchr(diag.text, '\x1b'));
    gcb_synthetic_parse(&s, "ar:rho=2", &diag);
    assert_non_null(strstr(diag.text, "from -1 to 1"));
}

static void check_layout(const char *name, size_t want_rows, uint64_t want_elements,
                         const char *first, const char *last)
{
    struct gcb_shape_row rows[GCB_LAYOUT_ROWS];
    const size_t count = gcb_network_layout(rows, name);
    uint64_t elements = 0;

    assert_int_equal(count, want_rows);
    for (size_t i = 0; i < count; i++) {
        assert_true(rows[i].rank >= 1 && rows[i].rank <= 4);
        elements += gcb_shape_elements(&rows[i]);
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(rows[i].name, rows[j].name);
    }
    assert_true(elements == want_elements);
    assert_string_equal(rows[0].name, first);
    assert_string_equal(rows[count - 1].name, last);
}

static void test_layouts(void **state)
{
    struct gcb_shape_row rows[GCB_LAYOUT_ROWS];

    check_layout("resnet50", 161, 25557032, "conv1.weight", "fc.bias");
    check_layout("gpt2", 148, 124439808, "transformer.wte.weight", "transformer.ln_f.bias");
    check_layout("alexnet", 16, 61100840, "features.0.weight", "classifier.6.bias");
    check_layout("vgg16", 32, 138357544, "features.0.weight", "classifier.6.bias");
    check_layout("lstm", 11, 66034000, "encoder.weight", "decoder.bias");
    assert_int_equal(gcb_network_layout(rows, "flat"), 0);
    assert_int_equal(gcb_network_layout(rows, ""), 0);
}

RUN_TESTS(cmocka_unit_test(test_moments), cmocka_unit_test(test_student_tails),
          cmocka_unit_test(test_heaviest_tails_are_finite), cmocka_unit_test(test_sparse),
          cmocka_unit_test(test_autoregressive), cmocka_unit_test(test_determinism),
          cmocka_unit_test(test_known_values), cmocka_unit_test(test_parse),
          cmocka_unit_test(test_layouts))
