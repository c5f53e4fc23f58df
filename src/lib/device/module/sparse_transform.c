#include <math.h>

#include "kernels/cuda/align.h"
#include "kernels/hadamard/hadamard_cuda.h"
#include "src/lib/device/module/sparse.h"
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

unsigned gcb_device_fft_ways(const struct gcb_codec_env *env)
{
    return (env->decoding ? 0 : GCB_CUDA_FFT_FORWARD) |
           (env->decoding || env->feedback ? GCB_CUDA_FFT_INVERSE : 0);
}

/* ---- hadamard: its coefficients begin the scratch in both directions ---- */

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
        return gcb_diag_set(diag, GCB_E_INVALID,
                            "transform=hadamard needs a chunk that is a power of two, or 0");
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
