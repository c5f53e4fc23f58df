#ifndef TESTS_SUPPORT_CUDA_HOST_EMULATE_H
#define TESTS_SUPPORT_CUDA_HOST_EMULATE_H

/* Functions that the parts of the stand-in for a device share: memory and streams (runtime.cpp),
 * blocks of threads (fibers.cpp), and the headers that kernels include. */
#include <functional>
#include <string>

#include "cuda_runtime.h"

namespace gcb_host
{

/* ---- runtime.cpp ---- */

/* Prints the first fault and keeps it. */
void report_fault(const std::string &text);
bool failed();

/* Queues work that may access device memory. */
void enqueue(cudaStream_t stream, std::function<void()> work);

/* Reports a fault if any aligned word of these bytes, a kernel's arguments, is a host address. */
void check_arguments(const void *bytes, size_t size);

/* ---- grids.cpp ---- */

/* Implements gcb::grid_over for the caller at this source line. */
uint64_t grid_over(uint64_t pieces, uint64_t most, const char *file, int line);

/* ---- errors.cpp ---- */

/* Makes `error` the last error, and returns it. */
cudaError_t refused(cudaError_t error);

/* ---- fibers.cpp ---- */

/* Runs every thread of every block. */
void run_grid(uint64_t grid, unsigned threads, size_t smem, const std::function<void()> &thread);

/* Called by a thread: returns its block's shared memory. */
void *shared_bytes(size_t needed);

/* A meeting point of the block or the warp. Returns when all of its threads have arrived. After
 * that, the value each thread brought can be read until this thread's next meeting of that kind.
 * File and line distinguish meeting points. */
enum meeting { MEET_BLOCK, MEET_COUNT, MEET_WARP, MEET_BALLOT, MEET_SHFL };
void meet(enum meeting kind, uint64_t brought, const char *file, int line);
/* The value that thread `index` of the block brought to the last meeting of the block, or of the
 * warp. */
uint64_t brought_to_block(unsigned index);
uint64_t brought_to_warp(unsigned index);

void set_order(int order, uint64_t seed); /* enum gcb_host_order */

} /* namespace gcb_host */

#endif
