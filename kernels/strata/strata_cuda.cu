#include "kernels/strata/strata_cuda.h"

#include "kernels/base/accumulate_elem.h"
#include "kernels/cuda/grid.cuh"

using namespace gcb;

namespace
{

constexpr unsigned kThreads = 256;
constexpr unsigned kEach = 2; /* strata of a thread: their draws are one block of random words */
constexpr uint64_t kKeyBytes = sizeof(uint64_t);

/* The strata of this thread: `count` strata from number `first` on, and the place drawn in each. */
struct drawn {
    uint64_t first;
    unsigned count;
    uint64_t place[kEach];
};

__device__ drawn draw_places(const gcb_strata &where)
{
    const uint64_t block = thread_of_grid(), first = block * kEach;
    drawn d = {first, 0, {0, 0}};

    if (first >= where.k)
        return d;
    d.count = where.k - first < kEach ? 1 : kEach;
    const gcb_philox_block b = gcb_philox(where.key, block, 0);
    d.place[0] =
        gcb_strata_place(&where, first, static_cast<uint64_t>(b.word[1]) << 32 | b.word[0]);
    if (d.count == kEach)
        d.place[1] =
            gcb_strata_place(&where, first + 1, static_cast<uint64_t>(b.word[3]) << 32 | b.word[2]);
    return d;
}

__device__ bool is_nonfinite(float v)
{
    return gcb_magnitude(v) >= GCB_INF_BITS;
}

/* Writes the key and the elements of x at the drawn places, times `factor`, to the payload, whose
 * values begin at `values`. */
__global__ void gather(uint8_t *payload, float *values, const float *x, gcb_strata where,
                       float factor, gcb_device_result *result)
{
    const drawn d = draw_places(where);
    bool nonfinite = false;

    if (blockIdx.x == 0 && threadIdx.x == 0) {
        for (unsigned i = 0; i < kKeyBytes; i++)
            payload[i] = static_cast<uint8_t>(where.key >> 8 * i);
        result->length = kKeyBytes + where.k * sizeof(float);
    }
#pragma unroll
    for (unsigned i = 0; i < kEach; i++)
        if (i < d.count) {
            const float v = factor * x[d.place[i]];

            nonfinite |= is_nonfinite(v);
            values[d.first + i] = v;
        }
    if (nonfinite)
        set_status(&result->status, GCB_E_SEND_RAW);
}

__global__ void check_values(const float *values, uint64_t count, gcb_device_result *result)
{
    const uint64_t i = thread_of_grid();

    if (i < count && is_nonfinite(values[i]))
        set_status(&result->status, GCB_E_CORRUPT);
}

/* Where scatter puts the values of a payload, and the result whose status it sets if a value is not
 * finite. */
struct target {
    float *to;
    const uint8_t *payload;
    gcb_device_result *result;
    float weight; /* used if the values are added */
};

/* Stores the values at their places or, if Adds, adds them after multiplying by the weight. */
template <bool Adds> __global__ void scatter(target t, const float *values, gcb_strata where)
{
    gcb_strata_set_key(&where, *reinterpret_cast<const uint64_t *>(t.payload));
    if (Adds && t.result->status) /* a value is not finite (check_values) */
        return;
    const drawn d = draw_places(where);

#pragma unroll
    for (unsigned i = 0; i < kEach; i++)
        if (i < d.count) {
            const float v = values[d.first + i];
            float *const at = t.to + d.place[i];

            *at = Adds ? gcb_accumulated(*at, v, t.weight) : v;
            if (is_nonfinite(v))
                set_status(&t.result->status, GCB_E_CORRUPT);
        }
}

/* Writes the elements of x at the drawn places, times `factor`, to the same places of `out`. */
__global__ void copy_places(float *out, const float *x, gcb_strata where, float factor)
{
    const drawn d = draw_places(where);

#pragma unroll
    for (unsigned i = 0; i < kEach; i++)
        if (i < d.count)
            out[d.place[i]] = factor * x[d.place[i]];
}

/* ---- the functions of strata_cuda.h ---- */

int clear_all(gcb_device_stream *s, float *out, const gcb_strata *where)
{
    return where->n ? clear(s, out, where->n * sizeof(float)) : 0;
}

const float *values_of(const uint8_t *payload)
{
    return reinterpret_cast<const float *>(payload + kKeyBytes);
}

} /* namespace */

int gcb_cuda_strata_encode(gcb_device_stream *s, uint8_t *payload, const float *x,
                           const gcb_strata *where, float factor, gcb_device_result *result)
{
    return launch(gather, blocks_over(where->k, kThreads * kEach), kThreads, 0, s, payload,
                  const_cast<float *>(values_of(payload)), x, *where, factor, result);
}

int gcb_cuda_strata_decode(gcb_device_stream *s, float *out, const uint8_t *payload,
                           const gcb_strata *where, gcb_device_result *result)
{
    const target t = {out, payload, result, 0.0f};

    clear_all(s, out, where);
    return launch(scatter<false>, blocks_over(where->k, kThreads * kEach), kThreads, 0, s, t,
                  values_of(payload), *where);
}

int gcb_cuda_strata_keep(gcb_device_stream *s, float *out, const float *x, const gcb_strata *where,
                         float factor)
{
    clear_all(s, out, where);
    return launch(copy_places, blocks_over(where->k, kThreads * kEach), kThreads, 0, s, out, x,
                  *where, factor);
}

int gcb_cuda_strata_add(gcb_device_stream *s, float *acc, const uint8_t *payload,
                        const gcb_strata *where, float weight, gcb_device_result *result)
{
    const target t = {acc, payload, result, weight};

    launch(check_values, blocks_over(where->k, kThreads), kThreads, 0, s, values_of(payload),
           where->k, result);
    return launch(scatter<true>, blocks_over(where->k, kThreads * kEach), kThreads, 0, s, t,
                  values_of(payload), *where);
}
