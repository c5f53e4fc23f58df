#ifndef SRC_LIB_DEVICE_MODULE_LIBRARIES_H
#define SRC_LIB_DEVICE_MODULE_LIBRARIES_H

#include <stdbool.h>
#include <stddef.h>

/* Libraries that are opened at run time, so that the module works without them: cuFFT, and NVML,
 * which the driver brings. */

/* Stores the address of the library's function of this name in *function, a function pointer.
 * Returns false and stores NULL if the library has no such function or `library` is NULL. */
bool gcb_module_symbol(void *function, void *library, const char *name);

/* Writes the name and version of cuFFT, such as "cuFFT 12.0.0"; "" if cuFFT or its version is not
 * found. */
void gcb_cuda_fft_library(char *out, size_t size);

/* Opens cuFFT. Returns NULL if cuFFT is not found. The caller closes the result. */
void *gcb_cuda_fft_open(void);
void gcb_cuda_fft_close(void *library); /* NULL is fine */

/* The present clock frequency of a device's multiprocessors, from NVML. CUDA tells only the highest
 * possible frequency. */
struct gcb_device_clock;

/* Opens the clock of the device with this PCI bus id, as CUDA writes it. Returns NULL if NVML is
 * not found or does not know the device's frequency, or without memory. The caller frees the result
 * with gcb_cuda_clock_close. */
struct gcb_device_clock *gcb_cuda_clock_open(const char *bus_id);
/* Returns the frequency in MHz, or 0 if it is unknown or c is NULL. */
unsigned gcb_cuda_clock_mhz(const struct gcb_device_clock *c);
void gcb_cuda_clock_close(struct gcb_device_clock *c); /* NULL is fine */

#endif
