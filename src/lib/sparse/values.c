#include "src/lib/sparse/stages.h"

static const struct gcb_value_coder *const values[] = {
    &gcb_values_fp32, &gcb_values_fp16,      &gcb_values_range, &gcb_values_uniform,
    &gcb_values_mean, &gcb_values_sign_mean, &gcb_values_means,
};

const char *const gcb_values_names[] = {"fp32", "fp16",      "range", "uniform",
                                        "mean", "sign-mean", "means", NULL};

const struct gcb_value_coder *gcb_values_at(int id)
{
    return values[id];
}
