#include "src/lib/sparse/chunks.h"

#include <math.h>
#include <string.h>

#include "kernels/select/select_elem.h"
#include "src/lib/base/alloc.h"
#include "src/lib/sparse/select.h"
#include "src/lib/sparse/transform.h"

/* A message of fewer groups of chunks is transformed as a whole: a sample would cost too much. */
#define LEAST_GROUPS 4
#define MOST_WORKERS 64

/* Number of whole chunks, and of chunks including a shorter last one. */
static uint64_t whole_chunks(const struct gcb_transform_state *t)
{
    return t->length / t->chunk;
}
static uint64_t chunk_count(const struct gcb_transform_state *t)
{
    return whole_chunks(t) + (t->length % t->chunk != 0);
}

/* Number of positions of a whole chunk. */
static uint64_t chunk_positions(const struct gcb_transform_state *t, unsigned width)
{
    return width == 2 ? t->chunk / 2 + 1 : t->chunk;
}

/* Number of chunks from `first` to `end` - 1 that are transformed at once: at most a group, and a
 * shorter last chunk alone. */
static unsigned group_from(const struct gcb_transform_state *t, uint64_t first, uint64_t end)
{
    const uint64_t whole = whole_chunks(t), last = end < whole ? end : whole;

    if (first == whole)
        return 1;
    return last - first < t->group ? (unsigned)(last - first) : t->group;
}

/* Floats from the coefficients of a chunk to those of the next, in an encoder's room: a multiple of
 * 64 bytes, but not of a page, because such coefficients would compete for places in a cache. */
static uint64_t chunk_pitch(const struct gcb_transform_state *t, unsigned width)
{
    return chunk_positions(t, width) * width / 16 * 16 + 16;
}

/* Floats of a worker's room: the coefficients of a group, and the order of one chunk. A multiple of
 * 16, so that each room is aligned to 64 bytes. */
static uint64_t room_floats(const struct gcb_transform_state *t, unsigned width)
{
    return t->group * chunk_pitch(t, width) + chunk_positions(t, width) / 16 * 16 + 16;
}

int gcb_chunks_init(struct gcb_transform_state *t, unsigned width, struct gcb_diag *diag)
{
    uint64_t floats;

    t->group = gcb_fft_group(t->fft, &t->workers);
    if (t->group == 0 || t->length / gcb_transform_chunk(t) < LEAST_GROUPS * t->group) {
        t->group = 0;
        return 0;
    }
    t->workers = t->workers < MOST_WORKERS ? t->workers : MOST_WORKERS;
    floats = t->workers * room_floats(t, width);
    t->room = gcb_alloc_array(floats, sizeof(float));
    return t->room ? 0 : gcb_diag_nomem(diag, floats * sizeof(float), "some chunks of a transform");
}

/* ---- visiting ---- */

/* A chunk that was transformed. */
struct block {
    uint64_t first;            /* number of its first position */
    size_t n;                  /* positions */
    const float *coef, *order; /* its coefficients, and the floats that order its positions */
};

/* Called for each chunk. Calls of one worker follow each other; workers run at the same time. */
typedef void block_fn(void *ctx, uint64_t worker, const struct block *block);

struct visit {
    struct gcb_transform_state *t;
    const struct gcb_transform *ops;
    const float *x;
    block_fn *fn;
    void *ctx;
};

/* Transforms a group of chunks and calls fn for each. The probe hears of the first worker only,
 * whose share of time in each stage is like that of the others. */
static void visit_chunks(const struct visit *v, const struct gcb_fft_chunks *which)
{
    const struct gcb_transform_state *t = v->t;
    const struct gcb_probe *probe = which->worker == 0 ? t->env.probe : NULL;
    const unsigned width = v->ops->width;
    const uint64_t positions = chunk_positions(t, width);
    float *coef = t->room + which->worker * room_floats(t, width);
    float *order = coef + t->group * which->pitch;

    gcb_fft_forward_chunks(t->fft, v->x, which, coef);
    gcb_probe_mark(probe, GCB_STAGE_TRANSFORM);
    for (unsigned c = 0; c < which->count; c++) {
        const uint64_t first = (which->first + c * which->apart) * positions;
        const uint64_t left = t->positions - first;
        struct block block = {.first = first, .n = left < positions ? left : positions};

        block.coef = coef + c * which->pitch;
        block.order = v->ops->order_chunk(t, coef + c * which->pitch, first, block.n, order);
        v->fn(v->ctx, which->worker, &block);
    }
    gcb_probe_mark(probe, GCB_STAGE_SELECT);
}

/* The number of a worker's first chunk; for worker t->workers, the number of chunks. A shorter last
 * chunk belongs to the last worker. */
static uint64_t first_of_worker(const struct gcb_transform_state *t, uint64_t worker)
{
    return worker == t->workers ? chunk_count(t)
                                : gcb_fft_first(whole_chunks(t), worker, t->workers);
}

/* Visits all chunks of a worker, a group at a time. */
static void visit_share(void *ctx, uint64_t worker)
{
    const struct visit *v = ctx;
    const uint64_t end = first_of_worker(v->t, worker + 1);
    struct gcb_fft_chunks which = {
        .first = first_of_worker(v->t, worker), .apart = 1, .worker = worker};

    which.pitch = chunk_pitch(v->t, v->ops->width);
    for (; which.first < end; which.first += which.count) {
        which.count = group_from(v->t, which.first, end);
        visit_chunks(v, &which);
    }
}

/* ---- a sample ---- */

#define SAMPLED_CHUNKS 64 /* most chunks in a sample */
#define SAMPLE_STRIDE 8   /* chunks of the message for one of the sample, if it is shorter */

/* Order values of some chunks, in s->sample. */
struct sample {
    struct gcb_selection *s;
    size_t each; /* values from each chunk */
    size_t m;    /* values so far */
};

/* Adds evenly spaced values of the chunk. A block_fn. */
static void sample_block(void *ctx, uint64_t worker, const struct block *block)
{
    struct sample *sample = ctx;
    const size_t apart = block->n / sample->each;

    for (size_t i = 0; i < sample->each; i++)
        sample->s->sample[sample->m++] = block->order[i * apart];
}

/* Returns four standard deviations of the number of sampled values that reach the threshold. The
 * deviation is that between the chunks of the sample. */
static double deviation(const struct sample *sample, uint32_t threshold)
{
    const size_t chunks = sample->m / sample->each;
    double sum = 0.0, squares = 0.0;

    for (size_t c = 0; c < chunks; c++) {
        const double count = (double)sample->s->kernels->select.count(
            sample->s->sample + c * sample->each, sample->each, threshold);

        sum += count;
        squares += count * count;
    }
    return 4.0 *
           sqrt((squares - sum * sum / (double)chunks) * (double)chunks / (double)(chunks - 1));
}

/* Estimates two thresholds from a sample of chunks: slightly more than k positions are expected to
 * reach *low, and slightly fewer than k to reach *high. For bins, also sets t->top. Returns false if the
 * sample is too small, or its chunks too different, for that. */
static bool take_sample(struct gcb_selection *s, struct visit v, uint64_t k, uint32_t *low,
                        uint32_t *high)
{
    struct gcb_transform_state *t = v.t;
    const uint64_t whole = whole_chunks(t), spread = whole / SAMPLE_STRIDE;
    const uint64_t chunks = spread < SAMPLED_CHUNKS ? spread + t->group : SAMPLED_CHUNKS;
    const unsigned groups = (unsigned)(chunks / t->group);
    const size_t n = chunk_positions(t, v.ops->width), share = GCB_SAMPLE_MAX / t->group;
    struct sample sample = {.s = s, .each = n < share / groups ? n : share / groups};
    struct gcb_fft_chunks which = {.apart = whole / (groups * t->group), .count = t->group};
    double expected, slack;
    uint64_t above;

    which.pitch = chunk_pitch(t, v.ops->width);
    v.fn = sample_block;
    v.ctx = &sample;
    if (v.ops->width == 2) { /* the first group is transformed again, with a scale for its powers */
        gcb_fft_forward_chunks(t->fft, v.x, &which, t->room);
        t->top = 0;
        for (unsigned c = 0; c < t->group; c++) {
            const uint32_t top = s->kernels->reduce.max_bits(t->room + c * which.pitch, 2 * n);

            t->top = top > t->top ? top : t->top;
        }
    }
    for (unsigned g = 0; g < groups; g++) {
        which.first = g * t->group * which.apart;
        visit_chunks(&v, &which);
    }
    expected = (double)k / (double)s->positions * (double)sample.m;
    if (expected < 1.0)
        return false;
    *low = gcb_select_kth(s->kernels, s->sample, sample.m, (uint64_t)expected, &above);
    slack = deviation(&sample, *low) + 8.0; /* 8: small counts deviate more than estimated */
    if (expected + slack >= (double)sample.m)
        return false;
    *high = GCB_INF_BITS;
    if (expected > slack + 1.0)
        *high =
            gcb_select_kth(s->kernels, s->sample, sample.m, (uint64_t)(expected - slack), &above);
    *low = gcb_select_kth(s->kernels, s->sample, sample.m, (uint64_t)(expected + slack), &above);
    return true;
}

/* ---- collecting ---- */

struct collect_job {
    struct gcb_selection *s;
    float *pair;        /* where kept bins go; NULL if coefficients are real */
    uint32_t threshold; /* of collect_block */
    /* for each worker: the entry of s->pos, s->value and `pair` where its positions begin, their
     * number, and the hint for its next chunk (gcb_select_of_chunk) */
    uint64_t first[MOST_WORKERS], found[MOST_WORKERS];
    uint32_t hint[MOST_WORKERS];
};

/* Moves positions in a chunk to the chunk's place in the message. */
static void move_positions(uint32_t *pos, size_t n, const struct block *block)
{
    for (size_t j = 0; j < n; j++)
        pos[j] += (uint32_t)block->first;
}

/* Collects the positions whose magnitude is at least the threshold. A block_fn. */
static void collect_block(void *ctx, uint64_t worker, const struct block *block)
{
    struct collect_job *job = ctx;
    const struct gcb_select_fns *f = &job->s->kernels->select;
    const uint64_t at = job->first[worker] + job->found[worker];
    uint32_t *pos = job->s->pos + at;
    const size_t found =
        f->collect(pos, job->s->value + at, NULL, block->order, block->n, 0, job->threshold);

    if (job->pair)
        f->gather2(job->pair + 2 * at, block->coef, pos, found);
    move_positions(pos, found, block);
    job->found[worker] += found;
}

/* Collects the largest magnitudes of the chunk. A block_fn. */
static void select_block(void *ctx, uint64_t worker, const struct block *block)
{
    struct collect_job *job = ctx;
    const uint64_t first = job->first[worker], at = first + job->found[worker];
    const uint64_t kept =
        gcb_select_of_chunk(job->s, at, first, block->order, block->n, &job->hint[worker]);

    move_positions(job->s->pos + at, kept, block);
    job->found[worker] += kept;
}

/* Moves the positions of all workers together, in order, and counts them. */
static void join_shares(const struct collect_job *job, unsigned workers)
{
    struct gcb_selection *s = job->s;

    s->kept = 0;
    for (unsigned w = 0; w < workers; w++) {
        const uint64_t from = job->first[w], n = job->found[w];

        if (from != s->kept) {
            memmove(s->pos + s->kept, s->pos + from, n * sizeof(*s->pos));
            memmove(s->value + s->kept, s->value + from, n * sizeof(*s->value));
            if (job->pair)
                memmove(job->pair + 2 * s->kept, job->pair + 2 * from, 2 * n * sizeof(float));
        }
        s->kept += n;
    }
    s->segment_kept[0] = s->kept;
}

/*
 * True if the same bins are kept when their powers have the scale of t->top, as here, and when they
 * have the scale of the largest part, as in fft_order. `largest` and `least` are the bits of the
 * largest power and of the least kept one. The root of the largest power is at least the largest
 * part. gcb_select_power_reach holds for powers without a weight. The weight of a shorter last
 * chunk's powers is at most chunk / 2, so without it they are more than `least` / chunk.
 */
static bool same_by_largest(const struct gcb_transform_state *t, uint32_t largest, uint32_t least)
{
    const double part =
        sqrt((double)gcb_float_of(largest)) / (double)gcb_select_power_scale(t->top);
    const uint32_t unweighted = gcb_bits_of(gcb_float_of(least) / (float)t->chunk);

    return gcb_bits_of((float)part) >> 23 <= gcb_select_power_reach(t->top, unweighted);
}

/* Transforms the message and collects positions by fn. Returns the bits of the largest magnitude of
 * the values. A coefficient that is not finite is always collected, and its value is not finite. */
static uint32_t collect(struct collect_job *job, struct visit *v, block_fn *fn)
{
    const struct gcb_transform_state *t = v->t;

    v->fn = fn;
    v->ctx = job;
    for (unsigned w = 0; w < t->workers; w++)
        job->first[w] = first_of_worker(t, w) * chunk_positions(t, v->ops->width);
    gcb_parallel(job->s->queue, t->workers, visit_share, v);
    join_shares(job, t->workers);
    return job->s->kernels->reduce.max_bits(job->s->value, job->s->kept);
}

bool gcb_chunks_select_largest(struct gcb_selection *s, struct gcb_transform_state *t,
                               const struct gcb_transform *ops, const float *x, uint64_t k)
{
    struct collect_job job = {.s = s, .pair = ops->width == 2 ? t->coef : NULL};
    struct visit visit = {.t = t, .ops = ops, .x = x};
    uint64_t above;
    uint32_t high, kth, largest;

    if (k == s->positions || !take_sample(s, visit, k, &job.threshold, &high))
        return false;
    largest = collect(&job, &visit, collect_block);
    if (largest >= GCB_INF_BITS || s->kept < k)
        return false;
    kth = gcb_select_kth_of_collected(s, high, k, &above);
    if (job.pair && !same_by_largest(t, largest, kth))
        return false;
    s->pair = job.pair;
    gcb_select_cut(s, gcb_side_any, kth, k - above);
    return true;
}

/* Bins are not selected chunk by chunk, because the scale of their powers depends on all bins. */
bool gcb_chunks_select_each(struct gcb_selection *s, struct gcb_transform_state *t,
                            const struct gcb_transform *ops, const float *x, uint64_t k)
{
    struct collect_job job = {.s = s};
    struct visit visit = {.t = t, .ops = ops, .x = x};

    return ops->width == 1 && collect(&job, &visit, select_block) < GCB_INF_BITS;
}

/* ---- decoding ---- */

int gcb_chunks_decode(const struct gcb_transform_state *t, const struct gcb_transform *ops,
                      float *out, gcb_chunks_read_fn *read, void *ctx)
{
    const uint64_t chunks = chunk_count(t), positions = chunk_positions(t, ops->width);
    struct gcb_fft_chunks which = {.apart = 1, .pitch = positions * ops->width};

    for (; which.first < chunks; which.first += which.count) {
        const uint64_t first = which.first * positions;
        uint64_t end;
        int err;

        which.count = group_from(t, which.first, chunks);
        end = first + which.count * positions;
        end = end < t->positions ? end : t->positions;
        err = read(ctx, t->room, first, end);
        if (err)
            return err;
        for (uint64_t at = 0; ops->unscale_chunk && at < end - first; at += positions)
            ops->unscale_chunk(t, t->room + at,
                               end - first - at < positions ? end - first - at : positions);
        gcb_fft_inverse_chunks(t->fft, t->room, &which, out);
        gcb_probe_mark(t->env.probe, GCB_STAGE_TRANSFORM);
    }
    return 0;
}
