#ifndef TESTS_SUPPORT_CUDA_HOST_HOST_H
#define TESTS_SUPPORT_CUDA_HOST_HOST_H

/* What tests can set and ask of the stand-in for a device (docs/gpu.md). */
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The order in which threads of a block, and blocks of a launch, run between meeting points. */
enum gcb_host_order { GCB_HOST_FORWARD, GCB_HOST_BACKWARD, GCB_HOST_SHUFFLED };
void gcb_host_schedule(enum gcb_host_order order, uint64_t seed);

/* If true, work that is waited for is dropped from now on; if false, it runs again. For tests that
 * only count what is queued. */
void gcb_host_idle(bool idle);

/* Limits the blocks of launches whose blocks loop over pieces of work; 0: no limit. gcb_host_grids
 * writes one line for each place in the source with such a launch: "FILE:LINE turned" if there ever
 * were more pieces than blocks, otherwise "FILE:LINE once". */
void gcb_host_grid(uint64_t most);
bool gcb_host_grids(const char *path);

/* The text of the first fault since the last call, or "". After a fault every CUDA call fails until
 * this function is called. */
const char *gcb_host_fault(void);

/* Device memory that is allocated, and the most there ever was, in bytes; allocations so far; times
 * the host waited so far. */
struct gcb_host_counts {
    uint64_t bytes, most_bytes, allocations, waits;
};
void gcb_host_count(struct gcb_host_counts *out);

/* Limits device memory to this many bytes; 0: no limit. */
void gcb_host_limit(uint64_t bytes);

/* Sets what the stand-in for cuFFT does: its spectra equal the CPU's; differ by about a rounding
 * error; differ by more than the tolerance; the library is missing; it makes no plans; its
 * transforms fail. Commands take the mode from GCB_HOST_FFT: exact, near, far, missing, no-plan or
 * fails. */
enum gcb_host_fft {
    GCB_HOST_FFT_EXACT,
    GCB_HOST_FFT_NEAR,
    GCB_HOST_FFT_FAR,
    GCB_HOST_FFT_MISSING,
    GCB_HOST_FFT_NO_PLAN,
    GCB_HOST_FFT_FAILS
};
void gcb_host_fft(enum gcb_host_fft how);

#ifdef __cplusplus
}
#endif

#endif
