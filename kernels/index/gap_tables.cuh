#ifndef KERNELS_INDEX_GAP_TABLES_CUH
#define KERNELS_INDEX_GAP_TABLES_CUH

/* Reading golomb and adaptive: what stands in front of their streams (gap_tables_cuda.cu), for who reads the gaps. */
#include "kernels/index/gap_elem.h"
#include "kernels/index/prefix_elem.h"
#include "kernels/index/stream.cuh"

namespace gcb
{

/* In device memory. */
struct gap_tables {
    uint64_t head;  /* bytes in front of the first block */
    uint32_t codes; /* 0: Golomb's code, with parameter b */
    uint32_t b;
    uint8_t of_sum[GCB_GAP_SUMS + 3];
    uint16_t entry[GCB_GAP_CODES][GCB_PREFIX_ENTRIES]; /* as gcb_prefix_table */
};

/* Reads it, and checks the stream's envelope; refuses what no encoder writes. */
int open_gaps(struct gcb_device_stream *s, gap_tables *t, const struct gcb_cuda_payload &p,
              const struct gcb_cuda_filling &f, bool adaptive, struct gcb_device_result *result);

} /* namespace gcb */

#endif
