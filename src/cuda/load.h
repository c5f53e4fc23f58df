#ifndef SRC_CUDA_LOAD_H
#define SRC_CUDA_LOAD_H

#include "src/base/diag.h"

/*
 * All CUDA code stands in one module, libgcbench-cuda.so, opened at run time: beside the library itself,
 * then wherever the system looks. A build or machine without it works in everything else.
 */

/* Can device `index` be used? 0, or GCB_E_BACKEND with the reason in one line. */
int gcb_cuda_check(unsigned index, struct gcb_diag *diag);

#endif
