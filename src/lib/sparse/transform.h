#ifndef SRC_LIB_SPARSE_TRANSFORM_H
#define SRC_LIB_SPARSE_TRANSFORM_H

#include "src/lib/sparse/stages.h"

/* The transforms, one file each; src/lib/sparse/transform.c holds the table. */
extern const struct gcb_transform gcb_transform_none;     /* transform_none.c */
extern const struct gcb_transform gcb_transform_fft;      /* transform_fft.c */
extern const struct gcb_transform gcb_transform_dct;      /* transform_dct.c */
extern const struct gcb_transform gcb_transform_hadamard; /* transform_hadamard.c */

/* transform.c: has_room of those that are FFTW's. */
bool gcb_transform_has_room(const struct gcb_transform_state *t);

/* transform_hadamard.c: elements of a whole transform (1 where there are none), and the key of a step's signs, which a
 * device draws too. */
uint64_t gcb_hadamard_length(uint64_t count, uint64_t chunk);
uint64_t gcb_hadamard_key(const struct gcb_codec_env *env, uint64_t step);

#endif
