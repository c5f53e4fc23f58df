#ifndef SRC_SPARSE_SELECT_H
#define SRC_SPARSE_SELECT_H

#include "src/sparse/stages.h"

/* The selectors, one file each; src/sparse/select.c holds the table. */
extern const struct gcb_selector gcb_selector_topk; /* select_topk.c */

/* Elements of a selection's sample buffer. */
#define GCB_SAMPLE_MAX ((size_t)1 << 15)

#endif
