#include "kernels/cuda/fault.cuh"

#include <cufft.h>
#include <new>

extern "C" {
#include "kernels/cuda/align.h"
#include "kernels/fft/spectrum_cuda.h"
#include "src/lib/device/module/fft.h"
#include "src/lib/device/module/libraries.h"
}

namespace gcb
{

/* cuFFT's functions, found at run time, with the types of its header. */
struct fft_functions {
    decltype(&cufftCreate) create;
    decltype(&cufftDestroy) destroy;
    decltype(&cufftSetAutoAllocation) set_auto_allocation;
    decltype(&cufftMakePlanMany64) make_plan;
    decltype(&cufftSetStream) set_stream;
    decltype(&cufftSetWorkArea) set_work_area;
    decltype(&cufftExecR2C) forward;
    decltype(&cufftExecC2R) inverse;
};

/* A plan for transforms of one length in one direction. A length of 1 needs no plan. */
struct fft_plan {
    cufftHandle handle;
    bool made;
};

enum way { FORWARD, INVERSE };

/* The plans for `count` transforms of one length, by direction. `count` may be 0. */
struct fft_plans {
    uint64_t length, count;
    fft_plan of[2]; /* of[FORWARD], of[INVERSE] */
};

} /* namespace gcb */

struct gcb_cuda_fft {
    void *library;
    gcb::fft_functions f;
    gcb::fft_plans all, last; /* whole chunks, and the shorter last chunk */
    size_t own;               /* bytes that cuFFT works in: the most of any plan */
};

namespace
{

using plans = gcb::fft_plans;
using gcb::FORWARD;
using gcb::INVERSE;
using gcb::way;

bool find_functions(gcb::fft_functions *f, void *library)
{
    return gcb_module_symbol(&f->create, library, "cufftCreate") &&
           gcb_module_symbol(&f->destroy, library, "cufftDestroy") &&
           gcb_module_symbol(&f->set_auto_allocation, library, "cufftSetAutoAllocation") &&
           gcb_module_symbol(&f->make_plan, library, "cufftMakePlanMany64") &&
           gcb_module_symbol(&f->set_stream, library, "cufftSetStream") &&
           gcb_module_symbol(&f->set_work_area, library, "cufftSetWorkArea") &&
           gcb_module_symbol(&f->forward, library, "cufftExecR2C") &&
           gcb_module_symbol(&f->inverse, library, "cufftExecC2R");
}

/* Returns the gcb_status for an error code of cuFFT, not for success. */
int status_of(cufftResult result)
{
    if (result == CUFFT_ALLOC_FAILED)
        return GCB_E_NOMEM;
    if (result == CUFFT_INVALID_SIZE || result == CUFFT_NOT_SUPPORTED)
        return GCB_E_UNSUPPORTED;
    return GCB_E_DEVICE;
}

const char *words_of(cufftResult result)
{
    switch (result) {
    case CUFFT_ALLOC_FAILED:
        return "out of memory";
    case CUFFT_INVALID_SIZE:
        return "no such length";
    case CUFFT_NOT_SUPPORTED:
        return "not supported";
    case CUFFT_SETUP_FAILED:
        return "cuFFT cannot be initialised";
    case CUFFT_INTERNAL_ERROR:
        return "internal error of cuFFT";
    default:
        return "cuFFT failed";
    }
}

int make_plan(gcb_cuda_fft *fft, plans *p, way way, struct gcb_diag *diag)
{
    const bool inverse = way == INVERSE;
    long long n = static_cast<long long>(p->length), bins = n / 2 + 1;
    gcb::fft_plan *plan = &p->of[way];
    size_t work = 0;
    cufftResult result = fft->f.create(&plan->handle);

    plan->made = result == CUFFT_SUCCESS;
    if (result == CUFFT_SUCCESS)
        result = fft->f.set_auto_allocation(plan->handle, 0);
    if (result == CUFFT_SUCCESS)
        result = fft->f.make_plan(plan->handle, 1, &n, inverse ? &bins : &n, 1, inverse ? bins : n,
                                  inverse ? &n : &bins, 1, inverse ? n : bins,
                                  inverse ? CUFFT_C2R : CUFFT_R2C, static_cast<long long>(p->count),
                                  &work);
    fft->own = work > fft->own ? work : fft->own;
    if (result == CUFFT_SUCCESS)
        return 0;
    return gcb_diag_set(
        diag, status_of(result),
        "device cuda: cuFFT has no plan for %llu transforms of %llu floats: %s (%d)",
        static_cast<unsigned long long>(p->count), static_cast<unsigned long long>(p->length),
        words_of(result), static_cast<int>(result));
}

int make_plans(gcb_cuda_fft *fft, plans *p, unsigned ways, struct gcb_diag *diag)
{
    int err = 0;

    if (p->count == 0 || p->length <= 1)
        return 0;
    if (ways & GCB_CUDA_FFT_FORWARD)
        err = make_plan(fft, p, FORWARD, diag);
    if (!err && ways & GCB_CUDA_FFT_INVERSE)
        err = make_plan(fft, p, INVERSE, diag);
    return err;
}

/* Ignores failures, as gcb::released does. */
void destroy_plans(gcb_cuda_fft *fft, const plans &p)
{
    for (const gcb::fft_plan &plan : p.of)
        if (plan.made)
            fft->f.destroy(plan.handle);
}

int open_library(gcb_cuda_fft *fft, const char *transform, struct gcb_diag *diag)
{
    fft->library = gcb_cuda_fft_open();
    if (!fft->library)
        return gcb_diag_set(diag, GCB_E_BACKEND,
                            "device cuda: transform=%s of this length needs cuFFT, and neither "
                            "libcufft.so.12 nor libcufft.so.11 was found",
                            transform);
    if (!find_functions(&fft->f, fft->library))
        return gcb_diag_set(diag, GCB_E_BACKEND,
                            "device cuda: the installed cuFFT lacks functions that gcbench needs");
    return 0;
}

/* Records a failure of cuFFT in the stream, like a failure of CUDA. */
int check(struct gcb_device_stream *s, cufftResult result, const char *call, int line)
{
    if (result == CUFFT_SUCCESS)
        return 0;
    return gcb::checked(&s->fault, cudaErrorUnknown, call, __FILE__, line);
}

int run(struct gcb_device_stream *s, const gcb_cuda_fft *fft, const plans &p, way way, float *bins,
        float *x, void *work)
{
    const cufftHandle plan = p.of[way].handle;
    cufftComplex *complex = reinterpret_cast<cufftComplex *>(bins);
    int err;

    if (p.length == 1)
        return way == FORWARD ? gcb_cuda_spectrum_from_elements(s, bins, x, p.count)
                              : gcb_cuda_spectrum_to_elements(s, x, bins, p.count);
    err = check(s, fft->f.set_stream(plan, s->handle), "cufftSetStream", __LINE__);
    if (!err)
        err = check(s, fft->f.set_work_area(plan, work), "cufftSetWorkArea", __LINE__);
    if (err)
        return err;
    return way == FORWARD ? check(s, fft->f.forward(plan, x, complex), "cufftExecR2C", __LINE__)
                          : check(s, fft->f.inverse(plan, complex, x), "cufftExecC2R", __LINE__);
}

/* Transforms all chunks. cuFFT requires real arrays that are aligned like complex numbers. So the
 * elements of a shorter last chunk are copied to or from an aligned array in `work`, after the
 * memory that cuFFT works in. */
int run_all(struct gcb_device_stream *s, const gcb_cuda_fft *fft, way way, float *bins, float *x,
            void *work)
{
    const uint64_t whole = fft->all.length * fft->all.count;
    const uint64_t bytes = fft->last.length * sizeof(float);
    float *last_bins = bins + 2 * (fft->all.count * (fft->all.length / 2 + 1));
    float *last =
        reinterpret_cast<float *>(static_cast<unsigned char *>(work) + gcb_cuda_align256(fft->own));
    int err = gcb::status_of(s);

    if (!err)
        err = run(s, fft, fft->all, way, bins, x, work);
    if (err || fft->last.count == 0)
        return err;
    if (way == FORWARD)
        err = GCB_CUDA(&s->fault, cudaMemcpyAsync(last, x + whole, bytes, cudaMemcpyDeviceToDevice,
                                                  s->handle));
    if (!err)
        err = run(s, fft, fft->last, way, last_bins, last, work);
    if (!err && way == INVERSE)
        err = GCB_CUDA(&s->fault, cudaMemcpyAsync(x + whole, last, bytes, cudaMemcpyDeviceToDevice,
                                                  s->handle));
    return err;
}

} /* namespace */

int gcb_cuda_fft_create(struct gcb_cuda_fft **out, uint64_t n, uint64_t chunk, unsigned ways,
                        const char *transform, struct gcb_diag *diag)
{
    gcb_cuda_fft *fft = new (std::nothrow) gcb_cuda_fft();
    int err;

    *out = nullptr;
    if (!fft)
        return gcb_diag_nomem(diag, sizeof(*fft), "a plan");
    if (chunk == 0 || chunk > n)
        chunk = n;
    fft->all.length = chunk;
    fft->all.count = n / chunk;
    fft->last.length = n % chunk;
    fft->last.count = n % chunk != 0;
    err = chunk > 1 ? open_library(fft, transform, diag) : 0;
    if (!err)
        err = make_plans(fft, &fft->all, ways, diag);
    if (!err)
        err = make_plans(fft, &fft->last, ways, diag);
    if (err)
        gcb_cuda_fft_destroy(fft);
    else
        *out = fft;
    return err;
}

void gcb_cuda_fft_destroy(struct gcb_cuda_fft *fft)
{
    if (!fft)
        return;
    destroy_plans(fft, fft->all);
    destroy_plans(fft, fft->last);
    gcb_cuda_fft_close(fft->library);
    delete fft;
}

uint64_t gcb_cuda_fft_work(const struct gcb_cuda_fft *fft)
{
    return gcb_cuda_align256(fft->own) + fft->last.length * sizeof(float);
}

int gcb_cuda_fft_forward(struct gcb_device_stream *s, const struct gcb_cuda_fft *fft, float *bins,
                         const float *x, void *work)
{
    return run_all(s, fft, FORWARD, bins, const_cast<float *>(x), work);
}

int gcb_cuda_fft_inverse(struct gcb_device_stream *s, const struct gcb_cuda_fft *fft, float *x,
                         float *bins, void *work)
{
    return run_all(s, fft, INVERSE, bins, x, work);
}
