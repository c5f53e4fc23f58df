#define NAME gcb_block_fns_c
#include "kernels/block/block_body.h"
#include "src/lib/base/cpu_flags.h"

void gcb_block_init(struct gcb_block_fns *fns, unsigned cpu_flags)
{
    *fns = gcb_block_fns_c;
#if defined(__x86_64__)
    if (cpu_flags & GCB_CPU_AVX2)
        *fns = gcb_block_fns_avx2;
    if (cpu_flags & GCB_CPU_AVX512)
        *fns = gcb_block_fns_avx512;
#endif
}
