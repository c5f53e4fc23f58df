#ifndef SRC_SPARSE_TRANSFORM_H
#define SRC_SPARSE_TRANSFORM_H

#include "src/sparse/stages.h"

/* The transforms, one file each; src/sparse/transform.c holds the table. */
extern const struct gcb_transform gcb_transform_none;     /* transform_none.c */
extern const struct gcb_transform gcb_transform_fft;      /* transform_fft.c */
extern const struct gcb_transform gcb_transform_dct;      /* transform_dct.c */
extern const struct gcb_transform gcb_transform_hadamard; /* transform_hadamard.c */

#endif
