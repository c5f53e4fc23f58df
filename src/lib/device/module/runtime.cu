/* The functions of struct gcb_device_module (src/lib/device/module.h), on CUDA's runtime. */
#include "src/lib/device/module/released.cuh"

#include <new>
#include <stdio.h>
#include <string.h>

extern "C" {
#include "kernels/convert/convert_cuda.h"
#include "kernels/reduce/reduce_cuda.h"
#include "src/lib/device/module.h"
#include "src/lib/device/module/codecs.h"
#include "src/lib/device/module/core.h"
#include "src/lib/device/module/fft.h"
#include "src/lib/device/module/libraries.h"
}

struct gcb_device_event {
    cudaEvent_t handle;
};

namespace
{

/* Writes which call failed to `diag`. Returns GCB_E_NOMEM or GCB_E_DEVICE. */
int explain(const gcb::fault &f, struct gcb_diag *diag)
{
    const int status = f.error == cudaErrorMemoryAllocation ? GCB_E_NOMEM : GCB_E_DEVICE;
    const char *slash = strrchr(f.file, '/');

    return gcb_diag_set(diag, status, "device cuda: %s (%.80s, %s:%d)", cudaGetErrorString(f.error),
                        f.call, slash ? slash + 1 : f.file, f.line);
}

/* Calls a CUDA function that belongs to no stream. A failure goes to `diag`. */
#define TRY(diag, call) try_call((diag), (call), #call, __FILE__, __LINE__)

int try_call(struct gcb_diag *diag, cudaError_t error, const char *call, const char *file, int line)
{
    gcb::fault f = {};

    if (!gcb::checked(&f, error, call, file, line))
        return 0;
    return explain(f, diag);
}

void version_text(char *out, size_t size, int version)
{
    snprintf(out, size, "%d.%d", version / 1000, version % 1000 / 10);
}

/* ---- the device ---- */

int no_device(cudaError_t error, const struct gcb_device_facts *facts, struct gcb_diag *diag)
{
    if (!facts->driver[0])
        return gcb_diag_set(diag, GCB_E_BACKEND,
                            "device cuda: no CUDA driver (libcuda.so.1 was not found)");
    if (error == cudaErrorInsufficientDriver)
        return gcb_diag_set(diag, GCB_E_BACKEND,
                            "device cuda: the driver supports CUDA %s, but this module needs CUDA "
                            "%s; update the driver",
                            facts->driver, facts->runtime);
    return gcb_diag_set(diag, GCB_E_BACKEND, "device cuda: %s", cudaGetErrorString(error));
}

int probe(struct gcb_device_facts *facts, unsigned index, struct gcb_diag *diag)
{
    gcb::fault untold = {}, f = {}; /* a failure in `untold` only leaves a fact unknown */
    cudaDeviceProp prop;
    int version = 0, count = 0, khz = 0;

    memset(facts, 0, sizeof(*facts));
    if (!GCB_CUDA(&untold, cudaRuntimeGetVersion(&version)))
        version_text(facts->runtime, sizeof(facts->runtime), version);
    version = 0;
    if (!GCB_CUDA(&untold, cudaDriverGetVersion(&version)) && version > 0)
        version_text(facts->driver, sizeof(facts->driver), version);
    gcb_cuda_fft_library(facts->fft, sizeof(facts->fft));
    if (GCB_CUDA(&f, cudaGetDeviceCount(&count)))
        return no_device(f.error, facts, diag);
    if (index >= static_cast<unsigned>(count))
        return gcb_diag_set(
            diag, GCB_E_BACKEND,
            "device cuda:%u does not exist; this machine has %d, numbered from cuda:0", index,
            count);
    if (GCB_CUDA(&f, cudaGetDeviceProperties(&prop, static_cast<int>(index))))
        return no_device(f.error, facts, diag);
    snprintf(facts->name, sizeof(facts->name), "%.127s", prop.name);
    facts->memory_bytes = prop.totalGlobalMem;
    facts->l2_bytes = static_cast<uint64_t>(prop.l2CacheSize);
    facts->major = static_cast<unsigned>(prop.major);
    facts->minor = static_cast<unsigned>(prop.minor);
    if (!GCB_CUDA(&untold,
                  cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, static_cast<int>(index))))
        facts->clock_mhz = static_cast<unsigned>(khz / 1000);
    return 0;
}

int use(unsigned index, struct gcb_diag *diag)
{
    return TRY(diag, cudaSetDevice(static_cast<int>(index)));
}

int used(unsigned *index, struct gcb_diag *diag)
{
    int device = 0;
    const int err = TRY(diag, cudaGetDevice(&device));

    *index = static_cast<unsigned>(device);
    return err;
}

struct gcb_device_clock *clock_open(unsigned index)
{
    gcb::fault untold = {};
    char bus[32];

    if (GCB_CUDA(&untold, cudaDeviceGetPCIBusId(bus, sizeof(bus), static_cast<int>(index))))
        return nullptr;
    return gcb_cuda_clock_open(bus);
}

/* ---- memory ---- */

int alloc_device(void **out, uint64_t bytes, struct gcb_diag *diag)
{
    size_t left = 0, total = 0;

    *out = nullptr;
    const int err = TRY(diag, cudaMalloc(out, bytes ? bytes : 1));
    if (err != GCB_E_NOMEM)
        return err;
    if (TRY(diag, cudaMemGetInfo(&left, &total)))
        return GCB_E_DEVICE;
    return gcb_diag_set(
        diag, GCB_E_NOMEM, "out of memory on the device (%llu bytes asked for, %llu of %llu free)",
        static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(left),
        static_cast<unsigned long long>(total));
}

void free_device(void *dev)
{
    gcb::released(cudaFree(dev));
}

int alloc_pinned(void **out, uint64_t bytes, struct gcb_diag *diag)
{
    *out = nullptr;
    return TRY(diag, cudaMallocHost(out, bytes ? bytes : 1));
}

void free_pinned(void *p)
{
    gcb::released(cudaFreeHost(p));
}

/* ---- streams ---- */

/* Waits, because queued work may use memory that the caller frees next. CUDA does not promise that
 * freeing pinned memory waits. */
void stream_destroy(struct gcb_device_stream *s)
{
    if (s && s->handle) {
        gcb::released(cudaStreamSynchronize(s->handle));
        gcb::released(cudaStreamDestroy(s->handle));
    }
    delete s;
}

int stream_create(struct gcb_device_stream **out, struct gcb_diag *diag)
{
    gcb_device_stream *s = new (std::nothrow) gcb_device_stream();

    *out = nullptr;
    if (!s)
        return gcb_diag_nomem(diag, sizeof(*s), "a stream");
    const int err = TRY(diag, cudaStreamCreateWithFlags(&s->handle, cudaStreamNonBlocking));
    if (err) {
        s->handle = nullptr;
        stream_destroy(s);
        return err;
    }
    *out = s;
    return 0;
}

int wait(struct gcb_device_stream *s, struct gcb_diag *diag)
{
    const int err = GCB_CUDA(&s->fault, cudaStreamSynchronize(s->handle));

    return err || s->fault.error != cudaSuccess ? explain(s->fault, diag) : 0;
}

uint64_t launches(const struct gcb_device_stream *s)
{
    return s->launches;
}

int copy(struct gcb_device_stream *s, void *to, const void *from, uint64_t bytes,
         enum gcb_device_copy how)
{
    static const cudaMemcpyKind kinds[] = {cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost,
                                           cudaMemcpyDeviceToDevice};

    if (bytes == 0)
        return 0;
    return GCB_CUDA(&s->fault, cudaMemcpyAsync(to, from, bytes, kinds[how], s->handle));
}

int zero(struct gcb_device_stream *s, void *dev, uint64_t bytes)
{
    return bytes ? GCB_CUDA(&s->fault, cudaMemsetAsync(dev, 0, bytes, s->handle)) : 0;
}

int stream_wrap(struct gcb_device_stream **out, struct gcb_diag *diag)
{
    *out = new (std::nothrow) gcb_device_stream();
    return *out ? 0 : gcb_diag_nomem(diag, sizeof(**out), "a stream");
}

void stream_unwrap(struct gcb_device_stream *s)
{
    delete s;
}

void point(struct gcb_device_stream *s, void *handle)
{
    s->handle = static_cast<cudaStream_t>(handle);
    s->fault = {};
}

int told(const struct gcb_device_stream *s, int err, struct gcb_diag *diag)
{
    return s->fault.error != cudaSuccess ? explain(s->fault, diag) : err;
}

/* ---- events ---- */

void event_destroy(struct gcb_device_event *e)
{
    if (e && e->handle)
        gcb::released(cudaEventDestroy(e->handle));
    delete e;
}

int event_create(struct gcb_device_event **out, struct gcb_diag *diag)
{
    gcb_device_event *e = new (std::nothrow) gcb_device_event();

    *out = nullptr;
    if (!e)
        return gcb_diag_nomem(diag, sizeof(*e), "an event");
    const int err = TRY(diag, cudaEventCreateWithFlags(&e->handle, cudaEventDefault));
    if (err) {
        e->handle = nullptr;
        event_destroy(e);
        return err;
    }
    *out = e;
    return 0;
}

int event_record(struct gcb_device_event *e, struct gcb_device_stream *s)
{
    return GCB_CUDA(&s->fault, cudaEventRecord(e->handle, s->handle));
}

int event_seconds(double *out, struct gcb_device_event *from, struct gcb_device_event *to,
                  struct gcb_diag *diag)
{
    float milliseconds = 0.0f;

    if (TRY(diag, cudaEventSynchronize(from->handle)) ||
        TRY(diag, cudaEventSynchronize(to->handle)) ||
        TRY(diag, cudaEventElapsedTime(&milliseconds, from->handle, to->handle)))
        return GCB_E_DEVICE;
    *out = static_cast<double>(milliseconds) * 1e-3;
    return 0;
}

/* ---- raw tensors ---- */

int put_raw(struct gcb_device_stream *s, enum gcb_dtype source, uint8_t *out,
            const struct gcb_device_input *in)
{
    if (source == GCB_F16)
        return gcb_cuda_fp16.put(s, out, in, nullptr);
    if (source == GCB_BF16)
        return gcb_cuda_bf16.put(s, out, in, nullptr);
    return gcb_cuda_fp32.put(s, out, in, nullptr);
}

int get_raw(struct gcb_device_stream *s, enum gcb_dtype source, float *out, const uint8_t *in,
            uint64_t n)
{
    if (source == GCB_F16)
        return gcb_cuda_fp16.get(s, out, in, n);
    if (source == GCB_BF16)
        return gcb_cuda_bf16.get(s, out, in, n);
    return copy(s, out, in, n * sizeof(float), GCB_COPY_DEVICE);
}

/* ---- the table of functions ---- */

const struct gcb_device_module table = {
    GCB_DEVICE_MODULE_VERSION,
    sizeof(struct gcb_device_module),
    gcb_device_codecs,
    probe,
    use,
    used,
    {alloc_device, free_device, alloc_pinned, free_pinned},
    {stream_create, stream_destroy, wait, launches, copy, zero, stream_wrap, stream_unwrap, point,
     told},
    {event_create, event_destroy, event_record, event_seconds},
    {gcb_cuda_max_bits, gcb_cuda_max_bits_group, put_raw, get_raw, gcb_cuda_compare_scratch,
     gcb_cuda_compare},
    {gcb_cuda_fft_create, gcb_cuda_fft_destroy, gcb_cuda_fft_work, gcb_cuda_fft_forward},
    {gcb_cuda_slot_begin, gcb_cuda_slot_spare, gcb_cuda_slot_end, gcb_cuda_slot_poison},
    {clock_open, gcb_cuda_clock_mhz, gcb_cuda_clock_close},
};

} /* namespace */

extern "C" __attribute__((visibility("default"))) const struct gcb_device_module *
gcb_device_module(const struct gcb_device_core *core)
{
    return gcb_module_take_core(core) ? &table : nullptr;
}
