#include "src/tool/payoff/payoff_rows.h"

#include <math.h>

void gcb_payoff_point(struct gcb_payoff_point *p, const struct gcb_payoff_cases *cases,
                      const struct gcb_link *link, const struct gcb_payoff_model *model)
{
    struct gcb_payoff_contest *c = &p->contest;
    const struct gcb_payoff_case *half = gcb_payoff_half(cases, p->of->group);

    p->link = *link;
    p->rel_l2 = p->c ? p->c->rel_l2 : half ? half->rel_l2 : NAN;
    if (p->baseline && p->baseline[2] == '3')
        p->rel_l2 = 0.0;
    gcb_payoff_load(&c->method, &p->scale, p->of, model);
    gcb_payoff_load_fp32(&c->fp32, p->of, model);
    gcb_payoff_load_fp16(&c->fp16, p->of, half, model);
    if (p->baseline)
        c->method = p->baseline[2] == '3' ? c->fp32 : c->fp16;
    gcb_payoff_judge(&p->verdict, link, c);
    p->verdict.doubt = p->c ? p->scale.doubt : NULL;
    p->verdict.off = p->scale.off;
}

static void put_text(struct gcb_row *row, const char *key, const char *text)
{
    gcb_row_text(row, key, text && *text ? text : NULL);
}

static void put_case(struct gcb_row *row, const struct gcb_payoff_point *p)
{
    gcb_row_text(row, "results", p->of->path);
    gcb_row_text(row, "method", p->c ? p->c->method : p->baseline);
    gcb_row_text(row, "spec", p->c ? p->c->spec : p->baseline);
    gcb_row_text(row, "label", p->c ? p->c->label : p->baseline);
    gcb_row_bool(row, "baseline", !p->c);
    put_text(row, "scope", p->of->scope);
    put_text(row, "device", p->of->device);
    gcb_row_u64(row, "threads", p->of->threads);
    put_text(row, "isa", p->of->isa);
    put_text(row, "cache", p->of->cache);
    gcb_row_real(row, "rel_l2", p->rel_l2);
}

static void put_link(struct gcb_row *row, const struct gcb_link *link)
{
    gcb_row_text(row, "collective", gcb_collective_names[link->collective]);
    gcb_row_u64(row, "workers", link->workers);
    gcb_row_real(row, "bandwidth_gbit", 8e-9 * link->bandwidth);
    gcb_row_real(row, "latency_seconds", link->latency);
}

static void put_load(struct gcb_row *row, const struct gcb_payoff_point *p)
{
    const struct gcb_load *l = &p->contest.method;

    gcb_row_real(row, "gradient_bytes", p->scale.bytes);
    gcb_row_real(row, "messages", p->scale.messages);
    gcb_row_real(row, "transfers", p->scale.transfers);
    gcb_row_real(row, "wire_bytes", l->bytes);
    gcb_row_real(row, "ratio_vs_fp32", p->scale.bytes / l->bytes);
    gcb_row_bool(row, "fitted", p->c && p->scale.fitted);
    gcb_row_bool(row, "extrapolated", p->c && p->scale.beyond);
    gcb_row_text(row, "doubtful", p->verdict.doubt);
    gcb_row_real(row, "lines_off", p->c ? p->scale.off : NAN);
}

static void put_exchange(struct gcb_row *row, const struct gcb_payoff_point *p)
{
    const struct gcb_exchange *e = &p->verdict.method;

    gcb_row_real(row, "link_bytes", e->link_bytes);
    gcb_row_real(row, "latency_steps", e->steps);
    gcb_row_real(row, "encodes", e->encodes);
    gcb_row_real(row, "decodes", e->decodes);
    gcb_row_real(row, "encode_seconds", e->encode);
    gcb_row_real(row, "wire_seconds", e->wire);
    gcb_row_real(row, "decode_seconds", e->decode);
    gcb_row_real(row, "add_seconds", e->add);
    gcb_row_real(row, "seconds", e->seconds);
    gcb_row_real(row, "compute_seconds", p->contest.method.compute);
    gcb_row_real(row, "exposed_seconds", e->exposed);
    gcb_row_real(row, "step_seconds", e->step);
}

/* Nobody knows it of figures in doubt. */
static void put_paying(struct gcb_row *row, const char *key, const struct gcb_payoff_verdict *v,
                       double speedup)
{
    if (v->doubt)
        gcb_row_null(row, key);
    else
        gcb_row_bool(row, key, speedup > 1.0);
}

static void put_verdict(struct gcb_row *row, const struct gcb_payoff_point *p)
{
    const struct gcb_payoff_verdict *v = &p->verdict;
    char words[400];

    gcb_row_real(row, "speedup_fp32", v->speedup_fp32);
    gcb_row_real(row, "speedup_fp16", v->speedup_fp16);
    put_paying(row, "pays", v, v->speedup_fp32);
    put_paying(row, "pays_fp16", v, v->speedup_fp16);
    gcb_row_real(row, "pays_below_gbit", 8e-9 * gcb_payoff_below(v->against_fp32, v->count_fp32));
    gcb_row_real(row, "pays_below_fp16_gbit",
                 8e-9 * gcb_payoff_below(v->against_fp16, v->count_fp16));
    gcb_row_u64(row, "workers_least", v->some_workers ? v->least_workers : 0);
    gcb_row_u64(row, "workers_most", v->some_workers ? v->most_workers : 0);
    gcb_row_real(row, "least_ratio", v->least_ratio);
    if (p->c)
        gcb_row_text(row, "verdict", gcb_payoff_words(words, sizeof(words), v, &p->link, true));
    else
        gcb_row_null(row, "verdict");
}

static void put_fits(struct gcb_row *row, const struct gcb_payoff_case *c)
{
    static const struct gcb_fit none = {NAN, NAN, NAN, NAN, NAN, 0, false};
    const struct gcb_fit *e = c && c->encode.good ? &c->encode : &none;
    const struct gcb_fit *d = c && c->decode.good ? &c->decode : &none;
    const struct gcb_fit *w = c && c->wire.good ? &c->wire : &none;

    gcb_row_real(row, "encode_fixed_seconds", e->fixed);
    gcb_row_real(row, "encode_seconds_per_byte", e->slope);
    gcb_row_real(row, "encode_fit_error", e->error);
    gcb_row_real(row, "decode_fixed_seconds", d->fixed);
    gcb_row_real(row, "decode_seconds_per_byte", d->slope);
    gcb_row_real(row, "decode_fit_error", d->error);
    gcb_row_real(row, "wire_fixed_bytes", w->fixed);
    gcb_row_real(row, "wire_bytes_per_byte", w->slope);
    gcb_row_real(row, "wire_fit_error", w->error);
}

void gcb_payoff_row(struct gcb_row *row, const struct gcb_payoff_point *p)
{
    gcb_row_init(row, "payoff");
    gcb_row_text(row, "model", "exchange");
    put_case(row, p);
    put_link(row, &p->link);
    put_load(row, p);
    put_exchange(row, p);
    put_verdict(row, p);
    put_fits(row, p->c);
}

void gcb_payoff_fft_row(struct gcb_row *row, const struct gcb_payoff_case *c,
                        const struct gcb_fft_stages *s, double bandwidth)
{
    const double least = gcb_fft_stages_least_ratio(s, bandwidth);
    const double ratio = c ? 4.0 * c->total.elements / c->total.wire : NAN;

    gcb_row_init(row, "payoff");
    gcb_row_text(row, "model", "fft");
    gcb_row_text(row, "results", c ? c->path : NULL);
    gcb_row_text(row, "method", c ? c->method : NULL);
    gcb_row_text(row, "spec", c ? c->spec : NULL);
    gcb_row_real(row, "bandwidth_gbit", 8e-9 * bandwidth);
    gcb_row_real(row, "transform_gbps", 1e-9 * s->transform);
    gcb_row_real(row, "select_gbps", 1e-9 * s->select);
    gcb_row_real(row, "quantise_gbps", 1e-9 * s->quantise);
    gcb_row_real(row, "index_gbps", 1e-9 * s->index);
    gcb_row_real(row, "least_ratio", least);
    gcb_row_real(row, "pays_below_gbit", 8e-9 * gcb_fft_stages_break_even(s));
    gcb_row_real(row, "ratio_vs_fp32", ratio);
    if (c)
        gcb_row_bool(row, "pays", ratio > least);
    else
        gcb_row_null(row, "pays");
}

void gcb_payoff_redsync_row(struct gcb_row *row, const struct gcb_redsync *in,
                            const struct gcb_redsync_times *out)
{
    gcb_row_init(row, "payoff");
    gcb_row_text(row, "model", "redsync");
    gcb_row_real(row, "density", in->density);
    gcb_row_real(row, "words", in->words);
    gcb_row_real(row, "workers", in->workers);
    gcb_row_real(row, "bandwidth_gbit", 8e-9 * in->bandwidth);
    gcb_row_real(row, "latency_seconds", in->latency);
    gcb_row_real(row, "gradient_bytes", in->bytes);
    gcb_row_real(row, "bandwidth_ratio", out->bandwidth_ratio);
    gcb_row_real(row, "even_workers", out->even_workers);
    gcb_row_real(row, "select_seconds", in->select);
    gcb_row_real(row, "sparse_latency_seconds", out->sparse_latency);
    gcb_row_real(row, "sparse_wire_seconds", out->sparse_wire);
    gcb_row_real(row, "sparse_unpack_seconds", out->sparse_unpack);
    gcb_row_real(row, "sparse_seconds", out->sparse);
    gcb_row_real(row, "dense_latency_seconds", out->dense_latency);
    gcb_row_real(row, "dense_wire_seconds", out->dense_wire);
    gcb_row_real(row, "dense_reduce_seconds", out->dense_reduce);
    gcb_row_real(row, "dense_seconds", out->dense);
    gcb_row_real(row, "speedup_fp32", out->dense / out->sparse);
    gcb_row_bool(row, "pays", out->sparse < out->dense);
}

static const char *const records[] = {"payoff", NULL};
static const char *const names[] = {
    "record",
    "model",
    "results",
    "method",
    "spec",
    "label",
    "baseline",
    "scope",
    "device",
    "threads",
    "isa",
    "cache",
    "rel_l2",
    "collective",
    "workers",
    "bandwidth_gbit",
    "latency_seconds",
    "gradient_bytes",
    "messages",
    "transfers",
    "wire_bytes",
    "ratio_vs_fp32",
    "fitted",
    "extrapolated",
    "doubtful",
    "lines_off",
    "link_bytes",
    "latency_steps",
    "encodes",
    "decodes",
    "encode_seconds",
    "wire_seconds",
    "decode_seconds",
    "add_seconds",
    "seconds",
    "compute_seconds",
    "exposed_seconds",
    "step_seconds",
    "speedup_fp32",
    "speedup_fp16",
    "pays",
    "pays_fp16",
    "pays_below_gbit",
    "pays_below_fp16_gbit",
    "workers_least",
    "workers_most",
    "least_ratio",
    "verdict",
    "encode_fixed_seconds",
    "encode_seconds_per_byte",
    "encode_fit_error",
    "decode_fixed_seconds",
    "decode_seconds_per_byte",
    "decode_fit_error",
    "wire_fixed_bytes",
    "wire_bytes_per_byte",
    "wire_fit_error",
    "transform_gbps",
    "select_gbps",
    "quantise_gbps",
    "index_gbps",
    "density",
    "words",
    "bandwidth_ratio",
    "even_workers",
    "select_seconds",
    "sparse_latency_seconds",
    "sparse_wire_seconds",
    "sparse_unpack_seconds",
    "sparse_seconds",
    "dense_latency_seconds",
    "dense_wire_seconds",
    "dense_reduce_seconds",
    "dense_seconds",
    NULL,
};
const struct gcb_columns gcb_payoff_columns = {records, names};
