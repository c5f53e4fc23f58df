#ifndef KERNELS_FFT_STEPS_H
#define KERNELS_FFT_STEPS_H

#include <stdbool.h>
#include <stddef.h>

#include "kernels/base/hd.h"

/*
 * The steps of our own FFT: which sums and products make each bin, and in which order. Every engine
 * that follows them, on any CPU or GPU and with any number of lanes or threads, gives the same
 * bits, because each addition and multiplication is rounded by itself.
 *
 * A real DFT of an even length L is made from a complex DFT of m = L/2 numbers, (x[0], x[1]),
 * (x[2], x[3]), ... The complex DFT has rounds of small radices R: 8 as often as it fits, then at
 * most one 4 or 2, then all 3, 5 and 7. Decimation is in time. p is the product of the radices of
 * the rounds before. A butterfly of a round takes the numbers r = 0..R-1 of R transforms of p
 * numbers at the same place k < p, multiplies number r > 0 by exp(-2 pi i k r / (R p)), and writes
 * bins k + p q, q = 0..R-1, of one transform of R p numbers. In the first round k and p are 0 and
 * 1: nothing is multiplied. The last transform has its numbers r from the elements with n mod R =
 * r, and so on: the radix of the last round is the lowest digit of n. In short, the dataflow is
 * that of Stockham's FFT in kernels/fft/block_fft.cuh.
 */

GCB_BEGIN_C

#define GCB_FFT_ROUNDS 40 /* most rounds of a DFT */
#define GCB_FFT_RADIX 8   /* largest radix */
#define GCB_FFT_LANES 16  /* most lanes of a vector */

/* The DFT of m numbers. */
struct gcb_fft_steps {
    uint32_t m;
    unsigned rounds;
    uint8_t radix[GCB_FFT_ROUNDS];
    /* For each round but the first, in order, and for each r > 0: the real parts of exp(-2 pi i k r
     * / (R p)) for k < p, then the imaginary parts. */
    const float *twiddle;
    /* exp(-2 pi i k / (2 m)) for k <= m / 2: the real parts, and the imaginary parts */
    const float *split_re, *split_im;
    const float *cosine, *sine; /* DCT: of pi k / (4 m) for k <= m. Else NULL */
};

/* True if our own FFT takes this length: even, with the factors 2, 3, 5 and 7. */
bool gcb_fft_is_own(uint64_t length);

/* The number of floats of the tables of m numbers, and of GCB_FFT_LANES before and after them, which
 * a vector may read, too. */
uint64_t gcb_fft_tables(uint32_t m, bool dct);

/* Fills `steps` for tables at `tables`, which gcb_fft_steps_fill writes, too. m is smooth. The tables
 * must stay. */
void gcb_fft_steps_lay_out(struct gcb_fft_steps *steps, uint32_t m, bool dct, const float *tables);
void gcb_fft_steps_fill(struct gcb_fft_steps *steps, uint32_t m, bool dct, float *tables);

/*
 * The steps of a long DFT (Bailey, "FFTs in external or hierarchical memory", 1990): m = n1 n2
 * numbers, n1 the largest divisor of m that is not above its square root. The numbers are n1 rows of
 * n2. A DFT of every column gives row k its numbers; number b of row k is multiplied by exp(-2 pi i
 * k b / m); a DFT of every row gives bins k + n1 q. That factor is a product, too: of base(b -
 * b mod 16), a product of two table entries in double, rounded to float, and of an entry of `step`.
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

/* exp(-2 pi i e / (2 m)), e < 2 m. */
static inline void gcb_fft_long_unit(const struct gcb_fft_long *f, float *to, uint64_t e)
{
    const double *a = f->high + 2 * (e >> f->bits);
    const double *b = f->low + 2 * (e & ((UINT64_C(1) << f->bits) - 1));

    to[0] = (float)(a[0] * b[0] - a[1] * b[1]);
    to[1] = (float)(a[0] * b[1] + a[1] * b[0]);
}

/* The bytes of the tables of m numbers. */
uint64_t gcb_fft_long_tables(uint64_t m);
/* Fills `f`. The tables are written to `tables`, aligned to 64, which must stay. */
void gcb_fft_long_fill(struct gcb_fft_long *f, uint64_t m, void *tables);

/* Writes (cos, sin)(2 pi a / b), a and b below 2^53, each rounded to the nearest float of nearly
 * every angle. Does not use libm, whose last bits differ. */
void gcb_fft_unit(float *to, uint64_t a, uint64_t b);

GCB_END_C

#endif
