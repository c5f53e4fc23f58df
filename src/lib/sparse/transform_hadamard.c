#include <math.h>
#include <string.h>

#include "kernels/hadamard/hadamard_elem.h"
#include "src/lib/base/alloc.h"
#include "src/lib/sparse/transform.h"

/*
 * Randomised Walsh-Hadamard transform of chunks: signs drawn by Philox, then butterflies. A chunk's
 * length is a power of two; chunk = 0 means the largest power of two that fits. The elements after
 * the last whole chunk are cut into pieces whose lengths are powers of two, longest first. Each
 * piece is transformed on its own. Its coefficients are multiplied, so that their magnitudes
 * compare with those of the chunks.
 *
 * All workers use the same signs, so that their coefficients can be averaged. The key of the signs
 * depends on seed, path and step, but not on the worker. The key is in the message (8 bytes).
 */

/* Chunks of LEAST_CHUNK to MOST_CHUNK elements are transformed a few at a time
 * (src/lib/sparse/blocks.h). Signs are then drawn chunk by chunk, which is slow for shorter chunks.
 * The coefficients of longer chunks do not stay in the cache. */
#define LEAST_CHUNK 512
#define MOST_CHUNK 65536

static uint64_t chunk_length(const struct gcb_transform_state *t)
{
    return gcb_hadamard_length(t->env.count, t->chunk);
}

static int hadamard_init(struct gcb_transform_state *t, const struct gcb_codec_env *env,
                         struct gcb_diag *diag)
{
    if (t->chunk & (t->chunk - 1))
        return gcb_invalid(diag, "transform=hadamard needs a chunk that is a power of two, or 0");
    t->unitary = (float)(1.0 / sqrt((double)chunk_length(t)));
    if (t->chunk >= LEAST_CHUNK && t->chunk <= MOST_CHUNK) {
        t->group = t->chunk < GCB_TILE ? (unsigned)(GCB_TILE / t->chunk) : 1;
        t->workers = (unsigned)env->queue->threads;
    }
    t->coef = gcb_alloc_array(t->env.count, sizeof(float));
    return t->coef ? 0 : gcb_diag_nomem(diag, t->env.count * sizeof(float), "a spectrum");
}

static void hadamard_put_side(const struct gcb_transform_state *t, struct gcb_wbuf *out)
{
    gcb_put_u64(out, t->key);
}

static int hadamard_get_side(struct gcb_transform_state *t, struct gcb_rbuf *in)
{
    t->key = gcb_get_u64(in);
    return 0;
}

/* to[i] = from[i] times the sign of element first + i, for i < count. `to` may be `from`. `first`
 * is a multiple of 128, because philox.bytes begins at a multiple of 16. */
static void flip_signs(const struct gcb_transform_state *t, float *to, const float *from,
                       uint64_t first, uint64_t count)
{
    uint8_t sign[GCB_TILE / 8];

    for (uint64_t i = 0; i < count; i += GCB_TILE) {
        const size_t n = gcb_tile_length(count, i);

        t->env.kernels->philox.bytes(sign, (n + 7) / 8, t->key, (first + i) / 8, 0);
        if (to != from)
            memcpy(to + i, from + i, n * sizeof(*to));
        t->env.kernels->hadamard.flip(to + i, sign, n);
    }
}

/*
 * Transforms the chunks and pieces of elements `first` to `end` - 1 in place; coef has only these.
 * Multiplies a piece of n elements by sqrt(length / n). Unless x is NULL, first takes the elements
 * from x, times their signs. Unless `out` is NULL, finally writes the elements to `out`, times
 * their signs. x and `out` are whole tensors.
 */
static void transform_part(const struct gcb_transform_state *t, float *coef, const float *x,
                           float *out, uint64_t first, uint64_t end)
{
    const uint64_t length = chunk_length(t);

    if (x)
        flip_signs(t, coef, x + first, first, end - first);
    for (uint64_t from = first, n; from < end; from += n) {
        float *piece = coef + (from - first);

        n = gcb_hadamard_piece(t->env.count, length, from);
        t->env.kernels->hadamard.transform(piece, n);
        if (n < length) {
            const float scale = (float)sqrt((double)length / (double)n);

            for (uint64_t i = 0; i < n; i++)
                piece[i] *= scale;
        }
    }
    if (out)
        flip_signs(t, out + first, coef, first, end - first);
}

static void hadamard_chunks(const struct gcb_transform_state *t, float *coef, const float *x,
                            float *out, const struct gcb_fft_chunks *which)
{
    for (unsigned c = 0; c < which->count; c++) {
        const uint64_t first = (which->first + c * which->apart) * t->chunk;
        const uint64_t left = t->length - first;

        transform_part(t, coef + c * which->pitch, x, out, first,
                       first + (left < t->chunk ? left : t->chunk));
    }
}

static const float *hadamard_order_chunk(const struct gcb_transform_state *t, float *coef,
                                         uint64_t first, size_t n, float *room)
{
    return coef;
}

/*
 * Signs and butterflies work on one span at a time, so that the span stays in the cache. A span is
 * a chunk, or as many chunks as fill a tile. Threads share the spans.
 */
struct span_job {
    struct gcb_transform_state *t;
    const float *x; /* forward: input; else NULL */
    float *out;     /* inverse: output; else NULL */
    uint64_t span;  /* elements in a span */
};

static void transform_span(void *ctx, uint64_t i)
{
    const struct span_job *job = ctx;
    struct gcb_transform_state *t = job->t;
    const uint64_t first = i * job->span, left = t->env.count - first;

    transform_part(t, t->coef + first, job->x, job->out, first,
                   first + (left < job->span ? left : job->span));
}

static void for_each_span(struct gcb_transform_state *t, const float *x, float *out)
{
    const uint64_t length = chunk_length(t);
    struct span_job job = {
        .t = t, .x = x, .out = out, .span = length > GCB_TILE ? length : GCB_TILE};

    gcb_parallel(t->env.queue, (t->env.count + job.span - 1) / job.span, transform_span, &job);
}

static void hadamard_begin(struct gcb_transform_state *t, const struct gcb_step *at)
{
    t->key = gcb_hadamard_key(&t->env, at->step);
}

static const float *hadamard_forward(struct gcb_transform_state *t, const float *x)
{
    for_each_span(t, x, NULL);
    return t->coef;
}

static void hadamard_inverse(struct gcb_transform_state *t, float *out)
{
    if (t->env.count)
        for_each_span(t, NULL, out);
}

const struct gcb_transform gcb_transform_hadamard = {
    .width = 1,
    .init = hadamard_init,
    .fini = gcb_transform_fini,
    .side_bytes = sizeof(uint64_t),
    .put_side = hadamard_put_side,
    .get_side = hadamard_get_side,
    .begin = hadamard_begin,
    .forward = hadamard_forward,
    .order = gcb_transform_order,
    .chunks = hadamard_chunks,
    .order_chunk = hadamard_order_chunk,
    .scale = gcb_transform_scale,
    .canvas = gcb_transform_canvas,
    .inverse = hadamard_inverse,
};
