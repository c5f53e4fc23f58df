#include "kernels/fft/fft.h"

#include <fftw3.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/fork.h"
#include "src/lib/base/queue.h"
#include "src/lib/base/status.h"

/* Shorter transforms are slower on several FFTW threads than on one. */
#define LEAST_THREADED 131072

/* Waking a worker for fewer floats than this costs more than it saves. */
#define LEAST_SHARE 16384

/* FFTW takes little memory for transforms shorter than LEAST_PROBED. It also takes little while it
 * executes plans for lengths whose prime factors are all below LEAST_PRIME. */
#define LEAST_PROBED 65536
#define LEAST_PRIME 17

struct gcb_fft {
    enum gcb_fft_kind kind;
    uint64_t n;
    uint64_t given;  /* elements of x: n without the zeros */
    uint64_t chunk;  /* 0 < chunk <= n, unless n is 0 */
    uint64_t chunks; /* the last one may be shorter */
    int workers;     /* threads that share the chunks */
    size_t stride;   /* floats of scratch per worker */
    uint64_t room;   /* floats that FFTW may allocate while all workers execute; 0 if few */
    float *scratch;  /* NULL: one chunk, transformed in the caller's bins */
    fftwf_plan plan;
    fftwf_plan last;     /* plan for the short last chunk, or NULL */
    float *twiddle;      /* DCT: rotation factors of a chunk */
    float *last_twiddle; /* rotation factors of the short last chunk, in the same allocation */
};

/* FFTW's planner takes one thread at a time. */
static pthread_mutex_t planner = PTHREAD_MUTEX_INITIALIZER;

static void begin_planning(void)
{
    gcb_fork_hold();
    pthread_mutex_lock(&planner);
}

static void end_planning(void)
{
    pthread_mutex_unlock(&planner);
    gcb_fork_release();
}

/*
 * ---- DCT ---- The steps that make a DCT-II of n floats from a real FFT of n floats, and a DCT-III
 * from its inverse (Makhoul, "A fast cosine transform in one and two dimensions", 1980). Even
 * elements in order, then odd ones in reverse, are transformed; bin k times exp(-i pi k / 2n) gives
 * coefficients k and n - k. Scales are those of FFTW's REDFT10 and REDFT01, which are inverse up to
 * a factor 2n.
 */

/* Fills 2 (n/2 + 1) floats with scale * (cos, sin)(pi k / 2n). scale is 2 for the DCT-II, 1 for the
 * DCT-III. */
static void dct_twiddles(float *twiddle, size_t n, double scale)
{
    const double step = acos(-1.0) / (2.0 * (double)n);

    for (size_t k = 0; k <= n / 2; k++) {
        twiddle[2 * k] = (float)(scale * cos(step * (double)k));
        twiddle[2 * k + 1] = (float)(scale * sin(step * (double)k));
    }
}

/* Turns elements x, the first `given` of n, into the input v of the forward FFT. Two loops instead
 * of one, because compilers vectorise each. */
static void dct_fold(float *restrict v, const float *restrict x, size_t given, size_t n)
{
    for (size_t j = 0; j < given / 2; j++)
        v[j] = x[2 * j];
    for (size_t j = 0; j < given / 2; j++)
        v[n - 1 - j] = x[2 * j + 1];
    if (given % 2)
        v[given / 2] = x[given - 1];
    memset(v + (given + 1) / 2, 0, (n - given) * sizeof(*v));
}

/* Turns the bins of the forward FFT into coefficients y. */
static void dct_rotate(float *restrict y, const float *restrict bins, const float *restrict twiddle,
                       size_t n)
{
    y[0] = twiddle[0] * bins[0];
    for (size_t k = 1; k <= n / 2; k++) {
        const float re = bins[2 * k], im = bins[2 * k + 1];
        const float c = twiddle[2 * k], s = twiddle[2 * k + 1];

        y[n - k] = re * s - im * c;
        y[k] = re * c + im * s;
    }
}

/* Turns coefficients y into the bins of the inverse FFT. */
static void dct_unrotate(float *restrict bins, const float *restrict y,
                         const float *restrict twiddle, size_t n)
{
    bins[0] = twiddle[0] * y[0];
    bins[1] = 0.0f;
    for (size_t k = 1; k <= n / 2; k++) {
        const float a = y[k], b = y[n - k];
        const float c = twiddle[2 * k], s = twiddle[2 * k + 1];

        bins[2 * k] = c * a + s * b;
        bins[2 * k + 1] = s * a - c * b;
    }
}

/* Turns the output v of the inverse FFT, n floats, into elements x, the first `given` of them. */
static void dct_unfold(float *restrict x, const float *restrict v, size_t given, size_t n)
{
    for (size_t j = 0; j < given / 2; j++) {
        x[2 * j] = v[j];
        x[2 * j + 1] = v[n - 1 - j];
    }
    if (given % 2)
        x[given - 1] = v[given / 2];
}

/* ---- sizes ---- */

static uint64_t bins_of(uint64_t length)
{
    return length / 2 + 1;
}

/* The number of floats that a chunk's bins take in the caller's array. */
static uint64_t floats_of(enum gcb_fft_kind kind, uint64_t length)
{
    return kind == GCB_FFT_DCT ? length : 2 * bins_of(length);
}

/* Rounds up, so that in an array every buffer begins on a cache line of its own. */
static uint64_t padded_floats(uint64_t floats)
{
    const uint64_t line = GCB_ALIGN / sizeof(float);

    return (floats + line - 1) / line * line;
}

uint64_t gcb_fft_smooth(uint64_t n)
{
    uint64_t best = 2;

    while (best < n)
        best *= 2;
    for (uint64_t seven = 2; n && seven < best; seven *= 7)
        for (uint64_t five = seven; five < best; five *= 5)
            for (uint64_t three = five; three < best; three *= 3) {
                uint64_t length = three;

                while (length < n)
                    length *= 2;
                best = length < best ? length : best;
            }
    return n ? best : 0;
}

uint64_t gcb_fft_zeros(uint64_t n, uint64_t chunk)
{
    const uint64_t last = chunk ? n % chunk : n, smooth = gcb_fft_smooth(last);

    return (chunk && smooth > chunk ? chunk : smooth) - last;
}

static uint64_t largest_prime(uint64_t n)
{
    uint64_t largest = 1;

    for (uint64_t f = 2; f * f <= n; f++)
        while (n % f == 0) {
            largest = f;
            n /= f;
        }
    return n > largest ? n : largest;
}

/*
 * The floats that FFTW may allocate. FFTW ends the process if it gets no memory. While planning,
 * FFTW takes up to 1.6 times the length of the transform, and 5.9 times for a prime length. While
 * executing once, FFTW takes 2 times the length for twice a prime, and 5.1 times for a prime
 * (version 3.3.10, measured from 65,536 on). The result is 1.5 times these figures, because FFTW's
 * allocations leave gaps.
 */
static uint64_t most_floats_taken(uint64_t length)
{
    return 3 * length + 6 * largest_prime(length);
}

static bool can_plan(uint64_t length, const struct gcb_fft_config *config)
{
    const uint64_t most = most_floats_taken(length);

    return length < LEAST_PROBED ||
           gcb_has_room(config->rigor == GCB_FFT_MEASURE ? 2 * most : most, sizeof(float));
}

/* Floats that FFTW may allocate while it executes; 0 if it allocates little. */
static uint64_t room_while_executing(uint64_t length)
{
    return length < LEAST_PROBED || largest_prime(length) < LEAST_PRIME ? 0
                                                                        : most_floats_taken(length);
}

static void parallel(const struct gcb_fft *fft, void (*task)(void *ctx, uint64_t worker), void *ctx)
{
    gcb_parallel(&(struct gcb_queue){.threads = fft->workers}, (uint64_t)fft->workers, task, ctx);
}

/* Memory that FFTW may take in all workers at the same time. */
struct room {
    const struct gcb_fft *fft;
    struct share {
        void *little, *large;
    } shares[GCB_THREADS_MOST];
};

static void take_share(void *ctx, uint64_t worker)
{
    struct room *room = ctx;
    struct share *share = &room->shares[worker];

    share->little = gcb_alloc_array(LEAST_PRIME, sizeof(float));
    share->large = gcb_alloc_array(room->fft->room / (uint64_t)room->fft->workers, sizeof(float));
}

/* Allocates in the threads that will execute: an allocator may give each thread a separate
 * arena. */
bool gcb_fft_has_room(const struct gcb_fft *fft)
{
    struct room room = {.fft = fft};
    bool enough = true;

    if (fft->room == 0)
        return true;
    parallel(fft, take_share, &room);
    for (int w = 0; w < fft->workers; w++) {
        enough &= room.shares[w].little && room.shares[w].large;
        gcb_free(room.shares[w].little);
        gcb_free(room.shares[w].large);
    }
    return enough;
}

struct fftw_jobs {
    void *(*work)(char *);
    char *first;
    size_t size;
};

static void run_job(void *ctx, uint64_t i)
{
    const struct fftw_jobs *jobs = ctx;

    jobs->work(jobs->first + jobs->size * i);
}

/* Runs FFTW's parallel jobs on the threads that all kernels share. FFTW's own pool waits forever
 * for a thread that could not be created. */
static void run_jobs(void *(*work)(char *), char *first, size_t size, int count, void *unused)
{
    struct fftw_jobs jobs = {.work = work, .first = first, .size = size};

    gcb_parallel(&(struct gcb_queue){.threads = count}, (uint64_t)count, run_job, &jobs);
}

/* Floats that must be free before FFTW makes its tables, because it ends the process if it gets no
 * memory. The heap grows by 0.44 MB for the tables (version 3.3.10, measured); this is 1 MiB. */
#define TABLES_ROOM 262144

/* FFTW makes its tables with the first plan. The caller holds the planner's lock. */
static bool start_fftw(void)
{
    static bool started;

    if (!started && gcb_has_room(TABLES_ROOM, sizeof(float))) {
        started = fftwf_init_threads() != 0;
        fftwf_threads_set_callback(run_jobs, NULL);
    }
    return started;
}

/* Makes an in-place plan for one length, for buffers aligned as `buffer` is. The caller holds the
 * planner's lock. */
static fftwf_plan make_plan(float *buffer, uint64_t length, int threads,
                            const struct gcb_fft_config *config)
{
    const fftwf_iodim64 dim = {.n = (ptrdiff_t)length, .is = 1, .os = 1};
    const unsigned flags = config->rigor == GCB_FFT_MEASURE ? FFTW_MEASURE : FFTW_ESTIMATE;
    fftwf_complex *bins = (fftwf_complex *)(void *)buffer;

    if (!can_plan(length, config))
        return NULL;
    fftwf_plan_with_nthreads(threads);
    if (config->inverse)
        return fftwf_plan_guru64_dft_c2r(1, &dim, 0, NULL, bins, buffer, flags);
    return fftwf_plan_guru64_dft_r2c(1, &dim, 0, NULL, buffer, bins, flags);
}

/* FFTW may use threads only for a message without chunks, because its threaded results are not
 * byte-stable. Each of its threads allocates buffers. */
static int threads_within(const struct gcb_fft_config *config)
{
    const uint64_t shares = config->n / LEAST_SHARE;

    if (config->chunk != 0 || config->n < LEAST_THREADED || config->threads < 1)
        return 1;
    return shares < (uint64_t)config->threads ? (int)shares : config->threads;
}

static int make_plans(struct gcb_fft *fft, float *buffer, const struct gcb_fft_config *config)
{
    const uint64_t rest = fft->n % fft->chunk;

    begin_planning();
    if (!start_fftw()) {
        end_planning();
        return GCB_E_NOMEM;
    }
    fft->plan = make_plan(buffer, fft->chunk, threads_within(config), config);
    if (rest)
        fft->last = make_plan(buffer, rest, 1, config);
    if (config->rigor == GCB_FFT_MEASURE)
        fftwf_forget_wisdom();
    end_planning();
    return fft->plan && (fft->last || !rest) ? 0 : GCB_E_NOMEM;
}

static int make_twiddles(struct gcb_fft *fft, const struct gcb_fft_config *config)
{
    const uint64_t rest = fft->n % fft->chunk, own = padded_floats(2 * bins_of(fft->chunk));
    const double scale = config->inverse ? 1.0 : 2.0;

    if (fft->kind != GCB_FFT_DCT)
        return 0;
    fft->twiddle = gcb_alloc_array(own + 2 * bins_of(rest), sizeof(*fft->twiddle));
    if (!fft->twiddle)
        return GCB_E_NOMEM;
    fft->last_twiddle = fft->twiddle + own;
    dct_twiddles(fft->twiddle, (size_t)fft->chunk, scale);
    if (rest)
        dct_twiddles(fft->last_twiddle, (size_t)rest, scale);
    return 0;
}

/* Planning needs a buffer: the scratch or, if no scratch is needed, a temporary buffer. */
static int take_memory(struct gcb_fft *fft, const struct gcb_fft_config *config)
{
    float *buffer = gcb_alloc_array(fft->stride * (uint64_t)fft->workers, sizeof(*buffer));
    int err;

    if (!buffer)
        return GCB_E_NOMEM;
    if (fft->chunks > 1 || fft->kind == GCB_FFT_DCT)
        fft->scratch = buffer;
    err = make_plans(fft, buffer, config);
    if (!fft->scratch)
        gcb_free(buffer);
    return err;
}

/* The number of workers that is worthwhile, at least one. The results do not depend on it. */
static int useful_workers(const struct gcb_fft *fft, int threads)
{
    const uint64_t shares = fft->n / LEAST_SHARE;
    const uint64_t most = shares < fft->chunks ? shares : fft->chunks;

    if (threads < 1 || most < 1)
        return 1;
    return most < (uint64_t)threads ? (int)most : threads;
}

static void set_sizes(struct gcb_fft *fft, const struct gcb_fft_config *config)
{
    fft->kind = config->kind;
    fft->n = config->n;
    fft->given = config->n - config->zeros;
    fft->chunk = config->chunk == 0 || config->chunk > config->n ? config->n : config->chunk;
    fft->chunks = fft->n / fft->chunk + (fft->n % fft->chunk != 0);
    fft->workers = useful_workers(fft, config->threads);
    fft->stride = (size_t)padded_floats(2 * bins_of(fft->chunk));
    fft->room = room_while_executing(fft->chunk) * (uint64_t)fft->workers;
    if (room_while_executing(fft->n % fft->chunk) > fft->room)
        fft->room = room_while_executing(fft->n % fft->chunk);
}

int gcb_fft_create(struct gcb_fft **out, const struct gcb_fft_config *config)
{
    struct gcb_fft *fft = gcb_alloc_zero(1, sizeof(*fft));
    int err = GCB_E_NOMEM;

    *out = NULL;
    if (!fft || config->n > PTRDIFF_MAX / sizeof(fftwf_complex))
        goto out;
    err = 0;
    if (config->n > 0) {
        set_sizes(fft, config);
        err = take_memory(fft, config);
        if (!err)
            err = make_twiddles(fft, config);
    }
    if (err)
        goto out;
    *out = fft;
    fft = NULL;
out:
    gcb_fft_destroy(fft);
    return err;
}

void gcb_fft_destroy(struct gcb_fft *fft)
{
    if (!fft)
        return;
    begin_planning();
    if (fft->plan)
        fftwf_destroy_plan(fft->plan);
    if (fft->last)
        fftwf_destroy_plan(fft->last);
    end_planning();
    gcb_free(fft->twiddle);
    gcb_free(fft->scratch);
    gcb_free(fft);
}

static void to_bins(fftwf_plan plan, float *buffer)
{
    fftwf_execute_dft_r2c(plan, buffer, (fftwf_complex *)(void *)buffer);
}

static void from_bins(fftwf_plan plan, float *buffer)
{
    fftwf_execute_dft_c2r(plan, (fftwf_complex *)(void *)buffer, buffer);
}

/* The number of elements of a chunk that x has: its length without the zeros. `from` is the first
 * one. */
static size_t given_of(const struct gcb_fft *fft, uint64_t from, size_t length)
{
    return fft->given - from < length ? (size_t)(fft->given - from) : length;
}

/* Writes `given` elements, and zeros up to `length`. */
static void copy_padded(float *to, const float *x, size_t given, size_t length)
{
    memcpy(to, x, given * sizeof(*to));
    memset(to + given, 0, (length - given) * sizeof(*to));
}

/* Transforms one chunk in a worker's scratch. The caller's bins would not be aligned as planned. */
static void forward_chunk(const struct gcb_fft *fft, uint64_t c, float *scratch, const float *x,
                          float *bins)
{
    const uint64_t from = c * fft->chunk;
    const bool whole = fft->n - from >= fft->chunk;
    const size_t length = (size_t)(whole ? fft->chunk : fft->n - from);
    const size_t given = given_of(fft, from, length);
    float *to = bins + c * floats_of(fft->kind, fft->chunk);

    if (fft->kind == GCB_FFT_DCT)
        dct_fold(scratch, x + from, given, length);
    else
        copy_padded(scratch, x + from, given, length);
    to_bins(whole ? fft->plan : fft->last, scratch);
    if (fft->kind == GCB_FFT_DCT)
        dct_rotate(to, scratch, whole ? fft->twiddle : fft->last_twiddle, length);
    else
        memcpy(to, scratch, floats_of(fft->kind, length) * sizeof(*bins));
}

static void inverse_chunk(const struct gcb_fft *fft, uint64_t c, float *scratch, const float *bins,
                          float *x)
{
    const uint64_t from = c * fft->chunk;
    const bool whole = fft->n - from >= fft->chunk;
    const size_t length = (size_t)(whole ? fft->chunk : fft->n - from);
    const size_t given = given_of(fft, from, length);
    const float *in = bins + c * floats_of(fft->kind, fft->chunk);

    if (fft->kind == GCB_FFT_DCT)
        dct_unrotate(scratch, in, whole ? fft->twiddle : fft->last_twiddle, length);
    else
        memcpy(scratch, in, floats_of(fft->kind, length) * sizeof(*bins));
    from_bins(whole ? fft->plan : fft->last, scratch);
    if (fft->kind == GCB_FFT_DCT)
        dct_unfold(x + from, scratch, given, length);
    else
        memcpy(x + from, scratch, given * sizeof(*x));
}

/* The first chunk of a worker. If `worker` is the number of workers, returns the number of
 * chunks. */
static uint64_t first_chunk(const struct gcb_fft *fft, int worker)
{
    const uint64_t w = (uint64_t)worker, workers = (uint64_t)fft->workers;
    const uint64_t extra = fft->chunks % workers;

    return fft->chunks / workers * w + (w < extra ? w : extra);
}

/* A call of gcb_fft_forward or gcb_fft_inverse. */
struct call {
    const struct gcb_fft *fft;
    void (*chunk)(const struct gcb_fft *fft, uint64_t c, float *scratch, const float *in,
                  float *out);
    const float *in;
    float *out;
};

static void transform_share(void *ctx, uint64_t worker)
{
    const struct call *call = ctx;
    const struct gcb_fft *fft = call->fft;
    const int w = (int)worker;

    for (uint64_t c = first_chunk(fft, w); c < first_chunk(fft, w + 1); c++)
        call->chunk(fft, c, fft->scratch + fft->stride * worker, call->in, call->out);
}

void gcb_fft_forward(const struct gcb_fft *fft, const float *x, float *bins)
{
    if (fft->n == 0)
        return;
    if (!fft->scratch) {
        copy_padded(bins, x, (size_t)fft->given, (size_t)fft->n);
        to_bins(fft->plan, bins);
        return;
    }
    parallel(fft, transform_share, &(struct call){fft, forward_chunk, x, bins});
}

void gcb_fft_inverse(const struct gcb_fft *fft, float *bins, float *x)
{
    if (fft->n == 0)
        return;
    if (!fft->scratch) {
        from_bins(fft->plan, bins);
        memcpy(x, bins, (size_t)fft->given * sizeof(*x));
        return;
    }
    parallel(fft, transform_share, &(struct call){fft, inverse_chunk, bins, x});
}

const char *gcb_fft_version(void)
{
    return fftwf_version;
}
