#ifndef SRC_CUDA_MODULE_LIBRARIES_H
#define SRC_CUDA_MODULE_LIBRARIES_H

#include <stddef.h>

/*
 * cuFFT is opened at run time, so that the module works without it in everything else. Writes "cuFFT 12.0.0", or
 * "" where it is not found.
 */
void gcb_cuda_fft_library(char *out, size_t size);

#endif
