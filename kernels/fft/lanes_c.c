#include "kernels/fft/lanes_body.h"
