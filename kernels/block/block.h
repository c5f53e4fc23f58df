#ifndef KERNELS_BLOCK_BLOCK_H
#define KERNELS_BLOCK_BLOCK_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/block/block_elem.h"
#include "kernels/block/book_elem.h"

/*
 * Family `block`: elements in blocks of 2^log2 that share a scale; block_elem.h defines the
 * arithmetic. The arrays most, scale, factor, lo, hi, a and divisor have an entry for each block.
 * Only the last block may be shorter. log2 is at least 4. All variants give the same bits.
 *
 * most:         the largest magnitude of each block, as a bit pattern.
 * scales:       writes the scale of each of n blocks, as it stands in a message, and the factor by
 *               which its elements are multiplied; `most` has the blocks' largest magnitudes.
 * floats:       code[i] = the nearest small float of x[i] * factor. Returns how many saturate.
 * draw_floats:  the same, but code[i] is the code below or above, as the random number of element i
 *               of the tile decides (gcb_tile_number). x[0] is the draw's element 0.
 * from_floats:  x[i] = the value of code[i], times the scale or, if `divides`, divided by it.
 * ends:         the smallest and the largest value of each block. Returns the largest magnitude of
 *               all as a bit pattern. A zero may have either sign.
 * integers, draw_integers, from_integers: like floats, draw_floats and from_floats, for integers
 *               with an offset; values beyond the codes are not counted.
 * nearest:      code[i] = the code of the dynamic book whose value is nearest to x[i] / divisor.
 * bins:         code[i] = the bin of x[i]. Adds to count the elements of each of 256 bins, and to
 *               parts how far they are from the bin's middle (GCB_BIN_PART). n <= 4096.
 */

/*
 * A table that finds the nearest code of the dynamic book. A cell has the numbers of one sign with
 * the same leading bits: the exponent and six bits of the mantissa; cell 0 has all magnitudes below
 * 2^-22, whose nearest value is 0. The nearest code changes at most once within a cell. The table
 * has a word for each cell. Its low 8 bits are the code of the cell's smallest magnitude. The bits
 * above are the least value of a number's low GCB_CELL_BITS bits for which the next code, away from
 * 0, is the nearest; 1 << GCB_CELL_BITS if there is none.
 */
#define GCB_CELL_BITS 17
#define GCB_CELL_FIRST ((0x34800000u >> GCB_CELL_BITS) - 1) /* cell 0 ends at 2^-22 */
#define GCB_CELLS ((0x3f800000u >> GCB_CELL_BITS) - GCB_CELL_FIRST + 1)

/* Fills the 2 * GCB_CELLS words; the second half is for negative numbers. */
void gcb_book_cells(uint32_t *cells);

typedef void gcb_block_most_fn(uint32_t *most, const float *x, size_t n, unsigned log2);
typedef void gcb_block_scales_fn(uint32_t *scale, float *factor, const uint32_t *most, size_t n,
                                 const struct gcb_scaling *s);
typedef size_t gcb_block_floats_fn(uint16_t *code, const float *x, size_t n, unsigned log2,
                                   const float *factor, const struct gcb_small_float *f);
typedef size_t gcb_block_draw_floats_fn(uint16_t *code, const float *x, size_t n, unsigned log2,
                                        const float *factor, const struct gcb_small_float *f,
                                        const struct gcb_tile_draw *draw);
typedef void gcb_block_from_floats_fn(float *x, const uint16_t *code, size_t n, unsigned log2,
                                      const float *scale, int divides,
                                      const struct gcb_small_float *f);
typedef uint32_t gcb_block_ends_fn(float *lo, float *hi, const float *x, size_t n, unsigned log2);
typedef void gcb_block_integers_fn(uint16_t *code, const float *x, size_t n, unsigned log2,
                                   const struct gcb_affine *a, float top, int minimum);
typedef void gcb_block_draw_integers_fn(uint16_t *code, const float *x, size_t n, unsigned log2,
                                        const struct gcb_affine *a, float top, int minimum,
                                        const struct gcb_tile_draw *draw);
typedef void gcb_block_from_integers_fn(float *x, const uint16_t *code, size_t n, unsigned log2,
                                        const struct gcb_affine *a, int minimum);
typedef void gcb_block_nearest_fn(uint16_t *code, const float *x, size_t n, unsigned log2,
                                  const float *divisor, const uint32_t *cells);
typedef void gcb_block_bins_fn(uint16_t *code, int64_t *parts, uint64_t *count, const float *x,
                               size_t n, const struct gcb_bins *b);

struct gcb_block_fns {
    gcb_block_most_fn *most;
    gcb_block_scales_fn *scales;
    gcb_block_floats_fn *floats;
    gcb_block_draw_floats_fn *draw_floats;
    gcb_block_from_floats_fn *from_floats;
    gcb_block_ends_fn *ends;
    gcb_block_integers_fn *integers;
    gcb_block_draw_integers_fn *draw_integers;
    gcb_block_from_integers_fn *from_integers;
    gcb_block_nearest_fn *nearest;
    gcb_block_bins_fn *bins;
};

void gcb_block_init(struct gcb_block_fns *fns, unsigned cpu_flags);

/* The tables of the variants. Only the files of this family use these names. */
extern const struct gcb_block_fns gcb_block_fns_c, gcb_block_fns_avx2, gcb_block_fns_avx512;

#endif
