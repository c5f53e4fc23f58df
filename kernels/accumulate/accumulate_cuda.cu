#include "kernels/accumulate/accumulate_cuda.h"

#include "kernels/base/accumulate_elem.h"
#include "kernels/cuda/grid.cuh"
#include "kernels/cuda/vector.cuh"
#include "kernels/select/entries.cuh"

using namespace gcb;

namespace
{

struct tuning {
    static constexpr unsigned threads = 256;
    static constexpr unsigned each = 4; /* one access of 16 bytes */
};

__global__ void add_elements(float *__restrict__ acc, const float *__restrict__ x, uint64_t n,
                             float weight, const gcb_device_result *result)
{
    if (result->status)
        return;
    for (uint64_t i = thread_of_grid() * tuning::each; i < n;
         i += threads_of_grid() * tuning::each) {
        float sum[tuning::each], v[tuning::each];

        load_floats(sum, acc, i, n);
        load_floats(v, x, i, n);
        for (unsigned e = 0; e < tuning::each; e++)
            sum[e] = gcb_accumulated(sum[e], v[e], weight);
        store_floats(acc, sum, i, n);
    }
}

/* Adds entries of Width floats. No two entries have the same position, so the order of threads does
 * not matter. */
template <unsigned Width>
__global__ void add_entries(float *__restrict__ acc, gcb_cuda_entries kept, float weight,
                            const gcb_device_result *result)
{
    const gcb_cuda_scale scale = kept.f.head->scale;
    const uint8_t *in = kept.p.in + values_at(kept.p.n, kept.how);

    if (result->status)
        return;
    for (uint64_t j = thread_of_grid(); j < kept.f.head->kept; j += threads_of_grid()) {
        float *at = acc + uint64_t{kept.f.pos[j]} * Width;

        for (unsigned w = 0; w < Width; w++)
            at[w] = gcb_accumulated(at[w], value_at(in, j * Width + w, kept.how, scale), weight);
    }
}

__global__ void keep_all(gcb_cuda_decoding f, uint64_t n)
{
    if (thread_of_grid() == 0) {
        *f.head = {};
        f.head->kept = n;
        f.first[tile_count(n)] = static_cast<uint32_t>(n);
    }
    for (uint64_t i = thread_of_grid(); i < n; i += threads_of_grid()) {
        f.pos[i] = static_cast<uint32_t>(i);
        if (i % kTile == 0)
            f.first[i / kTile] = static_cast<uint32_t>(i);
    }
}

/* Copies the side bytes of a message to the canvas or, if `joins`, compares them. Only thread 0
 * works. Reads nothing if the message is damaged, because it may be shorter than its side bytes. */
__global__ void join_side(uint8_t *kept, const uint8_t *sent, uint32_t bytes, int joins,
                          gcb_device_result *result)
{
    bool same = true;

    if (threadIdx.x != 0 || result->status)
        return;
    for (uint32_t i = 0; i < bytes; i++)
        if (joins)
            same = same && kept[i] == sent[i];
        else
            kept[i] = sent[i];
    if (!same)
        set_status(&result->status, GCB_E_MISMATCH);
}

/* Bytes before the side bytes in a payload of n positions: the number of kept positions. */
uint64_t kept_bytes(uint64_t n)
{
    return n ? GCB_CUDA_KEPT_BYTES : 0;
}

/* The start of the payload whose coefficients are those of the canvas; `side` is its number of side
 * bytes. */
uint8_t *payload_of(void *canvas, uint64_t n, uint32_t side)
{
    return static_cast<uint8_t *>(canvas) + GCB_CUDA_CANVAS_HEAD - side - kept_bytes(n);
}

} /* namespace */

int gcb_cuda_accumulate_add(gcb_device_stream *s, float *acc, const float *x, uint64_t n,
                            float weight, const gcb_device_result *result)
{
    return launch(add_elements,
                  grid_over(pieces_of(n, tuning::threads * tuning::each), kManyBlocks),
                  tuning::threads, 0, s, acc, x, n, weight, result);
}

int gcb_cuda_accumulate_entries(gcb_device_stream *s, float *acc, const gcb_cuda_entries *kept,
                                float weight, const gcb_device_result *result)
{
    return launch(kept->how.width == 1 ? add_entries<1> : add_entries<2>,
                  grid_over(pieces_of(kept->p.n, tuning::threads), kManyBlocks), tuning::threads, 0,
                  s, acc, *kept, weight, result);
}

void gcb_cuda_canvas_entries(gcb_cuda_entries *entries, void *canvas, uint64_t n,
                             const gcb_cuda_values *how)
{
    const uint64_t before = kept_bytes(n) + how->side;

    entries->p = {payload_of(canvas, n, how->side), before + n * how->width * sizeof(float), n};
    entries->how = *how;
    entries->how.kind = GCB_CUDA_FP32;
    entries->how.bits = 32;
    entries->how.scale = 0;
}

int gcb_cuda_keep_all(gcb_device_stream *s, const gcb_cuda_decoding *f, uint64_t n)
{
    return launch(keep_all, grid_over(pieces_of(n, tuning::threads), kManyBlocks), tuning::threads,
                  0, s, *f, n);
}

int gcb_cuda_canvas_side(gcb_device_stream *s, void *canvas, const gcb_cuda_payload *p,
                         const gcb_cuda_values *how, int joins, gcb_device_result *result)
{
    return launch(join_side, 1, kWarp, 0, s, payload_of(canvas, p->n, how->side) + kept_bytes(p->n),
                  p->in + kept_bytes(p->n), how->side, joins, result);
}
