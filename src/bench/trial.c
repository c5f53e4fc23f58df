#include "src/bench/trial.h"

#include <math.h>
#include <string.h>

#include "src/base/alloc.h"
#include "src/codec/codecs.h"

/* Coders for so many elements together are kept at least: about 32 MiB at the costliest method. */
#define KEEP_ELEMENTS (UINT64_C(1) << 21)

static const struct gcb_method dense_method = {.name = "identity", .codec = &gcb_codec_identity};

int gcb_trial_bench_init(struct gcb_trial_bench *b, const struct gcb_trial_config *config,
                         uint64_t largest, struct gcb_diag *diag)
{
    int err;

    memset(b, 0, sizeof(*b));
    b->config = *config;
    gcb_stages_init(&b->stages);
    err = gcb_coders_create(&b->coders, largest > KEEP_ELEMENTS ? largest : KEEP_ELEMENTS, diag);
    if (err)
        return err;
    b->decoded = gcb_alloc_array(largest ? largest : 1, sizeof(*b->decoded));
    if (!b->decoded)
        return gcb_diag_nomem(diag, largest * sizeof(*b->decoded), "decoded elements");
    err = gcb_samples_init(&b->encode, &config->timing, diag);
    return err ? err : gcb_samples_init(&b->decode, &config->timing, diag);
}

void gcb_trial_bench_fini(struct gcb_trial_bench *b)
{
    gcb_coders_destroy(b->coders);
    gcb_free(b->message.data);
    gcb_free(b->decoded);
    gcb_samples_fini(&b->encode);
    gcb_samples_fini(&b->decode);
    memset(b, 0, sizeof(*b));
}

static struct gcb_coder_config coder_config(const struct gcb_trial_bench *b,
                                            const struct gcb_trial_input *in)
{
    return (struct gcb_coder_config){
        .env = {.count = in->plan->count,
                .shape = in->env.shape,
                .rank = in->env.rank,
                .role = in->env.role,
                .path = in->env.path,
                .seed = b->config.seed,
                .fft_rigor = b->config.fft_rigor,
                .kernels = b->config.kernels,
                .queue = b->config.queue,
                .probe = &b->stages.probe},
        .nonfinite = GCB_NONFINITE_TRUSTED, /* the reader has looked */
        .source = in->plan->dtype,
        .checksum = true,
        .max_elements = in->plan->count,
    };
}

/* Bits of all elements: nothing at all for a tensor without any, where a rate has no meaning. */
static double total_bits(double per_element, uint64_t count)
{
    return count ? per_element * (double)count : 0.0;
}

static int time_stages(struct gcb_trial_bench *b, struct gcb_tally *out,
                       const struct gcb_encode_job *job, struct gcb_diag *diag)
{
    int err;

    if (!b->config.stages)
        return 0;
    err =
        gcb_stages_measure(&b->stages, &b->config.timing, b->encode.count, job, &b->message, diag);
    if (err || !b->stages.staged)
        return err;
    out->staged = 1;
    memcpy(out->stage_seconds, b->stages.seconds, sizeof(out->stage_seconds));
    return 0;
}

static int encode(struct gcb_trial_bench *b, struct gcb_tally *out, const struct gcb_method *method,
                  const struct gcb_trial_input *in, const struct gcb_coder_config *config,
                  struct gcb_diag *diag)
{
    struct gcb_encode_job job = {
        .at = {.step = in->plan->step, .worker = in->plan->worker},
        .in = {.data = in->data, .count = in->plan->count},
        .raw = in->raw,
    };
    double density;
    int err = gcb_coders_encoder(b->coders, &job.coder, method, config, diag);

    if (!err)
        err = gcb_coders_room(&b->message, job.coder, diag);
    if (!err)
        err = gcb_measure_encode(&b->encode, &b->config.timing, &job, &b->message, diag);
    if (!err)
        err = time_stages(b, out, &job, diag);
    if (err)
        return err;
    gcb_message_seal(b->message.data, b->message.len, 0);
    density = gcb_coder_density(job.coder);
    out->clamped = in->raw ? 0 : gcb_coder_clamped(job.coder);
    out->nominal_bits = total_bits(gcb_coder_nominal_bits(job.coder), in->plan->count);
    if (method->codec->ops->density) {
        out->asked_of = in->plan->count;
        out->asked = total_bits(density, in->plan->count);
    }
    out->encode_seconds = b->encode.stats.median;
    out->encode_min = b->encode.stats.min;
    return 0;
}

static int decode(struct gcb_trial_bench *b, struct gcb_tally *out,
                  const struct gcb_trial_input *in, const struct gcb_coder_config *config,
                  struct gcb_diag *diag)
{
    const struct gcb_mview y = {.data = b->decoded, .count = in->plan->count};
    struct gcb_message_parts parts;
    struct gcb_coder *decoder;
    int err =
        gcb_coders_decoder(b->coders, &decoder, b->message.data, b->message.len, config, diag);

    if (!err)
        err = gcb_measure_decode(&b->decode, &b->config.timing, decoder, &b->message, &y, diag);
    if (!err)
        err = gcb_coder_describe(decoder, b->message.data, b->message.len, &parts, diag);
    if (err)
        return err;
    out->decode_seconds = b->decode.stats.median;
    out->decode_min = b->decode.stats.min;
    gcb_fidelity_add(&out->fidelity, in->data, y.data, y.count, b->config.kernels, b->config.queue);
    return gcb_tally_parts(out, &parts, diag);
}

int gcb_trial_run(struct gcb_trial_bench *b, struct gcb_tally *out, const struct gcb_method *method,
                  const struct gcb_trial_input *in, struct gcb_diag *diag)
{
    const struct gcb_coder_config config = coder_config(b, in);
    const struct gcb_coder_config decoder = {
        .env = {.fft_rigor = config.env.fft_rigor,
                .kernels = config.env.kernels,
                .queue = config.env.queue},
        .max_elements = config.max_elements,
    };
    int err;

    *out = (struct gcb_tally){
        .messages = 1,
        .elements = in->plan->count,
        .input_bytes = in->plan->input_bytes,
        .dense = in->plan->dense,
        .nonfinite = in->nonfinite,
        .dtype = in->plan->dtype,
    };
    err = encode(b, out, in->plan->dense ? &dense_method : method, in, &config, diag);
    return err ? err : decode(b, out, in, &decoder, diag);
}
