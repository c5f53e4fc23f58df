#include <math.h>
#include <string.h>

#include "src/tool/payoff/payoff_cases.h"

/* The share by which a line misses what it goes through: message by message, where a few large ones may go unnoticed,
 * or all of them together. */
static double off(const struct gcb_fit *fit, const struct gcb_payoff_sums *t, double measured)
{
    const double sum = gcb_fit_at(fit, t->messages, 4.0 * t->elements);

    return fmax(fit->error, fabs(sum / measured - 1.0));
}

static void doubt(struct gcb_payoff_scale *s, const struct gcb_payoff_case *c)
{
    const struct gcb_payoff_sums *t = &c->total;
    const struct {
        const char *name;
        double off, most;
    } lines[] = {
        {"bytes", off(&c->wire, t, t->wire), GCB_PAYOFF_BYTES_OFF},
        {"encoding times", off(&c->encode, t, t->encode), GCB_PAYOFF_TIMES_OFF},
        {"decoding times", off(&c->decode, t, t->decode), GCB_PAYOFF_TIMES_OFF},
    };
    size_t worst = 0;

    for (size_t i = 1; i < 3; i++)
        if (lines[i].off / lines[i].most > lines[worst].off / lines[worst].most)
            worst = i;
    s->off = lines[worst].off;
    s->doubt = s->off > lines[worst].most ? lines[worst].name : NULL;
}

static void scale_of(struct gcb_payoff_scale *s, const struct gcb_payoff_case *c,
                     const struct gcb_payoff_model *model)
{
    const double bytes = 4.0 * c->total.elements / c->exchanges;
    const double messages = c->total.messages / c->exchanges;
    double each;

    *s = (struct gcb_payoff_scale){
        .bytes = model->bytes > 0.0 ? model->bytes : bytes,
        .messages = model->messages > 0.0 ? model->messages : messages,
        .off = NAN,
    };
    s->transfers = ceil(s->bytes / model->bucket);
    if (s->bytes == bytes && s->messages == messages)
        return;
    s->fitted = c->encode.good && c->decode.good && c->wire.good;
    if (s->fitted)
        doubt(s, c);
    each = s->bytes / s->messages;
    s->beyond = each > 2.0 * c->encode.most || each < 0.5 * c->encode.least;
}

/* Adding a gradient to another reads both and writes one: half as much again as copying it. Not known: free; so is a
 * sparse one, whose decoder may add to what is there instead of overwriting it. */
static double adding(const struct gcb_payoff_case *c, double bytes)
{
    return c->copy > 0.0 ? 1.5 * bytes / c->copy : 0.0;
}

void gcb_payoff_load(struct gcb_load *out, struct gcb_payoff_scale *scale,
                     const struct gcb_payoff_case *c, const struct gcb_payoff_model *model)
{
    const struct gcb_payoff_sums *t = &c->total;
    struct gcb_payoff_scale own, *s = scale ? scale : &own;
    double factor;

    scale_of(s, c, model);
    *out = (struct gcb_load){
        .sums = c->sums,
        .transfers = s->transfers,
        .compute = model->compute,
    };
    if (s->fitted) {
        out->bytes = gcb_fit_at(&c->wire, s->messages, s->bytes);
        out->encode = gcb_fit_at(&c->encode, s->messages, s->bytes);
        out->decode = gcb_fit_at(&c->decode, s->messages, s->bytes);
    } else {
        factor = s->bytes / (4.0 * t->elements);
        out->bytes = t->wire * factor;
        out->encode = t->encode * factor;
        out->decode = t->decode * factor;
    }
    out->add =
        c->sparse ? 0.0 : adding(c, c->sums ? out->bytes : s->bytes); /* undecoded, or as fp32 */
}

void gcb_payoff_load_fp32(struct gcb_load *out, const struct gcb_payoff_case *c,
                          const struct gcb_payoff_model *model)
{
    struct gcb_payoff_scale s;

    scale_of(&s, c, model);
    *out = (struct gcb_load){
        .sums = true,
        .transfers = s.transfers,
        .bytes = s.bytes,
        .add = adding(c, s.bytes),
        .compute = model->compute,
    };
}

void gcb_payoff_load_fp16(struct gcb_load *out, const struct gcb_payoff_case *c,
                          const struct gcb_payoff_case *half, const struct gcb_payoff_model *model)
{
    struct gcb_load measured;

    gcb_payoff_load_fp32(out, c, model);
    out->bytes /= 2.0;
    out->add = adding(c, out->bytes);
    if (!half)
        return;
    gcb_payoff_load(&measured, NULL, half, model);
    out->encode = measured.encode;
    out->decode = measured.decode;
}

const struct gcb_payoff_case *gcb_payoff_half(const struct gcb_payoff_cases *cases, size_t group)
{
    const struct gcb_payoff_case *found = NULL;

    /* a group's baselines stand at its end, and there may be very many cases before them */
    for (size_t i = cases->count; i-- > 0;) {
        const struct gcb_payoff_case *c = &cases->items[i];

        if (c->group == group && !c->baseline)
            break;
        if (c->group == group && strcmp(c->method, "fp16") == 0)
            found = c;
    }
    return found;
}

bool gcb_payoff_stages(struct gcb_fft_stages *out, const struct gcb_payoff_case *c)
{
    const double bytes = 4.0 * c->total.elements;
    const double *t = c->total.stage;

    for (size_t i = 0; i < 4; i++)
        if (!(t[i] >= 0.0))
            return false;
    *out = (struct gcb_fft_stages){
        .transform = bytes / t[0],
        .select = bytes / t[1],
        .quantise = 4.0 * bytes / t[2], /* the paper counts four passes at this rate */
        .index = bytes / t[3],
    };
    return true;
}
