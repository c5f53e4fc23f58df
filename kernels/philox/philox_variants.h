#ifndef KERNELS_PHILOX_PHILOX_VARIANTS_H
#define KERNELS_PHILOX_PHILOX_VARIANTS_H

#include "kernels/philox/philox.h"

gcb_philox_bytes_fn gcb_philox_bytes_avx2;
gcb_philox_bytes_fn gcb_philox_bytes_avx512;

#endif
