#ifndef SRC_LIB_SPARSE_VALUES_H
#define SRC_LIB_SPARSE_VALUES_H

#include "src/lib/sparse/stages.h"

/* How kept values are sent; src/lib/sparse/values.c holds the table. */
extern const struct gcb_values gcb_values_fp32;      /* values_float.c */
extern const struct gcb_values gcb_values_fp16;      /* values_float.c */
extern const struct gcb_values gcb_values_range;     /* values_range.c */
extern const struct gcb_values gcb_values_uniform;   /* values_uniform.c */
extern const struct gcb_values gcb_values_mean;      /* values_mean.c */
extern const struct gcb_values gcb_values_sign_mean; /* values_mean.c */
extern const struct gcb_values gcb_values_means;     /* values_mean.c */

#endif
