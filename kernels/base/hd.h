#ifndef KERNELS_BASE_HD_H
#define KERNELS_BASE_HD_H

/*
 * Definitions for the per-element headers (<family>_elem.h). They are written in the common subset
 * of C and CUDA C++, so that a GPU kernel and its CPU reference run the same arithmetic.
 *
 * Rules for such a header: no libm; no float contraction (the build passes -ffp-contract=off and
 * --fmad=false); no pointer aliasing tricks: use the two casts below to get at the bits of a float.
 */
#include <stdint.h>
#include <string.h>

#ifdef __CUDACC__
#define GCB_HD static __host__ __device__ __forceinline__
#else
#define GCB_HD static inline
#endif

/* Around declarations of functions that C calls. */
#ifdef __cplusplus
#define GCB_BEGIN_C extern "C" {
#define GCB_END_C }
#else
#define GCB_BEGIN_C
#define GCB_END_C
#endif

/* The sign-cleared bit patterns of floats, as unsigned integers, have the order of the
 * magnitudes. */
#define GCB_MAGNITUDE_MASK 0x7fffffffu
/* Sign-cleared patterns from this one on are infinities and NaNs. */
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

#endif
