/*
 * Replaces cuFFT: the transforms of kernels/fft, chunk by chunk, so that spectra equal the
 * CPU's. It is stricter than cuFFT: a plan needs a stream and a work area from its caller, and
 * overwrites the work area; arrays must be aligned to complex numbers; a single element has no
 * plan; the inverse overwrites its input.
 */
#include <map>
#include <memory>
#include <stdlib.h>
#include <string.h>

#include "cufft.h"
#include "emulate.h"
#include "host.h"
#include "libraries.h"

extern "C" {
#include "kernels/fft/fft.h"
}

namespace
{

struct plan {
    std::shared_ptr<struct gcb_fft> fft; /* transforms one chunk */
    uint64_t length, batch;
    bool inverse;
    cudaStream_t stream;
    unsigned char *work;
    size_t work_bytes;
    bool own_memory; /* automatic allocation was not switched off */
};

std::map<cufftHandle, plan> plans;
cufftHandle last_handle;
enum gcb_host_fft mode;
bool mode_known;

/* Commands set the mode by the environment, tests by gcb_host_fft. */
enum gcb_host_fft mode_now()
{
    static const char *const names[] = {"exact", "near", "far", "missing", "no-plan", "fails"};
    const char *asked = getenv("GCB_HOST_FFT");

    for (int i = 0; !mode_known && asked && i < 6; i++)
        if (strcmp(asked, names[i]) == 0)
            mode = static_cast<enum gcb_host_fft>(i);
    mode_known = true;
    return mode;
}

/* A factor that differs from 1 by as much as the mode says, a different one each time. */
float factor(uint64_t *state)
{
    const float miss = mode_now() == GCB_HOST_FFT_NEAR ? 3e-7f : 1e-3f;

    if (mode_now() == GCB_HOST_FFT_EXACT)
        return 1.0f;
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return 1.0f + miss * (static_cast<float>(*state >> 40) * 0x1p-23f - 1.0f);
}

struct aligned_floats {
    float *at;

    explicit aligned_floats(size_t count)
        : at(static_cast<float *>(aligned_alloc(64, (count * sizeof(float) + 63) / 64 * 64)))
    {
    }
    ~aligned_floats()
    {
        free(at);
    }
};

void scribble(const plan &p)
{
    memset(p.work, 0x5a, p.work_bytes);
}

void run_forward(const plan &p, const float *x, float *bins)
{
    const uint64_t per = 2 * (p.length / 2 + 1);
    aligned_floats room(per);
    uint64_t noise = p.length;

    scribble(p);
    for (uint64_t c = 0; c < p.batch; c++) {
        gcb_fft_forward(p.fft.get(), x + c * p.length, room.at);
        for (uint64_t i = 0; i < per; i++)
            bins[c * per + i] = room.at[i] * factor(&noise);
    }
}

void run_inverse(const plan &p, float *bins, float *x)
{
    const uint64_t per = 2 * (p.length / 2 + 1);
    aligned_floats room(per);
    uint64_t noise = p.length;

    scribble(p);
    for (uint64_t c = 0; c < p.batch; c++) {
        float *in = bins + c * per;

        if (in[1] != 0.0f || (p.length % 2 == 0 && in[per - 1] != 0.0f))
            gcb_host::report_fault("an inverse FFT of bins that no real transform has");
        memcpy(room.at, in, per * sizeof(float));
        gcb_fft_inverse(p.fft.get(), room.at, x + c * p.length);
        for (uint64_t i = 0; i < p.length; i++)
            x[c * p.length + i] *= factor(&noise);
        memset(in, 0x7f, per * sizeof(float));
    }
}

cufftResult check(cufftHandle handle, bool inverse, const void *in, const void *out)
{
    const auto found = plans.find(handle);

    if (found == plans.end() || !found->second.fft || found->second.inverse != inverse)
        return CUFFT_INVALID_PLAN;
    if (!found->second.stream || !found->second.work || found->second.own_memory)
        gcb_host::report_fault("cuFFT runs without a stream or a work area of its caller's");
    if (reinterpret_cast<uintptr_t>(in) % 8 != 0 || reinterpret_cast<uintptr_t>(out) % 8 != 0)
        return CUFFT_INVALID_VALUE;
    return mode_now() == GCB_HOST_FFT_FAILS ? CUFFT_EXEC_FAILED : CUFFT_SUCCESS;
}

} /* namespace */

void gcb_host_fft(enum gcb_host_fft how)
{
    mode = how;
    mode_known = true;
}

cufftResult cufftGetVersion(int *version)
{
    *version = 12000;
    return CUFFT_SUCCESS;
}

cufftResult cufftCreate(cufftHandle *handle)
{
    *handle = ++last_handle;
    plans[*handle] = {nullptr, 0, 0, false, nullptr, nullptr, 0, true};
    return CUFFT_SUCCESS;
}

cufftResult cufftDestroy(cufftHandle handle)
{
    return plans.erase(handle) ? CUFFT_SUCCESS : CUFFT_INVALID_PLAN;
}

cufftResult cufftSetAutoAllocation(cufftHandle handle, int on)
{
    plans.at(handle).own_memory = on != 0;
    return CUFFT_SUCCESS;
}

cufftResult cufftMakePlanMany64(cufftHandle handle, int rank, long long *n, long long *inembed,
                                long long istride, long long idist, long long *onembed,
                                long long ostride, long long odist, cufftType type, long long batch,
                                size_t *work)
{
    const long long bins = *n / 2 + 1;
    const bool inverse = type == CUFFT_C2R;
    const struct gcb_fft_config config = {
        GCB_FFT_REAL, static_cast<uint64_t>(*n), 0, 0, 1, GCB_FFT_OWN, nullptr, inverse};
    struct gcb_fft *fft = nullptr;
    plan &p = plans.at(handle);

    if (mode_now() == GCB_HOST_FFT_NO_PLAN || *n < 2)
        return CUFFT_INVALID_SIZE;
    if (rank != 1 || istride != 1 || ostride != 1 || batch < 1 ||
        *inembed != (inverse ? bins : *n) || idist != *inembed ||
        *onembed != (inverse ? *n : bins) || odist != *onembed)
        return CUFFT_INVALID_VALUE;
    if (gcb_fft_create(&fft, &config))
        return CUFFT_ALLOC_FAILED;
    p.fft = std::shared_ptr<struct gcb_fft>(fft, gcb_fft_destroy);
    p.length = static_cast<uint64_t>(*n);
    p.batch = static_cast<uint64_t>(batch);
    p.inverse = inverse;
    p.work_bytes = *work = static_cast<size_t>(*n) * 4 + 24; /* differs for each length */
    return CUFFT_SUCCESS;
}

cufftResult cufftSetStream(cufftHandle handle, cudaStream_t stream)
{
    plans.at(handle).stream = stream;
    return CUFFT_SUCCESS;
}

cufftResult cufftSetWorkArea(cufftHandle handle, void *work)
{
    plans.at(handle).work = static_cast<unsigned char *>(work);
    return CUFFT_SUCCESS;
}

cufftResult cufftExecR2C(cufftHandle handle, cufftReal *in, cufftComplex *out)
{
    const cufftResult result = check(handle, false, in, out);

    if (result == CUFFT_SUCCESS) {
        const plan p = plans.at(handle);

        gcb_host::enqueue(p.stream, [=] { run_forward(p, in, &out->x); });
    }
    return result;
}

cufftResult cufftExecC2R(cufftHandle handle, cufftComplex *in, cufftReal *out)
{
    const cufftResult result = check(handle, true, in, out);

    if (result == CUFFT_SUCCESS) {
        const plan p = plans.at(handle);

        gcb_host::enqueue(p.stream, [=] { run_inverse(p, &in->x, out); });
    }
    return result;
}

/* ---- symbols that the module looks up ---- */

void *gcb_host_cufft()
{
    return mode_now() != GCB_HOST_FFT_MISSING ? &plans : nullptr;
}

void *gcb_host_cufft_symbol(const char *name)
{
    static const struct {
        const char *name;
        void *function;
    } symbols[] = {
        {"cufftGetVersion", reinterpret_cast<void *>(cufftGetVersion)},
        {"cufftCreate", reinterpret_cast<void *>(cufftCreate)},
        {"cufftDestroy", reinterpret_cast<void *>(cufftDestroy)},
        {"cufftSetAutoAllocation", reinterpret_cast<void *>(cufftSetAutoAllocation)},
        {"cufftMakePlanMany64", reinterpret_cast<void *>(cufftMakePlanMany64)},
        {"cufftSetStream", reinterpret_cast<void *>(cufftSetStream)},
        {"cufftSetWorkArea", reinterpret_cast<void *>(cufftSetWorkArea)},
        {"cufftExecR2C", reinterpret_cast<void *>(cufftExecR2C)},
        {"cufftExecC2R", reinterpret_cast<void *>(cufftExecC2R)},
    };

    for (const auto &symbol : symbols)
        if (strcmp(symbol.name, name) == 0)
            return symbol.function;
    return nullptr;
}
