#include <math.h>

#include "kernels/fft/fft.h"
#include "src/cuda/module/sparse.h"

/*
 * Scratch: bins (to decode, that is all but cuFFT's own); then, to encode, a magnitude for each, the chosen bins, and room
 * for the largest part.
 */
struct layout {
    float *bins, *power, *chosen;
    struct gcb_device_result *most;
    void *work;
    uint64_t bytes;
};

static struct layout lay_out(const struct gcb_device_sparse *s, uint8_t *scratch)
{
    const uint64_t bins = s->spectrum.bins;
    struct layout l = {.bytes = 0};

    l.bins = gcb_device_take(scratch, &l.bytes, 2 * bins * sizeof(float));
    if (!s->p.t.env.decoding) {
        l.power = gcb_device_take(scratch, &l.bytes, bins * sizeof(float));
        l.chosen = gcb_device_take(scratch, &l.bytes, 2 * s->p.most * sizeof(float));
        l.most = gcb_device_take(scratch, &l.bytes, sizeof(*l.most));
    }
    l.work = gcb_device_take(scratch, &l.bytes, s->fft ? gcb_cuda_fft_work(s->fft) : 0);
    return l;
}

static int fft_init(struct gcb_device_sparse *s, const struct gcb_codec_env *env,
                    struct gcb_diag *diag)
{
    const uint64_t n = env->count, chunk = s->p.chunk == 0 || s->p.chunk > n ? n : s->p.chunk;
    struct gcb_cuda_spectrum *sp = &s->spectrum;

    if (n == 0)
        return 0;
    *sp = (struct gcb_cuda_spectrum){
        .bins = s->p.t.positions,
        .tail = n / chunk * (chunk / 2 + 1),
        .length = chunk,
        .rest = n % chunk,
        .unitary = (float)(1.0 / sqrt((double)chunk)),
        .unitary_rest = n % chunk ? (float)(1.0 / sqrt((double)(n % chunk))) : 1.0f,
    };
    return gcb_cuda_fft_create(&s->fft, n, chunk, env->decoding, "fft", diag);
}

static void fft_fini(struct gcb_device_sparse *s)
{
    gcb_cuda_fft_destroy(s->fft);
}

static uint64_t fft_scratch(const struct gcb_device_sparse *s)
{
    return lay_out(s, NULL).bytes;
}

static int fft_forward(const struct gcb_device_sparse *s, const struct gcb_step *at, const float *x,
                       const float **order, const struct gcb_device_work *w)
{
    const struct layout l = lay_out(s, w->scratch);
    int err = 0;

    (void)at;
    *order = l.power;
    if (s->fft)
        err = gcb_cuda_fft_forward(w->call->stream, s->fft, l.bins, x, l.work);
    return err || !s->fft ? err
                          : gcb_cuda_spectrum_order(w->call->stream, l.power, l.bins, &s->spectrum,
                                                    l.most, w->call->result_dev);
}

static int fft_gather(const struct gcb_device_sparse *s, struct gcb_cuda_chosen *chosen,
                      const struct gcb_device_work *w)
{
    const struct layout l = lay_out(s, w->scratch);

    chosen->value = l.chosen;
    return gcb_cuda_spectrum_gather(w->call->stream, l.chosen, l.bins, chosen, &s->spectrum);
}

static int fft_inverse(const struct gcb_device_sparse *s, float *out,
                       const struct gcb_device_work *w)
{
    const struct layout l = lay_out(s, w->scratch);
    int err;

    if (!s->fft)
        return 0;
    err = gcb_cuda_spectrum_scale(w->call->stream, l.bins, &s->spectrum);
    return err ? err : gcb_cuda_fft_inverse(w->call->stream, s->fft, out, l.bins, l.work);
}

const struct gcb_device_transform gcb_device_fft = {
    .name = "fft",
    .init = fft_init,
    .fini = fft_fini,
    .scratch = fft_scratch,
    .forward = fft_forward,
    .gather = fft_gather,
    .inverse = fft_inverse,
};
