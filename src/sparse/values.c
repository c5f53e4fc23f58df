#include "src/sparse/values.h"

static const struct gcb_values *const values[] = {
    &gcb_values_fp32,
    &gcb_values_fp16,
    &gcb_values_range,
};

const char *const gcb_values_names[] = {"fp32", "fp16", "range", NULL};

const struct gcb_values *gcb_values_at(int id)
{
    return values[id];
}
