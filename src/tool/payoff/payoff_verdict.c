#include "src/tool/payoff/payoff_verdict.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

void gcb_payoff_judge(struct gcb_payoff_verdict *out, const struct gcb_link *link,
                      const struct gcb_payoff_contest *contest)
{
    const struct gcb_load *method = &contest->method;

    *out = (struct gcb_payoff_verdict){.some_workers = false};
    gcb_payoff_exchange(&out->method, link, method);
    gcb_payoff_exchange(&out->fp32, link, &contest->fp32);
    gcb_payoff_exchange(&out->fp16, link, &contest->fp16);
    out->speedup_fp32 = out->fp32.cost / out->method.cost;
    out->speedup_fp16 = out->fp16.cost / out->method.cost;
    out->least_ratio = gcb_payoff_least_ratio(
        (method->encode + method->decode) / contest->fp32.bytes, link->bandwidth);
    out->count_fp32 = gcb_payoff_bandwidths(out->against_fp32, link, method, &contest->fp32);
    out->count_fp16 = gcb_payoff_bandwidths(out->against_fp16, link, method, &contest->fp16);
    out->some_workers =
        gcb_payoff_workers(&out->least_workers, &out->most_workers, link, method, &contest->fp32);
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

/* A text that grows in a buffer. */
struct words {
    char *out;
    size_t size, used;
};

static void say(struct words *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(struct words *w, const char *format, ...)
{
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(w->out + w->used, w->size - w->used, format, args);
    va_end(args);
    if (n > 0)
        w->used += (size_t)n;
    if (w->used >= w->size)
        w->used = w->size - 1;
}

static void say_ranges(struct words *w, const struct gcb_payoff_range *r, size_t count)
{
    char from[32], to[32];

    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            say(w, " and ");
        gcb_payoff_bandwidth_text(from, r[i].from);
        gcb_payoff_bandwidth_text(to, r[i].to);
        if (isinf(r[i].to) && r[i].from > 0.0)
            say(w, "above %s", from);
        else if (isinf(r[i].to))
            say(w, "at any bandwidth");
        else if (r[i].from > 0.0)
            say(w, "between %s and %s", from, to);
        else
            say(w, "below %s", to);
    }
}

static void say_never(struct words *w, const struct gcb_payoff_verdict *v,
                      const struct gcb_link *link)
{
    say(w, "does not pay at any bandwidth: ");
    if (v->method.link_bytes >= 1.005 * v->fp32.link_bytes)
        say(w, "%u workers' messages are %.3g times the bytes of fp32's sum", link->workers,
            v->method.link_bytes / v->fp32.link_bytes);
    else if (v->method.link_bytes >= v->fp32.link_bytes)
        say(w, "%u workers' messages are as many bytes as fp32's sum", link->workers);
    else
        say(w, "coding takes longer than what it saves can hide");
}

/* Why it does not pay at this link. */
static void say_why(struct words *w, const struct gcb_payoff_verdict *v)
{
    const struct gcb_exchange *m = &v->method;

    if (m->link_bytes >= v->fp32.link_bytes)
        say(w, "the messages are more bytes than fp32");
    else if (m->encode > v->fp32.seconds)
        say(w, "encode alone takes longer than sending fp32");
    else if (m->decode > v->fp32.seconds)
        say(w, "decoding %g messages takes longer than sending fp32", m->decodes);
    else
        say(w, "coding takes longer than sending fewer bytes saves");
}

/* For how many workers it pays: "from 3 to 8 workers", with `from` "" "3 to 8 workers". */
static void say_workers(struct words *w, const struct gcb_payoff_verdict *v, const char *any_number,
                        const char *from)
{
    const bool ends = v->most_workers<GCB_PAYOFF_WORKERS, begins = v->least_workers> 2;

    if (begins && ends)
        say(w, "%s%u to %u workers", from, v->least_workers, v->most_workers);
    else if (begins && *from)
        say(w, "%s%u workers on", from, v->least_workers);
    else if (begins)
        say(w, "%u workers or more", v->least_workers);
    else if (ends)
        say(w, "up to %u workers", v->most_workers);
    else
        say(w, "%s", any_number);
}

static void say_here(struct words *w, const struct gcb_payoff_verdict *v,
                     const struct gcb_link *link)
{
    char at[32];

    say(w, "; at %s ", gcb_payoff_bandwidth_text(at, link->bandwidth));
    if (!v->some_workers) {
        say(w, "for no number of workers: ");
        say_why(w, v);
    } else {
        say_workers(w, v, "for any number of workers", "from ");
    }
}

static double percent(double share)
{
    return 100.0 * fmin(share, 9.99);
}

char *gcb_payoff_words(char *out, size_t size, const struct gcb_payoff_verdict *v,
                       const struct gcb_link *link, bool here)
{
    struct words w = {out, size, 0};

    if (v->doubt) {
        say(&w, "doubtful: its %s do not follow from the sizes measured (%.0f %% off)", v->doubt,
            percent(v->off));
        return out;
    }
    if (v->count_fp32 == 0) {
        say_never(&w, v, link);
    } else {
        say(&w, "pays ");
        say_ranges(&w, v->against_fp32, v->count_fp32);
        say(&w, "%s", v->count_fp16 ? ", against fp16 " : ", never against fp16");
        say_ranges(&w, v->against_fp16, v->count_fp16);
    }
    if (here && (v->count_fp32 || v->some_workers))
        say_here(&w, v, link);
    return out;
}

static void brief_workers(struct words *w, const struct gcb_payoff_verdict *v)
{
    say_workers(w, v, "any number of workers", "");
}

/* Why it does not pay at this link, in few words. */
static void brief_why(struct words *w, const struct gcb_payoff_verdict *v)
{
    const struct gcb_exchange *m = &v->method;

    if (m->link_bytes >= 1.005 * v->fp32.link_bytes)
        say(w, "sends %.3g times fp32's bytes", m->link_bytes / v->fp32.link_bytes);
    else if (m->link_bytes >= v->fp32.link_bytes)
        say(w, "sends as many bytes as fp32");
    else if (m->encode > v->fp32.seconds)
        say(w, "encoding outlasts sending fp32");
    else if (m->decode > v->fp32.seconds)
        say(w, "decoding %.6g outlasts sending fp32", m->decodes);
    else
        say(w, "coding outlasts what fewer bytes save");
}

/* At one link: whether, for how many workers, or why not. */
static void brief_here(struct words *w, const struct gcb_payoff_verdict *v,
                       const struct gcb_link *link)
{
    const bool among =
        v->some_workers && link->workers >= v->least_workers && link->workers <= v->most_workers;

    if (v->speedup_fp32 > 1.0 && among) {
        say(w, "pays with ");
        brief_workers(w, v);
    } else if (v->speedup_fp32 > 1.0) {
        say(w, "pays with %u workers", link->workers);
    } else if (v->some_workers && !among) {
        say(w, "no, only with ");
        brief_workers(w, v);
    } else {
        say(w, "no: ");
        brief_why(w, v);
    }
}

char *gcb_payoff_brief(char *out, size_t size, const struct gcb_payoff_verdict *v,
                       const struct gcb_link *link, bool here)
{
    struct words w = {out, size < GCB_PAYOFF_BRIEF + 1 ? size : GCB_PAYOFF_BRIEF + 1, 0};
    struct words more;

    if (v->doubt) {
        say(&w, "doubtful: sizes do not tell %s (%.0f %% off)", v->doubt, percent(v->off));
        return out;
    }
    if (here) {
        brief_here(&w, v, link);
        return out;
    }
    if (v->count_fp32 == 0) {
        say(&w, "never pays: ");
        brief_why(&w, v);
        return out;
    }
    say(&w, "pays ");
    say_ranges(&w, v->against_fp32, v->count_fp32);
    more = w;
    if (v->count_fp16 == 0) {
        say(&more, ", never beats fp16");
    } else {
        say(&more, ", beats fp16 ");
        say_ranges(&more, v->against_fp16, v->count_fp16);
    }
    if (more.used + 1 >= more.size) /* no room: half a sentence says nothing */
        out[w.used] = '\0';
    return out;
}
