/* Lines through measurements: compared with NumPy, at the limits of 0, and with sizes that do not
 * differ enough. */
#include <math.h>
#include <stdlib.h>

#include "src/tool/measure/fit.h"
#include "tests/support/test.h"

#define N 8
static const double sizes[N] = {256, 1024, 4096, 16384, 65536, 1048576, 4194304, 26214400};

static struct gcb_fit fit(const double *x, const double *y, size_t n)
{
    struct gcb_fit_sums sums = {.points = 0};
    struct gcb_fit f;

    for (size_t i = 0; i < n; i++)
        gcb_fit_add(&sums, x[i], y[i]);
    gcb_fit_line(&f, &sums);
    return f;
}

static bool near(double a, double b, double tolerance)
{
    return fabs(a - b) <= tolerance * fabs(b);
}

/* Expected: numpy.linalg.lstsq of the rows [1/y, x/y] and a right side of ones. */
static void test_numpy(void **state)
{
    static const double y[N] = {2.1e-6, 2.4e-6, 3.9e-6, 9.6e-6, 3.3e-5, 5.3e-4, 1.9e-3, 0.0125};
    const struct gcb_fit f = fit(sizes, y, N);

    assert_true(f.good && f.points == N);
    assert_true(near(f.fixed, 1.9494366290195255e-06, 1e-9));
    assert_true(near(f.slope, 4.739977263102051e-10, 1e-9));
    assert_true(near(f.error, 0.027974968572532947, 1e-6));
}

/* NumPy's intercept would be -1.5e-7; the best line without a negative one goes through the
 * origin. */
static void test_no_time_back(void **state)
{
    static const double y[N] = {1e-7, 5e-7, 4e-6, 1.9e-5, 7e-5, 1.2e-3, 4.5e-3, 0.03};
    const struct gcb_fit f = fit(sizes, y, N);

    assert_true(f.good && f.fixed == 0.0);
    assert_true(near(f.slope, 6.393850277094201e-10, 1e-9));
    assert_true(near(f.error, 0.43813023511567123, 1e-9));
}

/* Larger messages are faster here: the slope is 0, not negative. */
static void test_no_bytes_back(void **state)
{
    static const double x[] = {1e3, 1e4, 1e5}, y[] = {3e-3, 2e-3, 1e-3};
    const struct gcb_fit f = fit(x, y, 3);

    assert_true(f.slope == 0.0);
    /* sum 1/y over sum 1/y^2 */
    assert_true(near(f.fixed, (1000. / 3 + 500. + 1000.) / (1e6 / 9 + 25e4 + 1e6), 1e-12));
}

static void test_exact(void **state)
{
    double y[N];
    struct gcb_fit f;

    for (size_t i = 0; i < N; i++)
        y[i] = 7e-6 + 3e-10 * sizes[i];
    f = fit(sizes, y, N);
    assert_true(near(f.fixed, 7e-6, 1e-9) && near(f.slope, 3e-10, 1e-9) && f.error < 1e-6);
}

/* A sample that is far too long hardly changes the line: its weight is 1 / y^2. */
static void test_outlier(void **state)
{
    double y[N];
    struct gcb_fit f;

    for (size_t i = 0; i < N; i++)
        y[i] = 7e-6 + 3e-10 * sizes[i];
    y[3] *= 50.0;
    f = fit(sizes, y, N);
    assert_true(near(f.fixed, 7e-6, 0.02) && near(f.slope, 3e-10, 0.02));
}

static void test_one_size(void **state)
{
    static const double x[] = {4096, 4096, 6000}, y[] = {1e-6, 1e-6, 1e-6};
    struct gcb_fit f = fit(x, y, 2);

    assert_true(!f.good && f.fixed == 0.0 && near(f.slope, 1e-6 / 4096, 1e-12));
    f = fit(x, y, 3);
    assert_false(f.good);
}

static void test_nothing(void **state)
{
    static const double x[] = {0.0, 10.0, INFINITY, NAN, 5.0}, y[] = {1.0, 0.0, 1.0, 1.0, NAN};
    const struct gcb_fit f = fit(x, y, 5);

    assert_true(f.points == 0 && !f.good && isnan(f.fixed) && isnan(f.slope));
}

RUN_TESTS(cmocka_unit_test(test_numpy), cmocka_unit_test(test_no_time_back),
          cmocka_unit_test(test_no_bytes_back), cmocka_unit_test(test_exact),
          cmocka_unit_test(test_outlier), cmocka_unit_test(test_one_size),
          cmocka_unit_test(test_nothing))
