#ifndef KERNELS_FFT_LANES_BODY_H
#define KERNELS_FFT_LANES_BODY_H

/*
 * The functions of lanes.h in which each lane of a vector has a chunk, a column or a row of its
 * own. A source for other instructions than plain C defines LANES and NAME(function).
 */
#include "kernels/fft/number.h"

#ifndef NAME
#define NAME(function) gcb_fft_##function##_c
#endif

/* Entry k of a table, in all lanes. Subtracting 0 makes a vector of a float, and keeps the sign of
 * a zero. */
FORCE struct number entry(const float *re, const float *im, size_t k)
{
    const lane zero = {0};

    return (struct number){re[k] - zero, im[k] - zero};
}

/* ---- rounds ---- */

/* Goes through the butterflies of the first round, in the order of their results. `at` is the
 * number of a butterfly's first element: the butterfly's number with its digits in reverse. The
 * lowest digit of the butterfly's number has the radix of the second round. */
struct reversed {
    uint32_t digit[GCB_FFT_ROUNDS], step[GCB_FFT_ROUNDS], at;
};

FORCE void reversed_begin(struct reversed *v, const struct gcb_fft_steps *steps)
{
    uint32_t step = steps->m / steps->radix[0];

    v->at = 0;
    for (unsigned t = 1; t < steps->rounds; t++) {
        step /= steps->radix[t];
        v->step[t] = step;
        v->digit[t] = 0;
    }
}

FORCE void reversed_next(struct reversed *v, const struct gcb_fft_steps *steps)
{
    for (unsigned t = 1; t < steps->rounds; t++) {
        v->at += v->step[t];
        if (++v->digit[t] < steps->radix[t])
            return;
        v->at -= steps->radix[t] * v->step[t];
        v->digit[t] = 0;
    }
}

/* Does the butterflies of the first round whose results are the next `count` numbers. *v is at the
 * first of these butterflies, and moves past the last. */
FORCE void first_round(const struct gcb_fft_steps *steps, struct reversed *v,
                       const struct number *restrict from, struct number *restrict to, size_t count,
                       unsigned R)
{
    const size_t apart = steps->m / R;

    for (size_t b = 0; b < count; b += R, reversed_next(v, steps)) {
        const struct number *const first = from + v->at;
        struct number x[GCB_FFT_RADIX];

        for (unsigned r = 0; r < R; r++)
            x[r] = first[r * apart];
        dft(x, R);
        for (unsigned r = 0; r < R; r++)
            to[b + r] = x[r];
    }
}

FORCE void next_round(struct number *z, size_t m, size_t p, const float *twiddle, unsigned R)
{
    for (struct number *const end = z + m; z < end; z += R * p)
        for (size_t k = 0; k < p; k++) {
            struct number *const first = z + k;
            const float *const t = twiddle + k;
            struct number x[GCB_FFT_RADIX];

            x[0] = first[0];
            for (unsigned r = 1; r < R; r++)
                x[r] = mul(first[r * p], entry(t + 2 * (r - 1) * p, t + (2 * r - 1) * p, 0));
            dft(x, R);
            for (unsigned r = 0; r < R; r++)
                first[r * p] = x[r];
        }
}

/* Does rounds `first` to end - 1 of `count` numbers, in place. */
static void next_rounds(const struct gcb_fft_steps *steps, struct number *z, size_t count,
                        unsigned first, unsigned end)
{
    const float *twiddle = steps->twiddle;
    size_t p = steps->radix[0];

    for (unsigned t = 1; t < end; t++) {
        if (t >= first)
            switch (steps->radix[t]) {
                GCB_FFT_CASES(next_round, z, count, p, twiddle)
            }
        twiddle += 2 * p * (steps->radix[t] - 1u);
        p *= steps->radix[t];
    }
}

#define BLOCK 128 /* most numbers of a block, which stays in the first-level cache */

/* Transforms m numbers from `from` to `to`. Takes block after block, and does the first rounds of a
 * block together. */
static void transform(const struct gcb_fft_steps *steps, const struct number *from,
                      struct number *to)
{
    struct reversed v;
    unsigned together = 1;
    size_t block = steps->radix[0];

    while (together < steps->rounds && block * steps->radix[together] <= BLOCK)
        block *= steps->radix[together++];
    reversed_begin(&v, steps);
    for (size_t b = 0; b < steps->m; b += block) {
        switch (steps->radix[0]) {
            GCB_FFT_CASE(1, first_round, steps, &v, from, to + b, block)
            GCB_FFT_CASES(first_round, steps, &v, from, to + b, block)
        }
        next_rounds(steps, to + b, block, 1, together);
    }
    next_rounds(steps, to, steps->m, together, steps->rounds);
}

/* ---- numbers to bins and back ---- */

FORCE struct number split_of(const struct gcb_fft_steps *steps, size_t k)
{
    return entry(steps->split_re, steps->split_im, k);
}

FORCE struct number turn_of(const struct gcb_fft_steps *steps, size_t k)
{
    return entry(steps->cosine, steps->sine, k);
}

/* Coefficients k and 2 m - k, as a pair, from twice bin k; and the bin from the pair (unrotate). */
FORCE struct number rotated(struct number bin, struct number turn)
{
    rotate(bin, turn, &bin.re, &bin.im);
    return bin;
}

FORCE struct number unrotated(struct number pair, struct number turn)
{
    return unrotate(pair.re, pair.im, turn);
}

/* Makes the m + 1 bins of a real DFT from m numbers, in place. For a DCT (Makhoul, "A fast cosine
 * transform in one and two dimensions", 1980), the parts of number k become coefficients k and
 * 2 m - k. `dct` is a constant in each call, as are other arguments below, so that loops have no
 * branches. */
FORCE void numbers_to_bins(const struct gcb_fft_steps *steps, struct number *z, bool dct)
{
    const size_t m = steps->m;
    const float by = dct ? 1.0f : 0.5f;
    const lane zero = {0}, sum = z[0].re + z[0].im, difference = z[0].re - z[0].im;

    z[0] = (struct number){dct ? 2.0f * sum : sum, zero};
    z[m] = (struct number){difference, zero};
    if (dct)
        z[m].im = 2.0f * (difference * steps->cosine[m]);
    for (size_t k = 1; 2 * k < m; k++) {
        struct number near, far;

        split_pair(z[k], z[m - k], by, split_of(steps, k), &near, &far);
        z[k] = dct ? rotated(near, turn_of(steps, k)) : near;
        z[m - k] = dct ? rotated(far, turn_of(steps, m - k)) : far;
    }
    if (m % 2 == 0) {
        const struct number bin = {2.0f * by * z[m / 2].re, -2.0f * by * z[m / 2].im};

        z[m / 2] = dct ? rotated(bin, turn_of(steps, m / 2)) : bin;
    }
}

/* Makes numbers, times two and with their parts swapped (join_pair), from bins or coefficients, in
 * place. */
FORCE void bins_to_numbers(const struct gcb_fft_steps *steps, struct number *z, bool dct)
{
    const size_t m = steps->m;
    const lane first = z[0].re;
    const lane last = dct ? (steps->cosine[m] + steps->sine[m]) * z[m].im : z[m].re;

    z[0] = (struct number){first - last, first + last};
    for (size_t k = 1; 2 * k < m; k++) {
        const struct number near = dct ? unrotated(z[k], turn_of(steps, k)) : z[k];
        const struct number far = dct ? unrotated(z[m - k], turn_of(steps, m - k)) : z[m - k];

        join_pair(near, far, split_of(steps, k), &z[k], &z[m - k]);
    }
    if (m % 2 == 0) {
        const struct number bin = dct ? unrotated(z[m / 2], turn_of(steps, m / 2)) : z[m / 2];

        z[m / 2] = (struct number){-2.0f * bin.im, 2.0f * bin.re};
    }
}

/* ---- chunks to lanes and back ---- */

/* Loads elements `at` to at + LANES - 1 of each chunk: r[i] has element at + i of all chunks. */
FORCE void load_tile(lane *r, const float *const *x, size_t at)
{
    for (unsigned c = 0; c < LANES; c++)
        r[c] = get_up(x[c] + at);
    transpose(r);
}

FORCE void store_tile(float *const *x, lane *r, size_t at, unsigned count)
{
    transpose(r);
    if (count == LANES) /* a loop of its own, so that r stays in registers */
        for (unsigned c = 0; c < LANES; c++)
            put_up(x[c] + at, r[c], LANES);
    else
        for (unsigned c = 0; c < count; c++)
            put_up(x[c] + at, r[c], LANES);
}

/* Element c of a vector. */
FORCE float *element(lane *v, unsigned c)
{
    return (float *)(void *)v + c;
}

/* Where the floats of a chunk (elements, bins or coefficients) are among the parts of m numbers:
 * each is `step` parts after the one before. Elements of a DCT are `folded`. After an inverse, the
 * parts of each number are `swapped` (join_pair). */
struct order {
    int step;
    bool folded, swapped;
};

FORCE ptrdiff_t place_of(size_t e, size_t m, struct order order)
{
    return (ptrdiff_t)((order.folded ? folded(e, m) : e) ^ order.swapped) * order.step;
}

/* Reads floats `at` to end - 1 of each chunk. The place of float 0 is v, even if at > 0. */
FORCE void load_chunks(lane *v, const float *const *x, size_t at, size_t end, size_t m,
                       struct order order)
{
    for (; at + LANES <= end; at += LANES) {
        lane r[LANES];

        load_tile(r, x, at);
        for (unsigned i = 0; i < LANES; i++)
            v[place_of(at + i, m, order)] = r[i];
    }
    for (; at < end; at++)
        for (unsigned c = 0; c < LANES; c++)
            *element(&v[place_of(at, m, order)], c) = x[c][at];
}

/* The reverse of load_chunks, for `count` chunks. */
FORCE void store_chunks(float *const *x, lane *v, size_t at, size_t end, size_t m, unsigned count,
                        struct order order)
{
    for (; at + LANES <= end; at += LANES) {
        lane r[LANES];

        for (unsigned i = 0; i < LANES; i++)
            r[i] = v[place_of(at + i, m, order)];
        store_tile(x, r, at, count);
    }
    for (; at < end; at++)
        for (unsigned c = 0; c < count; c++)
            x[c][at] = *element(&v[place_of(at, m, order)], c);
}

/* ---- transforms of chunks ---- */

/* The place of float 0 for load_chunks and store_chunks of coefficients m to 2 m - 1. These are the
 * imaginary parts of numbers m to 1, in this order (numbers_to_bins). */
#define FROM_M(z, m) ((lane *)(z) + 4 * (m) + 1)

void NAME(forward)(const struct gcb_fft_steps *steps, const float *const *x, float *const *bins,
                   unsigned count, bool dct, float *room, float *spare)
{
    struct number *a = (void *)spare, *b = (void *)room;
    const size_t m = steps->m, n = 2 * m;

    if (dct)
        load_chunks((lane *)a, x, 0, n, m, (struct order){.step = 1, .folded = true});
    else
        load_chunks((lane *)a, x, 0, n, m, (struct order){.step = 1});
    transform(steps, a, b);
    if (dct) {
        numbers_to_bins(steps, b, true);
        store_chunks(bins, (lane *)b, 0, m, m, count, (struct order){.step = 2});
        store_chunks(bins, FROM_M(b, m), m, n, m, count, (struct order){.step = -2});
    } else {
        numbers_to_bins(steps, b, false);
        store_chunks(bins, (lane *)b, 0, n + 2, m, count, (struct order){.step = 1});
    }
}

void NAME(inverse)(const struct gcb_fft_steps *steps, const float *const *bins, float *const *x,
                   unsigned count, bool dct, float *room, float *spare)
{
    struct number *a = (void *)room, *b = (void *)spare;
    const size_t m = steps->m, n = 2 * m;

    if (dct) {
        load_chunks((lane *)a, bins, 0, m, m, (struct order){.step = 2});
        load_chunks(FROM_M(a, m), bins, m, n, m, (struct order){.step = -2});
        bins_to_numbers(steps, a, true);
    } else {
        load_chunks((lane *)a, bins, 0, n + 2, m, (struct order){.step = 1});
        bins_to_numbers(steps, a, false);
    }
    transform(steps, a, b);
    if (dct)
        store_chunks(x, (lane *)b, 0, n, m, count, (struct order){1, true, true});
    else
        store_chunks(x, (lane *)b, 0, n, m, count, (struct order){.step = 1, .swapped = true});
}

/* ---- long transforms ---- */

/* exp(-2 pi i k c / m) for columns c = b to b + LANES - 1. b is a multiple of LANES. */
FORCE struct number long_twiddle(const struct gcb_fft_long *f, uint32_t k, uint32_t b)
{
    const uint32_t l = b % GCB_FFT_LANES;
    const size_t at = (size_t)k * GCB_FFT_LANES + l;
    const lane zero = {0};
    float base[2];

    gcb_fft_long_unit(f, base, 2 * (uint64_t)k * (b - l));
    return mul((struct number){get_up(f->step_re + at), get_up(f->step_im + at)},
               (struct number){base[0] - zero, base[1] - zero});
}

/* Prefetch a cache line that the next group of columns or rows reads or writes. It follows a line
 * of the current group, so its page is probably in the TLB. p may lie past an array's end. */
#define FETCH(p) __builtin_prefetch(p, 0, 2)
#define FETCH_TO_WRITE(p) __builtin_prefetch(p, 1, 2)

void NAME(columns)(const struct gcb_fft_long *f, const float *x, uint64_t given, float *rows,
                   uint32_t b, float *room)
{
    struct number *v = (void *)room, *z = v + f->columns.m + 1;
    const uint32_t n1 = f->columns.m, n2 = f->rows.m, count = n2 - b < LANES ? n2 - b : LANES;

    for (uint32_t a = 0; a < n1; a++) {
        const uint64_t e = 2 * ((uint64_t)a * n2 + b);
        float part[2 * LANES] = {0};

        if (e + 2 * LANES > given) {
            if (e < given)
                memcpy(part, x + e, (given - e) * sizeof(*x));
            v[a] = get_zipped(part, LANES);
        } else {
            v[a] = get_zipped(x + e, LANES);
            FETCH(x + e + 2 * LANES);
        }
    }
    transform(&f->columns, v, z);
    for (uint32_t k = 0; k < n1; k++) {
        const struct number w = mul(z[k], long_twiddle(f, k, b));

        put_zipped(rows + 2 * ((uint64_t)k * n2 + b), w.re, w.im, count);
        FETCH_TO_WRITE(rows + 2 * ((uint64_t)k * n2 + b + LANES));
    }
}

void NAME(rows)(const struct gcb_fft_long *f, const float *rows, float *out, uint64_t wanted,
                bool swapped, uint32_t k, float *room)
{
    struct number *v = (void *)room, *z = v + f->rows.m + 1;
    const uint32_t n1 = f->columns.m, n2 = f->rows.m, count = n1 - k < LANES ? n1 - k : LANES;
    const float *from[LANES];

    for (uint32_t c = 0; c < LANES; c++)
        from[c] = rows + 2 * (uint64_t)n2 * (k + (c < count ? c : 0));
    load_chunks((lane *)v, from, 0, 2 * (size_t)n2, n2, (struct order){.step = 1});
    transform(&f->rows, v, z);
    for (uint32_t q = 0; q < n2; q++) {
        const uint64_t e = 2 * ((uint64_t)q * n1 + k);
        const lane re = swapped ? z[q].im : z[q].re, im = swapped ? z[q].re : z[q].im;

        if (e + 2 * count <= wanted) {
            put_zipped(out + e, re, im, count);
            FETCH_TO_WRITE(out + e + 2 * LANES);
        } else if (e < wanted) {
            float part[2 * LANES];

            put_zipped(part, re, im, LANES);
            memcpy(out + e, part, (wanted - e) * sizeof(*out));
        }
    }
}

#endif
