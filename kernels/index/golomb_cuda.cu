/* Encodes positions with Golomb's code, with a power of two as its parameter
 * (src/lib/sparse/index_golomb.c). */
#include "kernels/index/gaps.cuh"

int gcb_cuda_put_golomb(struct gcb_device_stream *s, uint8_t *out,
                        const struct gcb_cuda_chosen *chosen, const struct gcb_cuda_values *how,
                        void *scratch, struct gcb_device_result *result)
{
    return gcb::put_stream<gcb::golomb_code, gcb::no_table>(
        s, out, chosen, how, static_cast<uint32_t *>(scratch), nullptr, result);
}
