#include "src/tool/payoff/payoff_rows.h"

#include <math.h>
#include <string.h>

static void put_network(struct gcb_row *row, const struct gcb_setting *s)
{
    const struct gcb_network *n = &s->network;

    gcb_row_u64(row, GCB_FIELD_WORKERS, n->workers);
    gcb_row_text(row, GCB_FIELD_LINK_FILE, n->curve ? n->curve->path : NULL);
    gcb_row_real(row, GCB_FIELD_BANDWIDTH_GBIT, 8e-9 * n->bandwidth);
    gcb_row_real(row, GCB_FIELD_LATENCY_SECONDS, n->latency);
    gcb_row_u64(row, GCB_FIELD_WORKERS_PER_NODE, n->per_node);
    gcb_row_real(row, GCB_FIELD_INTRA_GBIT, n->per_node > 1 ? 8e-9 * n->intra : (double)NAN);
    gcb_row_real(row, GCB_FIELD_INNER_STEPS, s->inner_steps);
    gcb_row_bool(row, GCB_FIELD_SHARDED, s->sharded);
    gcb_row_real(row, GCB_FIELD_GRADIENT_BYTES, 4.0 * s->elements);
}

void gcb_payoff_row(struct gcb_row *row, const struct gcb_judgement *j, size_t i,
                    const struct gcb_setting *s, const char *from, const char *coding)
{
    const struct gcb_judged *x = &j->items[i];
    const struct gcb_exchange_times *t = &x->times;
    char spec[1024];

    gcb_row_init(row, GCB_RECORD_PAYOFF);
    gcb_row_text(row, GCB_FIELD_MODEL, "exchange");
    gcb_row_text(row, GCB_FIELD_RESULTS, from);
    gcb_row_text(row, GCB_FIELD_METHOD, x->way->method.name);
    gcb_row_text(row, GCB_FIELD_SPEC,
                 gcb_method_spec(spec, sizeof(spec), &x->way->method, GCB_SPEC_FULL));
    gcb_row_text(row, GCB_FIELD_LABEL, x->way->label);
    gcb_row_bool(row, GCB_FIELD_BASELINE, x->way->baseline);
    gcb_row_text(row, GCB_FIELD_COLLECTIVE, gcb_collective_names[x->way->collective]);
    gcb_row_text(row, GCB_FIELD_ALGORITHM, t->algorithm);
    gcb_row_text(row, GCB_FIELD_KIND, x->way->baseline ? NULL : gcb_error_kinds[x->kind]);
    gcb_row_real(row, GCB_FIELD_ERROR_OF_MEAN, x->error);
    gcb_row_real(row, GCB_FIELD_LASTING, x->lasting);
    gcb_row_u64(row, GCB_FIELD_MEAN_WORKERS, x->way->workers);
    put_network(row, s);
    gcb_row_real(row, GCB_FIELD_TRANSFERS, fmax(1.0, ceil(4.0 * s->elements / s->bucket)));
    gcb_row_real(row, GCB_FIELD_LINK_BYTES, t->link_bytes);
    gcb_row_bool(row, GCB_FIELD_EXTRAPOLATED, t->extrapolated);
    gcb_row_text(row, GCB_FIELD_CODING, coding);
    gcb_row_real(row, GCB_FIELD_CODING_SECONDS, t->coding);
    gcb_row_real(row, GCB_FIELD_NETWORK_SECONDS, t->network);
    gcb_row_real(row, GCB_FIELD_ADDING_SECONDS, t->adding);
    gcb_row_real(row, GCB_FIELD_SECONDS, t->seconds);
    gcb_row_real(row, GCB_FIELD_COMPUTE_SECONDS, s->compute);
    gcb_row_real(row, GCB_FIELD_STEP_SECONDS, t->step);
    gcb_row_text(row, GCB_FIELD_BAR, j->answer.bar);
    gcb_row_real(row, GCB_FIELD_SPEEDUP_BAR, x->x);
    gcb_row_real(row, GCB_FIELD_SPEEDUP_BAR_LOW, x->x_low);
    gcb_row_real(row, GCB_FIELD_SPEEDUP_BAR_HIGH, x->x_high);
    gcb_row_real(row, GCB_FIELD_SPEEDUP_LIMIT, x->limit);
    gcb_row_real(row, GCB_FIELD_SPEEDUP_STEP, x->x_step);
    gcb_row_text(row, GCB_FIELD_ADVICE,
                 i == j->answer.best      ? "best"
                 : i == j->answer.noisy   ? "noise"
                 : i == j->answer.trained ? "train"
                                          : NULL);
}
