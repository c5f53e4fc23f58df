#ifndef KERNELS_FFT_NUMBER_ELEM_H
#define KERNELS_FFT_NUMBER_ELEM_H

/*
 * Complex arithmetic and small DFTs, in C and CUDA C++. Before a file includes this header, it may
 * define all of these: FORCE, which begins a function that is always inlined; `lane`, the type of a
 * real part, such as a vector of floats; and struct number. Otherwise a number is two floats.
 */
#include "kernels/fft/steps.h"

#ifndef FORCE
#define FORCE static inline
typedef float lane;

struct number {
    lane re, im;
};
#endif

FORCE struct number number_of(lane re, lane im)
{
    const struct number a = {re, im};

    return a;
}

FORCE struct number add(struct number a, struct number b)
{
    return number_of(a.re + b.re, a.im + b.im);
}

FORCE struct number sub(struct number a, struct number b)
{
    return number_of(a.re - b.re, a.im - b.im);
}

FORCE struct number mul(struct number a, struct number b)
{
    return number_of(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re);
}

FORCE struct number scale(struct number a, float by)
{
    return number_of(a.re * by, a.im * by);
}

FORCE struct number times_minus_i(struct number a)
{
    return number_of(a.im, -a.re);
}

/* ---- small DFTs, in place ---- */

FORCE void dft2(struct number *v)
{
    const struct number a = v[0], b = v[1];

    v[0] = add(a, b);
    v[1] = sub(a, b);
}

FORCE void dft3(struct number *v)
{
    const struct number sum = add(v[1], v[2]), s = sub(v[0], scale(sum, 0.5f));
    const float sine = 0.86602540378443865f; /* of pi / 3 */
    const struct number t = scale(times_minus_i(sub(v[1], v[2])), sine);

    v[0] = add(v[0], sum);
    v[1] = add(s, t);
    v[2] = sub(s, t);
}

FORCE void dft4(struct number *a, struct number *b, struct number *c, struct number *d)
{
    const struct number s = add(*a, *c), t = sub(*a, *c), u = add(*b, *d);
    const struct number v = times_minus_i(sub(*b, *d));

    *a = add(s, u);
    *b = add(t, v);
    *c = sub(s, u);
    *d = sub(t, v);
}

/* Does a DFT of R numbers, for R = 5 or 7. v[r] and v[R - r] have equal cosines and opposite sines
 * as factors, so their sum and difference are multiplied instead. cosine[j] and sine[j] are those
 * of the angle 2 pi j / R. */
FORCE void dft_odd(struct number *v, unsigned R, const float *cosine, const float *sine)
{
    struct number sum[4], difference[4], first = v[0], out[8];

    for (unsigned r = 1; r <= R / 2; r++) {
        sum[r] = add(v[r], v[R - r]);
        difference[r] = times_minus_i(sub(v[r], v[R - r]));
    }
    for (unsigned q = 1; q <= R / 2; q++) {
        struct number even = first, odd = scale(difference[1], sine[q]);

        for (unsigned r = 1; r <= R / 2; r++)
            even = add(even, scale(sum[r], cosine[q * r % R]));
        for (unsigned r = 2; r <= R / 2; r++)
            odd = add(odd, scale(difference[r], sine[q * r % R]));
        out[q] = add(even, odd);
        out[R - q] = sub(even, odd);
    }
    for (unsigned r = 1; r <= R / 2; r++)
        first = add(first, sum[r]);
    v[0] = first;
    for (unsigned q = 1; q < R; q++)
        v[q] = out[q];
}

FORCE void dft5(struct number *v)
{
    static const float c[] = {1.0f, 0.30901699437494742f, -0.80901699437494742f,
                              -0.80901699437494742f, 0.30901699437494742f};
    static const float s[] = {0.0f, 0.95105651629515357f, 0.58778525229247313f,
                              -0.58778525229247313f, -0.95105651629515357f};

    dft_odd(v, 5, c, s);
}

FORCE void dft7(struct number *v)
{
    static const float c[] = {1.0f,
                              0.62348980185873353f,
                              -0.22252093395631440f,
                              -0.90096886790241913f,
                              -0.90096886790241913f,
                              -0.22252093395631440f,
                              0.62348980185873353f};
    static const float s[] = {0.0f,
                              0.78183148246802981f,
                              0.97492791218182361f,
                              0.43388373911755812f,
                              -0.43388373911755812f,
                              -0.97492791218182361f,
                              -0.78183148246802981f};

    dft_odd(v, 7, c, s);
}

FORCE void dft8(struct number *v)
{
    const float h = 0.70710678118654752f; /* sqrt(1/2) */
    struct number e[4] = {v[0], v[2], v[4], v[6]}, o[4] = {v[1], v[3], v[5], v[7]};

    dft4(&e[0], &e[1], &e[2], &e[3]);
    dft4(&o[0], &o[1], &o[2], &o[3]);
    o[1] = number_of(h * (o[1].re + o[1].im), h * (o[1].im - o[1].re));
    o[2] = times_minus_i(o[2]);
    o[3] = number_of(h * (o[3].im - o[3].re), -h * (o[3].re + o[3].im));
    for (unsigned k = 0; k < 4; k++) {
        v[k] = add(e[k], o[k]);
        v[k + 4] = sub(e[k], o[k]);
    }
}

/* Does a DFT of R numbers, in place; R is 1, 2, 3, 4, 5, 7 or 8. */
FORCE void dft(struct number *v, unsigned R)
{
    if (R == 8)
        dft8(v);
    else if (R == 4)
        dft4(&v[0], &v[1], &v[2], &v[3]);
    else if (R == 2)
        dft2(v);
    else if (R == 1)
        return;
    else if (R == 3)
        dft3(v);
    else if (R == 5)
        dft5(v);
    else
        dft7(v);
}

/* ---- bins of a real DFT, and coefficients of a DCT ---- */

/* Makes bins k (*near) and m - k (*far) of a real DFT of 2 m elements from numbers k and m - k of a
 * complex DFT. `by` is 0.5, or 1 for twice the bins. `split` is exp(-2 pi i k / (2 m)). */
FORCE void split_pair(struct number k, struct number m_k, float by, struct number split,
                      struct number *near, struct number *far)
{
    const struct number even = {by * (k.re + m_k.re), by * (k.im - m_k.im)};
    const struct number other = {by * (k.im + m_k.im), by * (m_k.re - k.re)};
    const struct number odd = mul(other, split);

    *near = add(even, odd);
    *far = number_of(even.re - odd.re, odd.im - even.im);
}

/* Makes numbers k (*near) and m - k (*far), times two and with their parts swapped, from bins k and
 * m - k. `split` is that of split_pair. Swapping the parts before and after a DFT makes it an
 * inverse one. */
FORCE void join_pair(struct number k, struct number m_k, struct number split, struct number *near,
                     struct number *far)
{
    const struct number g = {k.re + m_k.re, k.im - m_k.im}, d = {k.re - m_k.re, k.im + m_k.im};
    const struct number q = mul(d, number_of(split.re, -split.im));

    *near = number_of(g.im + q.re, g.re - q.im);
    *far = number_of(q.re - g.im, g.re + q.im);
}

/* Makes coefficients k (*up) and 2 m - k (*down) of a DCT from twice bin k. `turn` is (cos, sin)
 * of pi k / (4 m). */
FORCE void rotate(struct number bin, struct number turn, lane *up, lane *down)
{
    *up = bin.re * turn.re + bin.im * turn.im;
    *down = bin.re * turn.im - bin.im * turn.re;
}

/* The inverse of rotate. */
FORCE struct number unrotate(lane up, lane down, struct number turn)
{
    return number_of(turn.re * up + turn.im * down, turn.im * up - turn.re * down);
}

/* The place of element e of a DCT's 2 m elements in the input of its DFT, which has the even
 * elements in order, then the odd elements in reverse. */
FORCE size_t folded(size_t e, size_t m)
{
    return e % 2 ? 2 * m - 1 - e / 2 : e / 2;
}

/* ---- rounds ---- */

/* The cases of a switch over radices: each calls round(arguments, R) with a constant R. */
#define GCB_FFT_CASE(R, round, ...) \
    case R: \
        round(__VA_ARGS__, R); \
        break;
#define GCB_FFT_CASES(round, ...) \
    GCB_FFT_CASE(2, round, __VA_ARGS__) \
    GCB_FFT_CASE(3, round, __VA_ARGS__) \
    GCB_FFT_CASE(4, round, __VA_ARGS__) \
    GCB_FFT_CASE(5, round, __VA_ARGS__) \
    GCB_FFT_CASE(7, round, __VA_ARGS__) \
    GCB_FFT_CASE(8, round, __VA_ARGS__)

/*
 * The body of a function that does all rounds of `steps`. The file that uses it defines
 * first_round(steps, from, to, R), which writes to `to`, and next_round(to, m, p, twiddle, R),
 * which works in place: p is the product of the earlier radices, and `twiddle` points to the
 * round's factors (struct gcb_fft_steps).
 */
#define GCB_FFT_TRANSFORM(steps, from, to) \
    const float *twiddle = (steps)->twiddle; \
    uint32_t p = 1; \
\
    switch ((steps)->radix[0]) { \
        GCB_FFT_CASE(1, first_round, steps, from, to) \
        GCB_FFT_CASES(first_round, steps, from, to) \
    } \
    for (unsigned t = 1; t < (steps)->rounds; t++) { \
        p *= (steps)->radix[t - 1]; \
        switch ((steps)->radix[t]) { \
            GCB_FFT_CASES(next_round, to, (steps)->m, p, twiddle) \
        } \
        twiddle += 2 * (size_t)p * ((steps)->radix[t] - 1u); \
    }

#endif
