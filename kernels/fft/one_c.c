#include "kernels/fft/one_body.h"
