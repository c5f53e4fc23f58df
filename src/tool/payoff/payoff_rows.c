#include "src/tool/payoff/payoff_rows.h"

#include <math.h>

static void put_text(struct gcb_row *row, enum gcb_field field, const char *text)
{
    gcb_row_text(row, field, text && *text ? text : NULL);
}

static void put_case(struct gcb_row *row, const struct gcb_payoff_point *p)
{
    const char *baseline = gcb_baseline_names[p->baseline];

    gcb_row_text(row, GCB_FIELD_RESULTS, p->group->path);
    gcb_row_text(row, GCB_FIELD_METHOD, p->c ? p->c->method : baseline);
    gcb_row_text(row, GCB_FIELD_SPEC, p->c ? p->c->spec : baseline);
    gcb_row_text(row, GCB_FIELD_LABEL, p->c ? p->c->label : baseline);
    gcb_row_bool(row, GCB_FIELD_BASELINE, !p->c);
    put_text(row, GCB_FIELD_SCOPE, p->group->scope);
    put_text(row, GCB_FIELD_DEVICE, p->group->device);
    gcb_row_u64(row, GCB_FIELD_THREADS, p->group->threads);
    put_text(row, GCB_FIELD_ISA, p->group->isa);
    put_text(row, GCB_FIELD_CACHE, p->group->cache);
    gcb_row_real(row, GCB_FIELD_REL_L2, p->rel_l2);
}

static void put_link(struct gcb_row *row, const struct gcb_payoff_point *p)
{
    const struct gcb_payoff_times *t = &p->verdict.method[GCB_BOUND_MEDIAN];
    const struct gcb_link *link = &p->link;

    gcb_row_text(row, GCB_FIELD_COLLECTIVE, t->collective);
    gcb_row_text(row, GCB_FIELD_ALGORITHM, t->algorithm);
    gcb_row_u64(row, GCB_FIELD_WORKERS, link->workers);
    gcb_row_text(row, GCB_FIELD_LINK_FILE, link->curve ? link->curve->path : NULL);
    gcb_row_real(row, GCB_FIELD_BANDWIDTH_GBIT, 8e-9 * link->bandwidth);
    gcb_row_real(row, GCB_FIELD_LATENCY_SECONDS, link->latency);
    gcb_row_u64(row, GCB_FIELD_WORKERS_PER_NODE, link->per_node);
    gcb_row_real(row, GCB_FIELD_INTRA_GBIT, link->per_node > 1 ? 8e-9 * link->intra : NAN);
    gcb_row_real(row, GCB_FIELD_INNER_STEPS, p->loads.method->inner_steps);
}

static void put_load(struct gcb_row *row, const struct gcb_payoff_point *p)
{
    const struct gcb_load *l = &p->loads.method[GCB_BOUND_MEDIAN];

    gcb_row_real(row, GCB_FIELD_GRADIENT_BYTES, p->scale.bytes);
    gcb_row_real(row, GCB_FIELD_EXCHANGE_MESSAGES, p->scale.messages);
    gcb_row_real(row, GCB_FIELD_TRANSFERS, p->scale.transfers);
    gcb_row_real(row, GCB_FIELD_EXCHANGE_WIRE_BYTES, l->bytes);
    gcb_row_real(row, GCB_FIELD_RATIO_VS_FP32, p->scale.bytes / l->bytes);
    gcb_row_bool(row, GCB_FIELD_FITTED, p->c && p->scale.fitted);
    gcb_row_bool(row, GCB_FIELD_EXTRAPOLATED,
                 (p->c && p->scale.extrapolated) ||
                     p->verdict.method[GCB_BOUND_MEDIAN].extrapolated);
    gcb_row_text(row, GCB_FIELD_DOUBTFUL, p->verdict.doubt);
    gcb_row_real(row, GCB_FIELD_LINES_OFF, p->c ? p->scale.miss : NAN);
}

static void put_exchange(struct gcb_row *row, const struct gcb_payoff_point *p)
{
    const struct gcb_payoff_times *all = p->verdict.method, *t = &all[GCB_BOUND_MEDIAN];

    gcb_row_real(row, GCB_FIELD_LINK_BYTES, t->link_bytes);
    gcb_row_real(row, GCB_FIELD_LATENCY_STEPS, t->steps);
    gcb_row_real(row, GCB_FIELD_ADDS, t->adds);
    gcb_row_known_bool(row, GCB_FIELD_ADDING_MEASURED, p->c,
                       p->c && gcb_payoff_adding_measured(p->c));
    gcb_row_real(row, GCB_FIELD_ENCODE_SECONDS, t->encode);
    gcb_row_real(row, GCB_FIELD_WIRE_SECONDS, t->wire);
    gcb_row_real(row, GCB_FIELD_SIZES_SECONDS, t->sizes);
    gcb_row_real(row, GCB_FIELD_INSIDE_SECONDS, t->inside);
    gcb_row_real(row, GCB_FIELD_DECODE_SECONDS, t->decode);
    gcb_row_real(row, GCB_FIELD_ADD_SECONDS, t->add);
    gcb_row_real(row, GCB_FIELD_AVERAGE_SECONDS, t->average);
    gcb_row_real(row, GCB_FIELD_HOST_COPY_SECONDS, t->copy);
    gcb_row_real(row, GCB_FIELD_SECONDS, t->seconds);
    gcb_row_real(row, GCB_FIELD_SECONDS_LOW, all[GCB_BOUND_LOW].seconds);
    gcb_row_real(row, GCB_FIELD_SECONDS_HIGH, all[GCB_BOUND_HIGH].seconds);
    gcb_row_real(row, GCB_FIELD_COMPUTE_SECONDS, p->loads.method->compute);
    gcb_row_real(row, GCB_FIELD_EXPOSED_SECONDS, t->exposed);
    gcb_row_real(row, GCB_FIELD_STEP_SECONDS, t->step);
}

static void put_verdict(struct gcb_row *row, const struct gcb_payoff_point *p)
{
    static const enum gcb_field below[GCB_BOUNDS] = {
        GCB_FIELD_PAYS_BELOW_LOW_GBIT, GCB_FIELD_PAYS_BELOW_GBIT, GCB_FIELD_PAYS_BELOW_HIGH_GBIT};
    static const enum gcb_field speedups[GCB_BASELINES] = {
        GCB_FIELD_SPEEDUP_FP32, GCB_FIELD_SPEEDUP_FP16, GCB_FIELD_SPEEDUP_BF16};
    const struct gcb_payoff_verdict *v = &p->verdict;
    const bool undecided = v->answer == GCB_PAYOFF_UNDECIDED;
    char words[GCB_PAYOFF_WORDS];

    for (enum gcb_baseline i = 0; i < GCB_BASELINES; i++)
        gcb_row_real(row, speedups[i], v->speedups[i]);
    gcb_row_text(row, GCB_FIELD_BAR, gcb_baseline_names[v->bar]);
    gcb_row_real(row, GCB_FIELD_SPEEDUP_BAR, v->speedups[v->bar]);
    gcb_row_real(row, GCB_FIELD_SPEEDUP_BAR_LOW, v->least_speedup);
    gcb_row_real(row, GCB_FIELD_SPEEDUP_BAR_HIGH, v->most_speedup);
    gcb_row_text(row, GCB_FIELD_LOSSY_COLLECTIVE, v->lossy.collective);
    gcb_row_real(row, GCB_FIELD_LOSSY_SECONDS, v->lossy.collective ? v->lossy.seconds : NAN);
    gcb_row_real(row, GCB_FIELD_LOSSY_SPEEDUP_BAR, v->lossy_speedup);
    gcb_row_known_bool(row, GCB_FIELD_PAYS, p->c && !v->doubt && !undecided,
                       v->answer == GCB_PAYOFF_YES);
    gcb_row_known_bool(row, GCB_FIELD_UNDECIDED, p->c && !v->doubt, undecided);
    for (enum gcb_bound b = 0; b < GCB_BOUNDS; b++)
        gcb_row_real(row, below[b], 8e-9 * gcb_payoff_below(&v->ranges[b]));
    gcb_row_u64(row, GCB_FIELD_WORKERS_LEAST, v->least_workers);
    gcb_row_u64(row, GCB_FIELD_WORKERS_MOST, v->most_workers);
    gcb_row_real(row, GCB_FIELD_LEAST_RATIO, v->least_ratio);
    gcb_row_text(row, GCB_FIELD_VERDICT,
                 p->c ? gcb_payoff_words(words, sizeof(words), v, &p->link) : NULL);
}

static void put_fits(struct gcb_row *row, const struct gcb_payoff_case *c)
{
    static const struct {
        enum gcb_payoff_quantity quantity;
        enum gcb_field fixed, slope, error;
    } fields[] = {
        {GCB_PAYOFF_ENCODE, GCB_FIELD_ENCODE_FIXED_SECONDS, GCB_FIELD_ENCODE_SECONDS_PER_BYTE,
         GCB_FIELD_ENCODE_FIT_ERROR},
        {GCB_PAYOFF_DECODE, GCB_FIELD_DECODE_FIXED_SECONDS, GCB_FIELD_DECODE_SECONDS_PER_BYTE,
         GCB_FIELD_DECODE_FIT_ERROR},
        {GCB_PAYOFF_BYTES, GCB_FIELD_WIRE_FIXED_BYTES, GCB_FIELD_WIRE_BYTES_PER_BYTE,
         GCB_FIELD_WIRE_FIT_ERROR},
    };

    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        const struct gcb_fit *fit = c ? &c->fit[fields[i].quantity] : NULL;
        const bool good = fit && fit->good;

        gcb_row_real(row, fields[i].fixed, good ? fit->fixed : NAN);
        gcb_row_real(row, fields[i].slope, good ? fit->slope : NAN);
        gcb_row_real(row, fields[i].error, good ? fit->error : NAN);
    }
}

void gcb_payoff_row(struct gcb_row *row, const struct gcb_payoff_point *p)
{
    gcb_row_init(row, GCB_RECORD_PAYOFF);
    gcb_row_text(row, GCB_FIELD_MODEL, "exchange");
    put_case(row, p);
    put_link(row, p);
    put_load(row, p);
    put_exchange(row, p);
    put_verdict(row, p);
    put_fits(row, p->c);
}

void gcb_payoff_fft_row(struct gcb_row *row, const struct gcb_payoff_case *c,
                        const struct gcb_fft_stages *s, double bandwidth)
{
    const double least = gcb_fft_stages_least_ratio(s, bandwidth);
    const double ratio = c ? 4.0 * c->total.elements / c->total.value[GCB_PAYOFF_BYTES] : NAN;

    gcb_row_init(row, GCB_RECORD_PAYOFF);
    gcb_row_text(row, GCB_FIELD_MODEL, "fft");
    gcb_row_text(row, GCB_FIELD_RESULTS, c ? c->path : NULL);
    gcb_row_text(row, GCB_FIELD_METHOD, c ? c->method : NULL);
    gcb_row_text(row, GCB_FIELD_SPEC, c ? c->spec : NULL);
    gcb_row_real(row, GCB_FIELD_BANDWIDTH_GBIT, 8e-9 * bandwidth);
    gcb_row_real(row, GCB_FIELD_TRANSFORM_GBPS, 1e-9 * s->transform);
    gcb_row_real(row, GCB_FIELD_SELECT_GBPS, 1e-9 * s->select);
    gcb_row_real(row, GCB_FIELD_QUANTISE_GBPS, 1e-9 * s->quantise);
    gcb_row_real(row, GCB_FIELD_INDEX_GBPS, 1e-9 * s->index);
    gcb_row_real(row, GCB_FIELD_LEAST_RATIO, least);
    gcb_row_real(row, GCB_FIELD_PAYS_BELOW_GBIT, 8e-9 * gcb_fft_stages_break_even(s));
    gcb_row_real(row, GCB_FIELD_RATIO_VS_FP32, ratio);
    gcb_row_known_bool(row, GCB_FIELD_PAYS, c, ratio > least);
}

void gcb_payoff_redsync_row(struct gcb_row *row, const struct gcb_redsync *in,
                            const struct gcb_redsync_times *out)
{
    gcb_row_init(row, GCB_RECORD_PAYOFF);
    gcb_row_text(row, GCB_FIELD_MODEL, "redsync");
    gcb_row_real(row, GCB_FIELD_DENSITY, in->density);
    gcb_row_real(row, GCB_FIELD_WORDS, in->words);
    gcb_row_real(row, GCB_FIELD_WORKERS, in->workers);
    gcb_row_real(row, GCB_FIELD_BANDWIDTH_GBIT, 8e-9 * in->bandwidth);
    gcb_row_real(row, GCB_FIELD_LATENCY_SECONDS, in->latency);
    gcb_row_real(row, GCB_FIELD_GRADIENT_BYTES, in->bytes);
    gcb_row_real(row, GCB_FIELD_BANDWIDTH_RATIO, out->bandwidth_ratio);
    gcb_row_real(row, GCB_FIELD_EVEN_WORKERS, out->even_workers);
    gcb_row_real(row, GCB_FIELD_SELECT_SECONDS, in->select);
    gcb_row_real(row, GCB_FIELD_SPARSE_LATENCY_SECONDS, out->sparse_latency);
    gcb_row_real(row, GCB_FIELD_SPARSE_WIRE_SECONDS, out->sparse_wire);
    gcb_row_real(row, GCB_FIELD_SPARSE_UNPACK_SECONDS, out->sparse_unpack);
    gcb_row_real(row, GCB_FIELD_SPARSE_SECONDS, out->sparse);
    gcb_row_real(row, GCB_FIELD_DENSE_LATENCY_SECONDS, out->dense_latency);
    gcb_row_real(row, GCB_FIELD_DENSE_WIRE_SECONDS, out->dense_wire);
    gcb_row_real(row, GCB_FIELD_DENSE_REDUCE_SECONDS, out->dense_reduce);
    gcb_row_real(row, GCB_FIELD_DENSE_SECONDS, out->dense);
    gcb_row_real(row, GCB_FIELD_SPEEDUP_FP32, out->dense / out->sparse);
    gcb_row_bool(row, GCB_FIELD_PAYS, out->sparse < out->dense);
}
