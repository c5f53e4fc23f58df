#include "src/lib/sparse/select.h"

/* Keeps all values of at least a given magnitude (Strom 2015; some papers call it "threshold-v").
 * Zeros are never kept. */

static void select_threshold(struct gcb_selection *s, const float *order, uint64_t k)
{
    const uint32_t bits = gcb_bits_of((float)s->p.threshold);

    gcb_select_collect(s, order, bits ? bits : 1);
}

const struct gcb_selector gcb_selector_threshold = {
    .by_magnitude = true,
    .keeps_largest = true,
    .max_kept = gcb_select_max_kept_all,
    .select = select_threshold,
};
