#include <math.h>

#include "kernels/memory/memory_cuda.h"
#include "src/lib/device/module/sparse.h"

/* Layout of the scratch. */
struct layout {
    float *coef; /* coefficients; in LIBRARY runs also elements in the order that cuFFT gets */
    float *bins; /* LIBRARY runs: cuFFT's bins */
    void *work;  /* cuFFT's memory */
    uint64_t bytes;
};

/* True if the whole chunks are a BLOCK run. Then the inverse needs none of their coefficients in
 * memory. If dct_fuses is true too, the forward transform needs none either. */
static bool has_block_run(const struct gcb_device_sparse *s)
{
    return s->runs[0].way == GCB_WAY_BLOCK && s->runs[0].count != 0;
}

static bool dct_fuses(const struct gcb_device_sparse *s)
{
    return has_block_run(s) && s->runs[0].length == GCB_CUDA_DCT_BLOCK_MOST &&
           gcb_device_chunks(&s->p).length == s->runs[0].length;
}

/* The first tile of coefficients that rest_inverse reads: after a BLOCK run, the tile where the
 * shorter last chunk begins; otherwise tile 0. */
static uint64_t rest_tile(const struct gcb_device_sparse *s)
{
    return has_block_run(s) ? s->runs[0].count / GCB_TILE : 0;
}

/* Number of floats in the bins of a run; only a LIBRARY run has bins. */
static uint64_t bins_of(const struct gcb_device_run *run)
{
    return run->count && run->way == GCB_WAY_LIBRARY
               ? run->count / run->length * 2 * (run->length / 2 + 1)
               : 0;
}

static struct layout lay_out(const struct gcb_device_sparse *s, uint8_t *scratch)
{
    const bool all = !(s->p.t.env.decoding ? has_block_run(s) : dct_fuses(s));
    const uint64_t coefficients = s->p.t.length - (all ? 0 : rest_tile(s) * GCB_TILE);
    struct layout l = {.bytes = 0};

    l.coef = gcb_device_take(scratch, &l.bytes, coefficients * sizeof(float));
    if (!s->fft)
        return l;
    l.bins = gcb_device_take(scratch, &l.bytes,
                             (bins_of(&s->runs[0]) + bins_of(&s->runs[1])) * sizeof(float));
    l.work = gcb_device_take(scratch, &l.bytes, gcb_cuda_fft_work(s->fft));
    return l;
}

static int dct_init(struct gcb_device_sparse *s, const struct gcb_codec_env *env,
                    struct gcb_diag *diag)
{
    const struct gcb_device_run *whole = &s->runs[0];
    int err;

    if (s->p.t.length == 0)
        return 0;
    err = gcb_device_plan(s, env, true, diag);
    for (unsigned i = 0; i < 2; i++) {
        struct gcb_device_run *run = &s->runs[i];

        s->dct[i] = (struct gcb_cuda_dct){
            .count = run->count,
            .length = run->length,
            .scale = 1.0f,
            .unitary = (float)(1.0 / sqrt(2.0 * (double)whole->length)),
            .table = run->table,
        };
        if (i && run->count)
            s->dct[i].scale = (float)sqrt((double)whole->length / (double)run->length);
        run->steps.scale = s->dct[i].scale;
        run->steps.unitary = s->dct[i].unitary;
    }
    return err;
}

static uint64_t dct_scratch(const struct gcb_device_sparse *s)
{
    return lay_out(s, NULL).bytes;
}

/* ---- STEPS and LIBRARY runs ---- */

/* Number of floats in the bins before those of run 0 or 1. */
static uint64_t bins_before(const struct gcb_device_sparse *s, unsigned run)
{
    return run ? bins_of(&s->runs[0]) : 0;
}

/* Transforms the elements of STEPS and LIBRARY runs to coefficients. x[0] is element 0 of the
 * message, and coef[0] is coefficient number `before`. The caller has added error feedback to the
 * elements. */
static int rest_forward(const struct gcb_device_sparse *s, float *coef, uint64_t before,
                        const float *x, const struct gcb_device_work *w)
{
    const struct layout l = lay_out(s, w->scratch);
    const struct gcb_device_run *library = gcb_device_library_run(s);
    struct gcb_device_stream *stream = w->call->stream;

    for (unsigned i = 0; i < 2; i++) {
        const struct gcb_device_run *run = &s->runs[i];

        if (run->count && run->way == GCB_WAY_STEPS)
            gcb_cuda_steps_forward(stream, coef + (run->first - before), x + run->first,
                                   &run->steps, w->call->result_dev);
        else if (bins_of(run))
            gcb_cuda_dct_fold(stream, coef + (run->first - before), x + run->first, &s->dct[i]);
    }
    if (!s->fft)
        return gcb_cuda_status(stream);
    gcb_cuda_fft_forward(stream, s->fft, l.bins, coef + (library->first - before), l.work);
    for (unsigned i = 0; i < 2; i++)
        if (bins_of(&s->runs[i]))
            gcb_cuda_dct_rotate(stream, coef + (s->runs[i].first - before),
                                l.bins + bins_before(s, i), &s->dct[i], w->call->result_dev);
    return gcb_cuda_status(stream);
}

/* Returns array + first, or NULL if `array` is NULL. */
static const float *part_of(const float *array, uint64_t first)
{
    return array ? array + first : NULL;
}

/* Transforms the coefficients of STEPS and LIBRARY runs, and may overwrite them. coef[0] is
 * coefficient number `before`, and out[0] is element 0 of the message. Writes the elements or, if
 * w->from is not NULL, w->from minus the elements. */
static int rest_inverse(const struct gcb_device_sparse *s, float *out, float *coef, uint64_t before,
                        const struct gcb_device_work *w)
{
    const struct layout l = lay_out(s, w->scratch);
    const struct gcb_device_run *library = gcb_device_library_run(s);
    struct gcb_device_stream *stream = w->call->stream;

    for (unsigned i = 0; i < 2; i++) {
        const struct gcb_device_run *run = &s->runs[i];

        if (run->count && run->way == GCB_WAY_STEPS)
            gcb_cuda_steps_inverse(stream, out + run->first, coef + (run->first - before),
                                   part_of(w->from, run->first), &run->steps);
        else if (bins_of(run))
            gcb_cuda_dct_unrotate(stream, l.bins + bins_before(s, i), coef + (run->first - before),
                                  &s->dct[i]);
    }
    if (!s->fft)
        return gcb_cuda_status(stream);
    gcb_cuda_fft_inverse(stream, s->fft, coef + (library->first - before), l.bins, l.work);
    for (unsigned i = 0; i < 2; i++)
        if (bins_of(&s->runs[i]))
            gcb_cuda_dct_unfold(stream, out + s->runs[i].first, coef + (s->runs[i].first - before),
                                part_of(w->from, s->runs[i].first), &s->dct[i]);
    return gcb_cuda_status(stream);
}

/* ---- functions of struct gcb_device_transform ---- */

static int dct_forward(const struct gcb_device_sparse *s, const struct gcb_device_input *in,
                       const float **order, const struct gcb_device_work *w)
{
    const struct layout l = lay_out(s, w->scratch);
    const uint64_t first = has_block_run(s) ? s->runs[0].count : 0;
    const struct gcb_device_input whole = gcb_device_part(in, 0, first);
    const struct gcb_device_input rest = gcb_device_part(in, first, in->n - first);

    *order = l.coef;
    if (first)
        gcb_cuda_dct_block_forward(w->call->stream, l.coef, &whole, &s->dct[0],
                                   w->call->result_dev);
    if (rest.n) {
        gcb_cuda_memory_compensate(w->call->stream, &rest);
        rest_forward(s, l.coef, 0, in->x, w);
    }
    return gcb_cuda_status(w->call->stream);
}

static int dct_gather(const struct gcb_device_sparse *s, struct gcb_cuda_chosen *chosen,
                      const struct gcb_device_work *w)
{
    return gcb_cuda_scale_chosen(w->call->stream, chosen, 0, s->dct[0].unitary);
}

static int dct_choose(const struct gcb_device_sparse *s, const struct gcb_device_input *in,
                      struct gcb_cuda_chosen *chosen, const struct gcb_device_work *w)
{
    const uint64_t count = s->runs[0].count;
    struct gcb_device_stream *stream = w->call->stream;
    struct gcb_cuda_chunks cut = gcb_device_chunks(&s->p);
    const struct layout l = lay_out(s, w->scratch);
    const struct gcb_device_input whole = gcb_device_part(in, 0, count);
    const struct gcb_device_input rest = gcb_device_part(in, count, in->n - count);
    const struct gcb_device_input coef = gcb_device_plain(l.coef, rest.n);

    gcb_cuda_dct_select(stream, chosen, &whole, &s->dct[0], &cut, w->call->result_dev);
    if (rest.n) {
        cut.first = count / s->runs[0].length;
        gcb_cuda_memory_compensate(stream, &rest);
        rest_forward(s, l.coef, count, in->x, w);
        gcb_cuda_select_chunks(stream, chosen, &coef, &cut);
        gcb_cuda_scale_chosen(stream, chosen, cut.first * cut.k, s->dct[0].unitary);
    }
    return gcb_cuda_status(stream);
}

/* If there is a BLOCK run, the caller has not written the coefficients to memory (`lists`). Then
 * the BLOCK kernel reads w->kept. For a shorter last chunk, this function writes the coefficients
 * from tile rest_tile on. */
static int dct_inverse(const struct gcb_device_sparse *s, float *out,
                       const struct gcb_device_work *w)
{
    const struct layout l = lay_out(s, w->scratch);
    struct gcb_device_stream *stream = w->call->stream;
    const uint64_t tile = rest_tile(s);

    if (has_block_run(s)) {
        gcb_cuda_dct_block_inverse(stream, out, w->kept, w->from, &s->dct[0]);
        if (s->runs[1].count == 0)
            return gcb_cuda_status(stream);
        gcb_cuda_fill(stream, l.coef, w->kept, tile);
    }
    return s->p.t.length ? rest_inverse(s, out, l.coef, tile * GCB_TILE, w)
                         : gcb_cuda_status(stream);
}

const struct gcb_device_transform gcb_device_dct = {
    .init = dct_init,
    .fini = gcb_device_plan_fini,
    .scratch = dct_scratch,
    .forward = dct_forward,
    .gather = dct_gather,
    .fuses = dct_fuses,
    .choose = dct_choose,
    .lists = has_block_run,
    .inverse = dct_inverse,
};
