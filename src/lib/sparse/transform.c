#include "src/lib/sparse/transform.h"

static const struct gcb_transform *const transforms[] = {
    &gcb_transform_none,
    &gcb_transform_fft,
    &gcb_transform_dct,
    &gcb_transform_hadamard,
};

const char *const gcb_transform_names[] = {"none", "fft", "dct", "hadamard", NULL};

bool gcb_transform_has_room(const struct gcb_transform_state *t)
{
    return t->count == 0 || gcb_fft_has_room(t->fft);
}

const struct gcb_transform *gcb_transform_at(int id)
{
    return transforms[id];
}
