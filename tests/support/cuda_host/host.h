#ifndef TESTS_SUPPORT_CUDA_HOST_HOST_H
#define TESTS_SUPPORT_CUDA_HOST_HOST_H

/* What tests ask of the stand-in for a device (docs/cuda.md). */
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* In what order the threads of a block, and the blocks of a launch, get to run between the points where they meet. */
enum gcb_host_order { GCB_HOST_FORWARD, GCB_HOST_BACKWARD, GCB_HOST_SHUFFLED };
void gcb_host_schedule(enum gcb_host_order order, uint64_t seed);

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

#ifdef __cplusplus
}
#endif

#endif
