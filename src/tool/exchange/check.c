#include "src/tool/exchange/check.h"

#include <math.h>
#include <string.h>

#include "kernels/convert/convert_elem.h"
#include "src/lib/base/diag.h"
#include "src/tool/base/memory.h"

void gcb_check_record(struct gcb_check *c, const struct gcb_round *round,
                      const struct gcb_arrival *arrived)
{
    struct gcb_check_round *r;

    gcb_must_grow(&c->rounds, &c->cap, c->count, sizeof(*c->rounds));

    r = &c->rounds[c->count++];
    *r = (struct gcb_check_round){NULL, 0};
    if (round->kind != GCB_ROUND_REDUCE)
        return;
    r->combined = gcb_must_array(arrived->length, 1);
    r->bytes = arrived->length;
    memcpy(r->combined, arrived->data, arrived->length);
}

void gcb_check_clear(struct gcb_check *c)
{
    for (size_t i = 0; i < c->count; i++)
        gcb_free(c->rounds[i].combined);
    c->count = 0;
}

void gcb_check_fini(struct gcb_check *c)
{
    gcb_check_clear(c);
    gcb_free(c->rounds);
}

/* ---- the serial exchange and its all-reduces ---- */

/* Returns half the distance from 1 to the next number of the float type that `reduction` adds.
 * Returns NAN if the order of the values has no effect: for sums of integers and for maxima. */
static double unit_of(enum gcb_reduction reduction)
{
    switch (reduction) {
    case GCB_SUM_F32:
        return 0x1p-24;
    case GCB_SUM_F16:
        return 0x1p-11;
    case GCB_SUM_BF16:
        return 0x1p-8;
    default:
        return NAN;
    }
}

/* Returns number i of an array of the floats that `reduction` adds. */
static double value_at(enum gcb_reduction reduction, const void *values, uint64_t i)
{
    switch (reduction) {
    case GCB_SUM_F16:
        return (double)gcb_float_of(gcb_fp32_of_fp16(((const uint16_t *)values)[i]));
    case GCB_SUM_BF16:
        return (double)gcb_float_of(gcb_fp32_of_bf16(((const uint16_t *)values)[i]));
    default:
        return (double)((const float *)values)[i];
    }
}

/* True if the values that arrived may be the sums of the workers' floats, added in some order.
 * Always false for reductions whose order has no effect. sent[w] is the round of worker w. */
static bool are_sums(const struct gcb_round *sent, unsigned workers, const void *arrived)
{
    const enum gcb_reduction reduction = sent[0].reduction;
    const uint64_t n = sent[0].bytes / gcb_reduction_size(reduction);
    const double unit = unit_of(reduction);

    if (isnan(unit))
        return false;
    for (uint64_t i = 0; i < n; i++) {
        double sum = 0.0, sizes = 0.0;

        for (unsigned w = 0; w < workers; w++) {
            const double v = value_at(reduction, sent[w].data, i);

            sum += v;
            sizes += fabs(v);
        }
        /* not `>`, so that a NAN returns false */
        if (!(fabs(value_at(reduction, arrived, i) - sum) <= 2.0 * (workers - 1) * unit * sizes))
            return false;
    }
    return true;
}

/* Combines the workers' values, as the callback `combine` of struct gcb_local. `values` holds those
 * of worker 0. Takes the values that arrived if are_sums() says so. */
static void combine(void *ctx, unsigned round, const struct gcb_round *sent, void *values)
{
    const struct gcb_check *c = ctx;
    const struct gcb_check_round *r = round < c->count ? &c->rounds[round] : NULL;

    if (r && r->bytes && r->bytes == sent[0].bytes && are_sums(sent, c->workers, r->combined)) {
        memcpy(values, r->combined, r->bytes);
        return;
    }
    for (unsigned w = 1; w < c->workers; w++)
        gcb_reduction_combine(sent[0].reduction, values, sent[w].data, sent[w].bytes);
}

int gcb_check_serial(struct gcb_check *c, struct gcb_exchange *const *exchanges,
                     struct gcb_diag *diag)
{
    struct gcb_local local = {.workers = c->workers, .combine = combine, .ctx = c};
    const int err = gcb_local_run(&local, exchanges, diag);

    gcb_local_fini(&local);
    return err;
}
