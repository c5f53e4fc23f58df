#include "kernels/index/stream.cuh"

namespace
{
/* Only thread 0 works. */
__global__ void check_stream(struct gcb_cuda_payload p, struct gcb_cuda_payload_head *head,
                             gcb_device_result *result)
{
    if (threadIdx.x == 0 && head->kept && !gcb::stream_fills_payload(p, *head))
        gcb::refuse(head, result);
}

} /* namespace */

int gcb::open_stream(struct gcb_device_stream *s, const struct gcb_cuda_payload &p,
                     const struct gcb_cuda_decoding &f, struct gcb_device_result *result)
{
    return gcb::launch(check_stream, 1, gcb::kWarp, 0, s, p, f.head, result);
}

uint64_t gcb_cuda_put_stream_scratch(uint64_t n, uint64_t most)
{
    return gcb::tile_count(most) * sizeof(uint32_t);
}
