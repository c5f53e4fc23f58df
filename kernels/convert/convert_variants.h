#ifndef KERNELS_CONVERT_CONVERT_VARIANTS_H
#define KERNELS_CONVERT_CONVERT_VARIANTS_H

/* The variants gcb_convert_init chooses from; nothing else includes this. */
#include "kernels/convert/convert.h"

gcb_convert_narrow_fn gcb_convert_to_fp16_avx2;
gcb_convert_narrow_fn gcb_convert_to_bf16_avx2;
gcb_convert_widen_fn gcb_convert_from_fp16_avx2;
gcb_convert_widen_fn gcb_convert_from_bf16_avx2;

#endif
