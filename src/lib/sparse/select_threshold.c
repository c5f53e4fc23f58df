#include "src/lib/sparse/select.h"

/*
 * Keeps all values of at least a given magnitude (Strom 2015; some papers call it "threshold-v").
 * Zeros are never kept. With a transform, the threshold is compared with the floats that rank the
 * positions: real coefficients before `scale` multiplies them (struct gcb_transform), and for fft
 * the bins' powers, scaled so that the largest is near 1.
 */

static bool select_threshold(struct gcb_selection *s, uint64_t k)
{
    const uint32_t bits = gcb_bits_of((float)s->p.threshold);

    if (s->from.ops->width == 2 && !gcb_blocks_all(s)) /* the scale of powers depends on all bins */
        return false;
    return gcb_select_collect(s, bits ? bits : 1);
}

const struct gcb_selector gcb_selector_threshold = {
    .by_magnitude = true,
    .max_kept = gcb_select_max_kept_all,
    .select = select_threshold,
};
