#include "src/lib/device/module/released.cuh"

#include <string.h>

extern "C" {
#include "src/lib/device/module/table.h"
}

namespace
{

/* Copies from pinned memory to the device, and waits. A failure is stored in *f. */
int upload(void *to, const void *from, uint64_t bytes, gcb::fault *f)
{
    cudaStream_t stream = nullptr;
    int err = GCB_CUDA(f, cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));

    if (!err)
        err = GCB_CUDA(f, cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream));
    if (!err)
        err = GCB_CUDA(f, cudaStreamSynchronize(stream));
    if (stream)
        gcb::released(cudaStreamDestroy(stream));
    return err;
}

} /* namespace */

int gcb_cuda_table_create(void **out, const void *from, uint64_t bytes, struct gcb_diag *diag)
{
    void *table = nullptr, *pinned = nullptr;
    gcb::fault f = {};
    int err = GCB_CUDA(&f, cudaMalloc(&table, bytes));

    *out = nullptr;
    if (!err)
        err = GCB_CUDA(&f, cudaMallocHost(&pinned, bytes));
    if (!err) {
        memcpy(pinned, from, bytes);
        err = upload(table, pinned, bytes, &f);
    }
    gcb::released(cudaFreeHost(pinned));
    if (!err) {
        *out = table;
        return 0;
    }
    gcb::released(cudaFree(table));
    return gcb_diag_set(diag, err, "device cuda: cannot make %llu bytes of a method's tables: %s",
                        static_cast<unsigned long long>(bytes), cudaGetErrorString(f.error));
}

void gcb_cuda_table_destroy(void *table)
{
    gcb::released(cudaFree(table));
}
