#define NAME gcb_block_fns_avx2
#include "kernels/block/block_body.h"
