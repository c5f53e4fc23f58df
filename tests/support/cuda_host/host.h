#ifndef TESTS_SUPPORT_CUDA_HOST_HOST_H
#define TESTS_SUPPORT_CUDA_HOST_HOST_H

/* What tests ask of the stand-in for a device (docs/cuda.md). */
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* In what order the threads of a block, and the blocks of a launch, get to run between the points where they meet. */
enum gcb_host_order { GCB_HOST_FORWARD, GCB_HOST_BACKWARD, GCB_HOST_SHUFFLED };
void gcb_host_schedule(enum gcb_host_order order, uint64_t seed);

/* From now on work that is waited for is not run (true), or is again: for tests that only count what is queued. */
void gcb_host_idle(bool idle);

/* From now on launches whose blocks go on from piece to piece have this many blocks at most; 0: as many as they say.
 * gcb_host_grids writes where in the source they were asked for, a line each: "FILE:LINE turned", if there were more pieces
 * than blocks, or "FILE:LINE once". */
void gcb_host_grid(uint64_t most);
bool gcb_host_grids(const char *path);

/* What went wrong first since the last call, in words; "" for nothing. After a fault every CUDA call fails until this
 * is called. */
const char *gcb_host_fault(void);

/* Device memory not freed yet, and the most there ever was, in bytes; allocations so far; waits of the host so
 * far. */
struct gcb_host_counts {
    uint64_t bytes, most_bytes, allocations, waits;
};
void gcb_host_count(struct gcb_host_counts *out);

/* From now on device memory beyond this many bytes is refused; 0: no limit. */
void gcb_host_limit(uint64_t bytes);

/* How the stand-in for cuFFT is from now on: its spectra are the CPU's; miss them by a rounding or so; by more than is
 * tolerated; it is not there; has no plans; or fails when it is run. A command takes it from GCB_HOST_FFT, in small letters
 * with hyphens. */
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
