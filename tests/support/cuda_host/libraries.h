#ifndef TESTS_SUPPORT_CUDA_HOST_LIBRARIES_H
#define TESTS_SUPPORT_CUDA_HOST_LIBRARIES_H

/* The stand-in for cuFFT, for dlopen and dlsym. NULL if it is missing, or has no such function. */
void *gcb_host_cufft();
void *gcb_host_cufft_symbol(const char *name);

#endif
