#define NAME gcb_block_fns_avx512
#include "kernels/block/block_body.h"
