#ifndef SRC_LIB_DEVICE_MODULE_LIBRARIES_H
#define SRC_LIB_DEVICE_MODULE_LIBRARIES_H

#include <stdbool.h>
#include <stddef.h>

/* Libraries that are opened at run time, so that the module works without them: cuFFT, and NVML,
 * which the driver brings. */

/* Sets *function, a pointer to a function, to the library's function of this name. Returns false if
 * the library has no such function or `library` is NULL. */
bool gcb_module_symbol(void *function, void *library, const char *name);

/* Writes "cuFFT 12.0.0", or "" if cuFFT is not found. */
void gcb_cuda_fft_library(char *out, size_t size);

/* cuFFT, or NULL if it is not found. The caller closes it (NULL is fine). */
void *gcb_cuda_fft_open(void);
void gcb_cuda_fft_close(void *library);

/* The present clock of a device's multiprocessors, by NVML. CUDA knows only the highest possible
 * one. */
struct gcb_device_clock;

/* `bus_id`: as CUDA names the device's place on the bus. NULL: NVML is not found or does not know
 * the device. */
struct gcb_device_clock *gcb_cuda_clock_open(const char *bus_id);
unsigned gcb_cuda_clock_mhz(const struct gcb_device_clock *c); /* 0: unknown, or c is NULL */
void gcb_cuda_clock_close(struct gcb_device_clock *c);         /* NULL is fine */

#endif
