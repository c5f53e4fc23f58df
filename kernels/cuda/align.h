#ifndef KERNELS_CUDA_ALIGN_H
#define KERNELS_CUDA_ALIGN_H

/*
 * Each function rounds a size up, so that the next part of scratch memory or of a table begins
 * aligned. Parts within a launcher are aligned to 16 bytes, for 16-byte accesses. Parts of
 * different stages of a codec are aligned to 256, like device memory itself, because cuFFT may need
 * this.
 */
#include <stdint.h>

static inline uint64_t gcb_cuda_align16(uint64_t bytes)
{
    return (bytes + 15) / 16 * 16;
}

static inline uint64_t gcb_cuda_align256(uint64_t bytes)
{
    return (bytes + 255) / 256 * 256;
}

#endif
