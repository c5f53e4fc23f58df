#include "kernels/kernels.h"

void gcb_kernels_init(struct gcb_kernels *k, unsigned cpu_flags)
{
    gcb_philox_init(&k->philox, cpu_flags);
    gcb_reduce_init(&k->reduce, cpu_flags);
    gcb_compare_init(&k->compare, cpu_flags);
    gcb_select_init(&k->select, cpu_flags);
    gcb_bitpack_init(&k->bitpack, cpu_flags);
    gcb_block_init(&k->block, cpu_flags);
    gcb_convert_init(&k->convert, cpu_flags);
    gcb_range_init(&k->range, cpu_flags);
    gcb_dither_init(&k->dither, cpu_flags);
    gcb_hadamard_init(&k->hadamard, cpu_flags);
    gcb_fft_init(&k->fft, cpu_flags);
    gcb_accumulate_init(&k->accumulate, cpu_flags);
}
