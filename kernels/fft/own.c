#include <string.h>

#include "kernels/fft/dct.h"
#include "kernels/fft/engine.h"
#include "src/lib/base/alloc.h"
#include "src/lib/base/queue.h"
#include "src/lib/base/status.h"

/* Chunks of at most this many elements are transformed by the steps of struct gcb_fft_steps, longer
 * chunks by those of struct gcb_fft_long. The bytes of messages depend on this number. */
#define LONGEST 8192

struct own {
    struct gcb_fft_need need;
    const struct gcb_fft_fns *fns;
    struct gcb_fft_fns plain; /* plain C, for callers that give no functions */
    int workers;
    struct gcb_fft_steps steps; /* if chunks have at most LONGEST elements */
    struct gcb_fft_long far;    /* if chunks are longer */
    void *tables;               /* of `steps` or `far` */
    float *rooms;               /* scratch of all workers */
    uint64_t room;              /* floats of one worker's scratch */
    /* the last chunk with its padding of zeros, or a long chunk between two passes; else NULL */
    float *chunk;
    float *rotation; /* twiddle factors of a long DCT; else NULL */
};

static bool is_long(const struct own *o)
{
    return o->need.length > LONGEST;
}

static void own_destroy(void *state)
{
    struct own *o = state;

    if (!o)
        return;
    gcb_free(o->tables);
    gcb_free(o->rooms);
    gcb_free(o->chunk);
    gcb_free(o->rotation);
    gcb_free(o);
}

/* Makes the tables; sets the number of workers and the size of their scratch. */
static int make_tables(struct own *o, bool dct)
{
    const uint64_t length = o->need.length, m = length / 2;

    o->tables = is_long(o) ? gcb_alloc_array(gcb_fft_long_tables(m), 1)
                           : gcb_alloc_array(gcb_fft_tables((uint32_t)m, dct), sizeof(float));
    if (!o->tables)
        return GCB_E_NOMEM;
    if (is_long(o)) {
        gcb_fft_long_fill(&o->far, m, o->tables);
        o->room = gcb_fft_room(o->far.rows.m, o->fns->lanes);
        o->workers = gcb_fft_workers(length, o->far.columns.m / o->fns->lanes, o->need.threads);
    } else {
        gcb_fft_steps_fill(&o->steps, (uint32_t)m, dct, o->tables);
        o->room = gcb_fft_room((uint32_t)m, o->fns->lanes);
        o->workers = gcb_fft_workers(length * o->need.chunks, o->need.chunks, o->need.threads);
    }
    return 0;
}

/* Makes all tables and scratch. On failure the caller destroys *o. */
static int take_memory(struct own *o)
{
    const size_t length = o->need.length;
    const bool dct = o->need.kind == GCB_FFT_DCT;
    const int err = make_tables(o, dct);

    if (err)
        return err;
    o->rooms = gcb_alloc_array(o->room * (uint64_t)o->workers, sizeof(float));
    if (!o->rooms)
        return GCB_E_NOMEM;
    if (is_long(o) || o->need.zeros) {
        o->chunk = gcb_alloc_huge(length + 2, sizeof(float));
        if (!o->chunk)
            return GCB_E_NOMEM;
    }
    if (is_long(o) && dct) {
        o->rotation = gcb_alloc_array(length + 2, sizeof(float));
        if (!o->rotation)
            return GCB_E_NOMEM;
        dct_twiddles(o->rotation, length, o->need.inverse ? 1.0f : 2.0f);
    }
    return 0;
}

static int own_create(void **state, const struct gcb_fft_need *need)
{
    struct own *o = gcb_alloc_zero(1, sizeof(*o));

    *state = o;
    if (!o)
        return GCB_E_NOMEM;
    o->need = *need;
    gcb_fft_init(&o->plain, 0);
    o->fns = need->fns ? need->fns : &o->plain;
    return take_memory(o);
}

/* The arguments of a worker's function. */
struct call {
    struct own *o;
    const float *in;
    float *out;
    float *bins;    /* transform_share: written from `in`, or read to make `out` */
    bool rows;      /* pass_share: true in the second pass */
    uint64_t given; /* pass_share: floats that `in` has in the first pass, `out` in the second */
};

/* Runs task(call, worker) for each worker, in parallel. */
static void parallel(struct call *call, void (*task)(void *ctx, uint64_t worker))
{
    gcb_parallel(&(struct gcb_queue){.threads = call->o->workers}, (uint64_t)call->o->workers, task,
                 call);
}

/* ---- chunks of at most LONGEST elements ---- */

/* The `spare` of gcb_fft_forward_fn and gcb_fft_inverse_fn. If all lanes have chunks and the bins
 * are aligned, it is the memory of the bins, because the second-level cache has hardly room for
 * more. */
static float *spare_room(const struct own *o, const struct gcb_fft_chunks *which, float *bins)
{
    return which->count == o->fns->lanes && (uintptr_t)bins % 64 == 0
               ? bins
               : o->rooms + o->room * which->worker + o->room / 2;
}

/* True if the chunks of `which` end with a last chunk that the tensor fills only in part. Then
 * o->chunk takes the place of that chunk. */
static bool lacks_elements(const struct gcb_fft_need *need, const struct gcb_fft_chunks *which)
{
    return need->zeros && which->first + (which->count - 1) * which->apart + 1 == need->chunks;
}

/* If the chunks fill at most half of the lanes, they are transformed one by one, which is faster
 * then. */
static void own_forward_chunks(void *state, const float *in, const struct gcb_fft_chunks *which,
                               float *bins)
{
    struct own *o = state;
    const struct gcb_fft_need *need = &o->need;
    const bool dct = need->kind == GCB_FFT_DCT;
    const unsigned count = which->count;
    float *room = o->rooms + o->room * which->worker;
    const float *x[GCB_FFT_LANES];
    float *y[GCB_FFT_LANES];

    for (unsigned c = 0; c < GCB_FFT_LANES; c++) {
        x[c] = in + (which->first + (c < count ? c : 0) * which->apart) * need->length;
        y[c] = bins + (c < count ? c : 0) * which->pitch;
    }
    if (lacks_elements(need, which)) {
        const size_t given = (size_t)(need->length - need->zeros);

        memcpy(o->chunk, x[count - 1], given * sizeof(float));
        memset(o->chunk + given, 0, need->zeros * sizeof(float));
        x[count - 1] = o->chunk;
    }
    if (2 * count > o->fns->lanes)
        o->fns->forward(&o->steps, x, y, count, dct, room, spare_room(o, which, bins));
    else
        for (unsigned c = 0; c < count; c++)
            o->fns->forward_one(&o->steps, x[c], y[c], dct, room);
}

static void own_inverse_chunks(void *state, float *bins, const struct gcb_fft_chunks *which,
                               float *out)
{
    struct own *o = state;
    const struct gcb_fft_need *need = &o->need;
    const bool dct = need->kind == GCB_FFT_DCT;
    const unsigned count = which->count;
    float *room = o->rooms + o->room * which->worker;
    const float *y[GCB_FFT_LANES];
    float *x[GCB_FFT_LANES], *last;

    for (unsigned c = 0; c < GCB_FFT_LANES; c++) {
        y[c] = bins + (c < count ? c : 0) * which->pitch;
        x[c] = out + (which->first + (c < count ? c : 0)) * need->length;
    }
    last = x[count - 1];
    if (lacks_elements(need, which))
        x[count - 1] = o->chunk;
    if (2 * count > o->fns->lanes)
        o->fns->inverse(&o->steps, y, x, count, dct, room, spare_room(o, which, bins));
    else
        for (unsigned c = 0; c < count; c++)
            o->fns->inverse_one(&o->steps, y[c], x[c], dct, room);
    if (x[count - 1] != last)
        memcpy(last, o->chunk, (size_t)(need->length - need->zeros) * sizeof(float));
}

static void transform_share(void *ctx, uint64_t worker)
{
    const struct call *call = ctx;
    struct own *o = call->o;
    const uint64_t workers = (uint64_t)o->workers;
    const uint64_t end = gcb_fft_first(o->need.chunks, worker + 1, workers);
    struct gcb_fft_chunks which = {
        .first = gcb_fft_first(o->need.chunks, worker, workers), .apart = 1, .worker = worker};

    which.pitch = gcb_fft_floats(o->need.kind, o->need.length);
    for (; which.first < end; which.first += o->fns->lanes) {
        const uint64_t left = end - which.first;
        float *bins = call->bins + which.first * which.pitch;

        which.count = left < o->fns->lanes ? (unsigned)left : o->fns->lanes;
        if (o->need.inverse)
            own_inverse_chunks(o, bins, &which, call->out);
        else
            own_forward_chunks(o, call->in, &which, bins);
    }
}

/* ---- long transforms ---- */

/* Transforms a worker's share of the columns or, if call->rows, of the rows. */
static void pass_share(void *ctx, uint64_t worker)
{
    const struct call *call = ctx;
    struct own *o = call->o;
    const uint64_t lanes = o->fns->lanes, workers = (uint64_t)o->workers;
    const uint64_t all = call->rows ? o->far.columns.m : o->far.rows.m;
    const uint64_t groups = (all + lanes - 1) / lanes;
    const uint64_t end = gcb_fft_first(groups, worker + 1, workers);
    float *room = o->rooms + o->room * worker;

    for (uint64_t g = gcb_fft_first(groups, worker, workers); g < end; g++)
        if (call->rows)
            o->fns->rows(&o->far, call->in, call->out, call->given, o->need.inverse,
                         (uint32_t)(g * lanes), room);
        else
            o->fns->columns(&o->far, call->in, call->given, call->out, (uint32_t)(g * lanes), room);
}

/* Splits or joins a worker's share of the pairs k and m - k, in spans of 16. What the first span
 * writes for k = 0 is replaced afterwards (long_split, long_join). */
static void pairs_share(void *ctx, uint64_t worker)
{
    const struct call *call = ctx;
    struct own *o = call->o;
    const uint64_t all = (o->far.m + 1) / 2, spans = all / GCB_FFT_LANES + 1;
    const uint64_t workers = (uint64_t)o->workers;
    const uint64_t from = gcb_fft_first(spans, worker, workers) * GCB_FFT_LANES;
    const uint64_t end = gcb_fft_first(spans, worker + 1, workers) * GCB_FFT_LANES;

    (o->need.inverse ? o->fns->join : o->fns->split)(&o->far, call->out, from,
                                                     end < all ? end : all);
}

/* Does a complex DFT of m numbers: columns, then rows. `in` has `given` floats, `out` gets `wanted`
 * floats; `between` has room for m numbers. For an inverse, swaps the parts of the results. */
static void long_dft(struct own *o, const float *in, uint64_t given, float *between, float *out,
                     uint64_t wanted)
{
    parallel(&(struct call){.o = o, .in = in, .out = between, .given = given}, pass_share);
    parallel(&(struct call){.o = o, .in = between, .out = out, .rows = true, .given = wanted},
             pass_share);
}

/* Makes m + 1 bins of a real DFT from m numbers, in place. */
static void long_split(struct own *o, float *bins)
{
    const uint64_t m = o->far.m;
    const float re = bins[0], im = bins[1];

    bins[2 * m] = bins[2 * m + 1] = 0.0f;
    parallel(&(struct call){.o = o, .out = bins}, pairs_share);
    bins[0] = re + im;
    bins[2 * m] = re - im;
    bins[1] = bins[2 * m + 1] = 0.0f;
    if (m % 2 == 0)
        bins[m + 1] = -bins[m + 1];
}

/* Makes m numbers, times two and with their parts swapped, from m + 1 bins, in place. */
static void long_join(struct own *o, float *bins)
{
    const uint64_t m = o->far.m;
    const float first = bins[0], last = bins[2 * m], re = bins[m], im = bins[m + 1];

    parallel(&(struct call){.o = o, .out = bins}, pairs_share);
    bins[0] = first - last;
    bins[1] = first + last;
    if (m % 2 == 0) {
        bins[m] = -2.0f * im;
        bins[m + 1] = 2.0f * re;
    }
}

static void long_forward(struct own *o, const float *x, uint64_t given, float *bins)
{
    const uint64_t length = o->need.length;

    if (o->need.kind == GCB_FFT_REAL) {
        long_dft(o, x, given, o->chunk, bins, length);
        long_split(o, bins);
        return;
    }
    dct_fold(o->chunk, x, given, length);
    long_dft(o, o->chunk, length, bins, o->chunk, length);
    long_split(o, o->chunk);
    dct_rotate(bins, o->chunk, o->rotation, length);
}

static void long_inverse(struct own *o, float *bins, float *x, uint64_t given)
{
    const uint64_t length = o->need.length;

    if (o->need.kind == GCB_FFT_REAL) {
        long_join(o, bins);
        long_dft(o, bins, length, o->chunk, x, given);
        return;
    }
    dct_unrotate(o->chunk, bins, o->rotation, length);
    long_join(o, o->chunk);
    long_dft(o, o->chunk, length, bins, o->chunk, length);
    dct_unfold(x, o->chunk, given, length);
}

/* ---- the engine ---- */

/* Transforms `in` to bins or, in an inverse, bins to `out`. An inverse may overwrite bins. */
static void transform_all(struct own *o, const float *in, float *bins, float *out)
{
    const uint64_t length = o->need.length, floats = gcb_fft_floats(o->need.kind, length);

    if (!is_long(o))
        parallel(&(struct call){.o = o, .in = in, .bins = bins, .out = out}, transform_share);
    else
        for (uint64_t c = 0; c < o->need.chunks; c++)
            if (o->need.inverse)
                long_inverse(o, bins + c * floats, out + c * length, gcb_fft_given(&o->need, c));
            else
                long_forward(o, in + c * length, gcb_fft_given(&o->need, c), bins + c * floats);
}

static void own_forward(void *state, const float *x, float *bins)
{
    transform_all(state, x, bins, NULL);
}

static void own_inverse(void *state, float *bins, float *x)
{
    transform_all(state, NULL, bins, x);
}

static unsigned own_group(const void *state, unsigned *workers)
{
    const struct own *o = state;

    *workers = (unsigned)o->workers;
    return is_long(o) ? 0 : o->fns->lanes;
}

const struct gcb_fft_engine_ops *gcb_fft_own(void)
{
    static const struct gcb_fft_engine_ops ops = {
        .create = own_create,
        .destroy = own_destroy,
        .forward = own_forward,
        .inverse = own_inverse,
        .group = own_group,
        .forward_chunks = own_forward_chunks,
        .inverse_chunks = own_inverse_chunks,
    };

    return &ops;
}
