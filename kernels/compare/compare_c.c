#include "kernels/compare/compare.h"
#include "kernels/compare/compare_elem.h"
#include "src/lib/base/cpu_flags.h"

static void block_c(struct gcb_compare *out, const float *x, const float *y, size_t n)
{
    struct gcb_compare_lanes lanes = {.xx = {0}};
    size_t i = 0;

    /* The sums have a loop of their own. Its lanes do not depend on each other, so the compiler
     * vectorises it. */
    for (; i + GCB_SUM_LANES <= n; i += GCB_SUM_LANES) {
        for (size_t j = 0; j < GCB_SUM_LANES; j++)
            gcb_compare_sums(&lanes, j, x[i + j], y[i + j]);
        for (size_t j = 0; j < GCB_SUM_LANES; j++)
            gcb_compare_classes(&lanes, x[i + j], y[i + j]);
    }
    gcb_compare_tail(&lanes, x + i, y + i, n - i);
    gcb_compare_join(out, &lanes);
}

void gcb_compare_init(struct gcb_compare_fns *fns, unsigned cpu_flags)
{
    fns->block = block_c;
#if defined(__x86_64__)
    if (cpu_flags & GCB_CPU_AVX2)
        fns->block = gcb_compare_block_avx2;
    if (cpu_flags & GCB_CPU_AVX512)
        fns->block = gcb_compare_block_avx512;
#endif
}
