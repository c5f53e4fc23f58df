#include "kernels/reduce/reduce.h"
#include "kernels/reduce/reduce_elem.h"
#include "src/lib/base/cpu_flags.h"

/* The sum of a block (kernels/reduce/reduce.h). Inlined, so that the compiler knows `term`. */
static inline double block_sum(const float *x, size_t n, gcb_reduce_term_fn *term)
{
    double acc[GCB_SUM_LANES] = {0};
    size_t i = 0;

    for (; i + GCB_SUM_LANES <= n; i += GCB_SUM_LANES)
        for (size_t j = 0; j < GCB_SUM_LANES; j++)
            acc[j] += term(x[i + j]);
    gcb_reduce_tail(acc, x + i, n - i, term);
    return gcb_reduce_join(acc);
}

static double sum_c(const float *x, size_t n)
{
    return block_sum(x, n, gcb_reduce_plain);
}

static double sum_abs_c(const float *x, size_t n)
{
    return block_sum(x, n, gcb_reduce_abs);
}

static double sum_sq_c(const float *x, size_t n)
{
    return block_sum(x, n, gcb_reduce_square);
}

double gcb_reduce_blocks(gcb_reduce_sum_fn *block, const float *x, size_t n)
{
    double total = 0.0;

    for (size_t i = 0; i < n; i += GCB_SUM_BLOCK)
        total += block(x + i, n - i < GCB_SUM_BLOCK ? n - i : GCB_SUM_BLOCK);
    return total;
}

void gcb_reduce_init(struct gcb_reduce_fns *fns, unsigned cpu_flags)
{
    fns->max_bits = gcb_reduce_max_bits;
    fns->sum = sum_c;
    fns->sum_abs = sum_abs_c;
    fns->sum_sq = sum_sq_c;
    fns->exponents = gcb_reduce_exponents;
#if defined(__x86_64__)
    if (cpu_flags & GCB_CPU_AVX2) {
        fns->max_bits = gcb_reduce_max_bits_avx2;
        fns->sum = gcb_reduce_sum_avx2;
        fns->sum_abs = gcb_reduce_sum_abs_avx2;
        fns->sum_sq = gcb_reduce_sum_sq_avx2;
        fns->exponents = gcb_reduce_exponents_avx2;
    }
#endif
}
