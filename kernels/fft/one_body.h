#ifndef KERNELS_FFT_ONE_BODY_H
#define KERNELS_FFT_ONE_BODY_H

/*
 * The functions forward_one, inverse_one, split and join of lanes.h. A vector has LANES
 * neighbouring numbers, bins or coefficients of one chunk. A source for other instructions than
 * plain C defines LANES (8) and NAME(function).
 */
#include "kernels/fft/number.h"

#ifndef NAME
#define NAME(function) gcb_fft_##function##_c
#endif

/* The real and the imaginary parts of m numbers or m + 1 bins. Each array has at least LANES floats
 * of room before and after, because whole vectors may be read or written beyond its ends. */
struct planes {
    float *re, *im;
};

/* The number of floats of one array of struct planes, with its room. */
static size_t plane_floats(uint32_t m)
{
    return ((size_t)m + 1 + 3 * GCB_FFT_LANES) / GCB_FFT_LANES * GCB_FFT_LANES;
}

static struct planes planes_at(float *room, uint32_t m)
{
    return (struct planes){room + GCB_FFT_LANES, room + GCB_FFT_LANES + plane_floats(m)};
}

/* ---- vectors of a plane, upwards and downwards ---- */

/* Lane l gets p[-l]. */
FORCE lane get_down(const float *p)
{
    const lane v = get_up(p - (LANES - 1));

    return SHUFFLE(v, v, REVERSE);
}

FORCE void put_down(float *p, lane v, unsigned count)
{
    v = SHUFFLE(v, v, REVERSE);
    if (count == LANES)
        *(lane_any *)(void *)(p - (LANES - 1)) = v;
    else
        memcpy(p - (count - 1), (float *)&v + (LANES - count), count * sizeof(*p));
}

FORCE struct number numbers_up(const float *re, const float *im, size_t k)
{
    return (struct number){get_up(re + k), get_up(im + k)};
}

FORCE struct number numbers_down(const float *re, const float *im, size_t k)
{
    return (struct number){get_down(re + k), get_down(im + k)};
}

/* ---- interleaved numbers ---- */

/* Splits n numbers, which are stored as (re, im) after (re, im), into planes. */
static void unzip(struct planes to, const float *x, size_t n)
{
    for (size_t k = 0; k < n; k += LANES) {
        const struct number v = get_zipped(x + 2 * k, n - k);

        put_up(to.re + k, v.re, LANES);
        put_up(to.im + k, v.im, LANES);
    }
}

/* The reverse of unzip. */
static void zip(float *x, const float *re, const float *im, size_t n)
{
    for (size_t k = 0; k < n; k += LANES)
        put_zipped(x + 2 * k, get_up(re + k), get_up(im + k), n - k);
}

/* ---- rounds ---- */

/* The place where the results of a first-round butterfly go. Butterflies are taken in the order of
 * their first elements. `digit` is a mixed-radix counter of the butterflies, and `at` is the sum
 * of the digits times their weights. */
struct places {
    uint32_t digit[GCB_FFT_ROUNDS], weight[GCB_FFT_ROUNDS], at;
};

FORCE void places_begin(struct places *v, const struct gcb_fft_steps *steps)
{
    uint32_t weight = steps->radix[0];

    v->at = 0;
    for (unsigned t = 1; t < steps->rounds; t++) {
        v->weight[t] = weight;
        v->digit[t] = 0;
        weight *= steps->radix[t];
    }
}

FORCE void places_next(struct places *v, const struct gcb_fft_steps *steps)
{
    for (unsigned t = steps->rounds; t-- > 1;) {
        v->at += v->weight[t];
        if (++v->digit[t] < steps->radix[t])
            return;
        v->at -= steps->radix[t] * v->weight[t];
        v->digit[t] = 0;
    }
}

FORCE void put_butterfly(float *to, const lane *v, unsigned R, unsigned l)
{
    for (unsigned r = 0; r < R; r++)
        to[r] = v[r][l];
}

FORCE void first_round(const struct gcb_fft_steps *steps, struct planes from, struct planes to,
                       unsigned R)
{
    const uint32_t apart = steps->m / R;
    struct places place;

    places_begin(&place, steps);
    for (uint32_t n = 0; n < apart; n += LANES) {
        const unsigned count = apart - n < LANES ? apart - n : LANES;
        struct number x[GCB_FFT_RADIX];
        lane re[GCB_FFT_RADIX], im[GCB_FFT_RADIX];

        for (unsigned r = 0; r < R; r++)
            x[r] = numbers_up(from.re, from.im, n + r * (size_t)apart);
        dft(x, R);
        for (unsigned r = 0; r < R; r++) {
            re[r] = x[r].re;
            im[r] = x[r].im;
        }
        /* If R is a multiple of LANES, results are transposed, to be stored as whole vectors. */
        for (unsigned r = 0; R % LANES == 0 && r < R; r += LANES) {
            transpose(re + r);
            transpose(im + r);
        }
        for (unsigned l = 0; l < count; l++, places_next(&place, steps)) {
            if (R % LANES) {
                put_butterfly(to.re + place.at, re, R, l);
                put_butterfly(to.im + place.at, im, R, l);
            }
            for (unsigned r = 0; R % LANES == 0 && r < R; r += LANES) {
                put_up(to.re + place.at + r, re[r + l], LANES);
                put_up(to.im + place.at + r, im[r + l], LANES);
            }
        }
    }
}

FORCE void next_round(struct planes z, uint32_t m, uint32_t p, const float *twiddle, unsigned R)
{
    for (uint32_t b = 0; b < m; b += R * p)
        for (uint32_t k = 0; k < p; k += LANES) {
            const unsigned count = p - k < LANES ? p - k : LANES;
            struct number x[GCB_FFT_RADIX];

            for (unsigned r = 0; r < R; r++)
                x[r] = numbers_up(z.re, z.im, b + k + r * (size_t)p);
            for (unsigned r = 1; r < R; r++) {
                const float *re = twiddle + 2 * (r - 1) * (size_t)p;

                x[r] = mul(x[r], numbers_up(re, re + p, k));
            }
            dft(x, R);
            for (unsigned r = 0; r < R; r++) {
                put_up(z.re + b + k + r * (size_t)p, x[r].re, count);
                put_up(z.im + b + k + r * (size_t)p, x[r].im, count);
            }
        }
}

static void transform(const struct gcb_fft_steps *steps, struct planes from, struct planes to)
{
    GCB_FFT_TRANSFORM(steps, from, to)
}

/* ---- bins and coefficients ---- */

/* Loops over vectors of pairs k and m - k, 0 < k < m / 2. `count` is the number of pairs in the
 * vector that begins with k. The `if` only sets `count`; its condition is always true. */
#define FOR_PAIRS(m, k, count) \
    for (uint32_t k = 1, count; 2 * k < (m); k += LANES) \
        if ((count = ((m) + 1) / 2 - k) > LANES ? (count = LANES) : count)

/* Makes bins k and m - k, 0 < k < m / 2, from numbers or, if `join`, numbers from bins (split_pair,
 * join_pair). `join` is a constant in each call. */
FORCE void convert_pairs(const struct gcb_fft_steps *steps, struct planes from, struct planes to,
                         bool join)
{
    const uint32_t m = steps->m;

    FOR_PAIRS(m, k, count)
    {
        const struct number a = numbers_up(from.re, from.im, k);
        const struct number b = numbers_down(from.re, from.im, m - k);
        const struct number split = numbers_up(steps->split_re, steps->split_im, k);
        struct number near, far;

        if (join)
            join_pair(a, b, split, &near, &far);
        else
            split_pair(a, b, 0.5f, split, &near, &far);
        put_up(to.re + k, near.re, count);
        put_up(to.im + k, near.im, count);
        put_down(to.re + m - k, far.re, count);
        put_down(to.im + m - k, far.im, count);
    }
}

static void numbers_to_bins(const struct gcb_fft_steps *steps, struct planes z, struct planes bins)
{
    const uint32_t m = steps->m;

    bins.re[0] = z.re[0] + z.im[0];
    bins.re[m] = z.re[0] - z.im[0];
    bins.im[0] = bins.im[m] = 0.0f;
    convert_pairs(steps, z, bins, false);
    if (m % 2 == 0) {
        bins.re[m / 2] = z.re[m / 2];
        bins.im[m / 2] = -z.im[m / 2];
    }
}

static void bins_to_numbers(const struct gcb_fft_steps *steps, struct planes bins, struct planes z)
{
    const uint32_t m = steps->m;

    z.re[0] = bins.re[0] - bins.re[m];
    z.im[0] = bins.re[0] + bins.re[m];
    convert_pairs(steps, bins, z, true);
    if (m % 2 == 0) {
        z.re[m / 2] = -2.0f * bins.im[m / 2];
        z.im[m / 2] = 2.0f * bins.re[m / 2];
    }
}

static void numbers_to_coefficients(const struct gcb_fft_steps *steps, struct planes z, float *y)
{
    const size_t m = steps->m;
    const float *cosine = steps->cosine, *sine = steps->sine;

    y[0] = 2.0f * (z.re[0] + z.im[0]);
    y[m] = 2.0f * ((z.re[0] - z.im[0]) * cosine[m]);
    FOR_PAIRS(m, k, count)
    {
        struct number near, far;
        lane a, b;

        split_pair(numbers_up(z.re, z.im, k), numbers_down(z.re, z.im, m - k), 1.0f,
                   numbers_up(steps->split_re, steps->split_im, k), &near, &far);
        rotate(near, numbers_up(cosine, sine, k), &a, &b);
        put_up(y + k, a, count);
        put_down(y + 2 * m - k, b, count);
        rotate(far, numbers_down(cosine, sine, m - k), &a, &b);
        put_down(y + m - k, a, count);
        put_up(y + m + k, b, count);
    }
    if (m % 2 == 0) {
        const float re = 2.0f * z.re[m / 2], im = -2.0f * z.im[m / 2];

        y[m / 2] = re * cosine[m / 2] + im * sine[m / 2];
        y[m + m / 2] = re * sine[m / 2] - im * cosine[m / 2];
    }
}

/* y may be read up to LANES floats before and after its 2 m floats. */
static void coefficients_to_numbers(const struct gcb_fft_steps *steps, const float *y,
                                    struct planes z)
{
    const size_t m = steps->m;
    const float *cosine = steps->cosine, *sine = steps->sine;
    const float last = (cosine[m] + sine[m]) * y[m];

    z.re[0] = y[0] - last;
    z.im[0] = y[0] + last;
    FOR_PAIRS(m, k, count)
    {
        struct number near, far;

        join_pair(
            unrotate(get_up(y + k), get_down(y + 2 * m - k), numbers_up(cosine, sine, k)),
            unrotate(get_down(y + m - k), get_up(y + m + k), numbers_down(cosine, sine, m - k)),
            numbers_up(steps->split_re, steps->split_im, k), &near, &far);
        put_up(z.re + k, near.re, count);
        put_up(z.im + k, near.im, count);
        put_down(z.re + m - k, far.re, count);
        put_down(z.im + m - k, far.im, count);
    }
    if (m % 2 == 0) {
        const float a = y[m / 2], b = y[m + m / 2], c = cosine[m / 2], s = sine[m / 2];

        z.re[m / 2] = -2.0f * (s * a - c * b);
        z.im[m / 2] = 2.0f * (c * a + s * b);
    }
}

/* ---- forward_one and inverse_one ---- */

/* The place of element e of a DCT's 2 m elements among the parts of the DFT's numbers. */
static float *folded_part(struct planes z, size_t e, uint32_t m)
{
    const size_t at = folded(e, m);

    return (at % 2 ? z.im : z.re) + at / 2;
}

/* Moves 2 m elements to their places (folded_part). Elements 4 q to 4 q + 3 become the parts of
 * numbers q and m - 1 - q. */
static void fold(struct planes z, const float *x, uint32_t m)
{
    size_t q = 0;

    for (; q + LANES <= m / 2; q += LANES) {
        const struct number a = get_zipped(x + 4 * q, LANES);
        const struct number b = get_zipped(x + 4 * q + 2 * LANES, LANES);

        put_up(z.re + q, SHUFFLE(a.re, b.re, EVENS), LANES);
        put_up(z.im + q, SHUFFLE(a.re, b.re, ODDS), LANES);
        put_down(z.re + m - 1 - q, SHUFFLE(a.im, b.im, ODDS), LANES);
        put_down(z.im + m - 1 - q, SHUFFLE(a.im, b.im, EVENS), LANES);
    }
    for (size_t e = 4 * q; e < 2 * (size_t)m; e++)
        *folded_part(z, e, m) = x[e];
}

/* The reverse of fold. */
static void unfold(float *x, struct planes z, uint32_t m)
{
    size_t q = 0;

    for (; q + LANES <= m / 2; q += LANES) {
        const struct number near = numbers_up(z.re, z.im, q);
        const struct number far = numbers_down(z.re, z.im, m - 1 - q);

        put_zipped(x + 4 * q, SHUFFLE(near.re, near.im, ZIP_LOW), SHUFFLE(far.im, far.re, ZIP_LOW),
                   LANES);
        put_zipped(x + 4 * q + 2 * LANES, SHUFFLE(near.re, near.im, ZIP_HIGH),
                   SHUFFLE(far.im, far.re, ZIP_HIGH), LANES);
    }
    for (size_t e = 4 * q; e < 2 * (size_t)m; e++)
        x[e] = *folded_part(z, e, m);
}

void NAME(forward_one)(const struct gcb_fft_steps *steps, const float *x, float *bins, bool dct,
                       float *room)
{
    const uint32_t m = steps->m;
    const struct planes a = planes_at(room, m), b = planes_at(room + 2 * plane_floats(m), m);

    if (dct)
        fold(a, x, m);
    else
        unzip(a, x, m);
    transform(steps, a, b);
    if (dct) {
        numbers_to_coefficients(steps, b, bins);
        return;
    }
    numbers_to_bins(steps, b, a);
    zip(bins, a.re, a.im, (size_t)m + 1);
}

void NAME(inverse_one)(const struct gcb_fft_steps *steps, const float *bins, float *x, bool dct,
                       float *room)
{
    const uint32_t m = steps->m;
    const struct planes a = planes_at(room, m), b = planes_at(room + 2 * plane_floats(m), m);

    if (dct) {
        /* Copies the coefficients, because whole vectors may be read beyond their ends. */
        memcpy(b.re, bins, 2 * (size_t)m * sizeof(*bins));
        coefficients_to_numbers(steps, b.re, a);
    } else {
        unzip(b, bins, (size_t)m + 1);
        bins_to_numbers(steps, b, a);
    }
    transform(steps, a, b);
    /* The real and the imaginary parts of the results are swapped (join_pair). */
    if (dct)
        unfold(x, (struct planes){b.im, b.re}, m);
    else
        zip(x, b.im, b.re, m);
}

/* ---- long transforms ---- */

/* exp(-2 pi i k / (2 m)) for k and the LANES - 1 numbers after it. k is a multiple of LANES. */
FORCE struct number long_split(const struct gcb_fft_long *f, uint64_t k)
{
    const uint64_t l = k % GCB_FFT_LANES;
    const lane zero = {0};
    float base[2];

    gcb_fft_long_unit(f, base, k - l);
    return mul(numbers_up(f->split_re, f->split_im, l),
               (struct number){base[0] - zero, base[1] - zero});
}

/* The first `count` numbers in reverse. Lanes from `count` on are unspecified. */
FORCE struct number reversed(struct number v, size_t count)
{
    lane re = SHUFFLE(v.re, v.re, REVERSE), im = SHUFFLE(v.im, v.im, REVERSE);

    for (size_t l = 0; count < LANES && l < count; l++) {
        re[l] = v.re[count - 1 - l];
        im[l] = v.im[count - 1 - l];
    }
    return (struct number){re, im};
}

/* Reads numbers k, k - 1, ..., `count` in all. */
FORCE struct number get_zipped_down(const float *p, uint64_t k, size_t count)
{
    return reversed(get_zipped(p + 2 * (k + 1 - count), count), count);
}

FORCE void put_zipped_down(float *p, uint64_t k, struct number v, size_t count)
{
    const struct number r = reversed(v, count);

    put_zipped(p + 2 * (k + 1 - count), r.re, r.im, count);
}

FORCE void long_pairs(const struct gcb_fft_long *f, float *bins, uint64_t from, uint64_t end,
                      bool join)
{
    for (uint64_t k = from; k < end; k += LANES) {
        const size_t count = end - k < LANES ? end - k : LANES;
        const struct number a = get_zipped(bins + 2 * k, count),
                            b = get_zipped_down(bins, f->m - k, count);
        struct number near, far;

        if (join)
            join_pair(a, b, long_split(f, k), &near, &far);
        else
            split_pair(a, b, 0.5f, long_split(f, k), &near, &far);
        put_zipped(bins + 2 * k, near.re, near.im, count);
        put_zipped_down(bins, f->m - k, far, count);
    }
}

void NAME(split)(const struct gcb_fft_long *f, float *bins, uint64_t from, uint64_t end)
{
    long_pairs(f, bins, from, end, false);
}

void NAME(join)(const struct gcb_fft_long *f, float *bins, uint64_t from, uint64_t end)
{
    long_pairs(f, bins, from, end, true);
}

#endif
