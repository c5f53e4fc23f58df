#ifndef SRC_LIB_SPARSE_TRANSFORM_H
#define SRC_LIB_SPARSE_TRANSFORM_H

#include "src/lib/sparse/stages.h"

/* What several transforms share: transform.c. */

/* Elements of a whole chunk. */
uint64_t gcb_transform_chunk(const struct gcb_transform_state *t);

/* `has_room` of the transforms that use FFTW. */
bool gcb_transform_has_room(const struct gcb_transform_state *t);

/* `order` and `canvas` of the transforms whose coefficients are as many real numbers as the elements. */
const float *gcb_transform_order(struct gcb_transform_state *t, const float *coef);
float *gcb_transform_canvas(struct gcb_transform_state *t, float *out);

/* transform_hadamard.c: elements of a whole chunk (1 if there are no elements), and the key of the signs of a step. A
 * device uses both. */
uint64_t gcb_hadamard_length(uint64_t count, uint64_t chunk);
uint64_t gcb_hadamard_key(const struct gcb_codec_env *env, uint64_t step);

#endif
