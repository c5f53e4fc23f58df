#define LANES 8
#define NAME(function) gcb_fft_##function##_avx2
#include "kernels/fft/one_body.h"
