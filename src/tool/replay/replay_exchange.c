#include "src/tool/replay/replay_exchange.h"

#include <math.h>
#include <string.h>

/* With a memory a message is not a gradient of the source's type any more, but a float32 sum. */
static enum gcb_dtype type_of(const struct gcb_lanes *l, const struct gcb_message_plan *plan)
{
    return l->memory.kind == GCB_MEMORY_NONE ? plan->dtype : GCB_F32;
}

static int make_encoder(struct gcb_lanes *l, struct gcb_lane *lane, struct gcb_lane_worker *worker,
                        const struct gcb_message_plan *plan, struct gcb_diag *diag)
{
    const struct gcb_replay_config *c = l->config;
    char name[40];
    struct gcb_coder_config config = {
        .env = {.seed = c->seed,
                .fft_rigor = c->fft_rigor,
                .kernels = c->kernels,
                .queue = c->queue},
        .nonfinite = GCB_NONFINITE_ERROR, /* a sum may overflow where no gradient did */
        .source = type_of(l, plan),
        .checksum = true,
    };

    gcb_plan_env(&config.env, name, c->source, plan, &c->output_layers);
    return worker->encoder ? 0 : gcb_coder_create(&worker->encoder, &lane->method, &config, diag);
}

/* Values that a tuned range float had to code, and those beyond its max. */
static void count_tuned(const struct gcb_lane *lane, const struct gcb_tally *t,
                        struct gcb_lane_step *step)
{
    double bits;

    if (!lane->tuned || t->stored || !gcb_method_value(&lane->method, "bits", &bits))
        return;
    step->tuned_values += (uint64_t)((double)t->value_bytes * 8.0 / bits);
    step->tuned_clamped += t->clamped;
}

static int encode(struct gcb_lanes *l, struct gcb_lane *lane, struct gcb_lane_worker *worker,
                  const struct gcb_view *in, struct gcb_lane_step *step, struct gcb_tally *t,
                  struct gcb_diag *diag)
{
    double density, largest;
    int err = gcb_coders_room(&l->room, &l->message, worker->encoder, diag);

    if (!err)
        err = gcb_coder_encode(worker->encoder, &step->at, in, &l->message, diag);
    if (err)
        return err;
    gcb_message_seal(l->message.data, l->message.len, 0);
    t->clamped = gcb_coder_clamped(worker->encoder);
    largest = gcb_coder_largest(worker->encoder);
    if (largest > lane->largest)
        lane->largest = largest;
    density = gcb_coder_density(worker->encoder);
    if (!isnan(density)) {
        t->asked_of = in->count;
        t->asked = density * (double)in->count;
    }
    return 0;
}

static int decode(struct gcb_lanes *l, const struct gcb_message_plan *plan, struct gcb_tally *t,
                  struct gcb_diag *diag)
{
    const struct gcb_coder_config config = {
        .env = {.fft_rigor = l->config->fft_rigor,
                .kernels = l->config->kernels,
                .queue = l->config->queue},
        .max_elements = plan->count,
    };
    const struct gcb_mview y = {.data = l->decoded, .count = plan->count};
    struct gcb_message_parts parts;
    struct gcb_coder *decoder;
    int err =
        gcb_coders_decoder(l->decoders, &decoder, l->message.data, l->message.len, &config, diag);

    memset(l->decoded, 0xff, plan->count * sizeof(*l->decoded)); /* NaN, unless it is written */
    if (!err)
        err = gcb_coder_decode(decoder, l->message.data, l->message.len, &y, diag);
    if (!err)
        err = gcb_coder_describe(decoder, l->message.data, l->message.len, &parts, diag);
    if (err)
        return err;
    return gcb_tally_parts(t, &parts, diag);
}

int gcb_exchange(struct gcb_lanes *l, struct gcb_lane *lane, struct gcb_lane_worker *worker,
                 const struct gcb_message_plan *plan, const float *whole,
                 struct gcb_lane_step *step, struct gcb_lane_sums *sums, struct gcb_diag *diag)
{
    const struct gcb_view in = {.data = whole, .count = plan->count};
    struct gcb_tally t = {
        .messages = 1,
        .elements = plan->count,
        .input_bytes = worker->pending_bytes,
        .dense = plan->dense,
        .dtype = plan->dtype,
    };
    int err = make_encoder(l, lane, worker, plan, diag);

    if (!err)
        err = encode(l, lane, worker, &in, step, &t, diag);
    if (!err)
        err = decode(l, plan, &t, diag);
    if (err)
        return gcb_plan_explain(err, lane->method.name, plan, l->config->source, diag);
    worker->pending_bytes = 0;
    gcb_fidelity_add(&t.fidelity, whole, l->decoded, plan->count, l->config->kernels,
                     l->config->queue);
    sums->whole += t.fidelity.xx;
    sums->lost += t.fidelity.dd;
    count_tuned(lane, &t, step);
    gcb_tally_merge(&step->tally, &t);
    return 0;
}
