#include <math.h>

#include "kernels/memory/memory_cuda.h"
#include "kernels/reduce/reduce_cuda.h"
#include "src/lib/device/module/sparse.h"

/*
 * Layout of the scratch. An encoder that fuses (is_fused) has only the bins of a shorter last chunk
 * in memory. There is also room for the inverse, whose bins begin with the tile where that chunk
 * begins.
 */
struct layout {
    float *bins, *power, *chosen;   /* bins; encoder: the power of each bin, and the chosen bins */
    struct gcb_device_result *most; /* encoder: max_bits of the largest real or imaginary part */
    uint32_t *reach;                /* encoder that fuses: see struct gcb_cuda_fft_selection */
    void *work;                     /* cuFFT's memory */
    uint64_t bytes;
};

/* Number of chunks in the BLOCK run; 0 without such a run. */
static uint64_t whole_chunks(const struct gcb_device_sparse *s)
{
    return s->fft_short.count ? s->fft_short.count / s->fft_short.length : 0;
}

/* The first tile of positions whose bins rest_inverse needs in memory: after a BLOCK run, the tile
 * where the shorter last chunk begins; otherwise tile 0. */
static uint64_t rest_tile(const struct gcb_device_sparse *s)
{
    return s->fft_short.count ? s->spectrum.tail / GCB_TILE : 0;
}

static struct layout lay_out(const struct gcb_device_sparse *s, uint8_t *scratch)
{
    const uint64_t bins = s->spectrum.bins - s->spectrum.first;
    /* number of bins that the inverse needs in memory; a BLOCK run needs none */
    const uint64_t back = s->spectrum.bins - rest_tile(s) * GCB_TILE;
    const bool forward = !s->p.t.env.decoding;
    struct layout l = {.bytes = 0};

    l.bins = gcb_device_take(scratch, &l.bytes,
                             2 * (forward && bins > back ? bins : back) * sizeof(float));
    if (forward) {
        l.power = gcb_device_take(scratch, &l.bytes, bins * sizeof(float));
        l.chosen = gcb_device_take(scratch, &l.bytes, 2 * s->p.max_kept * sizeof(float));
        l.most = gcb_device_take(scratch, &l.bytes, sizeof(*l.most));
        if (s->spectrum.first)
            l.reach = gcb_device_take(scratch, &l.bytes, whole_chunks(s) * sizeof(*l.reach));
    }
    l.work = gcb_device_take(scratch, &l.bytes, s->fft ? gcb_cuda_fft_work(s->fft) : 0);
    return l;
}

/* ---- plans and tables ---- */

/* True if one kernel transforms whole chunks and selects from them. Then only the shorter last
 * chunk has a spectrum in memory. */
static bool is_fused(const struct gcb_device_sparse *s)
{
    return !s->p.t.env.decoding && s->fft_short.count &&
           s->fft_short.length == GCB_CUDA_FFT_BLOCK_MOST && gcb_device_chunks(&s->p).length != 0;
}

static int fft_init(struct gcb_device_sparse *s, const struct gcb_codec_env *env,
                    struct gcb_diag *diag)
{
    const struct gcb_device_run *whole = &s->runs[0], *last = &s->runs[1];
    struct gcb_cuda_spectrum *sp = &s->spectrum;
    int err;

    if (s->p.t.length == 0)
        return 0;
    err = gcb_device_plan(s, env, false, diag);
    *sp = (struct gcb_cuda_spectrum){
        .bins = s->p.t.positions,
        .tail = whole->count / whole->length * (whole->length / 2 + 1),
        .length = whole->length,
        .rest = last->length,
        .unitary = (float)(1.0 / sqrt((double)whole->length)),
        .unitary_rest = last->count ? (float)(1.0 / sqrt((double)last->length)) : 1.0f,
    };
    if (whole->way == GCB_WAY_BLOCK)
        s->fft_short = (struct gcb_cuda_block_fft){whole->count, whole->length, whole->table};
    sp->first = is_fused(s) ? sp->tail : 0;
    return err;
}

/* Number of bins before a run. */
static uint64_t first_bin(const struct gcb_device_sparse *s, const struct gcb_device_run *run)
{
    return run == s->runs ? 0 : s->spectrum.tail;
}

static uint64_t fft_scratch(const struct gcb_device_sparse *s)
{
    return lay_out(s, NULL).bytes;
}

/* ---- forward ---- */

/* Adds error feedback to the elements after the BLOCK run, transforms them to bins, and finds the
 * largest real or imaginary part. */
static int rest_forward(const struct gcb_device_sparse *s, const struct layout *l,
                        const struct gcb_device_input *in, struct gcb_device_stream *stream)
{
    const struct gcb_cuda_spectrum *sp = &s->spectrum;
    const struct gcb_device_input rest =
        gcb_device_part(in, s->fft_short.count, in->n - s->fft_short.count);

    if (rest.n == 0)
        return 0;
    gcb_cuda_memory_compensate(stream, &rest);
    for (const struct gcb_device_run *run = s->runs; run < s->runs + 2; run++)
        if (run->count && run->way == GCB_WAY_STEPS)
            gcb_cuda_steps_forward(stream, l->bins + 2 * (first_bin(s, run) - sp->first),
                                   in->x + run->first, &run->steps, l->most);
    if (s->fft) {
        const struct gcb_device_run *run = gcb_device_library_run(s);
        const uint64_t from = first_bin(s, run) - sp->first;
        /* max_bits needs an address aligned to 16 bytes (two bins). So it may look at the bin
         * before the run, which belongs to the message too. */
        const uint64_t seen = from / 2 * 2;

        gcb_cuda_fft_forward(stream, s->fft, l->bins + 2 * from, in->x + run->first, l->work);
        gcb_cuda_max_bits(stream, l->bins + 2 * seen, 2 * (sp->bins - sp->first - seen), l->most);
    }
    return gcb_cuda_status(stream);
}

static int fft_forward(const struct gcb_device_sparse *s, const struct gcb_device_input *in,
                       const float **order, const struct gcb_device_work *w)
{
    const struct layout l = lay_out(s, w->scratch);
    const struct gcb_device_input first = gcb_device_part(in, 0, s->fft_short.count);
    struct gcb_device_stream *stream = w->call->stream;

    *order = l.power;
    if (s->spectrum.bins == 0)
        return 0;
    gcb_cuda_spectrum_reset(stream, l.most);
    if (first.n)
        gcb_cuda_fft_block_forward(stream, l.bins, &first, &s->fft_short, l.most);
    rest_forward(s, &l, in, stream);
    return gcb_cuda_spectrum_powers(stream, l.power, l.bins, &s->spectrum, l.most,
                                    w->call->result_dev);
}

static int fft_gather(const struct gcb_device_sparse *s, struct gcb_cuda_chosen *chosen,
                      const struct gcb_device_work *w)
{
    const struct layout l = lay_out(s, w->scratch);

    chosen->value = l.chosen;
    return gcb_cuda_spectrum_gather(w->call->stream, l.chosen, l.bins, chosen, &s->spectrum, 0);
}

/* ---- forward, and the selection of the largest of each chunk ---- */

static bool fft_fuses(const struct gcb_device_sparse *s)
{
    return s->spectrum.first != 0;
}

/* Selects from the shorter last chunk, and appends the chosen bins to l->chosen. The powers that
 * the selection writes as values are not used. */
static int choose_rest(const struct gcb_device_sparse *s, const struct layout *l,
                       const struct gcb_device_input *in,
                       const struct gcb_cuda_fft_selection *whole, const struct gcb_device_work *w)
{
    const struct gcb_device_input power =
        gcb_device_plain(l->power, s->spectrum.bins - s->spectrum.first);
    struct gcb_device_stream *stream = w->call->stream;
    struct gcb_cuda_chunks cut = whole->cut;

    rest_forward(s, l, in, stream);
    cut.first = whole_chunks(s);
    gcb_cuda_spectrum_powers(stream, l->power, l->bins, &s->spectrum, l->most, w->call->result_dev);
    gcb_cuda_select_chunks(stream, &whole->to, &power, &cut);
    return gcb_cuda_spectrum_gather(stream, l->chosen, l->bins, &whole->to, &s->spectrum,
                                    cut.first * cut.k);
}

static int fft_choose(const struct gcb_device_sparse *s, const struct gcb_device_input *in,
                      struct gcb_cuda_chosen *chosen, const struct gcb_device_work *w)
{
    const struct layout l = lay_out(s, w->scratch);
    struct gcb_device_stream *stream = w->call->stream;
    const struct gcb_cuda_fft_selection how = {
        .to = *chosen,
        .cut = gcb_device_chunks(&s->p),
        .value = l.chosen,
        .unitary = s->spectrum.unitary,
        .reach = l.reach,
        .most = l.most,
    };
    struct gcb_device_input first = gcb_device_part(in, 0, s->fft_short.count);

    gcb_cuda_spectrum_reset(stream, l.most);
    gcb_cuda_fft_select(stream, &how, &first, &s->fft_short);
    if (s->spectrum.rest)
        choose_rest(s, &l, in, &how, w);
    chosen->value = l.chosen;
    first.compensated = 1; /* fft_select has added feedback */
    return gcb_cuda_fft_reselect(stream, &how, &first, &s->fft_short, w->call->result_dev);
}

/* ---- inverse ---- */

static bool fft_lists(const struct gcb_device_sparse *s)
{
    return s->fft_short.count != 0;
}

/* Transforms the bins after the BLOCK run to elements or, if w->from is not NULL, to w->from minus
 * the elements. If there is a BLOCK run, first fills in these bins; otherwise the caller has filled
 * in all bins. */
static int rest_inverse(const struct gcb_device_sparse *s, const struct layout *l, float *out,
                        const struct gcb_device_work *w)
{
    struct gcb_device_stream *stream = w->call->stream;
    const uint64_t first = s->fft_short.count, tile = rest_tile(s), before = tile * GCB_TILE;
    const struct gcb_device_run *library = gcb_device_library_run(s);
    struct gcb_cuda_spectrum rest = s->spectrum;

    rest.first = first ? rest.tail : 0;
    if (first)
        gcb_cuda_fill(stream, l->bins, w->kept, tile);
    gcb_cuda_spectrum_scale(stream, l->bins + 2 * (rest.first - before), &rest);
    for (const struct gcb_device_run *run = s->runs; run < s->runs + 2; run++)
        if (run->count && run->way == GCB_WAY_STEPS)
            gcb_cuda_steps_inverse(stream, out + run->first,
                                   l->bins + 2 * (first_bin(s, run) - before), NULL, &run->steps);
    if (s->fft)
        gcb_cuda_fft_inverse(stream, s->fft, out + library->first,
                             l->bins + 2 * (first_bin(s, library) - before), l->work);
    if (w->from)
        gcb_cuda_memory_residual(stream, out + first, w->from + first, s->p.t.length - first);
    return gcb_cuda_status(stream);
}

static int fft_inverse(const struct gcb_device_sparse *s, float *out,
                       const struct gcb_device_work *w)
{
    const struct layout l = lay_out(s, w->scratch);
    const struct gcb_cuda_fft_inversion how = {s->spectrum.unitary, w->from};

    if (s->fft_short.count)
        gcb_cuda_fft_block_inverse(w->call->stream, out, w->kept, &s->fft_short, &how);
    return s->fft_short.count < s->p.t.length ? rest_inverse(s, &l, out, w)
                                              : gcb_cuda_status(w->call->stream);
}

const struct gcb_device_transform gcb_device_fft = {
    .init = fft_init,
    .fini = gcb_device_plan_fini,
    .scratch = fft_scratch,
    .forward = fft_forward,
    .gather = fft_gather,
    .fuses = fft_fuses,
    .choose = fft_choose,
    .lists = fft_lists,
    .inverse = fft_inverse,
};
