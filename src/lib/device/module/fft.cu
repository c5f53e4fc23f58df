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

/* cuFFT's functions, found at run time; the types are its header's. */
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

/* Transforms of one length, one way; of single elements there is no plan to be had. */
struct fft_plan {
    cufftHandle handle;
    bool made;
};

/* Those of one length, both ways. */
struct fft_plans {
    fft_plan forward, inverse;
    uint64_t length, count; /* count 0: none of this length */
};

} /* namespace gcb */

struct gcb_cuda_fft {
    void *library;
    gcb::fft_functions f;
    gcb::fft_plans all, last; /* chunks, and the shorter one behind them */
    size_t own;               /* bytes that the plan that needs most works in */
};

namespace
{

using plan = gcb::fft_plan;
using plans = gcb::fft_plans;

bool find_functions(gcb::fft_functions *f, void *library)
{
    return gcb_cuda_fft_symbol(&f->create, library, "cufftCreate") &&
           gcb_cuda_fft_symbol(&f->destroy, library, "cufftDestroy") &&
           gcb_cuda_fft_symbol(&f->set_auto_allocation, library, "cufftSetAutoAllocation") &&
           gcb_cuda_fft_symbol(&f->make_plan, library, "cufftMakePlanMany64") &&
           gcb_cuda_fft_symbol(&f->set_stream, library, "cufftSetStream") &&
           gcb_cuda_fft_symbol(&f->set_work_area, library, "cufftSetWorkArea") &&
           gcb_cuda_fft_symbol(&f->forward, library, "cufftExecR2C") &&
           gcb_cuda_fft_symbol(&f->inverse, library, "cufftExecC2R");
}

/* What a failure comes to. */
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
        return "it does not start";
    case CUFFT_INTERNAL_ERROR:
        return "an error inside it";
    default:
        return "it fails";
    }
}

int make_plan(gcb_cuda_fft *fft, const plans &of, plan *p, bool inverse, struct gcb_diag *diag)
{
    long long n = static_cast<long long>(of.length), bins = n / 2 + 1;
    size_t work = 0;
    cufftResult result = fft->f.create(&p->handle);

    p->made = result == CUFFT_SUCCESS;
    if (result == CUFFT_SUCCESS)
        result = fft->f.set_auto_allocation(p->handle, 0);
    if (result == CUFFT_SUCCESS)
        result = fft->f.make_plan(p->handle, 1, &n, inverse ? &bins : &n, 1, inverse ? bins : n,
                                  inverse ? &n : &bins, 1, inverse ? n : bins,
                                  inverse ? CUFFT_C2R : CUFFT_R2C, static_cast<long long>(of.count),
                                  &work);
    fft->own = work > fft->own ? work : fft->own;
    if (result == CUFFT_SUCCESS)
        return 0;
    return gcb_diag_set(
        diag, status_of(result),
        "device cuda: cuFFT has no plan for %llu transforms of %llu floats: %s (%d)",
        static_cast<unsigned long long>(of.count), static_cast<unsigned long long>(of.length),
        words_of(result), static_cast<int>(result));
}

int make_plans(gcb_cuda_fft *fft, plans *p, unsigned ways, struct gcb_diag *diag)
{
    const bool some = p->count && p->length > 1;
    int err = 0;

    if (some && ways & GCB_CUDA_FFT_FORWARD)
        err = make_plan(fft, *p, &p->forward, false, diag);
    if (!err && some && ways & GCB_CUDA_FFT_INVERSE)
        err = make_plan(fft, *p, &p->inverse, true, diag);
    return err;
}

void destroy_plans(gcb_cuda_fft *fft, const plans &p)
{
    if (p.forward.made)
        fft->f.destroy(p.forward.handle);
    if (p.inverse.made)
        fft->f.destroy(p.inverse.handle);
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
                            "device cuda: the cuFFT that was found lacks functions");
    return 0;
}

/* Where a shorter chunk stands for cuFFT, which wants real numbers aligned to complex ones: behind its own memory. */
float *last_place(const gcb_cuda_fft *fft, void *work)
{
    return reinterpret_cast<float *>(static_cast<unsigned char *>(work) +
                                     gcb_cuda_align256(fft->own));
}

/* What a call of cuFFT came to, kept where those of CUDA's own calls are. */
int check(struct gcb_device_stream *s, cufftResult result, const char *call, int line)
{
    if (result == CUFFT_SUCCESS)
        return 0;
    return gcb::checked(&s->fault, cudaErrorUnknown, call, __FILE__, line);
}

int prepare(struct gcb_device_stream *s, const gcb_cuda_fft *fft, const plan &p, void *work)
{
    const int err = check(s, fft->f.set_stream(p.handle, s->handle), "cufftSetStream", __LINE__);

    return err ? err : check(s, fft->f.set_work_area(p.handle, work), "cufftSetWorkArea", __LINE__);
}

int run_forward(struct gcb_device_stream *s, const gcb_cuda_fft *fft, const plans &p, float *bins,
                const float *x, void *work)
{
    int err;

    if (p.length == 1)
        return gcb_cuda_spectrum_from_elements(s, bins, x, p.count);
    err = prepare(s, fft, p.forward, work);
    return err ? err
               : check(s,
                       fft->f.forward(p.forward.handle, const_cast<float *>(x),
                                      reinterpret_cast<cufftComplex *>(bins)),
                       "cufftExecR2C", __LINE__);
}

int run_inverse(struct gcb_device_stream *s, const gcb_cuda_fft *fft, const plans &p, float *x,
                float *bins, void *work)
{
    int err;

    if (p.length == 1)
        return gcb_cuda_spectrum_to_elements(s, x, bins, p.count);
    err = prepare(s, fft, p.inverse, work);
    return err ? err
               : check(s,
                       fft->f.inverse(p.inverse.handle, reinterpret_cast<cufftComplex *>(bins), x),
                       "cufftExecC2R", __LINE__);
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
    destroy_plans(fft, fft->all); /* what that comes to is as little use as with CUDA's own */
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
    const uint64_t whole = fft->all.length * fft->all.count;
    const uint64_t before = fft->all.count * (fft->all.length / 2 + 1);
    int err = run_forward(s, fft, fft->all, bins, x, work);

    if (err || fft->last.count == 0)
        return err;
    err = GCB_CUDA(&s->fault, cudaMemcpyAsync(last_place(fft, work), x + whole,
                                              fft->last.length * sizeof(float),
                                              cudaMemcpyDeviceToDevice, s->handle));
    return err ? err
               : run_forward(s, fft, fft->last, bins + 2 * before, last_place(fft, work), work);
}

int gcb_cuda_fft_inverse(struct gcb_device_stream *s, const struct gcb_cuda_fft *fft, float *x,
                         float *bins, void *work)
{
    const uint64_t whole = fft->all.length * fft->all.count;
    const uint64_t before = fft->all.count * (fft->all.length / 2 + 1);
    int err = run_inverse(s, fft, fft->all, x, bins, work);

    if (err || fft->last.count == 0)
        return err;
    err = run_inverse(s, fft, fft->last, last_place(fft, work), bins + 2 * before, work);
    return err ? err
               : GCB_CUDA(&s->fault, cudaMemcpyAsync(x + whole, last_place(fft, work),
                                                     fft->last.length * sizeof(float),
                                                     cudaMemcpyDeviceToDevice, s->handle));
}
