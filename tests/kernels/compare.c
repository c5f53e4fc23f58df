#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/compare/compare.h"
#include "kernels/reduce/reduce.h"
#include "tests/kernels/check.h"

enum sum { SUM_XX, SUM_YY, SUM_XY, SUM_DD, SUM_D };

static double term_of(enum sum sum, double x, double y)
{
    const double d = x - y;

    switch (sum) {
    case SUM_XX:
        return x * x;
    case SUM_YY:
        return y * y;
    case SUM_XY:
        return x * y;
    case SUM_DD:
        return d * d;
    default:
        return d;
    }
}

/* The rule for sums, implemented a second time: the joined sum of the lanes lane, lane + step,
 * ... */
static double tree_sum(enum sum sum, const float *x, const float *y, size_t n, size_t lane,
                       size_t step)
{
    double total = 0;

    if (step < 32) {
        total = tree_sum(sum, x, y, n, lane, 2 * step);
        return total + tree_sum(sum, x, y, n, lane + step, 2 * step);
    }
    for (size_t i = lane; i < n; i += 32)
        total += term_of(sum, x[i], y[i]);
    return total;
}

static int sign_of(float x)
{
    return x == 0 ? 0 : signbit(x) ? -1 : 1;
}

static struct gcb_compare simple_compare(const float *x, const float *y, size_t n)
{
    struct gcb_compare want = {
        .xx = tree_sum(SUM_XX, x, y, n, 0, 1),
        .yy = tree_sum(SUM_YY, x, y, n, 0, 1),
        .xy = tree_sum(SUM_XY, x, y, n, 0, 1),
        .dd = tree_sum(SUM_DD, x, y, n, 0, 1),
        .d = tree_sum(SUM_D, x, y, n, 0, 1),
    };

    for (size_t i = 0; i < n; i++) {
        want.max_abs = fmax(want.max_abs, fabs((double)x[i] - (double)y[i]));
        want.same_sign += sign_of(x[i]) == sign_of(y[i]);
        want.zeros += x[i] == 0;
        want.zeros_kept += x[i] == 0 && y[i] == 0;
    }
    return want;
}

/* y like a decoder's output: some elements kept, some dropped, some with the other sign, some
 * unrelated. */
static void fill_pair(float *x, float *y, size_t n, enum check_fill fill, uint64_t seed)
{
    uint64_t state = seed;

    check_fill(x, n, fill, seed);
    check_fill(y, n, fill, seed + 1000);
    for (size_t i = 0; i < n; i++) {
        const uint64_t kind = check_random(&state) % 5;

        if (kind == 0)
            y[i] = x[i];
        else if (kind == 1)
            y[i] = -x[i];
        else if (kind == 2)
            y[i] = -0.0f;
    }
}

static void check_pair(const char *isa, gcb_compare_fn *block, const float *x, const float *y,
                       size_t n, enum check_fill fill)
{
    const struct gcb_compare want = simple_compare(x, y, n);
    struct gcb_compare got[3];

    /* The whole result is overwritten, and the memory around it does not change. */
    memset(got, 0xa5, sizeof(got));
    block(&got[1], x, y, n);
    check_equal("block", isa, n, fill, &want, &got[1], sizeof(want));
    memset(&got[1], 0xa5, sizeof(got[1]));
    for (size_t i = 0; i < sizeof(got); i++)
        if (((unsigned char *)got)[i] != 0xa5)
            check_fail("block/%s: n %zu: byte %zu around the result changed", isa, n, i);
}

static void check_sizes(const char *isa, gcb_compare_fn *block)
{
    for (size_t i = 0; i < CHECK_SIZES; i++) {
        const size_t n = check_size(i) % (GCB_SUM_BLOCK + 1);
        const size_t at_x = i % 8, at_y = i / 8 % 8;
        float *x = malloc((n + at_x) * sizeof(*x) + 1);
        float *y = malloc((n + at_y) * sizeof(*y) + 1);

        for (enum check_fill fill = 0; fill < FILL_NONFINITE; fill++) {
            fill_pair(x + at_x, y + at_y, n, fill, i);
            check_pair(isa, block, x + at_x, y + at_y, n, fill);
        }
        free(x);
        free(y);
    }
}

/* A differing element must be found at every place, and every pair of classes occurs in every
 * lane. */
static void check_places(const char *isa, gcb_compare_fn *block)
{
    static const float values[] = {0.0f, -0.0f, 1.0f, -1.0f, 0x1p-149f, -0x1p-149f};
    float x[96] = {0}, y[96] = {0};

    for (size_t i = 0; i < 96 * 36; i++) {
        x[i % 96] = values[i / 96 % 6];
        y[i % 96] = values[i / 96 / 6];
        check_pair(isa, block, x, y, 96, FILL_ZERO);
        x[i % 96] = y[i % 96] = 0;
    }
}

static void check_variant(const char *isa, unsigned flags)
{
    struct gcb_compare_fns f;

    gcb_compare_init(&f, flags);
    check_sizes(isa, f.block);
    check_places(isa, f.block);
}

static void body(void)
{
    check_variant("c", 0);
    for (const struct check_isa *isa = check_isas(); isa->name; isa++)
        check_variant(isa->name, isa->flags);
}

int main(void)
{
    return check_main("compare", body);
}
