#include "src/lib/sparse/blocks.h"

#include <math.h>
#include <string.h>

#include "kernels/select/select_elem.h"
#include "src/lib/base/alloc.h"
#include "src/lib/codec/packed.h"
#include "src/lib/sparse/transform.h"

/* A message of fewer groups of chunks is transformed as a whole: a sample would cost too much. */
#define LEAST_GROUPS 4
#define MOST_WORKERS 64

/* Number of chunks, without a shorter last one. */
static uint64_t whole_chunks(const struct gcb_transform_state *t)
{
    return t->length / t->chunk;
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

/* Distance, in floats, between the coefficients of neighbouring chunks in an encoder's room. It is
 * a multiple of 64 bytes. For long chunks of a power of two it is not a multiple of a page:
 * otherwise the chunks of a group would compete for the same places in a cache. */
static uint64_t chunk_pitch(const struct gcb_transform_state *t, unsigned width)
{
    return chunk_positions(t, width) * width / 16 * 16 + 16;
}

/* Floats of a worker's room: the coefficients of a group, and the floats that rank the positions of
 * one chunk. A multiple of 16, so that each room is aligned to 64 bytes. */
static uint64_t room_floats(const struct gcb_transform_state *t, unsigned width)
{
    return t->group * chunk_pitch(t, width) + chunk_positions(t, width) / 16 * 16 + 16;
}

int gcb_blocks_init(struct gcb_transform_state *t, unsigned width, struct gcb_diag *diag)
{
    uint64_t floats;

    if (t->group == 0 || t->length == 0 ||
        t->length / gcb_transform_chunk(t) < LEAST_GROUPS * t->group) {
        t->group = 0;
        return 0;
    }
    t->workers = t->workers < MOST_WORKERS ? t->workers : MOST_WORKERS;
    floats = t->workers * room_floats(t, width);
    t->room = gcb_alloc_array(floats, sizeof(float));
    return t->room ? 0 : gcb_diag_nomem(diag, floats * sizeof(float), "some chunks of a transform");
}

/* ---- visiting ---- */

bool gcb_blocks_all(struct gcb_selection *s)
{
    struct gcb_source *from = &s->from;
    const struct gcb_transform *ops = from->ops;
    const float *coef = from->x;

    if (!from->order && s->positions == 0)
        from->order = s->sample; /* only to be not NULL: never read */
    if (from->order)
        return true;
    if (ops->forward)
        coef = ops->forward(from->t, coef);
    gcb_probe_mark(from->t->env.probe, GCB_STAGE_TRANSFORM);
    from->order = ops->order ? ops->order(from->t, coef) : coef;
    return from->order;
}

/* A visit to all blocks. */
struct visit {
    const struct gcb_source *from;
    uint64_t length; /* positions in a block */
    gcb_block_fn *fn;
    void *ctx;
    /* Worker w visits the positions from share[w].first to share[w + 1].first. The last share has
     * no worker. */
    struct gcb_share share[MOST_WORKERS + 1];
};

/* Transforms a group of chunks and calls fn for each chunk. Only worker 0 reports its stages to the
 * probe, because all workers divide their time alike. */
static void visit_chunks(const struct gcb_source *from, const struct gcb_fft_chunks *which,
                         gcb_block_fn *fn, void *ctx, struct gcb_share *share)
{
    struct gcb_transform_state *t = from->t;
    const struct gcb_probe *probe = which->worker == 0 ? t->env.probe : NULL;
    const unsigned width = from->ops->width;
    const uint64_t positions = chunk_positions(t, width);
    float *coef = t->room + which->worker * room_floats(t, width);
    float *order = coef + t->group * which->pitch;

    from->ops->chunks(t, coef, from->x, NULL, which);
    gcb_probe_mark(probe, GCB_STAGE_TRANSFORM);
    for (unsigned c = 0; c < which->count; c++) {
        const uint64_t first = (which->first + c * which->apart) * positions;
        const uint64_t left = t->positions - first;
        struct gcb_block block = {.first = first, .n = left < positions ? left : positions};

        block.coef = coef + c * which->pitch;
        block.order = from->ops->order_chunk(t, coef + c * which->pitch, first, block.n, order);
        fn(ctx, share, &block);
    }
    gcb_probe_mark(probe, GCB_STAGE_SELECT);
}

static void visit_array(const struct visit *v, uint64_t at, uint64_t end, struct gcb_share *share)
{
    for (uint64_t n; at < end; at += n) {
        n = end - at < v->length ? end - at : v->length;
        v->fn(v->ctx, share,
              &(struct gcb_block){.first = at, .n = n, .order = v->from->order + at});
    }
}

/* Visits a worker's blocks: parts of an array, or chunks, a group at a time. */
static void visit_share(void *ctx, uint64_t worker)
{
    struct visit *v = ctx;
    struct gcb_share *share = &v->share[worker];
    struct gcb_fft_chunks which = {.apart = 1, .worker = worker};
    uint64_t end = share[1].first;

    if (v->from->order) {
        visit_array(v, share->first, end, share);
        return;
    }
    which.first = share->first / v->length;
    which.pitch = chunk_pitch(v->from->t, v->from->ops->width);
    for (end = (end + v->length - 1) / v->length; which.first < end; which.first += which.count) {
        which.count = group_from(v->from->t, which.first, end);
        visit_chunks(v->from, &which, v->fn, v->ctx, share);
    }
}

/* Moves the entries of all shares together, in order, and counts them. */
static void join_shares(struct gcb_selection *s, const struct gcb_share *share, unsigned workers)
{
    s->kept = 0;
    for (unsigned w = 0; w < workers; w++) {
        const uint64_t from = share[w].first, n = share[w].found;

        if (from != s->kept) {
            memmove(s->pos + s->kept, s->pos + from, n * sizeof(*s->pos));
            memmove(s->value + s->kept, s->value + from, n * sizeof(*s->value));
            if (s->pair)
                memmove(s->pair + 2 * s->kept, s->pair + 2 * from, 2 * n * sizeof(float));
        }
        s->kept += n;
    }
}

bool gcb_blocks_visit(struct gcb_selection *s, uint64_t length, gcb_block_fn *fn, void *ctx)
{
    const struct gcb_source *from = &s->from;
    struct visit v; /* not zeroed: most of its large array stays unused */
    uint64_t blocks;
    unsigned workers = from->order ? (unsigned)s->queue->threads : from->t->workers;

    workers = workers < MOST_WORKERS ? workers : MOST_WORKERS;
    v.from = from;
    v.length = from->order ? length : chunk_positions(from->t, from->ops->width);
    v.fn = fn;
    v.ctx = ctx;
    blocks = (s->positions + v.length - 1) / v.length;
    for (unsigned w = 0; w < workers; w++) {
        const uint64_t first = gcb_fft_first(blocks, w, workers) * v.length;

        v.share[w] = (struct gcb_share){.first = first < s->positions ? first : s->positions};
    }
    v.share[workers].first = s->positions;
    memset(s->segment_kept, 0, s->segments * sizeof(*s->segment_kept));
    s->pair = !from->order && from->ops->width == 2 ? from->t->coef : NULL;
    gcb_parallel(s->queue, workers, visit_share, &v);
    join_shares(s, v.share, workers);
    if (!from->t) /* one block of another visit, which finds the largest itself (select_chunk.c) */
        return true;
    s->largest = s->kernels->reduce.max_bits(s->value, s->kept);
    s->nonfinite |= from->order && s->largest >= GCB_INF_BITS;
    return from->order || s->largest < GCB_INF_BITS;
}

/* ---- a sample, and the scale that it sets ---- */

/* With fewer positions, taking a sample costs more than it saves. */
#define SAMPLE_FROM 2048
#define SAMPLED_CHUNKS 64 /* most chunks in a sample */
/* Of fewer than SAMPLE_STRIDE * SAMPLED_CHUNKS chunks, about one in SAMPLE_STRIDE is sampled, in
 * whole groups, and at least one group. */
#define SAMPLE_STRIDE 8

/* A sample of m values costs time in proportion to m. Because of its error, about n / sqrt(m) more
 * values than needed are collected. The sum of both is least if m grows like n^(2/3). */
static struct gcb_sample sample_array(struct gcb_selection *s)
{
    const uint64_t n = s->positions;
    const double best = 0.5 * cbrt((double)n) * cbrt((double)n);
    struct gcb_sample sample = {.m = best < (double)GCB_SAMPLE_MAX ? (size_t)best : GCB_SAMPLE_MAX,
                                .each = 1};

    if (n < SAMPLE_FROM)
        return (struct gcb_sample){0};
    for (size_t i = 0; i < sample.m; i++)
        s->sample[i] = s->from.order[i * (n / sample.m)];
    return sample;
}

/* A sample that is being taken. */
struct sampling {
    struct gcb_sample size;
    float *to;
};

/* Adds evenly spaced values of the chunk to the sample. A gcb_block_fn that appends nothing to the
 * share, which is NULL. */
static void sample_block(void *ctx, struct gcb_share *share, const struct gcb_block *block)
{
    struct sampling *sampling = ctx;
    const size_t apart = block->n / sampling->size.each;

    for (size_t i = 0; i < sampling->size.each; i++)
        sampling->to[sampling->size.m++] = block->order[i * apart];
}

struct gcb_sample gcb_blocks_sample(struct gcb_selection *s)
{
    const struct gcb_source *from = &s->from;
    struct gcb_transform_state *t = from->t;
    struct sampling sampling = {.to = s->sample};
    struct gcb_fft_chunks which = {0};
    uint64_t whole, chunks;
    size_t n, share;
    unsigned groups;

    if (from->order)
        return sample_array(s);
    whole = whole_chunks(t);
    chunks =
        whole / SAMPLE_STRIDE < SAMPLED_CHUNKS ? whole / SAMPLE_STRIDE + t->group : SAMPLED_CHUNKS;
    groups = (unsigned)(chunks / t->group);
    n = chunk_positions(t, from->ops->width);
    share = GCB_SAMPLE_MAX / t->group / groups;
    sampling.size.each = n < share ? n : share;
    which.apart = whole / (groups * t->group);
    which.count = t->group;
    which.pitch = chunk_pitch(t, from->ops->width);
    if (from->ops->width == 2) { /* only for t->top; visit_chunks transforms these chunks again */
        t->top = 0;
        from->ops->chunks(t, t->room, from->x, NULL, &which);
        for (unsigned c = 0; c < t->group; c++)
            gcb_raise_max(&t->top, s->kernels->reduce.max_bits(t->room + c * which.pitch, 2 * n));
    }
    for (unsigned g = 0; g < groups; g++) {
        which.first = g * t->group * which.apart;
        visit_chunks(from, &which, sample_block, &sampling, NULL);
    }
    return sampling.size;
}

/*
 * `s->largest` is the bits of the largest power, whose root is at least the largest real or
 * imaginary part. gcb_select_power_reach is for powers without a weight. The weight of the powers
 * of a shorter last chunk is at most chunk / 2, because our own FFT has only even lengths. So
 * without the weight all kept powers are more than `least` / chunk.
 */
bool gcb_blocks_same_scale(const struct gcb_selection *s, uint32_t least)
{
    const struct gcb_transform_state *t = s->from.t;
    double part;
    uint32_t unweighted;

    if (!s->pair)
        return true;
    part = sqrt((double)gcb_float_of(s->largest)) / (double)gcb_select_power_scale(t->top);
    unweighted = gcb_bits_of(gcb_float_of(least) / (float)t->chunk);
    return gcb_bits_of((float)part) >> 23 <= gcb_select_power_reach(t->top, unweighted);
}

/* ---- decoding ---- */

int gcb_blocks_decode(const struct gcb_transform_state *t, const struct gcb_transform *ops,
                      float *out, gcb_blocks_read_fn *read, void *ctx)
{
    const uint64_t chunks = whole_chunks(t) + (t->length % t->chunk != 0);
    const uint64_t positions = chunk_positions(t, ops->width);
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
        ops->chunks(t, t->room, NULL, out, &which);
        gcb_probe_mark(t->env.probe, GCB_STAGE_TRANSFORM);
    }
    return 0;
}
