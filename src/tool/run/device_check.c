#include "src/tool/run/device_check.h"

#include <math.h>
#include <string.h>

/* Returns the L2 distance over n elements that is allowed in addition to the tolerances. An
 * unscaled inverse transform multiplies the rounding of the smallest floats, 2^-149, by up to
 * sqrt(n). Each of the n elements may differ by four times that. */
static double allowed_rounding(uint64_t n)
{
    return 4.0 * 0x1p-149 * (double)n;
}

double gcb_device_share(double distance, double norm, uint64_t n)
{
    const double beyond = distance - allowed_rounding(n);

    return beyond <= 0.0 ? 0.0 : beyond / norm;
}

/* True if the device's results may differ from the CPU's by the tolerances. */
static bool is_tolerant(const struct gcb_device_check *c)
{
    return gcb_method_caps(c->method) & GCB_CAP_DEVICE_MATH;
}

int gcb_device_check_message(const struct gcb_device_check *c, struct gcb_diag *diag)
{
    if (is_tolerant(c) || (c->expected->len == c->message->len &&
                           memcmp(c->expected->data, c->message->data, c->message->len) == 0))
        return 0;
    return gcb_diag_set(diag, GCB_E_UNVERIFIED,
                        "the device's message differs from the CPU's (%zu bytes and %zu bytes)",
                        c->message->len, c->expected->len);
}

int gcb_device_check_decoded(int err, struct gcb_diag *diag)
{
    if (err != GCB_E_CORRUPT)
        return err;
    return gcb_diag_set(diag, GCB_E_UNVERIFIED,
                        "the device cannot decode the message that it encoded");
}

/* Decodes a message on the CPU, into c->scratch. Sets *decoder, which c->coders owns. */
static int decode_on_cpu(const struct gcb_device_check *c, struct gcb_coder **decoder,
                         const struct gcb_wbuf *message, struct gcb_diag *diag)
{
    const struct gcb_mview y = {.data = c->scratch, .count = c->in.count};
    const struct gcb_coder_config config = {
        .env = {.kernels = c->kernels, .queue = c->queue},
        .max_elements = c->in.count,
    };
    const int err =
        gcb_coders_decoder(c->coders, decoder, message->data, message->len, &config, diag);

    return err ? err : gcb_coder_decode(*decoder, message->data, message->len, &y, diag);
}

static double rel_l2(const struct gcb_fidelity *f)
{
    struct gcb_fidelity_figures figures;

    gcb_fidelity_figures(&figures, f, 0.0);
    return figures.rel_l2;
}

/* True if the values that the CPU decoded, in c->scratch, agree with the device's. */
static bool same_values(const struct gcb_device_check *c)
{
    struct gcb_fidelity f = {0};

    if (!is_tolerant(c))
        return memcmp(c->scratch, c->decoded, c->in.count * sizeof(*c->decoded)) == 0;
    gcb_fidelity_add(&f, c->scratch, c->decoded, c->in.count, c->kernels, c->queue);
    return sqrt(f.dd) <= GCB_DECODERS_APART * sqrt(f.xx) + allowed_rounding(c->in.count);
}

/* Checks that the error of the device's message is near that of the CPU's message. */
static int check_error(const struct gcb_device_check *c, const struct gcb_fidelity *error,
                       struct gcb_diag *diag)
{
    struct gcb_fidelity f = {0};
    struct gcb_coder *decoder;
    const int err = decode_on_cpu(c, &decoder, c->expected, diag);
    double on_device, on_cpu, most = GCB_MESSAGES_APART;

    if (err)
        return err;
    gcb_fidelity_add(&f, c->in.data, c->scratch, c->in.count, c->kernels, c->queue);
    on_device = rel_l2(error);
    on_cpu = rel_l2(&f);
    if (f.xx > 0.0)
        most += allowed_rounding(c->in.count) / sqrt(f.xx);
    if (!(fabs(on_device - on_cpu) > most)) /* NaNs are accepted */
        return 0;
    return gcb_diag_set(diag, GCB_E_UNVERIFIED,
                        "the errors of the device's message and the CPU's differ (%.9g and %.9g)",
                        on_device, on_cpu);
}

int gcb_device_check_values(const struct gcb_device_check *c, const struct gcb_fidelity *error,
                            struct gcb_message_parts *parts, struct gcb_diag *diag)
{
    struct gcb_coder *decoder;
    int err = decode_on_cpu(c, &decoder, c->message, diag);

    if (!err && !same_values(c))
        err = gcb_diag_set(diag, GCB_E_UNVERIFIED,
                           "the device and the CPU decode the message to different values");
    if (!err)
        err = gcb_coder_describe(decoder, c->message->data, c->message->len, parts, diag);
    return err || !is_tolerant(c) ? err : check_error(c, error, diag);
}

/* True if a equals b, or both are NaNs. */
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

int gcb_device_check_fidelity(const struct gcb_device_check *c, const struct gcb_fidelity *error,
                              struct gcb_diag *diag)
{
    struct gcb_fidelity want = {0};

    gcb_fidelity_add(&want, c->in.data, c->decoded, c->in.count, c->kernels, c->queue);
    if (same_sums(&want, error))
        return 0;
    return gcb_diag_set(diag, GCB_E_UNVERIFIED,
                        "the device and the CPU measure different errors (%.9g and %.9g)",
                        rel_l2(error), rel_l2(&want));
}
