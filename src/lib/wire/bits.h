#ifndef SRC_LIB_WIRE_BITS_H
#define SRC_LIB_WIRE_BITS_H

#include <stdbool.h>
#include <stdint.h>

#include "src/lib/wire/buf.h"

/*
 * A stream of bits. The first bit is the lowest bit of the first byte. The functions are inline,
 * because coders call them for each symbol.
 */

/* The writer stores whole words, so the buffer must extend GCB_BITS_SLACK bytes after the last
 * bit. */
#define GCB_BITS_SLACK 8

struct gcb_bitw {
    uint8_t *p;    /* the next byte to write; borrowed */
    uint64_t acc;  /* bits that do not fill a byte yet */
    unsigned fill; /* number of bits in acc, below 8 between calls */
};

/* Appends the n lowest bits of v, n <= 56. The other bits of v must be 0. */
static inline void gcb_bitw_put(struct gcb_bitw *w, uint64_t v, unsigned n)
{
    w->acc |= v << w->fill;
    w->fill += n;
    gcb_store_u64(w->p, w->acc);
    w->p += w->fill / 8;
    w->acc >>= w->fill & ~7u;
    w->fill &= 7;
}

/* Appends n ones, at most 48 at a time, because gcb_bitw_put takes at most 56 bits. */
static inline void gcb_bitw_ones(struct gcb_bitw *w, uint64_t n)
{
    for (; n > 48; n -= 48)
        gcb_bitw_put(w, (UINT64_C(1) << 48) - 1, 48);
    gcb_bitw_put(w, (UINT64_C(1) << n) - 1, (unsigned)n);
}

/* Fills the last byte with zeros. Returns the end of the stream. */
static inline uint8_t *gcb_bitw_finish(struct gcb_bitw *w)
{
    if (w->fill)
        *w->p++ = (uint8_t)w->acc;
    w->acc = 0;
    w->fill = 0;
    return w->p;
}

/* Reads only inside [p, end). A read past the end sets `failed`. gcb_bitr_get then returns the bits
 * that were left, followed by zeros. Later reads give zeros. */
struct gcb_bitr {
    const uint8_t *p, *end; /* the next byte to load, and the end of the stream; borrowed */
    uint64_t acc;           /* loaded bits that have not been read */
    unsigned fill;          /* number of valid bits in acc */
    bool failed;
};

/* Makes 56 to 63 bits valid, or fewer at the end of the stream; never 64, because a shift by 64 is
 * undefined. */
static inline void gcb_bitr_refill(struct gcb_bitr *r)
{
    if (r->end - r->p >= 8) {
        r->acc |= gcb_load_u64(r->p) << r->fill;
        r->p += (63 - r->fill) / 8;
        r->fill |= 56;
        return;
    }
    while (r->fill < 56 && r->p < r->end) {
        r->acc |= (uint64_t)*r->p++ << r->fill;
        r->fill += 8;
    }
}

/* Skips n bits that are valid. If fewer are valid, sets `failed`. */
static inline void gcb_bitr_skip(struct gcb_bitr *r, unsigned n)
{
    if (n > r->fill) {
        r->failed = true;
        r->acc = 0;
        r->fill = 0;
        return;
    }
    r->acc >>= n;
    r->fill -= n;
}

/* Reads the next n <= 56 bits. */
static inline uint64_t gcb_bitr_get(struct gcb_bitr *r, unsigned n)
{
    uint64_t v;

    if (r->fill < n)
        gcb_bitr_refill(r);
    v = r->acc & ((UINT64_C(1) << n) - 1);
    gcb_bitr_skip(r, n);
    return v;
}

/* True if everything has been read, except zeros that fill the last byte. */
static inline bool gcb_bitr_is_done(const struct gcb_bitr *r)
{
    return !r->failed && r->p == r->end && r->fill < 8 && r->acc == 0;
}

/* Reads the ones before the next zero, and the zero. Returns the number of ones. More than `limit`
 * ones, or no zero up to the end, set `failed`; then it returns 0. */
static inline uint64_t gcb_bitr_ones(struct gcb_bitr *r, uint64_t limit)
{
    uint64_t n = 0;

    for (;;) {
        unsigned run;

        gcb_bitr_refill(r);
        run = ~r->acc ? (unsigned)__builtin_ctzll(~r->acc) : 64;
        if (run < r->fill) {
            gcb_bitr_skip(r, run + 1);
            n += run;
            break;
        }
        n += r->fill;
        if (r->fill == 0 || n > limit) {
            r->failed = true;
            return 0;
        }
        r->acc = 0;
        r->fill = 0;
    }
    if (n > limit)
        r->failed = true;
    return r->failed ? 0 : n;
}

#endif
