#ifndef KERNELS_SELECT_CHUNK_FAR_CUH
#define KERNELS_SELECT_CHUNK_FAR_CUH

#include "kernels/select/chunk_cuda.h"

namespace gcb
{

/* chunk_far_cuda.cu: gcb_cuda_select_chunks for chunks that do not fit the registers, with `grid`
 * blocks. */
int choose_far_chunks(struct gcb_device_stream *s, const struct gcb_cuda_chosen &to,
                      const struct gcb_device_input &in, const struct gcb_cuda_chunks &cut,
                      uint64_t grid);

} /* namespace gcb */

#endif
