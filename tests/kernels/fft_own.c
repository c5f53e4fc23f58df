/* Our own FFT: its steps written down once more (kernels/fft/steps.h), one number at a time, and
 * compared bit for bit with every variant. FFTW says whether the steps make a DFT at all. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/fft/fft.h"
#include "src/lib/base/cpu_flags.h"
#include "tests/kernels/check.h"

struct number {
    float re, im;
};

static struct number add(struct number a, struct number b)
{
    return (struct number){a.re + b.re, a.im + b.im};
}

static struct number sub(struct number a, struct number b)
{
    return (struct number){a.re - b.re, a.im - b.im};
}

static struct number mul(struct number a, struct number b)
{
    return (struct number){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

static struct number times(float by, struct number a)
{
    return (struct number){a.re * by, a.im * by};
}

static struct number turned(struct number a)
{
    return (struct number){a.im, -a.re};
}

/* exp(-2 pi i a / b). */
static struct number unit(uint64_t a, uint64_t b)
{
    float turn[2];

    gcb_fft_unit(turn, (b - a % b) % b, b);
    return (struct number){turn[0], turn[1]};
}

/* Units are the nearest floats, but for angles that are nearly between two. */
static void check_units(void)
{
    uint64_t state = 2;

    for (int i = 0; i < 100000; i++) {
        const uint64_t b = 1 + check_random(&state) % (i % 2 ? 100 : UINT64_C(1) << 40);
        const uint64_t a = check_random(&state) % b;
        const long double angle = 2.0L * acosl(-1.0L) * (long double)a / (long double)b;
        float turn[2];

        gcb_fft_unit(turn, a, b);
        for (int part = 0; part < 2; part++) {
            const long double want = part ? sinl(angle) : cosl(angle);
            const long double ulp = ldexpl(1.0L, ilogbl(fabsl(want) + 1e-18L) - 23);

            check_that(fabsl(turn[part] - want) <= 0.500001L * ulp + 1e-18L,
                       "unit %d of %zu / %zu: %a", part, (size_t)a, (size_t)b, turn[part]);
        }
    }
    for (uint64_t b = 4; b < 1000; b += 4)
        for (uint64_t quarter = 0; quarter < 4; quarter++) {
            float turn[2];

            gcb_fft_unit(turn, quarter * b / 4, b);
            check_that(turn[0] == (quarter == 0) - (quarter == 2) &&
                           turn[1] == (quarter == 1) - (quarter == 3),
                       "quarter %zu of %zu", (size_t)quarter, (size_t)b);
        }
}

/* ---- a complex DFT ---- */

static void dft(struct number *v, unsigned R)
{
    struct number out[8] = {0};

    if (R == 8) {
        const float h = 0.70710678f;
        struct number e[4] = {v[0], v[2], v[4], v[6]}, o[4] = {v[1], v[3], v[5], v[7]};

        dft(e, 4);
        dft(o, 4);
        o[1] = (struct number){h * (o[1].re + o[1].im), h * (o[1].im - o[1].re)};
        o[2] = turned(o[2]);
        o[3] = (struct number){h * (o[3].im - o[3].re), -h * (o[3].re + o[3].im)};
        for (unsigned k = 0; k < 4; k++) {
            v[k] = add(e[k], o[k]);
            v[k + 4] = sub(e[k], o[k]);
        }
    } else if (R == 4) {
        const struct number s = add(v[0], v[2]), t = sub(v[0], v[2]), u = add(v[1], v[3]);
        const struct number w = turned(sub(v[1], v[3]));

        v[0] = add(s, u);
        v[1] = add(t, w);
        v[2] = sub(s, u);
        v[3] = sub(t, w);
    } else if (R == 3) {
        const struct number sum = add(v[1], v[2]), s = sub(v[0], times(0.5f, sum));
        const struct number t = times(0.8660254f, turned(sub(v[1], v[2])));

        v[0] = add(v[0], sum);
        v[1] = add(s, t);
        v[2] = sub(s, t);
    } else if (R == 2) {
        const struct number a = v[0], b = v[1];

        v[0] = add(a, b);
        v[1] = sub(a, b);
    } else {
        out[0] = v[0];
        for (unsigned r = 1; r <= R / 2; r++)
            out[0] = add(out[0], add(v[r], v[R - r]));
        for (unsigned q = 1; q <= R / 2; q++) {
            struct number even = v[0], odd = {0};

            for (unsigned r = 1; r <= R / 2; r++) {
                const double angle = 2.0 * acos(-1.0) * (q * r % R) / R;
                const struct number part = times((float)sin(angle), turned(sub(v[r], v[R - r])));

                even = add(even, times((float)cos(angle), add(v[r], v[R - r])));
                odd = r == 1 ? part : add(odd, part);
            }
            out[q] = add(even, odd);
            out[R - q] = sub(even, odd);
        }
        memcpy(v, out, R * sizeof(*v));
    }
}

/* The radix of the last round of a DFT of m numbers. */
static unsigned last_radix(uint64_t m)
{
    static const unsigned odd[] = {7, 5, 3};

    for (unsigned i = 0; i < 3; i++)
        if (m % odd[i] == 0)
            return odd[i];
    while (m > 8 && m % 8 == 0)
        m /= 8;
    return (unsigned)m;
}

/* z[0..m) becomes the DFT of x[0], x[step], x[2 step], ... */
static void transform(struct number *z, const struct number *x, uint64_t m, uint64_t step)
{
    const unsigned R = last_radix(m);
    const uint64_t p = m / R;

    if (m == 1) {
        z[0] = x[0];
        return;
    }
    for (unsigned r = 0; r < R; r++)
        transform(z + r * p, x + r * step, p, R * step);
    for (uint64_t k = 0; k < p; k++) {
        struct number v[8];

        for (unsigned r = 0; r < R; r++)
            v[r] = r && p > 1 ? mul(z[r * p + k], unit(k * r, m)) : z[r * p + k];
        dft(v, R);
        for (unsigned r = 0; r < R; r++)
            z[r * p + k] = v[r];
    }
}

/* exp(-2 pi i e / b) as a product of e less a multiple of 16, and of the rest, step by step. */
static struct number long_unit(uint64_t most, uint64_t rest, uint64_t b)
{
    const struct number base = unit(most, b), step = unit(rest, b);

    return mul(step, base);
}

static void long_transform(struct number *z, const struct number *x, uint64_t m)
{
    struct number *rows = malloc(m * sizeof(*rows)), *line;
    uint64_t n1 = 1, n2;

    for (uint64_t d = 1; d * d <= m; d++)
        n1 = m % d == 0 ? d : n1;
    n2 = m / n1;
    line = malloc(n2 * sizeof(*line));
    for (uint64_t b = 0; b < n2; b++) {
        transform(line, x + b, n1, n2);
        for (uint64_t k = 0; k < n1; k++)
            rows[k * n2 + b] = mul(line[k], long_unit(k * (b - b % 16), k * (b % 16), m));
    }
    for (uint64_t k = 0; k < n1; k++) {
        transform(line, rows + k * n2, n2, 1);
        for (uint64_t q = 0; q < n2; q++)
            z[q * n1 + k] = line[q];
    }
    free(rows);
    free(line);
}

/* ---- real DFTs and DCTs of n elements ---- */

#define LONGEST 8192

static struct number split_factor(uint64_t k, uint64_t n)
{
    return n > LONGEST ? long_unit(k - k % 16, k % 16, n) : unit(k, n);
}

static void numbers(struct number *z, const struct number *x, uint64_t n)
{
    if (n > LONGEST)
        long_transform(z, x, n / 2);
    else
        transform(z, x, n / 2, 1);
}

/* Bins 0 to n / 2. by is 0.5, or 1 for twice the bins between the ends. */
static void to_bins(struct number *bins, const float *x, uint64_t n, float by)
{
    const uint64_t m = n / 2;
    struct number *in = malloc(m * sizeof(*in)), *z = malloc(m * sizeof(*z));

    memcpy(in, x, m * sizeof(*in));
    numbers(z, in, n);
    bins[0] = (struct number){z[0].re + z[0].im, 0.0f};
    bins[m] = (struct number){z[0].re - z[0].im, 0.0f};
    for (uint64_t k = 1; 2 * k < m; k++) {
        const struct number a = z[k], b = z[m - k];
        const struct number even = times(by, (struct number){a.re + b.re, a.im - b.im});
        const struct number odd =
            mul(times(by, (struct number){a.im + b.im, b.re - a.re}), split_factor(k, n));

        bins[k] = add(even, odd);
        bins[m - k] = (struct number){even.re - odd.re, odd.im - even.im};
    }
    if (m % 2 == 0)
        bins[m / 2] = (struct number){z[m / 2].re, -z[m / 2].im};
    free(in);
    free(z);
}

static void from_bins(float *x, const struct number *bins, uint64_t n)
{
    const uint64_t m = n / 2;
    struct number *in = malloc(m * sizeof(*in)), *z = malloc(m * sizeof(*z));

    in[0] = (struct number){bins[0].re - bins[m].re, bins[0].re + bins[m].re};
    for (uint64_t k = 1; 2 * k < m; k++) {
        const struct number a = bins[k], b = bins[m - k], w = split_factor(k, n);
        const struct number g = {a.re + b.re, a.im - b.im};
        const struct number q =
            mul((struct number){a.re - b.re, a.im + b.im}, (struct number){w.re, -w.im});

        in[k] = (struct number){g.im + q.re, g.re - q.im};
        in[m - k] = (struct number){q.re - g.im, g.re + q.im};
    }
    if (m % 2 == 0)
        in[m / 2] = (struct number){-2.0f * bins[m / 2].im, 2.0f * bins[m / 2].re};
    numbers(z, in, n);
    for (uint64_t k = 0; k < m; k++) {
        x[2 * k] = z[k].im;
        x[2 * k + 1] = z[k].re;
    }
    free(in);
    free(z);
}

static struct number dct_factor(uint64_t k, uint64_t n)
{
    const struct number w = unit(k, 4 * n);

    return (struct number){w.re, -w.im};
}

static void forward_dct(float *y, const float *x, uint64_t n)
{
    const uint64_t m = n / 2;
    struct number *bins = malloc((m + 1) * sizeof(*bins));
    float *v = malloc(n * sizeof(*v));

    for (uint64_t e = 0; e < n; e++)
        v[e % 2 ? n - 1 - e / 2 : e / 2] = x[e];
    /* Long ones are doubled with the factor of the rotation. */
    to_bins(bins, v, n, n > LONGEST ? 0.5f : 1.0f);
    for (uint64_t k = 0; k <= m; k++) {
        const bool doubled = n <= LONGEST && k > 0 && k < m && 2 * k != m;
        const struct number w = times(doubled || n <= LONGEST ? 1.0f : 2.0f, dct_factor(k, n));
        const struct number b = doubled || n > LONGEST ? bins[k] : times(2.0f, bins[k]);
        const bool end = n <= LONGEST && (k == 0 || k == m);

        if (k)
            y[n - k] = b.re * w.im - b.im * w.re;
        y[k] = end ? 2.0f * (bins[k].re * w.re) : b.re * w.re + b.im * w.im;
    }
    free(bins);
    free(v);
}

static void inverse_dct(float *x, const float *y, uint64_t n)
{
    const uint64_t m = n / 2;
    struct number *bins = malloc((m + 1) * sizeof(*bins));
    float *v = malloc(n * sizeof(*v));

    bins[0] = (struct number){y[0], 0.0f};
    for (uint64_t k = 1; k <= m; k++) {
        const struct number w = dct_factor(k, n);

        bins[k] = (struct number){w.re * y[k] + w.im * y[n - k], w.im * y[k] - w.re * y[n - k]};
        if (k == m && n <= LONGEST)
            bins[m].re = (w.re + w.im) * y[m];
    }
    from_bins(v, bins, n);
    for (uint64_t e = 0; e < n; e++)
        x[e] = v[e % 2 ? n - 1 - e / 2 : e / 2];
    free(bins);
    free(v);
}

/* ---- comparisons ---- */

static struct check_isa variants[4] = {{"c", 0}};

/* Bits of NaNs are not compared. */
static bool same_floats(const float *a, const float *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (memcmp(&a[i], &b[i], sizeof(*a)) != 0 && !(isnan(a[i]) && isnan(b[i])))
            return false;
    return true;
}

static void transform_all(const struct gcb_fft_config *config, float *in, float *out)
{
    struct gcb_fft *fft;

    if (!check_that(gcb_fft_create(&fft, config) == 0, "no FFT of %zu", (size_t)config->n))
        return;
    if (config->inverse)
        gcb_fft_inverse(fft, in, out);
    else
        gcb_fft_forward(fft, in, out);
    gcb_fft_destroy(fft);
}

static double distance(const float *a, const float *b, size_t n)
{
    double error = 0, norm = 0;

    for (size_t i = 0; i < n; i++) {
        error += ((double)a[i] - b[i]) * ((double)a[i] - b[i]);
        norm += (double)b[i] * b[i];
    }
    return norm > 0 ? sqrt(error / norm) : sqrt(error);
}

/* FNV-1a of all spectra of noise: the same on every machine. */
static uint64_t digest = 14695981039346656037u;

static void add_to_digest(const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;

        memcpy(&bits, &x[i], sizeof(bits));
        digest = (digest ^ bits) * 1099511628211u;
    }
}

#define MANY (2 * GCB_FFT_SHARE) /* floats that several threads transform */

/* A few chunks of `length`, forward and back: the steps above, each variant, and FFTW. */
static void check_length(size_t length, size_t chunks, bool dct, enum check_fill fill)
{
    const size_t n = length * chunks, floats = dct ? length : length + 2;
    float *x = malloc(n * sizeof(*x)), *y = malloc(n * sizeof(*y));
    float *bins = aligned_alloc(64, (floats * chunks + 16) / 16 * 64), *want_back = malloc(n * 4);
    float *want = malloc(floats * chunks * sizeof(*want)), *spectrum = malloc(floats * chunks * 4);
    struct gcb_fft_config config = {
        .kind = dct ? GCB_FFT_DCT : GCB_FFT_REAL, .n = n, .chunk = length};

    check_fill(x, n, fill, length);
    for (size_t c = 0; c < chunks; c++) {
        if (dct)
            forward_dct(want + c * floats, x + c * length, length);
        else
            to_bins((struct number *)(void *)(want + c * floats), x + c * length, length, 0.5f);
        if (dct)
            inverse_dct(want_back + c * length, want + c * floats, length);
        else
            from_bins(want_back + c * length, (struct number *)(void *)(want + c * floats), length);
    }
    for (const struct check_isa *isa = variants; isa->name; isa++)
        for (int threads = 1; threads <= (n < MANY ? 1 : 8); threads += 1 + threads / 2) {
            struct gcb_fft_fns fns;

            gcb_fft_init(&fns, isa->flags);
            config.fns = &fns;
            config.threads = threads;
            config.inverse = 0;
            transform_all(&config, x, bins);
            check_that(same_floats(want, bins, floats * chunks),
                       "%s of %zu elements, %zu chunks, %s, %d threads: other bits",
                       dct ? "DCT" : "DFT", length, chunks, isa->name, threads);
            config.inverse = 1;
            transform_all(&config, bins, y);
            check_that(same_floats(want_back, y, n),
                       "inverse %s of %zu elements, %zu chunks, %s, %d threads: other bits",
                       dct ? "DCT" : "DFT", length, chunks, isa->name, threads);
        }
    if (fill == FILL_NOISE)
        add_to_digest(want, floats * chunks);
    if (fill == FILL_NOISE && gcb_fft_version()) {
        config.engine = GCB_FFT_FFTW;
        config.inverse = 0;
        transform_all(&config, x, spectrum);
        check_that(distance(want, spectrum, floats * chunks) <= 1e-6 * log2((double)length),
                   "%zu elements: %g away from FFTW", length,
                   distance(want, spectrum, floats * chunks));
    }
    free(x);
    free(y);
    free(bins);
    free(want);
    free(want_back);
    free(spectrum);
}

static void body(void)
{
    const struct check_isa *isas = check_isas();
    static const size_t whole[] = {8194 + 6, 8400,  8748,   9000,   10000, 13122, 16384,
                                   16464,    16800, 20000,  31250,  33614, 40960, 65536,
                                   67228,    98304, 131072, 200704, 240100};
    static const size_t others[] = {8232,  8640,  9072,  9604,  10206, 10976,  11250,
                                    12348, 13720, 14406, 15000, 17010, 18522,  21870,
                                    24010, 27440, 36450, 50400, 78750, 151200, 352800};
    uint64_t state = 1;

    check_units();
    for (size_t i = 0; i < 2 && isas[i].name; i++)
        variants[1 + i] = isas[i];
    for (size_t length = 2; length <= LONGEST; length += 2) {
        if (gcb_fft_smooth(length) != length)
            continue;
        for (int dct = 0; dct < 2; dct++) {
            check_length(length, 1 + check_random(&state) % 3, dct, FILL_NOISE);
            check_length(length, 9 + check_random(&state) % 24, dct,
                         length % 4 ? FILL_NOISE : FILL_HOSTILE);
        }
    }
    for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++)
        for (int dct = 0; dct < 2; dct++) {
            check_length(gcb_fft_smooth(whole[i]), 1, dct, FILL_NOISE);
            check_length(gcb_fft_smooth(whole[i]), 1, dct, FILL_HOSTILE);
        }
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        check_length(gcb_fft_smooth(others[i]), 1, i % 2, FILL_HOSTILE);
    check_length(16384, 3, false, FILL_NOISE);
    check_that(digest == 0xd61d29ca6ad7e020u, "other spectra than on other machines: %016llx",
               (unsigned long long)digest);
}

int main(void)
{
    return check_main("fft_own", body);
}
