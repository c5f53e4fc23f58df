#ifndef KERNELS_BITPACK_BITPACK_H
#define KERNELS_BITPACK_BITPACK_H

#include <stddef.h>
#include <stdint.h>

/*
 * Family `bitpack`: codes of fixed width. Code i occupies bits [i*width, (i+1)*width) of the
 * stream; bit j of the stream is bit j mod 8 of byte j / 8. Every variant is bit-exact.
 *
 * pack:    writes exactly (n*width + 7) / 8 bytes; the bits after the last code are 0.
 *          1 <= width <= 16. Codes are below 2^width.
 * unpack:  the inverse, for the same widths; ignores the bits after the last code. Reads exactly
 *          (n*width + 7) / 8 bytes.
 * trits:   packs codes 0, 1, 2 five to a byte: byte = c0 + 3 c1 + 9 c2 + 27 c3 + 81 c4. Codes
 *          missing from the last byte count as 0. Writes exactly (n + 4) / 5 bytes.
 * untrits: the inverse. A byte above 242, which `trits` never writes, is decoded by the same
 *          divisions, so no code exceeds 2.
 */
typedef void gcb_bitpack_pack_fn(uint8_t *out, const uint16_t *code, size_t n, unsigned width);
typedef void gcb_bitpack_unpack_fn(uint16_t *code, const uint8_t *in, size_t n, unsigned width);
typedef void gcb_bitpack_trits_fn(uint8_t *out, const uint16_t *code, size_t n);
typedef void gcb_bitpack_untrits_fn(uint16_t *code, const uint8_t *in, size_t n);

struct gcb_bitpack_fns {
    gcb_bitpack_pack_fn *pack;
    gcb_bitpack_unpack_fn *unpack;
    gcb_bitpack_trits_fn *trits;
    gcb_bitpack_untrits_fn *untrits;
};

void gcb_bitpack_init(struct gcb_bitpack_fns *fns, unsigned cpu_flags);

/* The variants of these functions. Only the files of this family use these names. */
gcb_bitpack_pack_fn gcb_bitpack_pack_avx2;
gcb_bitpack_unpack_fn gcb_bitpack_unpack_avx2;
gcb_bitpack_trits_fn gcb_bitpack_trits_avx2;
gcb_bitpack_untrits_fn gcb_bitpack_untrits_avx2;

#endif
