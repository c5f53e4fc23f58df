#ifndef SRC_LIB_DEVICE_MODULE_LIBRARIES_H
#define SRC_LIB_DEVICE_MODULE_LIBRARIES_H

#include <stdbool.h>
#include <stddef.h>

/*
 * cuFFT is opened at run time, so that the module works without it in everything else. Writes "cuFFT 12.0.0", or
 * "" where it is not found.
 */
void gcb_cuda_fft_library(char *out, size_t size);

/* The library, or NULL where it is not found; the caller closes it (NULL is fine). */
void *gcb_cuda_fft_open(void);
void gcb_cuda_fft_close(void *library);

/* Sets *function, a pointer to a function, to what has this name; false if nothing has. */
bool gcb_cuda_fft_symbol(void *function, void *library, const char *name);

#endif
