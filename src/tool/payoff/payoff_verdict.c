#include "src/tool/payoff/payoff_verdict.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/lib/base/text.h"

/* ---- loads ---- */

/* Returns the relative error of a fitted line: the larger of its error over the messages and its error in their sum.
 * The sum shows if the line misses a few large messages. */
static double find_miss(const struct gcb_fit *fit, const struct gcb_payoff_sums *t, double measured)
{
    const double sum = gcb_fit_at(fit, t->messages, 4.0 * t->elements);

    return fmax(fit->error, fabs(sum / measured - 1.0));
}

static void set_doubt(struct gcb_payoff_scale *s, const struct gcb_payoff_case *c)
{
    static const struct {
        const char *name;
        double most;
    } lines[GCB_PAYOFF_QUANTITIES] = {
        [GCB_PAYOFF_BYTES] = {"bytes", GCB_PAYOFF_BYTES_MISS},
        [GCB_PAYOFF_ENCODE] = {"encoding times", GCB_PAYOFF_TIMES_MISS},
        [GCB_PAYOFF_DECODE] = {"decoding times", GCB_PAYOFF_TIMES_MISS},
    };
    double worst = -1.0;

    for (size_t i = 0; i < GCB_PAYOFF_QUANTITIES; i++) {
        const double miss = find_miss(&c->fit[i], &c->total, c->total.value[i]);

        if (!(miss / lines[i].most > worst))
            continue;
        worst = miss / lines[i].most;
        s->miss = miss;
        s->doubt = miss > lines[i].most ? lines[i].name : NULL;
    }
}

static void make_scale(struct gcb_payoff_scale *s, const struct gcb_payoff_case *c,
                       const struct gcb_payoff_model *model)
{
    const double bytes = 4.0 * c->total.elements / c->exchanges;
    const double messages = c->total.messages / c->exchanges;
    const struct gcb_fit *encode = &c->fit[GCB_PAYOFF_ENCODE];
    double each;

    *s = (struct gcb_payoff_scale){
        .bytes = model->bytes > 0.0 ? model->bytes : bytes,
        .messages = model->messages > 0.0 ? model->messages : messages,
        .miss = NAN,
    };
    s->transfers = ceil(s->bytes / model->bucket);
    if (s->bytes == bytes && s->messages == messages)
        return;
    s->fitted = true;
    for (size_t i = 0; i < GCB_PAYOFF_QUANTITIES; i++)
        s->fitted &= c->fit[i].good;
    if (s->fitted)
        set_doubt(s, c);
    each = s->bytes / s->messages;
    s->extrapolated = each > 2.0 * encode->most || each < 0.5 * encode->least;
}

/* Returns the seconds to add a gradient to another. Adding reads two gradients and writes one, which is 1.5 times the
 * bytes of a copy. Returns 0 if copying was not measured. */
static double time_of_adding(const struct gcb_payoff_case *c, double bytes)
{
    return c->copy > 0.0 ? 1.5 * bytes / c->copy : 0.0;
}

void gcb_payoff_load(struct gcb_load *out, struct gcb_payoff_scale *scale,
                     const struct gcb_payoff_case *c, const struct gcb_payoff_model *model)
{
    struct gcb_payoff_scale own, *s = scale ? scale : &own;
    double value[GCB_PAYOFF_QUANTITIES];

    make_scale(s, c, model);
    for (size_t i = 0; i < GCB_PAYOFF_QUANTITIES; i++)
        value[i] = s->fitted ? gcb_fit_at(&c->fit[i], s->messages, s->bytes)
                             : c->total.value[i] * (s->bytes / (4.0 * c->total.elements));
    *out = (struct gcb_load){
        .sums = c->sums,
        .transfers = s->transfers,
        .bytes = value[GCB_PAYOFF_BYTES],
        .encode = value[GCB_PAYOFF_ENCODE],
        .decode = value[GCB_PAYOFF_DECODE],
        .compute = model->compute,
    };
    /* Messages are added undecoded, or after decoding to fp32. A sparse decoder can add while it decodes. */
    if (!c->sparse)
        out->add = time_of_adding(c, c->sums ? out->bytes : s->bytes);
}

/* Fills the loads of fp32 and fp16 for the gradient of `c`. `fp16` is as in gcb_payoff_point. */
static void load_baselines(struct gcb_payoff_loads *out, const struct gcb_payoff_case *c,
                           const struct gcb_payoff_case *fp16, const struct gcb_payoff_model *model)
{
    struct gcb_load measured;
    struct gcb_payoff_scale s;

    make_scale(&s, c, model);
    out->fp32 = (struct gcb_load){
        .sums = true,
        .transfers = s.transfers,
        .bytes = s.bytes,
        .add = time_of_adding(c, s.bytes),
        .compute = model->compute,
    };
    out->fp16 = out->fp32;
    out->fp16.bytes /= 2.0;
    out->fp16.add = time_of_adding(c, out->fp16.bytes);
    if (!fp16)
        return;
    gcb_payoff_load(&measured, NULL, fp16, model);
    out->fp16.encode = measured.encode;
    out->fp16.decode = measured.decode;
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

/* ---- verdicts ---- */

void gcb_payoff_judge(struct gcb_payoff_verdict *out, const struct gcb_link *link,
                      const struct gcb_payoff_loads *loads)
{
    const struct gcb_load *method = &loads->method;

    *out = (struct gcb_payoff_verdict){.some_workers = false};
    gcb_payoff_exchange(&out->method, link, method);
    gcb_payoff_exchange(&out->fp32, link, &loads->fp32);
    gcb_payoff_exchange(&out->fp16, link, &loads->fp16);
    out->speedup_fp32 = out->fp32.cost / out->method.cost;
    out->speedup_fp16 = out->fp16.cost / out->method.cost;
    out->least_ratio = gcb_payoff_least_ratio((method->encode + method->decode) / loads->fp32.bytes,
                                              link->bandwidth);
    out->count_fp32 = gcb_payoff_bandwidths(out->against_fp32, link, method, &loads->fp32);
    out->count_fp16 = gcb_payoff_bandwidths(out->against_fp16, link, method, &loads->fp16);
    out->some_workers =
        gcb_payoff_workers(&out->least_workers, &out->most_workers, link, method, &loads->fp32);
}

void gcb_payoff_point(struct gcb_payoff_point *p, const struct gcb_payoff_case *fp16,
                      const struct gcb_link *link, const struct gcb_payoff_model *model)
{
    const bool is_fp32 = p->baseline && strcmp(p->baseline, "fp32") == 0;
    struct gcb_payoff_loads *loads = &p->loads;

    p->link = *link;
    p->rel_l2 = p->c ? p->c->rel_l2 : is_fp32 ? 0.0 : fp16 ? fp16->rel_l2 : NAN;
    gcb_payoff_load(&loads->method, &p->scale, p->group, model);
    load_baselines(loads, p->group, fp16, model);
    if (p->baseline)
        loads->method = is_fp32 ? loads->fp32 : loads->fp16;
    gcb_payoff_judge(&p->verdict, link, loads);
    p->verdict.doubt = p->c ? p->scale.doubt : NULL;
    p->verdict.miss = p->scale.miss;
}

double gcb_payoff_below(const struct gcb_payoff_range *ranges, size_t count)
{
    return count > 0 && ranges[0].from == 0.0 ? ranges[0].to : 0.0;
}

char *gcb_payoff_bandwidth_text(char *out, double bandwidth)
{
    static const struct {
        double from;
        const char *name;
    } units[] = {{1e12, "Tb/s"}, {1e9, "Gb/s"}, {1e6, "Mb/s"}, {1e3, "kb/s"}, {0.0, "b/s"}};
    const double bits = 8.0 * bandwidth;
    size_t i = 0;

    while (bits < 0.9995 * units[i].from)
        i++;
    if (bits < 1e15)
        snprintf(out, 32, "%.3g %s", units[i].from > 0.0 ? bits / units[i].from : bits,
                 units[i].name);
    else
        snprintf(out, 32, "%.2e %s", bits / units[i].from, units[i].name);
    return out;
}

/* ---- words ---- */

static void say_ranges(char *out, size_t size, const struct gcb_payoff_range *r, size_t count)
{
    char from[32], to[32];

    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            gcb_append(out, size, " and ");
        gcb_payoff_bandwidth_text(from, r[i].from);
        gcb_payoff_bandwidth_text(to, r[i].to);
        if (isinf(r[i].to) && r[i].from > 0.0)
            gcb_append(out, size, "above %s", from);
        else if (isinf(r[i].to))
            gcb_append(out, size, "at any bandwidth");
        else if (r[i].from > 0.0)
            gcb_append(out, size, "between %s and %s", from, to);
        else
            gcb_append(out, size, "below %s", to);
    }
}

/* Appends why the method does not pay. */
static void say_why(char *out, size_t size, const struct gcb_payoff_verdict *v)
{
    const struct gcb_payoff_times *m = &v->method;

    if (m->link_bytes >= 1.005 * v->fp32.link_bytes)
        gcb_append(out, size, "sends %.3g times the bytes of fp32",
                   m->link_bytes / v->fp32.link_bytes);
    else if (m->link_bytes >= v->fp32.link_bytes)
        gcb_append(out, size, "sends as many bytes as fp32");
    else if (m->encode > v->fp32.seconds)
        gcb_append(out, size, "encoding takes longer than sending fp32");
    else if (m->decode > v->fp32.seconds)
        gcb_append(out, size, "decoding %.6g messages takes longer than sending fp32", m->decodes);
    else
        gcb_append(out, size, "coding takes longer than it saves");
}

static void say_workers(char *out, size_t size, const struct gcb_payoff_verdict *v)
{
    const bool ends = v->most_workers<GCB_PAYOFF_WORKERS, begins = v->least_workers> 2;

    if (begins && ends)
        gcb_append(out, size, "%u to %u workers", v->least_workers, v->most_workers);
    else if (begins)
        gcb_append(out, size, "%u workers or more", v->least_workers);
    else if (ends)
        gcb_append(out, size, "up to %u workers", v->most_workers);
    else
        gcb_append(out, size, "any number of workers");
}

static void say_doubt(char *out, size_t size, const struct gcb_payoff_verdict *v)
{
    gcb_append(out, size, "doubtful: fitted and measured %s differ by %.0f %%", v->doubt,
               100.0 * fmin(v->miss, 9.99));
}

char *gcb_payoff_words(char *out, size_t size, const struct gcb_payoff_verdict *v,
                       const struct gcb_link *link, bool here)
{
    char at[32];

    out[0] = '\0';
    if (v->doubt) {
        say_doubt(out, size, v);
        return out;
    }
    if (v->count_fp32 == 0) {
        gcb_append(out, size, "does not pay at any bandwidth with %u workers: ", link->workers);
        say_why(out, size, v);
    } else {
        gcb_append(out, size, "pays ");
        say_ranges(out, size, v->against_fp32, v->count_fp32);
        gcb_append(out, size, "%s", v->count_fp16 ? ", against fp16 " : ", never against fp16");
        say_ranges(out, size, v->against_fp16, v->count_fp16);
    }
    if (!here || (!v->count_fp32 && !v->some_workers))
        return out;
    gcb_append(out, size, "; at %s with ", gcb_payoff_bandwidth_text(at, link->bandwidth));
    if (v->some_workers) {
        say_workers(out, size, v);
    } else {
        gcb_append(out, size, "no number of workers: ");
        say_why(out, size, v);
    }
    return out;
}

/* Appends whether the method pays at this link, with how many workers, or why it does not. */
static void say_brief_here(char *out, size_t size, const struct gcb_payoff_verdict *v,
                           const struct gcb_link *link)
{
    const bool among =
        v->some_workers && link->workers >= v->least_workers && link->workers <= v->most_workers;

    if (v->speedup_fp32 > 1.0 && !among) {
        gcb_append(out, size, "pays with %u workers", link->workers);
    } else if (v->speedup_fp32 > 1.0 || (v->some_workers && !among)) {
        gcb_append(out, size, among ? "pays with " : "no, only with ");
        say_workers(out, size, v);
    } else {
        gcb_append(out, size, "no: ");
        say_why(out, size, v);
    }
}

char *gcb_payoff_brief(char *out, size_t size, const struct gcb_payoff_verdict *v,
                       const struct gcb_link *link, bool here)
{
    size_t used;

    size = size < GCB_PAYOFF_BRIEF + 1 ? size : GCB_PAYOFF_BRIEF + 1;
    out[0] = '\0';
    if (v->doubt) {
        say_doubt(out, size, v);
    } else if (here) {
        say_brief_here(out, size, v, link);
    } else if (v->count_fp32 == 0) {
        gcb_append(out, size, "never: ");
        say_why(out, size, v);
    } else {
        gcb_append(out, size, "pays ");
        say_ranges(out, size, v->against_fp32, v->count_fp32);
        used = strlen(out);
        gcb_append(out, size, v->count_fp16 ? ", beats fp16 " : ", never beats fp16");
        say_ranges(out, size, v->against_fp16, v->count_fp16);
        if (strlen(out) + 1 >= size) /* the part about fp16 did not fit: leave it out */
            out[used] = '\0';
    }
    return out;
}
