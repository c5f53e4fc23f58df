#ifndef KERNELS_FFT_STEPS_H
#define KERNELS_FFT_STEPS_H

#include <stdbool.h>
#include <stddef.h>

#include "kernels/base/hd.h"

/*
 * The steps of our own FFT: which sums and products make each bin, and in which order. All code
 * that follows these steps, on any CPU or GPU and with any number of lanes or threads, gives the
 * same bits, because each addition and multiplication is rounded by itself.
 *
 * A real DFT of an even length L is made from a complex DFT of m = L/2 numbers, (x[0], x[1]),
 * (x[2], x[3]), ... The complex DFT has rounds of small radices R: 8 as often as it fits, then at
 * most one 4 or 2, then all 3, 5 and 7; if m is 1, one round of radix 1. It decimates in time. Let
 * p be the product of the radices of the rounds before. A round joins R transforms of p numbers
 * into one of R p numbers. A butterfly takes number k < p of each of the R transforms, multiplies
 * that of transform r > 0 by exp(-2 pi i k r / (R p)), and writes numbers k + p q, q = 0..R-1, of
 * the joined transform. In the first round p is 1, so nothing is multiplied. In the last round,
 * transform r has the elements n with n mod R = r; in the rounds before, the same rule holds for n
 * / R. This is the dataflow of Stockham's FFT in kernels/fft/block_fft.cuh.
 */

GCB_BEGIN_C

#define GCB_FFT_ROUNDS 40 /* most rounds of a DFT */
#define GCB_FFT_RADIX 8   /* largest radix */
#define GCB_FFT_LANES 16  /* most lanes of a vector */

/* A DFT of m numbers: the radices of its rounds, and its tables. */
struct gcb_fft_steps {
    uint32_t m;
    unsigned rounds;
    uint8_t radix[GCB_FFT_ROUNDS];
    /* For each round except the first, in order, and for each r > 0: the real parts of
     * exp(-2 pi i k r / (R p)) for k < p, then the imaginary parts. */
    const float *twiddle;
    /* exp(-2 pi i k / (2 m)) for k <= m / 2: the real parts, and the imaginary parts */
    const float *split_re, *split_im;
    const float *cosine, *sine; /* for a DCT: of pi k / (4 m), k <= m; else NULL */
};

/* True if our own FFT takes this length: positive, even, with no prime factors except 2, 3, 5 and
 * 7. */
bool gcb_fft_is_own(uint64_t length);

/* The number of floats of the tables for m numbers; if `dct`, with the tables for a DCT. It
 * includes GCB_FFT_LANES floats before the tables and as many after them, because a vector may read
 * beyond either end. */
uint64_t gcb_fft_tables(uint32_t m, bool dct);

/* Both functions set *steps, which points into `tables` (gcb_fft_tables floats); gcb_fft_steps_fill
 * also writes the tables. gcb_fft_is_own(2 * m) must be true. The caller keeps the tables as long
 * as *steps is used. */
void gcb_fft_steps_lay_out(struct gcb_fft_steps *steps, uint32_t m, bool dct, const float *tables);
void gcb_fft_steps_fill(struct gcb_fft_steps *steps, uint32_t m, bool dct, float *tables);

/*
 * The steps of a long DFT (Bailey, "FFTs in external or hierarchical memory", 1990): m = n1 n2
 * numbers, n1 the largest divisor of m that is not above its square root. The numbers are n1 rows
 * of n2. First, every column is replaced by its DFT. Then number b of row k is multiplied by exp(-2
 * pi i k b / m). The DFT of row k then gives bins k + n1 q. The factor is itself a product of two:
 * exp(-2 pi i k l / m) with l = b mod 16 is a table entry; exp(-2 pi i k (b - l) / m) is computed
 * by gcb_fft_long_unit.
 */
struct gcb_fft_long {
    uint64_t m;
    struct gcb_fft_steps columns, rows; /* of n1 and of n2 numbers */
    /* exp(-2 pi i k l / m) at place 16 k + l, k < n1, l < 16 */
    const float *step_re, *step_im;
    /* exp(-2 pi i l / (2 m)) for l < 16 */
    const float *split_re, *split_im;
    /* exp(-2 pi i e / (2 m)) for e < 2^bits, and for multiples of 2^bits, as (re, im) */
    const double *low, *high;
    unsigned bits;
};

/* Writes exp(-2 pi i e / (2 m)) for e < 2 m as (re, im): the product of two table entries, rounded
 * to float. */
static inline void gcb_fft_long_unit(const struct gcb_fft_long *f, float *to, uint64_t e)
{
    const double *a = f->high + 2 * (e >> f->bits);
    const double *b = f->low + 2 * (e & ((UINT64_C(1) << f->bits) - 1));

    to[0] = (float)(a[0] * b[0] - a[1] * b[1]);
    to[1] = (float)(a[0] * b[1] + a[1] * b[0]);
}

/* The number of bytes of the tables for m numbers. */
uint64_t gcb_fft_long_tables(uint64_t m);
/* Sets *f and writes its tables to `tables` (gcb_fft_long_tables bytes, aligned to 64 bytes).
 * gcb_fft_is_own(2 * m) must be true, and m must be 225 or more. The caller keeps the tables as
 * long as *f is used. */
void gcb_fft_long_fill(struct gcb_fft_long *f, uint64_t m, void *tables);

/* Writes the cosine and the sine of 2 pi a / b, for a and b below 2^53. For nearly every angle,
 * each is the nearest float. Does not use libm, because the last bits of its results differ between
 * systems. */
void gcb_fft_unit(float *to, uint64_t a, uint64_t b);

GCB_END_C

#endif
