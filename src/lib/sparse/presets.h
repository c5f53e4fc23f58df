#ifndef SRC_LIB_SPARSE_PRESETS_H
#define SRC_LIB_SPARSE_PRESETS_H

#include "src/lib/codec/codec.h"

/* Published sparsifiers as rows over the sparse codec; ends with a row without a name. */
extern const struct gcb_preset gcb_sparse_presets[];

#endif
