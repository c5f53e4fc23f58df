#include "src/tool/trial/device_check.h"

#include <math.h>
#include <string.h>

double gcb_device_rounding(uint64_t n)
{
    return 4.0 * 0x1p-149 * (double)n; /* sqrt(n) in each of n elements */
}

static bool is_tolerant(const struct gcb_method *method)
{
    return gcb_method_caps(method) & GCB_CAP_LIBRARY_MATH;
}

int gcb_device_check_message(struct gcb_trial_bench *b, struct gcb_tally *out,
                             const struct gcb_method *method, const struct gcb_trial_input *in,
                             const struct gcb_coder_config *config, struct gcb_diag *diag)
{
    struct gcb_encode_job job = {
        .at = {.step = in->plan->step, .worker = in->plan->worker},
        .in = {.data = in->data, .count = in->plan->count},
        .raw = in->raw,
    };
    struct gcb_encode_call call = {.job = &job, .message = &b->check};
    int err = gcb_coders_encoder(b->coders, &job.coder, method, config, diag);

    if (!err)
        err = gcb_coders_room(&b->check_room, &b->check, job.coder, diag);
    if (!err)
        err = gcb_encode_operation(&call).run(&call, diag);
    if (err)
        return err;
    gcb_message_seal(b->check.data, b->check.len, 0);
    gcb_tally_asked(out, job.coder, method->codec);
    if (is_tolerant(method) || (b->check.len == b->message.len &&
                                memcmp(b->check.data, b->message.data, b->check.len) == 0))
        return 0;
    return gcb_diag_set(diag, GCB_E_UNVERIFIED,
                        "the device's message is not the CPU's (%zu bytes, and %zu)",
                        b->message.len, b->check.len);
}

/* The CPU's decoder on a message, into b->check_decoded. */
static int decode_here(struct gcb_trial_bench *b, struct gcb_coder **decoder,
                       const struct gcb_wbuf *message, const struct gcb_coder_config *config,
                       struct gcb_diag *diag)
{
    const struct gcb_mview y = {.data = b->check_decoded, .count = config->env.count};
    const struct gcb_coder_config own = {
        .env = {.kernels = config->env.kernels, .queue = config->env.queue},
        .max_elements = config->max_elements,
    };
    const int err = gcb_coders_decoder(b->coders, decoder, message->data, message->len, &own, diag);

    return err ? err : gcb_coder_decode(*decoder, message->data, message->len, &y, diag);
}

static double error_of(const struct gcb_fidelity *f)
{
    struct gcb_fidelity_figures figures;

    gcb_fidelity_figures(&figures, f, 0.0);
    return figures.rel_l2;
}

static bool decoded_alike(const struct gcb_trial_bench *b, bool tolerant, uint64_t count)
{
    struct gcb_fidelity f = {0};

    if (!tolerant)
        return memcmp(b->check_decoded, b->decoded, count * sizeof(*b->decoded)) == 0;
    gcb_fidelity_add(&f, b->check_decoded, b->decoded, count, b->config.kernels, b->config.queue);
    return sqrt(f.dd) <= GCB_DECODERS_APART * sqrt(f.xx) + gcb_device_rounding(count);
}

static bool same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static bool same_sums(const struct gcb_fidelity *a, const struct gcb_fidelity *b)
{
    return same(a->xx, b->xx) && same(a->yy, b->yy) && same(a->xy, b->xy) && same(a->dd, b->dd) &&
           same(a->d, b->d) && same(a->max_abs, b->max_abs) && a->same_sign == b->same_sign &&
           a->zeros == b->zeros && a->zeros_kept == b->zeros_kept && a->elements == b->elements &&
           a->nonfinite == b->nonfinite && a->nonfinite_kept == b->nonfinite_kept;
}

/* The errors that the device measured, against the CPU's of the same values. */
static int check_fidelity(const struct gcb_trial_bench *b, const struct gcb_tally *out,
                          const struct gcb_trial_input *in, struct gcb_diag *diag)
{
    struct gcb_fidelity want = {0};

    gcb_fidelity_add(&want, in->data, b->decoded, in->plan->count, b->config.kernels,
                     b->config.queue);
    if (same_sums(&want, &out->fidelity))
        return 0;
    return gcb_diag_set(diag, GCB_E_UNVERIFIED,
                        "the device measures another error than the CPU (%.9g, and %.9g)",
                        error_of(&out->fidelity), error_of(&want));
}

/* Of the CPU's own message: is it as near to the input? */
static int check_nearness(struct gcb_trial_bench *b, const struct gcb_tally *out,
                          const struct gcb_trial_input *in, const struct gcb_coder_config *config,
                          struct gcb_diag *diag)
{
    struct gcb_fidelity f = {0};
    struct gcb_coder *decoder;
    const int err = decode_here(b, &decoder, &b->check, config, diag);
    double ours, theirs, most = GCB_MESSAGES_APART;

    if (err)
        return err;
    gcb_fidelity_add(&f, in->data, b->check_decoded, in->plan->count, b->config.kernels,
                     b->config.queue);
    ours = error_of(&out->fidelity);
    theirs = error_of(&f);
    if (f.xx > 0.0)
        most += gcb_device_rounding(in->plan->count) / sqrt(f.xx);
    if (!(fabs(ours - theirs) > most))
        return 0;
    return gcb_diag_set(diag, GCB_E_UNVERIFIED,
                        "the device's message has another error than the CPU's (%.9g, and %.9g)",
                        ours, theirs);
}

int gcb_device_check_values(struct gcb_trial_bench *b, struct gcb_tally *out,
                            const struct gcb_method *method, const struct gcb_trial_input *in,
                            const struct gcb_coder_config *config, struct gcb_diag *diag)
{
    const bool tolerant = is_tolerant(method);
    struct gcb_message_parts parts;
    struct gcb_coder *decoder;
    int err = decode_here(b, &decoder, &b->message, config, diag);

    if (!err && !decoded_alike(b, tolerant, in->plan->count))
        err = gcb_diag_set(diag, GCB_E_UNVERIFIED,
                           "the device decodes its message to other values than the CPU");
    if (!err)
        err = check_fidelity(b, out, in, diag);
    if (!err)
        err = gcb_coder_describe(decoder, b->message.data, b->message.len, &parts, diag);
    if (!err)
        err = gcb_tally_parts(out, &parts, diag);
    return err || !tolerant ? err : check_nearness(b, out, in, config, diag);
}
