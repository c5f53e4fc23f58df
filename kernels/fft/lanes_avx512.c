#define LANES 16
#define NAME(function) gcb_fft_##function##_avx512
#include "kernels/fft/lanes_body.h"
