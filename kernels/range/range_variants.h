#ifndef KERNELS_RANGE_RANGE_VARIANTS_H
#define KERNELS_RANGE_RANGE_VARIANTS_H

#include "kernels/range/range.h"

gcb_range_encode_fn gcb_range_encode_avx2;
gcb_range_encode_fn gcb_range_encode_avx512;

gcb_range_decode_fn gcb_range_decode_avx2;
gcb_range_decode_fn gcb_range_decode_avx512;

#endif
