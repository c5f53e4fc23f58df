#include "src/lib/sparse/select.h"

/* The k largest magnitudes of the whole message, exactly. */
static void select_topk(struct gcb_selection *s, const struct gcb_step *at, const float *order,
                        uint64_t k)
{
    (void)at;
    gcb_select_exact(s, order, k);
}

const struct gcb_selector gcb_selector_topk = {
    .name = "topk",
    .select = select_topk,
};
