#ifndef KERNELS_INDEX_GAP_TABLES_CUH
#define KERNELS_INDEX_GAP_TABLES_CUH

/* The codes at the beginning of a stream of the golomb and adaptive index (read by
 * gap_tables_cuda.cu), for the kernels that read the gaps. */
#include "kernels/index/gap_elem.h"
#include "kernels/index/prefix_elem.h"
#include "kernels/index/stream.cuh"

namespace gcb
{

/* The codes of a stream, in device memory. */
struct gap_tables {
    uint64_t head;  /* bytes before the first block */
    uint32_t codes; /* 0: Golomb's code, with parameter b */
    uint32_t b;
    uint8_t of_sum[GCB_GAP_SUMS + 3];
    uint16_t entry[GCB_GAP_CODES][GCB_PREFIX_ENTRIES]; /* as gcb_prefix_table */
};

/* Reads the codes, and checks the beginning of the stream; refuses what no encoder writes. */
int open_gaps(struct gcb_device_stream *s, gap_tables *t, const struct gcb_cuda_payload &p,
              const struct gcb_cuda_filling &f, bool adaptive, struct gcb_device_result *result);

} /* namespace gcb */

#endif
