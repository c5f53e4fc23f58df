#ifndef KERNELS_CUDA_ALIGN_H
#define KERNELS_CUDA_ALIGN_H

/*
 * Scratch and tables are cut into parts that begin on boundaries: of 16 bytes within a launcher, for 16-byte
 * accesses; of 256 between the stages of a codec, as device memory itself begins, which cuFFT may ask for.
 * Each returns the bytes that a part takes up with what follows it aligned.
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
