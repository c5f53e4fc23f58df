#include "kernels/index/stream.cuh"

using namespace gcb;

namespace
{
/* Only thread 0 works. */
__global__ void check_stream(gcb_cuda_payload p, gcb_cuda_payload_head *head,
                             gcb_device_result *result)
{
    if (threadIdx.x == 0 && head->kept && !stream_fills_payload(p, *head))
        refuse(head, result);
}

} /* namespace */

int gcb::open_stream(gcb_device_stream *s, const gcb_cuda_payload &p, const gcb_cuda_decoding &f,
                     gcb_device_result *result)
{
    return launch(check_stream, 1, kWarp, 0, s, p, f.head, result);
}

uint64_t gcb_cuda_put_stream_scratch(uint64_t n, uint64_t most)
{
    return tile_count(most) * sizeof(uint32_t);
}
