#include <math.h>

#include "kernels/cuda/align.h"
#include "kernels/hadamard/hadamard_cuda.h"
#include "src/lib/base/alloc.h"
#include "src/lib/device/module/sparse.h"
#include "src/lib/device/module/table.h"
#include "src/lib/sparse/transform.h"

void *gcb_device_take(uint8_t *scratch, uint64_t *end, uint64_t bytes)
{
    const uint64_t from = *end;

    *end += gcb_cuda_align256(bytes);
    return scratch ? scratch + from : NULL;
}

struct gcb_device_input gcb_device_part(const struct gcb_device_input *in, uint64_t from,
                                        uint64_t count)
{
    struct gcb_device_input part = *in;

    part.x += from;
    part.n = count;
    if (in->residual)
        part.residual += from;
    return part;
}

/* ---- fft and dct: runs, tables and plans ---- */

/* How a run is transformed. Only the run of whole chunks can be BLOCK. */
static enum gcb_device_way way_of(const struct gcb_device_sparse *s,
                                  const struct gcb_device_run *run)
{
    const uint64_t length = run->length;
    const bool power_of_two = (length & (length - 1)) == 0;

    if (length > GCB_DEVICE_FFT_MOST || !gcb_fft_is_own(length))
        return GCB_WAY_LIBRARY;
    if (run == s->runs && length >= GCB_CUDA_FFT_BLOCK_LEAST && power_of_two)
        return GCB_WAY_BLOCK;
    return GCB_WAY_STEPS;
}

/* Bytes of a run's table; 0 if it needs none. */
static uint64_t table_bytes(const struct gcb_device_run *run, bool dct)
{
    if (run->count == 0)
        return 0;
    if (run->way == GCB_WAY_STEPS)
        return gcb_fft_tables((uint32_t)(run->length / 2), dct) * sizeof(float);
    if (run->way == GCB_WAY_LIBRARY)
        return dct ? gcb_cuda_dct_from_fft_bytes(run->length) : 0;
    return (dct ? gcb_cuda_dct_block_bytes : gcb_cuda_fft_block_bytes)(run->length);
}

static void fill_table(const struct gcb_device_run *run, bool dct, void *table)
{
    struct gcb_fft_steps here;

    if (table_bytes(run, dct) == 0)
        return;
    if (run->way == GCB_WAY_STEPS)
        gcb_fft_steps_fill(&here, (uint32_t)(run->length / 2), dct, table);
    else if (run->way == GCB_WAY_LIBRARY)
        gcb_cuda_dct_from_fft_table(table, run->length);
    else
        (dct ? gcb_cuda_dct_block_table : gcb_cuda_fft_block_table)(table, run->length);
}

/* Makes the tables of both runs in host memory, and copies them to the device. */
static int make_tables(struct gcb_device_sparse *s, bool dct, struct gcb_diag *diag)
{
    const uint64_t at[] = {0, gcb_cuda_align256(table_bytes(&s->runs[0], dct))};
    const uint64_t bytes = at[1] + table_bytes(&s->runs[1], dct);
    uint8_t *tables;
    int err;

    if (bytes == 0)
        return 0;
    tables = gcb_alloc_array(bytes, 1);
    if (!tables)
        return gcb_diag_nomem(diag, bytes, "tables of a transform");
    for (unsigned i = 0; i < 2; i++)
        fill_table(&s->runs[i], dct, tables + at[i]);
    err = gcb_cuda_table_create(&s->table, tables, bytes, diag);
    gcb_free(tables);
    for (unsigned i = 0; i < 2 && !err; i++) {
        struct gcb_device_run *run = &s->runs[i];

        run->table = (const uint8_t *)s->table + at[i];
        run->steps.chunks = run->count / (run->length ? run->length : 1);
        if (run->count && run->way == GCB_WAY_STEPS)
            gcb_fft_steps_lay_out(&run->steps.steps, (uint32_t)(run->length / 2), dct, run->table);
    }
    return err;
}

const struct gcb_device_run *gcb_device_library_run(const struct gcb_device_sparse *s)
{
    return &s->runs[s->runs[0].way != GCB_WAY_LIBRARY];
}

int gcb_device_plan(struct gcb_device_sparse *s, const struct gcb_codec_env *env, bool dct,
                    struct gcb_diag *diag)
{
    const uint64_t n = s->p.t.length, length = s->p.chunk == 0 || s->p.chunk > n ? n : s->p.chunk;
    const unsigned ways = (env->decoding ? 0 : GCB_CUDA_FFT_FORWARD) |
                          (env->decoding || env->feedback ? GCB_CUDA_FFT_INVERSE : 0);
    uint64_t count = 0; /* number of elements in LIBRARY runs */
    int err = 0;

    s->runs[0] = (struct gcb_device_run){.count = n - n % length, .length = length};
    s->runs[1] =
        (struct gcb_device_run){.first = n - n % length, .count = n % length, .length = n % length};
    for (unsigned i = 0; i < 2; i++) {
        s->runs[i].way = way_of(s, &s->runs[i]);
        count += s->runs[i].way == GCB_WAY_LIBRARY ? s->runs[i].count : 0;
    }
    if (count)
        err = gcb_cuda_fft_create(&s->fft, count, gcb_device_library_run(s)->length, ways,
                                  dct ? "dct" : "fft", diag);
    return err ? err : make_tables(s, dct, diag);
}

void gcb_device_plan_fini(struct gcb_device_sparse *s)
{
    gcb_cuda_fft_destroy(s->fft);
    gcb_cuda_table_destroy(s->table);
}

/* ---- hadamard: the coefficients are at the beginning of the scratch, in both directions ---- */

static uint64_t hadamard_length(const struct gcb_device_sparse *s)
{
    return gcb_hadamard_length(s->p.t.env.count, s->p.chunk);
}

static float hadamard_unitary(const struct gcb_device_sparse *s)
{
    return (float)(1.0 / sqrt((double)hadamard_length(s)));
}

static int hadamard_init(struct gcb_device_sparse *s, const struct gcb_codec_env *env,
                         struct gcb_diag *diag)
{
    if (s->p.chunk & (s->p.chunk - 1))
        return gcb_invalid(diag, "transform=hadamard needs a chunk that is a power of two, or 0");
    return 0;
}

static uint64_t hadamard_scratch(const struct gcb_device_sparse *s)
{
    return s->p.t.env.count * sizeof(float);
}

/* Offset of the side bytes in the payload: after the count of kept positions. */
static uint64_t side_at(const struct gcb_device_sparse *s)
{
    return s->p.t.env.count ? GCB_CUDA_KEPT_BYTES : 0;
}

static int hadamard_forward(const struct gcb_device_sparse *s, const struct gcb_device_input *in,
                            const float **order, const struct gcb_device_work *w)
{
    float *coef = (float *)(void *)w->scratch;
    const uint64_t key = s->p.t.env.count ? gcb_hadamard_key(&s->p.t.env, w->call->at.step) : 0;

    *order = coef;
    return gcb_cuda_hadamard_forward(w->call->stream, coef, in, hadamard_length(s), key,
                                     w->out + side_at(s), w->call->result_dev);
}

static int hadamard_gather(const struct gcb_device_sparse *s, struct gcb_cuda_chosen *chosen,
                           const struct gcb_device_work *w)
{
    return gcb_cuda_scale_chosen(w->call->stream, chosen, 0, hadamard_unitary(s));
}

static int hadamard_inverse(const struct gcb_device_sparse *s, float *out,
                            const struct gcb_device_work *w)
{
    const struct gcb_cuda_hadamard_inversion how = {hadamard_length(s), hadamard_unitary(s),
                                                    w->payload + side_at(s), w->from};

    return gcb_cuda_hadamard_inverse(w->call->stream, out, (float *)(void *)w->scratch,
                                     s->p.t.env.count, &how);
}

static const struct gcb_device_transform none = {.init = NULL};

static const struct gcb_device_transform hadamard = {
    .init = hadamard_init,
    .scratch = hadamard_scratch,
    .forward = hadamard_forward,
    .gather = hadamard_gather,
    .inverse = hadamard_inverse,
};

const struct gcb_device_transform *const gcb_device_transforms[GCB_TRANSFORMS] = {
    [GCB_TRANSFORM_NONE] = &none,
    [GCB_TRANSFORM_FFT] = &gcb_device_fft,
    [GCB_TRANSFORM_DCT] = &gcb_device_dct,
    [GCB_TRANSFORM_HADAMARD] = &hadamard,
};
