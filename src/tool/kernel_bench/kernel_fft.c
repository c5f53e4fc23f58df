#include "src/tool/kernel_bench/kernel_case.h"

/* Chunks of `param` floats; 0: the whole array. The inverse runs on zeros, because it destroys its input. */
static int prepare(struct gcb_kernel_job *job, enum gcb_fft_kind kind, int inverse)
{
    const struct gcb_fft_config config = {
        .kind = kind, .n = job->n, .chunk = job->param, .threads = 1, .inverse = inverse};
    const uint64_t floats = kind == GCB_FFT_DCT ? job->n : 2 * gcb_fft_bins(job->n, job->param);
    float *array =
        inverse ? gcb_kernel_take(job, job->n * sizeof(float)) : gcb_kernel_floats(job, job->n, 1);

    job->x = array;
    job->y = gcb_kernel_take(job, floats * sizeof(float));
    if (!job->x || !job->y || gcb_fft_create(&job->fft, &config))
        return GCB_E_NOMEM;
    job->read = (inverse ? floats : job->n) * sizeof(float);
    job->written = (inverse ? job->n : floats) * sizeof(float);
    return 0;
}

static int prepare_forward(struct gcb_kernel_job *job)
{
    return prepare(job, GCB_FFT_REAL, 0);
}

static int prepare_inverse(struct gcb_kernel_job *job)
{
    return prepare(job, GCB_FFT_REAL, 1);
}

static int prepare_dct(struct gcb_kernel_job *job)
{
    return prepare(job, GCB_FFT_DCT, 0);
}

static int prepare_idct(struct gcb_kernel_job *job)
{
    return prepare(job, GCB_FFT_DCT, 1);
}

static void run_forward(struct gcb_kernel_job *job)
{
    gcb_fft_forward(job->fft, job->x, job->y);
}

static void run_inverse(struct gcb_kernel_job *job)
{
    gcb_fft_inverse(job->fft, job->y, job->array[0]);
}

/* clang-format off */
const struct gcb_kernel_case gcb_kernel_fft[] = {
    {"forward:4096", GCB_KERNEL_LIBRARY, 4096, prepare_forward, run_forward},
    {"inverse:4096", GCB_KERNEL_LIBRARY, 4096, prepare_inverse, run_inverse},
    {"forward", GCB_KERNEL_LIBRARY, 0, prepare_forward, run_forward},
    {"inverse", GCB_KERNEL_LIBRARY, 0, prepare_inverse, run_inverse},
    {"dct:64", GCB_KERNEL_LIBRARY, 64, prepare_dct, run_forward},
    {"idct:64", GCB_KERNEL_LIBRARY, 64, prepare_idct, run_inverse},
    {"dct:4096", GCB_KERNEL_LIBRARY, 4096, prepare_dct, run_forward},
    {"idct:4096", GCB_KERNEL_LIBRARY, 4096, prepare_idct, run_inverse},
    {.name = NULL},
};
/* clang-format on */
