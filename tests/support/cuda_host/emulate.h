#ifndef TESTS_SUPPORT_CUDA_HOST_EMULATE_H
#define TESTS_SUPPORT_CUDA_HOST_EMULATE_H

/* Between the parts of the stand-in for a device: memory and streams (runtime.cpp), blocks of threads (fibers.cpp)
 * and the headers that kernels see. */
#include <functional>
#include <string>

#include "cuda_runtime.h"

namespace gcb_host
{

/* ---- runtime.cpp ---- */

/* Keeps the first fault and prints it. */
void report_fault(const std::string &text);
bool failed();

/* Queues work that may touch device memory. */
void enqueue(cudaStream_t stream, std::function<void()> work);

/* Is any aligned word in these bytes, the arguments of a kernel, an address of the host? If so it is a fault. */
void check_arguments(const void *bytes, size_t size);

/* ---- grids.cpp ---- */

/* gcb::grid_over, asked for from this line. */
uint64_t grid_over(uint64_t pieces, uint64_t most, const char *file, int line);

/* ---- errors.cpp ---- */

/* A call refuses with this error; returns it. */
cudaError_t refused(cudaError_t error);

/* ---- fibers.cpp ---- */

/* Runs every thread of every block. */
void run_grid(uint64_t grid, unsigned threads, size_t smem, const std::function<void()> &thread);

/* Called by a thread: its block's shared memory. */
void *shared_bytes(size_t needed);

/* A meeting point of the block or of the warp: returns when all of them are there, and then what each brought can
 * be read until this thread's next meeting of that kind. File and line tell meeting points apart. */
enum meeting { MEET_BLOCK, MEET_COUNT, MEET_WARP, MEET_BALLOT, MEET_SHFL };
void meet(enum meeting kind, uint64_t brought, const char *file, int line);
/* What thread `index` of the block brought to the last meeting of the block, or of the warp. */
uint64_t brought_to_block(unsigned index);
uint64_t brought_to_warp(unsigned index);

void set_order(int order, uint64_t seed); /* enum gcb_host_order */

} /* namespace gcb_host */

#endif
