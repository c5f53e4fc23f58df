#ifndef KERNELS_BASE_HD_H
#define KERNELS_BASE_HD_H

/*
 * Definitions for the per-element headers (<family>_elem.h). They are written in the common subset
 * of C and CUDA C++, so that a GPU kernel and its CPU reference run the same arithmetic.
 *
 * Rules for such a header: of libm only sqrt, which is correctly rounded everywhere, and in CUDA
 * fminf, which is exact; no float contraction (the build passes -ffp-contract=off and
 * --fmad=false); no casts between pointers to floats and to integers (gcb_bits_of and gcb_float_of
 * convert instead).
 */
#include <stdint.h>
#include <string.h>

#ifdef __CUDACC__
#define GCB_HD static __host__ __device__ __forceinline__
#else
#define GCB_HD static inline
#endif

/* GCB_BEGIN_C and GCB_END_C enclose the declarations of functions that C code calls and CUDA C++
 * defines. */
#ifdef __cplusplus
#define GCB_BEGIN_C extern "C" {
#define GCB_END_C }
#else
#define GCB_BEGIN_C
#define GCB_END_C
#endif

/* Clears the sign of a float's bit pattern. Sign-cleared patterns, compared as unsigned integers,
 * are in the order of the magnitudes. */
#define GCB_MAGNITUDE_MASK 0x7fffffffu
/* Pattern of infinity. Larger sign-cleared patterns are NaNs. */
#define GCB_INF_BITS 0x7f800000u
/* Pattern of the largest finite float. */
#define GCB_MAX_FINITE_BITS 0x7f7fffffu

GCB_HD uint32_t gcb_bits_of(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof(u));
    return u;
}

GCB_HD float gcb_float_of(uint32_t u)
{
    float x;
    memcpy(&x, &u, sizeof(x));
    return x;
}

GCB_HD uint32_t gcb_magnitude(float x)
{
    return gcb_bits_of(x) & GCB_MAGNITUDE_MASK;
}

/* floor(log2(v)); v is not 0. */
GCB_HD unsigned gcb_log2_floor(uint32_t v)
{
#ifdef __CUDA_ARCH__
    return 31 - (unsigned)__clz((int)v);
#else
    return 31 - (unsigned)__builtin_clz(v);
#endif
}

#endif
