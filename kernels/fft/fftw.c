#include <fftw3.h>
#include <pthread.h>
#include <string.h>

#include "kernels/fft/dct.h"
#include "kernels/fft/fft.h"
#include "src/lib/base/alloc.h"
#include "src/lib/base/fork.h"
#include "src/lib/base/queue.h"
#include "src/lib/base/status.h"

/* Shorter transforms are slower on several FFTW threads than on one. */
#define LEAST_THREADED 131072

/* FFTW takes little memory for transforms shorter than LEAST_PROBED. It also takes little while it
 * executes plans for lengths whose prime factors are all below LEAST_PRIME. */
#define LEAST_PROBED 65536
#define LEAST_PRIME 17

/* The engine's state. */
struct chunks {
    struct gcb_fft_need need;
    int workers;    /* threads that share the chunks */
    size_t stride;  /* floats of scratch per worker */
    uint64_t room;  /* floats that FFTW may allocate while all workers execute; 0 if few */
    float *scratch; /* of all workers; NULL: one chunk, transformed in the caller's bins */
    fftwf_plan plan;
    float *twiddle; /* DCT: rotation factors of a chunk */
};

/* FFTW's planner takes one thread at a time. A fork waits until planning has ended. */
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

/* ---- memory that FFTW takes ---- */

/* Rounds up to whole cache lines, so that the buffers of an array share no cache line. */
static uint64_t padded_floats(uint64_t floats)
{
    const uint64_t line = GCB_ALIGN / sizeof(float);

    return (floats + line - 1) / line * line;
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
 * An upper bound of the floats that FFTW allocates, to plan or to execute once. Measured from
 * length 65,536 on with version 3.3.10, planning takes up to 1.6 times the length, and 5.9 times
 * for a prime length. Executing takes 2 times the length for twice a prime, and 5.1 times for a
 * prime. The bound is at least 1.5 times these figures, because FFTW's allocations leave gaps.
 */
static uint64_t most_floats_taken(uint64_t length)
{
    return 3 * length + 6 * largest_prime(length);
}

/* True if the memory that planning takes can be allocated; for plans chosen by timing, if twice as
 * much can. FFTW ends the process if it gets no memory. */
static bool can_plan(uint64_t length, const struct gcb_fft_need *need)
{
    const uint64_t most = most_floats_taken(length);

    return length < LEAST_PROBED ||
           gcb_has_room(need->engine == GCB_FFT_FFTW_MEASURE ? 2 * most : most, sizeof(float));
}

/* Floats that FFTW may allocate while it executes; 0 if it allocates little. */
static uint64_t room_while_executing(uint64_t length)
{
    return length < LEAST_PROBED || largest_prime(length) < LEAST_PRIME ? 0
                                                                        : most_floats_taken(length);
}

/* Runs task(ctx, worker) for each worker, in parallel. */
static void parallel(const struct chunks *fft, void (*task)(void *ctx, uint64_t worker), void *ctx)
{
    gcb_parallel(&(struct gcb_queue){.threads = fft->workers}, (uint64_t)fft->workers, task, ctx);
}

/* Memory that FFTW may take in all workers at the same time: one small and one large piece for each
 * worker. The small piece makes the allocator create the thread's arena; for a large piece it may
 * ask the system instead. */
struct room {
    const struct chunks *fft;
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

/* True if the memory that FFTW takes while executing can be allocated. The threads that will
 * execute try it, because an allocator may give each thread a separate arena. */
static bool fftw_has_room(const void *state)
{
    const struct chunks *fft = state;
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

/* ---- threads and plans ---- */

/* FFTW's request to call work(first + size * i) for each job i. */
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

/* This many floats (1 MiB) must be free before FFTW makes its tables, because it ends the process
 * if it gets no memory. The heap grows by 0.44 MB for the tables (version 3.3.10, measured). */
#define TABLES_ROOM 262144

/* Makes FFTW's tables unless they exist. The caller holds the planner's lock. Returns true if the
 * tables exist. */
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
 * planner's lock. Returns NULL if there is too little memory. */
static fftwf_plan make_plan(float *buffer, uint64_t length, int threads,
                            const struct gcb_fft_need *need)
{
    const fftwf_iodim64 dim = {.n = (ptrdiff_t)length, .is = 1, .os = 1};
    const unsigned flags = need->engine == GCB_FFT_FFTW_MEASURE ? FFTW_MEASURE : FFTW_ESTIMATE;
    fftwf_complex *bins = (fftwf_complex *)(void *)buffer;

    if (!can_plan(length, need))
        return NULL;
    fftwf_plan_with_nthreads(threads);
    if (need->inverse)
        return fftwf_plan_guru64_dft_c2r(1, &dim, 0, NULL, bins, buffer, flags);
    return fftwf_plan_guru64_dft_r2c(1, &dim, 0, NULL, buffer, bins, flags);
}

/* The number of threads that FFTW may use within one transform: several only for a long message
 * without chunks. FFTW's results with several threads are not byte-stable, and each of its threads
 * allocates buffers. */
static int threads_within(const struct gcb_fft_need *need)
{
    return need->whole && need->length >= LEAST_THREADED
               ? gcb_fft_workers(need->length, UINT64_MAX, need->threads)
               : 1;
}

/* Sets fft->plan, for buffers aligned as `buffer` is. */
static int plan(struct chunks *fft, float *buffer)
{
    begin_planning();
    if (start_fftw())
        fft->plan = make_plan(buffer, fft->need.length, threads_within(&fft->need), &fft->need);
    if (fft->need.engine == GCB_FFT_FFTW_MEASURE)
        fftwf_forget_wisdom();
    end_planning();
    return fft->plan ? 0 : GCB_E_NOMEM;
}

/* Makes the plan, the scratch and the twiddle factors. Planning needs a buffer: the scratch or, if
 * no scratch is needed, a temporary buffer. On failure the caller destroys *fft. */
static int make_plan_and_buffers(struct chunks *fft)
{
    const struct gcb_fft_need *need = &fft->need;
    float *buffer = gcb_alloc_array(fft->stride * (uint64_t)fft->workers, sizeof(*buffer));
    int err;

    if (!buffer)
        return GCB_E_NOMEM;
    if (!need->whole || need->kind == GCB_FFT_DCT)
        fft->scratch = buffer;
    err = plan(fft, buffer);
    if (!fft->scratch)
        gcb_free(buffer);
    if (err || need->kind != GCB_FFT_DCT)
        return err;
    fft->twiddle = gcb_alloc_array(2 * (need->length / 2 + 1), sizeof(*fft->twiddle));
    if (!fft->twiddle)
        return GCB_E_NOMEM;
    dct_twiddles(fft->twiddle, (size_t)need->length, need->inverse ? 1.0f : 2.0f);
    return 0;
}

static int fftw_create(void **state, const struct gcb_fft_need *need)
{
    struct chunks *fft = gcb_alloc_zero(1, sizeof(*fft));

    *state = fft;
    if (!fft)
        return GCB_E_NOMEM;
    fft->need = *need;
    fft->workers = gcb_fft_workers(need->length * need->chunks, need->chunks, need->threads);
    fft->stride = (size_t)padded_floats(2 * (need->length / 2 + 1));
    fft->room = room_while_executing(need->length) * (uint64_t)fft->workers;
    return make_plan_and_buffers(fft);
}

static void fftw_destroy(void *state)
{
    struct chunks *fft = state;

    if (!fft)
        return;
    begin_planning();
    if (fft->plan)
        fftwf_destroy_plan(fft->plan);
    end_planning();
    gcb_free(fft->twiddle);
    gcb_free(fft->scratch);
    gcb_free(fft);
}

/* ---- transforms ---- */

static void to_bins(fftwf_plan plan, float *buffer)
{
    fftwf_execute_dft_r2c(plan, buffer, (fftwf_complex *)(void *)buffer);
}

static void from_bins(fftwf_plan plan, float *buffer)
{
    fftwf_execute_dft_c2r(plan, (fftwf_complex *)(void *)buffer, buffer);
}

/* Copies `given` elements of x, and writes zeros after them up to `length`. */
static void copy_padded(float *to, const float *x, size_t given, size_t length)
{
    memcpy(to, x, given * sizeof(*to));
    memset(to + given, 0, (length - given) * sizeof(*to));
}

/* Transforms chunk c in a worker's scratch, because the caller's bins may not be aligned as the
 * plan requires. */
static void forward_chunk(const struct chunks *fft, uint64_t c, float *scratch, const float *x,
                          float *bins)
{
    const struct gcb_fft_need *need = &fft->need;
    const size_t length = (size_t)need->length, given = (size_t)gcb_fft_given(need, c);
    const uint64_t floats = gcb_fft_floats(need->kind, length);

    if (need->kind == GCB_FFT_DCT)
        dct_fold(scratch, x + c * length, given, length);
    else
        copy_padded(scratch, x + c * length, given, length);
    to_bins(fft->plan, scratch);
    if (need->kind == GCB_FFT_DCT)
        dct_rotate(bins + c * floats, scratch, fft->twiddle, length);
    else
        memcpy(bins + c * floats, scratch, floats * sizeof(*bins));
}

static void inverse_chunk(const struct chunks *fft, uint64_t c, float *scratch, const float *bins,
                          float *x)
{
    const struct gcb_fft_need *need = &fft->need;
    const size_t length = (size_t)need->length, given = (size_t)gcb_fft_given(need, c);
    const uint64_t floats = gcb_fft_floats(need->kind, length);

    if (need->kind == GCB_FFT_DCT)
        dct_unrotate(scratch, bins + c * floats, fft->twiddle, length);
    else
        memcpy(scratch, bins + c * floats, floats * sizeof(*bins));
    from_bins(fft->plan, scratch);
    if (need->kind == GCB_FFT_DCT)
        dct_unfold(x + c * length, scratch, given, length);
    else
        memcpy(x + c * length, scratch, given * sizeof(*x));
}

/* The arguments of transform_share. */
struct call {
    const struct chunks *fft;
    const float *in;
    float *out;
};

static void transform_share(void *ctx, uint64_t worker)
{
    const struct call *call = ctx;
    const struct chunks *fft = call->fft;
    const uint64_t workers = (uint64_t)fft->workers;
    const uint64_t end = gcb_fft_first(fft->need.chunks, worker + 1, workers);

    for (uint64_t c = gcb_fft_first(fft->need.chunks, worker, workers); c < end; c++)
        (fft->need.inverse ? inverse_chunk : forward_chunk)(
            fft, c, fft->scratch + fft->stride * worker, call->in, call->out);
}

static void fftw_forward(void *state, const float *x, float *bins)
{
    struct chunks *fft = state;
    const size_t length = (size_t)fft->need.length;

    if (fft->scratch) {
        parallel(fft, transform_share, &(struct call){fft, x, bins});
        return;
    }
    copy_padded(bins, x, (size_t)gcb_fft_given(&fft->need, 0), length);
    to_bins(fft->plan, bins);
}

static void fftw_inverse(void *state, float *bins, float *x)
{
    struct chunks *fft = state;

    if (fft->scratch) {
        parallel(fft, transform_share, &(struct call){fft, bins, x});
        return;
    }
    from_bins(fft->plan, bins);
    memcpy(x, bins, (size_t)gcb_fft_given(&fft->need, 0) * sizeof(*x));
}

const struct gcb_fft_engine_ops *gcb_fft_fftw(void)
{
    static const struct gcb_fft_engine_ops ops = {
        .create = fftw_create,
        .destroy = fftw_destroy,
        .forward = fftw_forward,
        .inverse = fftw_inverse,
        .has_room = fftw_has_room,
    };

    return &ops;
}

const char *gcb_fft_version(void)
{
    return fftwf_version + strcspn(fftwf_version, "0123456789");
}
