#include "kernels/memory/memory_cuda.h"

#include "kernels/memory/feedback.cuh"
#include "kernels/memory/memory_elem.h"
#include "kernels/reduce/sum.cuh"

using namespace gcb;

namespace
{

/* Stores p over x. load_input does this; the values that it loads are not used here. */
__global__ void compensate_all(gcb_device_input in)
{
    for (uint64_t i = first_run(); i < in.n; i += runs_apart()) {
        float v[runs::each];

        load_input(v, in, i);
    }
}

__global__ void store_residuals(float *__restrict__ left, const float *__restrict__ p, uint64_t n)
{
    for (uint64_t i = first_run(); i < n; i += runs_apart()) {
        float v[runs::each];

        load_floats(v, left, i, n);
        subtract_run(v, p, i, n);
        store_floats(left, v, i, n);
    }
}

__global__ void carry_gradient(gcb_cuda_memory m, const float *__restrict__ gradient)
{
    for (uint64_t i = first_run(); i < m.n; i += runs_apart()) {
        float left[runs::each], g[runs::each];

        load_floats(left, m.left, i, m.n);
        load_floats(g, gradient, i, m.n);
        for (unsigned e = 0; e < runs::each; e++)
            left[e] = gcb_memory_carried(m.factor, left[e], g[e]);
        store_floats(m.left, left, i, m.n);
    }
}

__global__ void add_momentum(gcb_cuda_memory m, const float *__restrict__ gradient)
{
    const float scale = m.scale ? *m.scale : 1.0f;

    for (uint64_t i = first_run(); i < m.n; i += runs_apart()) {
        float left[runs::each], u[runs::each], x[runs::each];

        load_floats(left, m.left, i, m.n);
        load_floats(u, m.momentum, i, m.n);
        load_floats(x, gradient, i, m.n);
        for (unsigned e = 0; e < runs::each; e++) {
            x[e] *= scale;
            u[e] = gcb_memory_momentum(m.factor, u[e], x[e], m.nesterov);
            left[e] = gcb_memory_accumulated(left[e], u[e], x[e], m.nesterov);
        }
        store_floats(m.momentum, u, i, m.n);
        store_floats(m.left, left, i, m.n);
    }
}

__global__ void remove_sent(gcb_cuda_memory m, const float *__restrict__ sent, int masks)
{
    for (uint64_t i = first_run(); i < m.n; i += runs_apart()) {
        float v[runs::each], s[runs::each];

        load_floats(v, m.left, i, m.n);
        load_floats(s, sent, i, m.n);
        for (unsigned e = 0; e < runs::each; e++)
            v[e] = gcb_memory_remaining(v[e], s[e], m.clears);
        store_floats(m.left, v, i, m.n);
        if (!masks)
            continue;
        load_floats(v, m.momentum, i, m.n);
        for (unsigned e = 0; e < runs::each; e++)
            v[e] = gcb_memory_masked(v[e], s[e]);
        store_floats(m.momentum, v, i, m.n);
    }
}

/* ---- clipping ---- */

constexpr unsigned kWarps = runs::threads / kWarp;

/* Computes the sum of squares of each sum block (kernels/reduce/reduce.h), one in each warp. */
__global__ void square_sums(double *__restrict__ part, const float *__restrict__ x, uint64_t n)
{
    const uint64_t b = warp_of_grid();
    const unsigned here = sum_block_size(n, b);
    const double sum = join_lanes(lane_sum(x + b * GCB_SUM_BLOCK, here, square_term{}));

    if (here && lane() == 0)
        part[b] = sum;
}

/* Computes the factor that limits the norm, with one block of threads. */
__global__ void compute_scale(float *scale, const double *part, uint64_t count, double limit)
{
    const double sum_sq = chain_sum(shared<chain_room>(), part, count);

    if (threadIdx.x == 0)
        *scale = static_cast<float>(gcb_memory_clip(sum_sq, limit));
}

/* A grid for runs of n elements. */
uint64_t grid_of_runs(uint64_t n)
{
    return grid_over(pieces_of(n, runs::threads * runs::each), kManyBlocks);
}

} /* namespace */

int gcb_cuda_memory_compensate(gcb_device_stream *s, const gcb_device_input *in)
{
    if (!in->residual || in->compensated || in->n == 0)
        return 0;
    return launch(compensate_all, grid_of_runs(in->n), runs::threads, 0, s, *in);
}

int gcb_cuda_memory_residual(gcb_device_stream *s, float *left, const float *p, uint64_t n)
{
    return launch(store_residuals, grid_of_runs(n), runs::threads, 0, s, left, p, n);
}

int gcb_cuda_memory_copy(gcb_device_stream *s, float *to, const float *x, uint64_t n)
{
    GCB_CUDA(&s->fault,
             cudaMemcpyAsync(to, x, n * sizeof(*to), cudaMemcpyDeviceToDevice, s->handle));
    return status_of(s);
}

int gcb_cuda_status(const gcb_device_stream *s)
{
    return status_of(s);
}

int gcb_cuda_memory_pad(gcb_device_stream *s, float *to, const float *x, uint64_t n,
                        uint64_t length)
{
    gcb_cuda_memory_copy(s, to, x, n);
    return clear(s, to + n, (length - n) * sizeof(*to));
}

int gcb_cuda_memory_add_gradient(gcb_device_stream *s, const gcb_cuda_memory *m,
                                 const float *gradient)
{
    return launch(m->momentum ? add_momentum : carry_gradient, grid_of_runs(m->n), runs::threads, 0,
                  s, *m, gradient);
}

int gcb_cuda_memory_remove_sent(gcb_device_stream *s, const gcb_cuda_memory *m, const float *sent,
                                int masks)
{
    return launch(remove_sent, grid_of_runs(m->n), runs::threads, 0, s, *m, sent, masks);
}

uint64_t gcb_cuda_memory_clip_scratch(uint64_t n)
{
    return sum_blocks_of(n) * sizeof(double);
}

int gcb_cuda_memory_clip(gcb_device_stream *s, float *scale, const float *gradient, uint64_t n,
                         double limit, void *scratch)
{
    const uint64_t count = sum_blocks_of(n);
    double *part = static_cast<double *>(scratch);

    launch(square_sums, blocks_over(count, kWarps), runs::threads, 0, s, part, gradient, n);
    return launch(compute_scale, 1, runs::threads, sizeof(chain_room), s, scale,
                  static_cast<const double *>(part), count, limit);
}
