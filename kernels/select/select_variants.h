#ifndef KERNELS_SELECT_SELECT_VARIANTS_H
#define KERNELS_SELECT_SELECT_VARIANTS_H

/* The variants gcb_select_init chooses from; nothing else includes this. */
#include "kernels/select/select.h"

gcb_select_collect_fn gcb_select_collect_avx2;
gcb_select_count_fn gcb_select_count_avx2;
gcb_select_power_fn gcb_select_power_avx2;

gcb_select_collect_fn gcb_select_collect_avx512;

#endif
