#include "src/sparse/transform.h"

static const struct gcb_transform *const transforms[] = {
    &gcb_transform_none,
    &gcb_transform_fft,
    &gcb_transform_dct,
    &gcb_transform_hadamard,
};

const char *const gcb_transform_names[] = {"none", "fft", "dct", "hadamard", NULL};

const struct gcb_transform *gcb_transform_at(int id)
{
    return transforms[id];
}
