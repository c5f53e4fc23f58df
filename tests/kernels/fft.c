#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/fft/fft.h"
#include "src/lib/base/alloc.h"
#include "src/lib/base/queue.h"
#include "src/lib/base/status.h"
#include "tests/kernels/check.h"

#define TWO_PI 6.283185307179586476925286766559
#define GUARD 0xa5
#define GUARDS 16

/* Replaces the library's allocator: counts allocations and fails on request. */
static struct {
    size_t calls, open, bytes;
    size_t fail_at; /* number of the call that gets NULL; 0: none */
} memory;

void *gcb_alloc(size_t bytes)
{
    if (++memory.calls == memory.fail_at)
        return NULL;
    memory.open++;
    memory.bytes += bytes;
    return aligned_alloc(GCB_ALIGN, (bytes + GCB_ALIGN) / GCB_ALIGN * GCB_ALIGN);
}

void gcb_free(void *p)
{
    memory.open -= p != NULL;
    free(p);
}

static struct gcb_fft *make_fft(uint64_t n, uint64_t chunk, int threads, int inverse)
{
    const struct gcb_fft_config config = {
        .n = n, .chunk = chunk, .threads = threads, .inverse = inverse};
    struct gcb_fft *fft;

    if (gcb_fft_create(&fft, &config) != 0) {
        check_fail("no plan for n %zu, chunk %zu", (size_t)n, (size_t)chunk);
        exit(1);
    }
    return fft;
}

/* Floats aligned as bins must be, followed by guard bytes. */
static float *alloc_guarded(size_t n)
{
    float *p = aligned_alloc(64, (n + GUARDS + 15) / 16 * 64);

    memset(p, GUARD, (n + GUARDS) * sizeof(*p));
    return p;
}

static bool guards_intact(const float *guards)
{
    const unsigned char *byte = (const void *)guards;

    for (size_t i = 0; i < GUARDS * sizeof(*guards); i++)
        if (byte[i] != GUARD)
            return false;
    return true;
}

/* The definition, in double; the angle is reduced exactly in integers. */
static void naive_dft(double *bins, const float *x, size_t length)
{
    for (size_t k = 0; k <= length / 2; k++) {
        double re = 0, im = 0;

        for (size_t j = 0; j < length; j++) {
            const double angle = TWO_PI * (double)(j * k % length) / (double)length;

            re += x[j] * cos(angle);
            im -= x[j] * sin(angle);
        }
        bins[2 * k] = re;
        bins[2 * k + 1] = im;
    }
}

static double tolerance(size_t length)
{
    return 1e-6 * (length < 2 ? 1.0 : log2((double)length));
}

static double relative_distance(const double *want, const float *got, size_t n)
{
    double error = 0, norm = 0;

    for (size_t i = 0; i < n; i++) {
        error += (want[i] - got[i]) * (want[i] - got[i]);
        norm += want[i] * want[i];
    }
    return norm > 0 ? sqrt(error / norm) : sqrt(error);
}

/* Compares every chunk of forward's result with the definition. */
static void check_spectrum(const float *x, const float *bins, size_t n, size_t chunk)
{
    double *want = malloc((n + 2) * sizeof(*want));
    size_t at = 0;

    for (size_t from = 0; from < n; from += chunk) {
        const size_t length = n - from < chunk ? n - from : chunk, floats = 2 * (length / 2 + 1);

        naive_dft(want, x + from, length);
        check_that(relative_distance(want, bins + at, floats) <= tolerance(length),
                   "forward: n %zu, chunk %zu: the chunk at %zu is %g away", n, chunk, from,
                   relative_distance(want, bins + at, floats));
        at += floats;
    }
    check_that(at == 2 * gcb_fft_bins(n, chunk), "n %zu, chunk %zu: wrong number of bins", n,
               chunk);
    free(want);
}

static void check_restored(const float *x, const float *back, size_t n, size_t chunk)
{
    double *want = malloc((n + 1) * sizeof(*want));

    for (size_t i = 0; i < n; i++) {
        const size_t from = i / chunk * chunk;

        want[i] = (double)x[i] * (double)(n - from < chunk ? n - from : chunk);
    }
    check_that(relative_distance(want, back, n) <= tolerance(chunk),
               "inverse: n %zu, chunk %zu: %g away from L x", n, chunk,
               relative_distance(want, back, n));
    free(want);
}

/* x and the result of the inverse have any alignment; bins end where their allocation ends, before
 * the guards. */
static void check_round_trip(size_t n, size_t chunk, int threads)
{
    const size_t floats = 2 * gcb_fft_bins(n, chunk), length = chunk && chunk < n ? chunk : n;
    struct gcb_fft *forward = make_fft(n, chunk, threads, 0),
                   *inverse = make_fft(n, chunk, threads, 1);
    float *x = alloc_guarded(n + 1), *back = alloc_guarded(n + 1), *bins = alloc_guarded(floats);
    const size_t calls = memory.calls;

    check_fill(x + 1, n, FILL_NOISE, n);
    gcb_fft_forward(forward, x + 1, bins);
    if (n > 0)
        check_spectrum(x + 1, bins, n, length);
    gcb_fft_inverse(inverse, bins, back + 1);
    if (n > 0)
        check_restored(x + 1, back + 1, n, length);
    check_that(guards_intact(bins + floats) && guards_intact(back + n + 1),
               "n %zu, chunk %zu: wrote too far", n, chunk);
    check_that(memory.calls == calls, "n %zu, chunk %zu: a transform asked for memory", n, chunk);
    gcb_fft_destroy(forward);
    gcb_fft_destroy(inverse);
    free(x);
    free(back);
    free(bins);
}

/* True if n is even, with the prime factors 2, 3, 5 and 7. */
static bool is_smooth(uint64_t n)
{
    static const uint64_t primes[] = {2, 3, 5, 7};

    if (n == 0 || n % 2)
        return false;
    for (size_t i = 0; i < 4; i++)
        while (n % primes[i] == 0)
            n /= primes[i];
    return n == 1;
}

static void check_smooth(void)
{
    static const uint64_t pairs[][2] = {{0, 0},
                                        {1, 2},
                                        {1094, 1120},
                                        {262147, 262440},
                                        {270218, 272160},
                                        {1000003, 1000188},
                                        {1u << 30, 1u << 30},
                                        {(UINT64_C(1) << 62) - 1, UINT64_C(1) << 62},
                                        {UINT64_C(1) << 62, UINT64_C(1) << 62}};

    for (uint64_t n = 1; n <= 5000; n++) {
        uint64_t want = n;

        while (!is_smooth(want))
            want++;
        check_that(gcb_fft_smooth(n) == want, "%zu becomes %zu, not %zu", (size_t)n,
                   (size_t)gcb_fft_smooth(n), (size_t)want);
    }
    for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++)
        check_that(gcb_fft_smooth(pairs[i][0]) == pairs[i][1], "%zu becomes %zu",
                   (size_t)pairs[i][0], (size_t)gcb_fft_smooth(pairs[i][0]));
    check_that(gcb_fft_zeros(0, 0) == 0 && gcb_fft_zeros(0, 7) == 0, "zeros after nothing");
    check_that(gcb_fft_zeros(1094, 0) == 26 && gcb_fft_zeros(1094, 4096) == 26, "whole");
    check_that(gcb_fft_zeros(1094, 1094) == 0 && gcb_fft_zeros(1094, 1100) == 6, "full chunks");
    check_that(gcb_fft_zeros(4096 + 1094, 4096) == 26, "a short last chunk");
}

/* Zeros that the transform adds are worth as much as zeros in x, bit for bit, and are dropped by
 * the inverse. */
static void check_zeros(enum gcb_fft_kind kind, size_t n, size_t chunk, int threads)
{
    const uint64_t length = n + gcb_fft_zeros(n, chunk), zeros = length - n;
    const size_t floats = kind == GCB_FFT_DCT ? length : 2 * gcb_fft_bins(length, chunk);
    float *x = alloc_guarded(length), *back = alloc_guarded(n), *full = alloc_guarded(length);
    float *bins = alloc_guarded(floats), *want = alloc_guarded(floats);
    struct gcb_fft *fft[4];

    for (int i = 0; i < 4; i++)
        check_that(gcb_fft_create(&fft[i], &(struct gcb_fft_config){.kind = kind,
                                                                    .n = length,
                                                                    .zeros = i < 2 ? zeros : 0,
                                                                    .chunk = chunk,
                                                                    .threads = threads,
                                                                    .inverse = i % 2}) == 0,
                   "no plan");
    check_fill(x, n, FILL_NOISE, n);
    memset(x + n, 0, zeros * sizeof(*x));
    gcb_fft_forward(fft[2], x, want);
    memset(x + n, GUARD, zeros * sizeof(*x));
    gcb_fft_forward(fft[0], x, bins);
    check_that(memcmp(bins, want, floats * sizeof(*bins)) == 0,
               "n %zu, chunk %zu: added zeros are not zeros", n, chunk);
    gcb_fft_inverse(fft[1], bins, back);
    gcb_fft_inverse(fft[3], want, full);
    check_that(memcmp(back, full, n * sizeof(*back)) == 0, "n %zu, chunk %zu: inverse", n, chunk);
    check_that(guards_intact(bins + floats) && guards_intact(back + n),
               "n %zu, chunk %zu: wrote too far", n, chunk);
    for (int i = 0; i < 4; i++)
        gcb_fft_destroy(fft[i]);
    free(x);
    free(back);
    free(full);
    free(bins);
    free(want);
}

static void check_padded(void)
{
    static const size_t lengths[] = {1, 2, 11, 13, 143, 1094, 2003}, chunks[] = {0, 1, 12, 13, 143};

    for (int kind = GCB_FFT_REAL; kind <= GCB_FFT_DCT; kind++)
        for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++)
            for (size_t c = 0; c < sizeof(chunks) / sizeof(*chunks); c++)
                check_zeros((enum gcb_fft_kind)kind, lengths[i], chunks[c], 2);
    check_zeros(GCB_FFT_REAL, 100019, 33333, 2);
    check_zeros(GCB_FFT_DCT, 100019, 33333, 2);
}

static void nothing(void *ctx, uint64_t i)
{
}

/* Starting a thread asks for memory (src/lib/base/queue.c), so threads are started before a
 * transform is watched. */
static void start_threads(void)
{
    const struct gcb_queue queue = {.threads = 8};

    gcb_parallel(&queue, 64, nothing, NULL);
}

static void check_lengths(void)
{
    static const size_t others[] = {128, 256, 257, 512, 1000, 1009, 1024, 2048, 3 * 5 * 7 * 11};

    start_threads();
    for (size_t n = 0; n <= 64; n++)
        check_round_trip(n, 0, 2);
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        check_round_trip(others[i], 0, 2);
    for (size_t n = 0; n <= 40; n++)
        for (size_t chunk = 1; chunk <= n + 2; chunk++)
            check_round_trip(n, chunk, 3);
    check_round_trip(40000, 512, 2);
    check_round_trip(40000, 257, 4);
    check_round_trip(4096, 4096, 2);
    check_round_trip(4097, 4096, 2);
    check_round_trip(8191, 4096, 2);
    check_round_trip(100, UINT64_MAX, 2);
}

/* DCT-II by its definition, with the angle reduced exactly, and 2 L x from the inverse. */
static void check_dct_one(size_t n, size_t chunk, int threads)
{
    const struct gcb_fft_config config = {
        .kind = GCB_FFT_DCT, .n = n, .chunk = chunk, .threads = threads};
    struct gcb_fft_config back_config = config;
    float *x = alloc_guarded(n + 1), *bins = alloc_guarded(n), *back = alloc_guarded(n);
    struct gcb_fft *forward, *inverse;
    double *want = malloc(n * sizeof(*want));

    back_config.inverse = 1;
    check_that(gcb_fft_create(&forward, &config) == 0, "no DCT plan");
    check_that(gcb_fft_create(&inverse, &back_config) == 0, "no DCT plan");
    check_fill(x + 1, n, FILL_NOISE, n);
    for (size_t i = 0; i < n; i++) {
        const size_t from = i / chunk * chunk, length = n - from < chunk ? n - from : chunk;

        want[i] = 0;
        for (size_t j = 0; j < length; j++)
            want[i] += 2 * x[1 + from + j] *
                       cos(TWO_PI * (double)((2 * j + 1) * (i - from) % (4 * length)) /
                           (double)(4 * length));
    }
    gcb_fft_forward(forward, x + 1, bins);
    check_that(relative_distance(want, bins, n) <= tolerance(chunk),
               "dct: n %zu, chunk %zu: %g away", n, chunk, relative_distance(want, bins, n));
    gcb_fft_inverse(inverse, bins, back);
    for (size_t i = 0; i < n; i++)
        back[i] *= 0.5f;
    check_restored(x + 1, back, n, chunk);
    check_that(guards_intact(bins + n) && guards_intact(back + n), "dct: wrote too far");
    gcb_fft_destroy(forward);
    gcb_fft_destroy(inverse);
    free(want);
    free(x);
    free(bins);
    free(back);
}

static void check_dct(void)
{
    for (size_t n = 1; n <= 40; n++)
        for (size_t chunk = 1; chunk <= n; chunk++)
            check_dct_one(n, chunk, 2);
    check_dct_one(5000, 512, 2);
    check_dct_one(2003, 1009, 2);
}

/* Long enough that FFTW uses several threads. The definition would be too slow here, so this checks
 * three known bins of a constant plus a cosine, and the inverse. */
static void check_long(void)
{
    const size_t n = 300000, floats = 2 * gcb_fft_bins(n, 0);
    struct gcb_fft *forward = make_fft(n, 0, 2, 0), *inverse = make_fft(n, 0, 2, 1);
    float *x = alloc_guarded(n), *back = alloc_guarded(n), *bins = alloc_guarded(floats);

    for (size_t i = 0; i < n; i++)
        x[i] = (float)(0.5 + cos(TWO_PI * (double)(i * 7 % n) / (double)n));
    gcb_fft_forward(forward, x, bins);
    check_that(fabs(bins[0] / (double)n - 0.5) < 1e-5 && fabs(bins[14] / (double)n - 0.5) < 1e-5 &&
                   fabs(bins[16] / (double)n) < 1e-5,
               "whole, threaded: bins 0, 7, 8 are %g, %g, %g", bins[0], bins[14], bins[16]);
    gcb_fft_inverse(inverse, bins, back);
    check_restored(x, back, n, n);
    check_that(guards_intact(bins + floats) && guards_intact(back + n),
               "whole, threaded: wrote too far");
    gcb_fft_destroy(forward);
    gcb_fft_destroy(inverse);
    free(x);
    free(back);
    free(bins);
}

/* The spectrum of noise, which is the same in every call with the same n. */
static float *spectrum(size_t n, size_t chunk, int threads)
{
    struct gcb_fft *fft = make_fft(n, chunk, threads, 0);
    float *x = alloc_guarded(n), *bins = alloc_guarded(2 * gcb_fft_bins(n, chunk));

    check_fill(x, n, FILL_NOISE, n);
    gcb_fft_forward(fft, x, bins);
    gcb_fft_destroy(fft);
    free(x);
    return bins;
}

static float *restored_elements(size_t n, size_t chunk, int threads)
{
    struct gcb_fft *fft = make_fft(n, chunk, threads, 1);
    float *bins = spectrum(n, chunk, 1), *x = alloc_guarded(n);

    gcb_fft_inverse(fft, bins, x);
    gcb_fft_destroy(fft);
    free(bins);
    return x;
}

static void check_threads(size_t n, size_t chunk)
{
    const size_t bytes = 2 * gcb_fft_bins(n, chunk) * sizeof(float);
    float *one = spectrum(n, chunk, 1), *x = restored_elements(n, chunk, 1);

    for (int threads = 0; threads <= 5; threads++) {
        float *many = spectrum(n, chunk, threads), *y = restored_elements(n, chunk, threads);

        check_equal("forward", "threads", n, FILL_NOISE, one, many, bytes);
        check_equal("inverse", "threads", n, FILL_NOISE, x, y, n * sizeof(*x));
        free(many);
        free(y);
    }
    free(one);
    free(x);
}

/* Neither other plans nor measuring may change the results of a later estimated plan. */
static void check_history(size_t n, size_t chunk)
{
    struct gcb_fft_config config = {.n = n, .chunk = chunk, .threads = 1};
    const size_t bytes = 2 * gcb_fft_bins(n, chunk) * sizeof(float);
    float *before = spectrum(n, chunk, 1), *after;
    struct gcb_fft *fft;

    for (size_t length = 1; length < 300; length++)
        gcb_fft_destroy(make_fft(5 * length, length, 2, length % 2));
    config.engine = GCB_FFT_FFTW_MEASURE;
    check_that(gcb_fft_create(&fft, &config) == 0, "measuring fails");
    gcb_fft_destroy(fft);
    after = spectrum(n, chunk, 1);
    check_equal("forward", "measured", n, FILL_NOISE, before, after, bytes);
    free(before);
    free(after);
}

/* Fails each allocation of a plan in turn. */
static void check_failures(const char *what, const struct gcb_fft_config *config)
{
    struct gcb_fft *fft;
    size_t call = 1;

    for (;; call++) {
        memory.fail_at = memory.calls + call;
        if (gcb_fft_create(&fft, config) == 0)
            break;
        check_that(!fft && memory.open == 0, "%s: failure %zu leaks", what, call);
    }
    memory.fail_at = 0;
    gcb_fft_destroy(fft);
    check_that(call > 2 && memory.open == 0, "%s: %zu allocations", what, call - 1);
}

/* Says how much memory a plan holds. */
static size_t bytes_of(const struct gcb_fft_config *config)
{
    const size_t bytes = memory.bytes;
    struct gcb_fft *fft;

    check_that(gcb_fft_create(&fft, config) == 0, "no plan");
    gcb_fft_destroy(fft);
    return memory.bytes - bytes;
}

static void check_memory(void)
{
    struct gcb_fft_config whole = {.n = 100000, .threads = 2};
    struct gcb_fft_config chunks = {.n = 100000, .chunk = 1000, .threads = 2};
    struct gcb_fft_config cosine = {.kind = GCB_FFT_DCT, .n = 100000, .chunk = 3000, .threads = 2};
    const struct gcb_fft_config absurd = {.n = UINT64_MAX, .threads = 2};
    struct gcb_fft *fft;

    check_that(memory.open == 0, "%zu blocks leaked", memory.open);
    check_that(bytes_of(&whole) < 100000 * 2 * sizeof(float), "more than two whole messages");
    check_that(bytes_of(&chunks) < 2 * 10 * 1000 * sizeof(float), "more than ten chunks a thread");
    check_failures("whole", &whole);
    check_failures("chunks", &chunks);
    check_failures("DCT", &cosine);
    whole.engine = chunks.engine = cosine.engine = GCB_FFT_FFTW;
    check_that(bytes_of(&chunks) < 2 * 1200 * sizeof(float), "more scratch than two chunks");
    check_failures("whole, FFTW", &whole);
    check_failures("chunks, FFTW", &chunks);
    check_failures("DCT, FFTW", &cosine);
    check_that(gcb_fft_create(&fft, &absurd) == GCB_E_NOMEM && !fft, "n beyond memory");
    gcb_fft_destroy(NULL);
}

static void check_bins(void)
{
    const uint64_t huge = (uint64_t)1 << 40;

    check_that(gcb_fft_bins(0, 0) == 0 && gcb_fft_bins(0, 7) == 0, "bins of nothing");
    check_that(gcb_fft_bins(huge, 0) == huge / 2 + 1, "bins of a huge message");
    check_that(gcb_fft_bins(huge + 1, 4096) == huge / 4096 * 2049 + 1, "bins of huge chunks");
    check_that(gcb_fft_bins(10, 1) == 10 && gcb_fft_bins(10, 4) == 8, "bins of small chunks");
    check_that(gcb_fft_version()[0] == '3', "version: %s", gcb_fft_version());
}

static void body(void)
{
    check_bins();
    check_smooth();
    check_padded();
    check_lengths();
    check_dct();
    check_long();
    check_threads(2000001, 4096);
    check_threads(5000, 5000);
    check_threads(5000, 1000000);
    check_threads(300000, 300000);
    check_history(20000, 3000);
    check_memory();
}

int main(void)
{
    return check_main("fft", body);
}
