#ifndef KERNELS_HADAMARD_HADAMARD_VARIANTS_H
#define KERNELS_HADAMARD_HADAMARD_VARIANTS_H

#include "kernels/hadamard/hadamard.h"

gcb_hadamard_transform_fn gcb_hadamard_transform_avx2;
gcb_hadamard_flip_fn gcb_hadamard_flip_avx2;

#endif
