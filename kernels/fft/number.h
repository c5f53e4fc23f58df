#ifndef KERNELS_FFT_NUMBER_H
#define KERNELS_FFT_NUMBER_H

/*
 * Complex numbers in vectors of LANES floats. A source that includes this header may define LANES
 * as 8 or 16; else it is 4.
 */
#include <string.h>

#include "kernels/fft/lanes.h"

#ifndef LANES
#define LANES 4
#endif

/* A vector of LANES floats; lane_any may begin at any float of an array. */
typedef float lane __attribute__((vector_size(4 * LANES)));
typedef float lane_any __attribute__((vector_size(4 * LANES), aligned(4)));

struct number {
    lane re, im;
};

#define FORCE static inline __attribute__((always_inline))

#include "kernels/fft/number_elem.h"

/* ---- shuffles ---- */

/* A vector whose lane l is element F(l) of a and b; elements LANES and above are those of b. */
#if LANES == 4
#define SHUFFLE(a, b, F) __builtin_shufflevector(a, b, F(0), F(1), F(2), F(3))
#elif LANES == 8
#define SHUFFLE(a, b, F) \
    __builtin_shufflevector(a, b, F(0), F(1), F(2), F(3), F(4), F(5), F(6), F(7))
#else
#define SHUFFLE(a, b, F) \
    __builtin_shufflevector(a, b, F(0), F(1), F(2), F(3), F(4), F(5), F(6), F(7), F(8), F(9), \
                            F(10), F(11), F(12), F(13), F(14), F(15))
#endif
/* F for SHUFFLE. LOW and HIGH interleave each four lanes of a with the same four of b: their lower
 * or their upper halves, by single floats or by pairs. */
#define LOW_FLOATS(l) (4 * ((l) / 4) + (l) % 4 / 2 + (l) % 2 * LANES)
#define HIGH_FLOATS(l) (LOW_FLOATS(l) + 2)
#define LOW_PAIRS(l) (4 * ((l) / 4) + (l) % 2 + (l) % 4 / 2 * LANES)
#define HIGH_PAIRS(l) (LOW_PAIRS(l) + 2)
/* F for SHUFFLE: the even or the odd groups of four lanes of a, then of b. */
#define EVEN_FOURS(l) ((l) % 4 + (l) / 4 * 8 % LANES + (l) / (LANES / 2) * LANES)
#define ODD_FOURS(l) (EVEN_FOURS(l) + 4)

/* Transposes LANES rows of LANES floats. */
FORCE void transpose(lane *r)
{
    lane s[LANES];

    for (unsigned i = 0; i < LANES; i += 2) {
        s[i] = SHUFFLE(r[i], r[i + 1], LOW_FLOATS);
        s[i + 1] = SHUFFLE(r[i], r[i + 1], HIGH_FLOATS);
    }
    for (unsigned i = 0; i < LANES; i += 4) {
        r[i] = SHUFFLE(s[i], s[i + 2], LOW_PAIRS);
        r[i + 1] = SHUFFLE(s[i], s[i + 2], HIGH_PAIRS);
        r[i + 2] = SHUFFLE(s[i + 1], s[i + 3], LOW_PAIRS);
        r[i + 3] = SHUFFLE(s[i + 1], s[i + 3], HIGH_PAIRS);
    }
#if LANES == 8
    for (unsigned i = 0; i < 4; i++) {
        const lane a = r[i], b = r[i + 4];

        r[i] = SHUFFLE(a, b, EVEN_FOURS);
        r[i + 4] = SHUFFLE(a, b, ODD_FOURS);
    }
#elif LANES == 16
    for (unsigned i = 0; i < 4; i++) {
        s[i] = SHUFFLE(r[i], r[i + 4], EVEN_FOURS);
        s[i + 4] = SHUFFLE(r[i], r[i + 4], ODD_FOURS);
        s[i + 8] = SHUFFLE(r[i + 8], r[i + 12], EVEN_FOURS);
        s[i + 12] = SHUFFLE(r[i + 8], r[i + 12], ODD_FOURS);
    }
    for (unsigned i = 0; i < 4; i++) {
        r[i] = SHUFFLE(s[i], s[i + 8], EVEN_FOURS);
        r[i + 8] = SHUFFLE(s[i], s[i + 8], ODD_FOURS);
        r[i + 4] = SHUFFLE(s[i + 4], s[i + 12], EVEN_FOURS);
        r[i + 12] = SHUFFLE(s[i + 4], s[i + 12], ODD_FOURS);
    }
#endif
}

#define REVERSE(l) (LANES - 1 - (l))
/* EVENS and ODDS take the even or the odd elements of a, then of b. ZIP_LOW and ZIP_HIGH are the
 * inverse: they interleave the lower or the upper halves of a and b. */
#define EVENS(l) (2 * (l))
#define ODDS(l) (2 * (l) + 1)
#define ZIP_LOW(l) ((l) / 2 + (l) % 2 * LANES)
#define ZIP_HIGH(l) (LANES / 2 + ZIP_LOW(l))

/* ---- vectors in arrays ---- */

/* Lane l gets p[l]. p may have any alignment. */
FORCE lane get_up(const float *p)
{
    return *(const lane_any *)(const void *)p;
}

/* Stores the first `count` floats of v at p. */
FORCE void put_up(float *p, lane v, unsigned count)
{
    if (count == LANES)
        *(lane_any *)(void *)p = v;
    else
        memcpy(p, &v, count * sizeof(*p));
}

/* Reads `count` numbers, or LANES if `count` is more, stored as (re, im) after (re, im). Lanes from
 * `count` on are 0. */
FORCE struct number get_zipped(const float *p, size_t count)
{
    float part[2 * LANES] = {0};

    if (count < LANES) {
        memcpy(part, p, 2 * count * sizeof(*p));
        p = part;
    }
    const lane a = get_up(p), b = get_up(p + LANES);

    return (struct number){SHUFFLE(a, b, EVENS), SHUFFLE(a, b, ODDS)};
}

/* Writes `count` numbers, or LANES if `count` is more, as (re, im) after (re, im). */
FORCE void put_zipped(float *p, lane re, lane im, size_t count)
{
    const lane zipped[2] = {SHUFFLE(re, im, ZIP_LOW), SHUFFLE(re, im, ZIP_HIGH)};

    if (count >= LANES) {
        put_up(p, zipped[0], LANES);
        put_up(p + LANES, zipped[1], LANES);
    } else {
        memcpy(p, zipped, 2 * count * sizeof(*p));
    }
}

#endif
