#include <math.h>

#include "kernels/cuda/align.h"
#include "kernels/fft/fft.h"
#include "kernels/memory/memory_cuda.h"
#include "src/lib/base/alloc.h"
#include "src/lib/device/module/sparse.h"
#include "src/lib/device/module/table.h"

/* Layout of the scratch: first the coefficients of the tiles that need them, in the same place as
 * the folded elements. If cuFFT is used, its bins and its own memory follow. */
struct layout {
    float *coef, *bins;
    void *work;
    uint64_t bytes;
};

/* True if whole chunks are transformed in shared memory. Then the inverse needs none of their
 * coefficients in memory. The forward transform needs none either if dct_fuses is true. */
static bool is_short(const struct gcb_device_sparse *s)
{
    return s->dct_way == GCB_DCT_SHORT && s->dct.count != 0;
}

static bool dct_fuses(const struct gcb_device_sparse *s)
{
    return is_short(s) && s->dct.length == GCB_CUDA_DCT_BLOCK_MOST &&
           gcb_device_chunks(&s->p).length == s->dct.length;
}

/* The first tile of positions that contains a part of the shorter last chunk. */
static uint64_t rest_tile(const struct gcb_device_sparse *s)
{
    return is_short(s) ? s->dct.count / GCB_TILE : 0;
}

static struct layout lay_out(const struct gcb_device_sparse *s, uint8_t *scratch)
{
    const bool all = !(s->p.t.env.decoding ? is_short(s) : dct_fuses(s));
    const uint64_t coefficients = s->p.t.length - (all ? 0 : rest_tile(s) * GCB_TILE);
    struct layout l = {.bytes = 0};

    l.coef = gcb_device_take(scratch, &l.bytes, coefficients * sizeof(float));
    if (!s->fft)
        return l;
    l.bins = gcb_device_take(scratch, &l.bytes,
                             2 * gcb_fft_bins(s->p.t.length, s->p.chunk) * sizeof(float));
    l.work = gcb_device_take(scratch, &l.bytes, gcb_cuda_fft_work(s->fft));
    return l;
}

/* ---- plans and tables ---- */

struct table {
    uint64_t (*bytes)(uint64_t length);
    void (*fill)(void *table, uint64_t length);
};

static const struct table tables[] = {
    [GCB_DCT_SHORT] = {gcb_cuda_dct_block_bytes, gcb_cuda_dct_block_table},
    [GCB_DCT_DIRECT] = {gcb_cuda_dct_sums_bytes, gcb_cuda_dct_sums_table},
    [GCB_DCT_LONG] = {gcb_cuda_dct_from_fft_bytes, gcb_cuda_dct_from_fft_table},
};

/* Up to this length, direct cosine sums are fast enough. */
#define FEW_ELEMENTS 64

static enum gcb_device_dct_way way_of(uint64_t count, uint64_t length)
{
    if (length > GCB_CUDA_DCT_BLOCK_MOST)
        return GCB_DCT_LONG;
    if (length >= GCB_CUDA_DCT_BLOCK_LEAST && (length & (length - 1)) == 0)
        return GCB_DCT_SHORT;
    return length <= FEW_ELEMENTS || count < 2 * length ? GCB_DCT_DIRECT : GCB_DCT_LONG;
}

/* How the shorter last chunk is transformed. It has a cuFFT plan only if the whole chunks have
 * one. */
static enum gcb_device_dct_way rest_way(const struct gcb_device_sparse *s)
{
    return s->dct_way == GCB_DCT_LONG ? GCB_DCT_LONG : GCB_DCT_DIRECT;
}

static int make_tables(struct gcb_device_sparse *s, struct gcb_diag *diag)
{
    const struct table *whole = &tables[s->dct_way], *rest = &tables[rest_way(s)];
    const uint64_t first = gcb_cuda_align256(whole->bytes(s->dct.length));
    const uint64_t bytes = first + (s->dct_rest.count ? rest->bytes(s->dct_rest.length) : 0);
    uint8_t *table = gcb_alloc_array(bytes, 1);
    int err;

    if (!table)
        return gcb_diag_nomem(diag, bytes, "tables of a transform");
    whole->fill(table, s->dct.length);
    if (s->dct_rest.count)
        rest->fill(table + first, s->dct_rest.length);
    err = gcb_cuda_table_create(&s->table, table, bytes, diag);
    gcb_free(table);
    s->dct.table = s->table;
    s->dct_rest.table = (const uint8_t *)s->table + first;
    return err;
}

static int dct_init(struct gcb_device_sparse *s, const struct gcb_codec_env *env,
                    struct gcb_diag *diag)
{
    const uint64_t n = s->p.t.length, length = s->p.chunk == 0 || s->p.chunk > n ? n : s->p.chunk;
    const float unitary = (float)(1.0 / sqrt(2.0 * (double)length));
    int err = 0;

    if (n == 0)
        return 0;
    s->dct = (struct gcb_cuda_dct){
        .count = n - n % length, .length = length, .scale = 1.0f, .unitary = unitary};
    s->dct_rest = (struct gcb_cuda_dct){
        .count = n % length, .length = n % length, .scale = 1.0f, .unitary = unitary};
    if (n % length)
        s->dct_rest.scale = (float)sqrt((double)length / (double)(n % length));
    s->dct_way = way_of(n, length);
    if (s->dct_way == GCB_DCT_LONG)
        err = gcb_cuda_fft_create(&s->fft, n, length, gcb_device_fft_ways(env), "dct", diag);
    return err ? err : make_tables(s, diag);
}

static void dct_fini(struct gcb_device_sparse *s)
{
    gcb_cuda_fft_destroy(s->fft);
    gcb_cuda_table_destroy(s->table);
}

static uint64_t dct_scratch(const struct gcb_device_sparse *s)
{
    return lay_out(s, NULL).bytes;
}

/* ---- steps before and after cuFFT ---- */

/* The number of floats in the bins of all whole chunks. */
static uint64_t whole_bins(const struct gcb_device_sparse *s)
{
    return 2 * (s->dct.count / s->dct.length * (s->dct.length / 2 + 1));
}

static int long_forward(const struct gcb_device_sparse *s, const struct layout *l,
                        const struct gcb_device_input *in, const struct gcb_device_call *call)
{
    struct gcb_device_stream *stream = call->stream;
    const uint64_t whole = s->dct.count;

    gcb_cuda_memory_compensate(stream, in);
    gcb_cuda_dct_fold(stream, l->coef, in->x, &s->dct);
    if (s->dct_rest.count)
        gcb_cuda_dct_fold(stream, l->coef + whole, in->x + whole, &s->dct_rest);
    gcb_cuda_fft_forward(stream, s->fft, l->bins, l->coef, l->work);
    gcb_cuda_dct_rotate(stream, l->coef, l->bins, &s->dct, call->result_dev);
    if (s->dct_rest.count)
        gcb_cuda_dct_rotate(stream, l->coef + whole, l->bins + whole_bins(s), &s->dct_rest,
                            call->result_dev);
    return gcb_cuda_status(stream);
}

/* array + first, or NULL if there is no array. */
static const float *part_of(const float *array, uint64_t first)
{
    return array ? array + first : NULL;
}

static int long_inverse(const struct gcb_device_sparse *s, const struct layout *l, float *out,
                        const struct gcb_device_work *w)
{
    struct gcb_device_stream *stream = w->call->stream;
    const uint64_t whole = s->dct.count;

    gcb_cuda_dct_unrotate(stream, l->bins, l->coef, &s->dct);
    if (s->dct_rest.count)
        gcb_cuda_dct_unrotate(stream, l->bins + whole_bins(s), l->coef + whole, &s->dct_rest);
    gcb_cuda_fft_inverse(stream, s->fft, l->coef, l->bins, l->work);
    gcb_cuda_dct_unfold(stream, out, l->coef, w->from, &s->dct);
    if (s->dct_rest.count)
        gcb_cuda_dct_unfold(stream, out + whole, l->coef + whole, part_of(w->from, whole),
                            &s->dct_rest);
    return gcb_cuda_status(stream);
}

/* ---- the stage ---- */

/* Transforms by direct cosine sums. They read each element many times, so error feedback is added
 * before. */
static int direct_forward(const struct gcb_cuda_dct *d, float *coef,
                          const struct gcb_device_input *in, const struct gcb_device_call *call)
{
    gcb_cuda_memory_compensate(call->stream, in);
    return gcb_cuda_dct_sums_forward(call->stream, coef, in->x, d, call->result_dev);
}

static int dct_forward(const struct gcb_device_sparse *s, const struct gcb_device_input *in,
                       const float **order, const struct gcb_device_work *w)
{
    const struct layout l = lay_out(s, w->scratch);
    const uint64_t whole = s->dct.count;
    struct gcb_device_input first = gcb_device_part(in, 0, whole);
    struct gcb_device_input rest = gcb_device_part(in, whole, s->dct_rest.count);

    *order = l.coef;
    if (s->fft)
        return long_forward(s, &l, in, w->call);
    if (!is_short(s)) { /* in one call, because the rest may not be aligned to 16 bytes */
        gcb_cuda_memory_compensate(w->call->stream, in);
        first.compensated = rest.compensated = 1;
    }
    if (is_short(s))
        gcb_cuda_dct_block_forward(w->call->stream, l.coef, &first, &s->dct, w->call->result_dev);
    else if (whole)
        direct_forward(&s->dct, l.coef, &first, w->call);
    if (s->dct_rest.count)
        direct_forward(&s->dct_rest, l.coef + whole, &rest, w->call);
    return gcb_cuda_status(w->call->stream);
}

static int dct_gather(const struct gcb_device_sparse *s, struct gcb_cuda_chosen *chosen,
                      const struct gcb_device_work *w)
{
    return gcb_cuda_scale_chosen(w->call->stream, chosen, 0, s->dct.unitary);
}

static int dct_choose(const struct gcb_device_sparse *s, const struct gcb_device_input *in,
                      struct gcb_cuda_chosen *chosen, const struct gcb_device_work *w)
{
    struct gcb_device_stream *stream = w->call->stream;
    struct gcb_cuda_chunks cut = gcb_device_chunks(&s->p);
    const struct layout l = lay_out(s, w->scratch);
    const struct gcb_device_input first = gcb_device_part(in, 0, s->dct.count);
    const struct gcb_device_input rest = gcb_device_part(in, s->dct.count, s->dct_rest.count);
    const struct gcb_device_input coef = gcb_device_plain(l.coef, rest.n);

    gcb_cuda_dct_select(stream, chosen, &first, &s->dct, &cut, w->call->result_dev);
    if (s->dct_rest.count) {
        cut.first = s->dct.count / s->dct.length;
        direct_forward(&s->dct_rest, l.coef, &rest, w->call);
        gcb_cuda_select_chunks(stream, chosen, &coef, &cut);
        gcb_cuda_scale_chosen(stream, chosen, cut.first * cut.k, s->dct.unitary);
    }
    return gcb_cuda_status(stream);
}

/* Transforms the shorter last chunk back. First fills in its coefficients if whole chunks are
 * transformed in shared memory. */
static int rest_inverse(const struct gcb_device_sparse *s, const struct layout *l, float *out,
                        const struct gcb_device_work *w)
{
    struct gcb_device_stream *stream = w->call->stream;
    const uint64_t whole = s->dct.count, tile = rest_tile(s);

    if (is_short(s))
        gcb_cuda_fill(stream, l->coef, w->kept, tile);
    return gcb_cuda_dct_sums_inverse(stream, out + whole, l->coef + (whole - tile * GCB_TILE),
                                     part_of(w->from, whole), &s->dct_rest);
}

static int dct_inverse(const struct gcb_device_sparse *s, float *out,
                       const struct gcb_device_work *w)
{
    const struct layout l = lay_out(s, w->scratch);
    struct gcb_device_stream *stream = w->call->stream;

    if (s->fft)
        return long_inverse(s, &l, out, w);
    if (is_short(s))
        gcb_cuda_dct_block_inverse(stream, out, w->kept, w->from, &s->dct);
    else if (s->dct.count)
        gcb_cuda_dct_sums_inverse(stream, out, l.coef, w->from, &s->dct);
    return s->dct_rest.count ? rest_inverse(s, &l, out, w) : gcb_cuda_status(stream);
}

const struct gcb_device_transform gcb_device_dct = {
    .init = dct_init,
    .fini = dct_fini,
    .scratch = dct_scratch,
    .forward = dct_forward,
    .gather = dct_gather,
    .fuses = dct_fuses,
    .choose = dct_choose,
    .lists = is_short,
    .inverse = dct_inverse,
};
