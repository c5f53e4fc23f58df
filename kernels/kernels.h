#ifndef KERNELS_KERNELS_H
#define KERNELS_KERNELS_H

#include "kernels/accumulate/accumulate.h"
#include "kernels/bitpack/bitpack.h"
#include "kernels/block/block.h"
#include "kernels/compare/compare.h"
#include "kernels/convert/convert.h"
#include "kernels/dither/dither.h"
#include "kernels/fft/lanes.h"
#include "kernels/hadamard/hadamard.h"
#include "kernels/philox/philox.h"
#include "kernels/range/range.h"
#include "kernels/reduce/reduce.h"
#include "kernels/select/select.h"
#include "src/lib/base/cpu_flags.h"

/* The functions that all families choose by CPU flags, except those of kernels/base/flush.h.
 * gcb_kernels_init fills the struct for one set of flags. The struct may be copied. */
struct gcb_kernels {
    struct gcb_philox_fns philox;
    struct gcb_reduce_fns reduce;
    struct gcb_compare_fns compare;
    struct gcb_select_fns select;
    struct gcb_bitpack_fns bitpack;
    struct gcb_block_fns block;
    struct gcb_convert_fns convert;
    struct gcb_range_fns range;
    struct gcb_dither_fns dither;
    struct gcb_hadamard_fns hadamard;
    struct gcb_fft_fns fft;
    struct gcb_accumulate_fns accumulate;
};

void gcb_kernels_init(struct gcb_kernels *k, unsigned cpu_flags);

#endif
