#include <stdlib.h>
#include <string.h>

#include "kernels/base/hd.h"
#include "kernels/reduce/reduce.h"
#include "tests/kernels/check.h"

#define GUARD 0xa5

/* The header's rule, implemented a second time without optimisation. */
enum term { TERM_PLAIN, TERM_ABS, TERM_SQUARE };

static double term_of(enum term term, float x)
{
    switch (term) {
    case TERM_ABS:
        return x < 0 ? -(double)x : (double)x;
    case TERM_SQUARE:
        return (double)x * x;
    default:
        return x;
    }
}

/* Accumulator `lane` of the block, or the joined sum of the lanes lane, lane + step, ... */
static double tree_sum(enum term term, const float *x, size_t n, size_t lane, size_t step)
{
    double sum = 0;

    if (step < 32) {
        sum = tree_sum(term, x, n, lane, 2 * step);
        return sum + tree_sum(term, x, n, lane + step, 2 * step);
    }
    for (size_t i = lane; i < n; i += 32)
        sum += term_of(term, x[i]);
    return sum;
}

static double simple_sum(enum term term, const float *x, size_t n)
{
    double total = 0;

    for (size_t i = 0; i < n; i += 4096)
        total += tree_sum(term, x + i, n - i < 4096 ? n - i : 4096, 0, 1);
    return total;
}

static uint32_t simple_exponents(uint32_t count[256], const float *x, size_t n)
{
    uint32_t max = 0;

    for (size_t i = 0; i < n; i++) {
        uint32_t u;

        memcpy(&u, x + i, sizeof(u));
        count[u >> 23 & 255]++;
        if ((u & 0x7fffffff) > max)
            max = u & 0x7fffffff;
    }
    return max;
}

/* Only that a sum is a NaN is promised, not which NaN. */
static double with_one_nan(double sum)
{
    return sum == sum ? sum : 0x1p-1000;
}

static void check_sum(const char *kernel, const char *isa, gcb_reduce_sum_fn *sum, enum term term,
                      const float *x, size_t n, enum check_fill fill)
{
    const double want = with_one_nan(simple_sum(term, x, n));
    double got = with_one_nan(gcb_reduce_blocks(sum, x, n));

    check_equal(kernel, isa, n, fill, &want, &got, sizeof(got));
    if (n > GCB_SUM_BLOCK)
        return;
    /* One block plus 0.0 is the block's sum, unless that is -0.0, which the rule never gives. */
    got = with_one_nan(sum(x, n));
    check_equal(kernel, isa, n, fill, &want, &got, sizeof(got));
}

static void check_exponents(const char *isa, gcb_reduce_exponents_fn *exponents, const float *x,
                            size_t n, enum check_fill fill)
{
    uint32_t want[258], got[258];
    uint32_t want_max, got_max;

    /* The counts are added to the table, and the words around it do not change. */
    memset(want, GUARD, sizeof(want));
    memset(got, GUARD, sizeof(got));
    want_max = simple_exponents(want + 1, x, n);
    got_max = exponents(got + 1, x, n);
    check_equal("exponents", isa, n, fill, want, got, sizeof(got));
    check_equal("exponents max", isa, n, fill, &want_max, &got_max, sizeof(got_max));
}

static void check_one(const char *isa, const struct gcb_reduce_fns *f, const float *x, size_t n,
                      enum check_fill fill)
{
    uint32_t none[256] = {0};
    const uint32_t want = simple_exponents(none, x, n), got = f->max_bits(x, n);

    check_equal("max_bits", isa, n, fill, &want, &got, sizeof(got));
    check_sum("sum", isa, f->sum, TERM_PLAIN, x, n, fill);
    check_sum("sum_abs", isa, f->sum_abs, TERM_ABS, x, n, fill);
    check_sum("sum_sq", isa, f->sum_sq, TERM_SQUARE, x, n, fill);
    check_exponents(isa, f->exponents, x, n, fill);
}

/* Allocations of exactly the size that is read, at every alignment of a float in a 32-byte
 * vector. */
static void check_sizes(const char *isa, const struct gcb_reduce_fns *f)
{
    for (size_t i = 0; i < CHECK_SIZES; i++) {
        const size_t n = check_size(i), offset = i % 8;
        float *memory = malloc((n + offset) * sizeof(*memory) + 1);

        for (enum check_fill fill = 0; fill < FILL_COUNT; fill++) {
            check_fill(memory + offset, n, fill, i);
            check_one(isa, f, memory + offset, n, fill);
        }
        free(memory);
    }
}

/* The largest element must be found at every place, in an array with a tail for every method. */
static void check_places(const char *isa, const struct gcb_reduce_fns *f)
{
    static float x[GCB_SUM_BLOCK + 31];
    const size_t n = sizeof(x) / sizeof(x[0]);

    for (size_t i = 0; i < n; i += i == 100 ? n - 200 : 1) {
        uint32_t none[256] = {0};

        x[i] = -0x1p-140f;
        check_that(f->max_bits(x, n) == gcb_magnitude(x[i]), "max_bits/%s: place %zu", isa, i);
        check_that(f->exponents(none, x, n) == gcb_magnitude(x[i]), "exponents/%s: place %zu", isa,
                   i);
        x[i] = 0;
    }
}

static void check_variant(const char *isa, unsigned flags)
{
    struct gcb_reduce_fns f;

    gcb_reduce_init(&f, flags);
    check_sizes(isa, &f);
    check_places(isa, &f);
}

static void body(void)
{
    check_variant("c", 0);
    for (const struct check_isa *isa = check_isas(); isa->name; isa++)
        check_variant(isa->name, isa->flags);
}

int main(void)
{
    return check_main("reduce", body);
}
