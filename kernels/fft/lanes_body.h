#ifndef KERNELS_FFT_LANES_BODY_H
#define KERNELS_FFT_LANES_BODY_H

/*
 * The functions of lanes.h, in which each lane of a vector has a chunk of its own. A source for
 * other instructions than plain C defines LANES and NAME(function).
 */
#include "kernels/fft/number.h"

#ifndef NAME
#define NAME(function) gcb_fft_##function##_c
#endif

/* The same number in all lanes: entry k of a table. */
FORCE struct number entry(const float *re, const float *im, size_t k)
{
    const lane zero = {0};

    return (struct number){re[k] - zero, im[k] - zero};
}

/* ---- rounds ---- */

/* The number of the first element of first-round butterfly b: the digits of b, the lowest of which
 * belongs to the second round, in reverse. */
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

FORCE void first_round(const struct gcb_fft_steps *steps, const struct number *restrict from,
                       struct number *restrict to, unsigned R)
{
    const uint32_t apart = steps->m / R;
    struct reversed v;

    reversed_begin(&v, steps);
    for (uint32_t b = 0; b < steps->m; b += R, reversed_next(&v, steps)) {
        struct number x[GCB_FFT_RADIX];

        for (unsigned r = 0; r < R; r++)
            x[r] = from[v.at + r * apart];
        dft(x, R);
        for (unsigned r = 0; r < R; r++)
            to[b + r] = x[r];
    }
}

FORCE void next_round(struct number *z, uint32_t m, uint32_t p, const float *twiddle, unsigned R)
{
    for (uint32_t b = 0; b < m; b += R * p)
        for (uint32_t k = 0; k < p; k++) {
            struct number x[GCB_FFT_RADIX];

            x[0] = z[b + k];
            for (unsigned r = 1; r < R; r++)
                x[r] = mul(z[b + k + r * p],
                           entry(twiddle + 2 * (r - 1) * p, twiddle + (2 * r - 1) * p, k));
            dft(x, R);
            for (unsigned r = 0; r < R; r++)
                z[b + k + r * p] = x[r];
        }
}

/* Transforms m numbers from `from` to `to`. */
static void transform(const struct gcb_fft_steps *steps, const struct number *from,
                      struct number *to){GCB_FFT_TRANSFORM(steps, from, to)}

/* ---- bins ---- */

FORCE struct number split_of(const struct gcb_fft_steps *steps, size_t k)
{
    return entry(steps->split_re, steps->split_im, k);
}

FORCE struct number turn_of(const struct gcb_fft_steps *steps, size_t k)
{
    return entry(steps->cosine, steps->sine, k);
}

/* Makes the m + 1 bins of a real DFT from m numbers. */
static void numbers_to_bins(const struct gcb_fft_steps *steps, const struct number *restrict z,
                            struct number *restrict bins)
{
    const uint32_t m = steps->m;
    const lane zero = {0};

    bins[0] = (struct number){z[0].re + z[0].im, zero};
    bins[m] = (struct number){z[0].re - z[0].im, zero};
    for (uint32_t k = 1; 2 * k < m; k++)
        split_pair(z[k], z[m - k], 0.5f, split_of(steps, k), &bins[k], &bins[m - k]);
    if (m % 2 == 0)
        bins[m / 2] = (struct number){z[m / 2].re, -z[m / 2].im};
}

/* Makes numbers, times two and with their parts swapped, from bins, in place. */
static void bins_to_numbers(const struct gcb_fft_steps *steps, struct number *bins)
{
    const uint32_t m = steps->m;

    bins[0] = (struct number){bins[0].re - bins[m].re, bins[0].re + bins[m].re};
    for (uint32_t k = 1; 2 * k < m; k++)
        join_pair(bins[k], bins[m - k], split_of(steps, k), &bins[k], &bins[m - k]);
    if (m % 2 == 0)
        bins[m / 2] = (struct number){-2.0f * bins[m / 2].im, 2.0f * bins[m / 2].re};
}

/* ---- DCT (Makhoul, "A fast cosine transform in one and two dimensions", 1980) ---- */

/* Makes 2 m coefficients y of a DCT-II from m numbers. */
static void numbers_to_coefficients(const struct gcb_fft_steps *steps,
                                    const struct number *restrict z, lane *restrict y)
{
    const size_t m = steps->m;

    y[0] = 2.0f * (z[0].re + z[0].im);
    y[m] = 2.0f * ((z[0].re - z[0].im) * steps->cosine[m]);
    for (size_t k = 1; 2 * k < m; k++) {
        struct number near, far;

        split_pair(z[k], z[m - k], 1.0f, split_of(steps, k), &near, &far);
        rotate(near, turn_of(steps, k), &y[k], &y[2 * m - k]);
        rotate(far, turn_of(steps, m - k), &y[m - k], &y[m + k]);
    }
    if (m % 2 == 0)
        rotate((struct number){2.0f * z[m / 2].re, -2.0f * z[m / 2].im}, turn_of(steps, m / 2),
               &y[m / 2], &y[m + m / 2]);
}

/* Makes numbers, times two and with their parts swapped, from coefficients. */
static void coefficients_to_numbers(const struct gcb_fft_steps *steps, const lane *restrict y,
                                    struct number *restrict z)
{
    const size_t m = steps->m;
    const lane last = (steps->cosine[m] + steps->sine[m]) * y[m];

    z[0] = (struct number){y[0] - last, y[0] + last};
    for (size_t k = 1; 2 * k < m; k++)
        join_pair(unrotate(y[k], y[2 * m - k], turn_of(steps, k)),
                  unrotate(y[m - k], y[m + k], turn_of(steps, m - k)), split_of(steps, k), &z[k],
                  &z[m - k]);
    if (m % 2 == 0) {
        const struct number bin = unrotate(y[m / 2], y[m + m / 2], turn_of(steps, m / 2));

        z[m / 2] = (struct number){-2.0f * bin.im, 2.0f * bin.re};
    }
}

/* ---- chunks to lanes and back ---- */

/* Loads elements `at` to at + LANES - 1 of each chunk: r[i] has element at + i of all chunks. */
FORCE void load_tile(lane *r, const float *const *x, size_t at)
{
    for (unsigned c = 0; c < LANES; c++)
        r[c] = *(const lane_any *)(const void *)(x[c] + at);
    turn_round(r);
}

FORCE void store_tile(float *const *x, lane *r, size_t at, unsigned count)
{
    turn_round(r);
    for (unsigned c = 0; c < count; c++)
        *(lane_any *)(void *)(x[c] + at) = r[c];
}

/* Element c of a vector. */
FORCE float *element(lane *v, unsigned c)
{
    return (float *)(void *)v + c;
}

/* Reads n elements of each chunk; v[i] gets element i of all chunks. If `fold`, element i goes to
 * place folded(i, n / 2) instead. `fold` and `swapped` below are constants in each call, so that
 * the loops have no branches. */
FORCE void load_chunks(lane *v, const float *const *x, size_t n, bool fold)
{
    size_t at = 0;

    for (; at + LANES <= n; at += LANES) {
        lane r[LANES];

        load_tile(r, x, at);
        for (unsigned i = 0; i < LANES; i++)
            v[fold ? folded(at + i, n / 2) : at + i] = r[i];
    }
    for (; at < n; at++)
        for (unsigned c = 0; c < LANES; c++)
            *element(&v[fold ? folded(at, n / 2) : at], c) = x[c][at];
}

/* The reverse of load_chunks, for `count` chunks. If `swapped`, elements 2 i and 2 i + 1 of v are
 * the other way round. */
FORCE void store_chunks(float *const *x, lane *v, size_t n, unsigned count, bool fold, bool swapped)
{
    size_t at = 0;

    for (; at + LANES <= n; at += LANES) {
        lane r[LANES];

        for (unsigned i = 0; i < LANES; i++)
            r[i] = v[(fold ? folded(at + i, n / 2) : at + i) ^ swapped];
        store_tile(x, r, at, count);
    }
    for (; at < n; at++)
        for (unsigned c = 0; c < count; c++)
            x[c][at] = *element(&v[(fold ? folded(at, n / 2) : at) ^ swapped], c);
}

/* ---- the two functions ---- */

void NAME(forward)(const struct gcb_fft_steps *steps, const float *const *x, float *const *bins,
                   unsigned count, bool dct, float *room)
{
    struct number *a = (void *)room, *b = a + steps->m + 1;
    const size_t n = 2 * (size_t)steps->m;
    const float *from[LANES];

    for (unsigned c = 0; c < LANES; c++)
        from[c] = x[c < count ? c : 0];
    if (dct)
        load_chunks((lane *)a, from, n, true);
    else
        load_chunks((lane *)a, from, n, false);
    transform(steps, a, b);
    if (dct)
        numbers_to_coefficients(steps, b, (lane *)a);
    else
        numbers_to_bins(steps, b, a);
    store_chunks(bins, (lane *)a, dct ? n : n + 2, count, false, false);
}

void NAME(inverse)(const struct gcb_fft_steps *steps, const float *const *bins, float *const *x,
                   unsigned count, bool dct, float *room)
{
    struct number *a = (void *)room, *b = a + steps->m + 1;
    const size_t n = 2 * (size_t)steps->m;
    const float *from[LANES];

    for (unsigned c = 0; c < LANES; c++)
        from[c] = bins[c < count ? c : 0];
    load_chunks((lane *)(dct ? b : a), from, dct ? n : n + 2, false);
    if (dct)
        coefficients_to_numbers(steps, (lane *)b, a);
    else
        bins_to_numbers(steps, a);
    transform(steps, a, b);
    if (dct)
        store_chunks(x, (lane *)b, n, count, true, true);
    else
        store_chunks(x, (lane *)b, n, count, false, true);
}

/* ---- long transforms ---- */

/* exp(-2 pi i k b / m) for column b and those after it. b is a multiple of LANES. */
FORCE struct number long_twiddle(const struct gcb_fft_long *f, uint32_t k, uint32_t b)
{
    const uint32_t l = b % GCB_FFT_LANES;
    const size_t at = (size_t)k * GCB_FFT_LANES + l;
    const lane zero = {0};
    float base[2];

    gcb_fft_long_unit(f, base, 2 * (uint64_t)k * (b - l));
    return mul((struct number){up(f->step_re + at), up(f->step_im + at)},
               (struct number){base[0] - zero, base[1] - zero});
}

/* The next group of columns, or of rows, reads and writes the lines after those of this one. They
 * are fetched while their pages are in the TLB. A fetch after the end does nothing. */
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
    load_chunks((lane *)v, from, 2 * (size_t)n2, false);
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
