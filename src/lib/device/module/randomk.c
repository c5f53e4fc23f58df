#include "src/lib/sparse/randomk.h"

#include "kernels/memory/memory_cuda.h"
#include "kernels/strata/strata_cuda.h"
#include "src/lib/device/module/codecs.h"

/* Describes the positions that an encoder sends in a step. */
static struct gcb_strata places_at(const struct gcb_randomk *s, const struct gcb_step *at)
{
    struct gcb_strata where = gcb_strata_of(s->base.env.count, s->k);

    gcb_strata_set_key(&where, gcb_randomk_key(&s->base.env, at->step));
    return where;
}

/* Describes the positions of a payload of `length` bytes. Their key is missing, because only the
 * device can read it from the payload. */
static struct gcb_strata places_of(const struct gcb_randomk *s, uint64_t length)
{
    return gcb_strata_of(s->base.env.count, (length - GCB_RANDOMK_KEY_BYTES) / sizeof(float));
}

static int randomk_encode(void *state, const struct gcb_device_input *in, uint8_t *out_dev,
                          const struct gcb_device_call *call)
{
    const struct gcb_randomk *s = state;
    const struct gcb_strata where = places_at(s, &call->at);

    gcb_cuda_memory_compensate(call->stream, in);
    gcb_cuda_strata_encode(call->stream, out_dev, in->x, &where, s->factor, call->result_dev);
    if (in->residual) {
        gcb_cuda_strata_keep(call->stream, in->residual, in->x, &where, s->factor);
        gcb_cuda_memory_residual(call->stream, in->residual, in->x, in->n);
    }
    return gcb_cuda_status(call->stream);
}

static int randomk_decode(void *state, const uint8_t *payload_dev, uint64_t length, float *out_dev,
                          const struct gcb_device_call *call)
{
    const struct gcb_randomk *s = state;
    struct gcb_strata where;

    if (!gcb_randomk_fits(length, s->base.env.count))
        return GCB_E_CORRUPT;
    where = places_of(s, length);
    return gcb_cuda_strata_decode(call->stream, out_dev, payload_dev, &where, call->result_dev);
}

static int randomk_add(void *state, const uint8_t *payload_dev, uint64_t length, float *acc_dev,
                       float weight, const struct gcb_device_call *call)
{
    const struct gcb_randomk *s = state;
    struct gcb_strata where;

    if (!gcb_randomk_fits(length, s->base.env.count))
        return GCB_E_CORRUPT;
    where = places_of(s, length);
    return gcb_cuda_strata_add(call->stream, acc_dev, payload_dev, &where, weight,
                               call->result_dev);
}

static const struct gcb_device_sum_ops randomk_sum = {
    .add_async = randomk_add,
};

const struct gcb_device_ops gcb_device_randomk = {
    .state_size = sizeof(struct gcb_randomk),
    .init = gcb_randomk_init,
    .feedback = true,
    .encode_async = randomk_encode,
    .decode_async = randomk_decode,
    .sum = &randomk_sum,
};
