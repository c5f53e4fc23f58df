#include "src/lib/codec/packed.h"

#include <stdlib.h>
#include <string.h>

#include "src/lib/base/alloc.h"

static int compare_codes(const void *a, const void *b)
{
    return (int)*(const uint16_t *)a - (int)*(const uint16_t *)b;
}

/* Total order-0 entropy of n <= GCB_TILE codes, in bits. Sorts the codes, which is faster than a
 * table of all possible codes. */
static double entropy_of_few(uint16_t *code, size_t n)
{
    uint64_t histogram[GCB_TILE];
    size_t runs = 0;

    qsort(code, n, sizeof(*code), compare_codes);
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || code[i] != code[i - 1])
            histogram[runs++] = 0;
        histogram[runs - 1]++;
    }
    return gcb_entropy0(histogram, runs);
}

int gcb_packed_entropy(double *bits, const uint8_t *packed, uint64_t count, unsigned width,
                       const struct gcb_kernels *kernels)
{
    uint64_t *histogram;
    uint16_t code[GCB_TILE];

    if (count <= GCB_TILE) {
        kernels->bitpack.unpack(code, packed, (size_t)count, width);
        *bits = entropy_of_few(code, (size_t)count);
        return 0;
    }
    histogram = gcb_alloc_zero(UINT64_C(1) << width, sizeof(*histogram));
    if (!histogram)
        return GCB_E_NOMEM;
    for (uint64_t i = 0; i < count; i += GCB_TILE) {
        const size_t n = gcb_tile_length(count, i);

        kernels->bitpack.unpack(code, packed + i / 8 * width, n, width);
        for (size_t j = 0; j < n; j++)
            histogram[code[j]]++;
    }
    *bits = gcb_entropy0(histogram, (size_t)1 << width);
    gcb_free(histogram);
    return 0;
}

int gcb_packed_describe(struct gcb_parts *parts, struct gcb_rbuf *in, uint64_t scale_bytes,
                        unsigned width, const struct gcb_codec_env *env)
{
    const uint8_t *codes;

    gcb_rbuf_take(in, scale_bytes);
    codes = gcb_rbuf_take(in, gcb_packed_bytes(env->count, width));
    if (!codes)
        return GCB_E_CORRUPT;
    parts->scale_bytes = scale_bytes;
    parts->value_bytes = gcb_packed_bytes(env->count, width);
    parts->kept = parts->positions = env->count;
    return gcb_packed_entropy(&parts->entropy0_bits, codes, env->count, width, env->kernels);
}

uint64_t gcb_span_count(uint64_t count)
{
    return (count + GCB_SPAN - 1) / GCB_SPAN;
}

uint64_t gcb_span_length(uint64_t count, uint64_t i)
{
    const uint64_t left = count - i * GCB_SPAN;

    return left < GCB_SPAN ? left : GCB_SPAN;
}

/* Raw elements to convert to `out`, or to add to the arrays of `to`. */
struct raw_job {
    const struct gcb_addition *to;
    float *out;
    const uint8_t *raw;
    uint64_t count; /* elements */
    enum gcb_dtype source;
    const struct gcb_kernels *kernels;
};

/* Converts n elements from element `from` on. */
static inline void widen(const struct raw_job *job, float *out, uint64_t from, size_t n)
{
    const struct gcb_convert_fns *f = &job->kernels->convert;

    if (job->source == GCB_F16)
        f->from_fp16(out, job->raw + from * 2, n);
    else if (job->source == GCB_BF16)
        f->from_bf16(out, job->raw + from * 2, n);
    else
        memcpy(out, job->raw + from * sizeof(float), n * sizeof(float));
}

static void widen_span(void *ctx, uint64_t i)
{
    const struct raw_job *job = ctx;
    const uint64_t end = i * GCB_SPAN + gcb_span_length(job->count, i);
    _Alignas(64) float room[GCB_ROOM], *x;

    for (uint64_t at = i * GCB_SPAN, n; at < end; at += n) {
        n = gcb_room_length(job->count, end, at);
        x = gcb_room(room, job->out + at, job->count);
        widen(job, x, at, n);
        gcb_room_done(job->out + at, x, n);
    }
}

static void add_span(void *ctx, uint64_t i)
{
    const struct raw_job *job = ctx;
    const struct gcb_addition *to = job->to;
    const uint64_t end = i * GCB_SPAN + gcb_span_length(job->count, i);
    float tile[GCB_TILE];

    for (uint64_t at = i * GCB_SPAN; at < end; at += GCB_TILE) {
        const size_t n = gcb_tile_length(end, at);

        widen(job, tile, at, n);
        job->kernels->accumulate.add(to->acc + at, tile, n, to->weight);
        for (size_t k = 0; to->mask && k < n; k++)
            gcb_addition_mark(to, at + k, tile[k]);
    }
}

void gcb_widen(float *out, const void *raw, uint64_t count, enum gcb_dtype source,
               const struct gcb_kernels *kernels, const struct gcb_queue *queue)
{
    struct raw_job job = {NULL, out, raw, count, source, kernels};

    gcb_parallel(queue, gcb_span_count(count), widen_span, &job);
}

void gcb_add_raw(const struct gcb_addition *to, const void *raw, uint64_t count,
                 enum gcb_dtype source, const struct gcb_kernels *kernels,
                 const struct gcb_queue *queue)
{
    struct raw_job job = {to, NULL, raw, count, source, kernels};

    gcb_parallel(queue, gcb_span_count(count), add_span, &job);
}

int gcb_read_raw(const struct gcb_codec_env *env, enum gcb_dtype source, struct gcb_rbuf *in,
                 float *out, const struct gcb_addition *to)
{
    struct raw_job job = {to, out, NULL, env->count, source, env->kernels};

    job.raw = gcb_rbuf_take(in, env->count * (source == GCB_F32 ? sizeof(float) : 2));
    if (!job.raw || gcb_rbuf_left(in))
        return GCB_E_CORRUPT;
    gcb_parallel(env->queue, gcb_span_count(env->count), to ? add_span : widen_span, &job);
    return 0;
}

/* ---- passes over all elements ---- */

struct pass {
    const float *x;
    float *out;
    float weight;
    bool divides;   /* true: x / weight; false: weight * x */
    uint64_t count; /* elements */
    const struct gcb_kernels *kernels;
    uint32_t largest; /* bits of the largest magnitude so far */
};

static void weigh_span(void *ctx, uint64_t span)
{
    const struct pass *pass = ctx;
    const uint64_t from = span * GCB_SPAN, to = from + gcb_span_length(pass->count, span);

    if (pass->divides)
        for (uint64_t i = from; i < to; i++)
            pass->out[i] = pass->weight != 0.0f ? pass->x[i] / pass->weight : 0.0f;
    else
        for (uint64_t i = from; i < to; i++)
            pass->out[i] = pass->weight * pass->x[i];
}

void gcb_weigh(float *out, const float *x, float weight, uint64_t count,
               const struct gcb_queue *queue)
{
    struct pass pass = {.x = x, .out = out, .weight = weight, .count = count};

    gcb_parallel(queue, gcb_span_count(count), weigh_span, &pass);
}

void gcb_unweigh(float *out, const float *x, float weight, uint64_t count,
                 const struct gcb_queue *queue)
{
    struct pass pass = {.x = x, .out = out, .weight = weight, .divides = true, .count = count};

    gcb_parallel(queue, gcb_span_count(count), weigh_span, &pass);
}

void gcb_conclude_whole(uint64_t count, const float *x, const void *combined, float *update,
                        float *own)
{
    if (update && count)
        memcpy(update, combined, count * sizeof(*update));
    if (own && count)
        memcpy(own, x, count * sizeof(*own));
}

static void measure_span(void *ctx, uint64_t span)
{
    struct pass *pass = ctx;

    gcb_raise_max(&pass->largest,
                  pass->kernels->reduce.max_bits(pass->x + span * GCB_SPAN,
                                                 gcb_span_length(pass->count, span)));
}

uint32_t gcb_max_bits(const float *x, uint64_t count, const struct gcb_kernels *kernels,
                      const struct gcb_queue *queue)
{
    struct pass pass = {.x = x, .count = count, .kernels = kernels};

    gcb_parallel(queue, gcb_span_count(count), measure_span, &pass);
    return pass.largest;
}
