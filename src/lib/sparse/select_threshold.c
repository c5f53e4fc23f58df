#include "src/lib/sparse/select.h"

/* Keeps all elements of at least a given magnitude (Strom 2015; elsewhere "threshold-v"). Zeros are never kept. */

static uint64_t threshold_max_kept(const struct gcb_selection_params *p, uint64_t positions,
                                   uint64_t k)
{
    (void)p;
    (void)k;
    return positions;
}

static void select_threshold(struct gcb_selection *s, const struct gcb_step *at, const float *order,
                             uint64_t k)
{
    const uint32_t bits = gcb_bits_of((float)s->p.threshold);

    (void)at;
    (void)k;
    gcb_select_collect(s, order, bits ? bits : 1);
}

const struct gcb_selector gcb_selector_threshold = {
    .name = "threshold",
    .by_magnitude = true,
    .max_kept = threshold_max_kept,
    .select = select_threshold,
};
