#ifndef TESTS_SUPPORT_CUDA_HOST_CUFFT_H
#define TESTS_SUPPORT_CUDA_HOST_CUFFT_H

/*
 * Replaces cuFFT's header of this name in tests, with the part that the module uses. The transforms
 * are FFTW's, by kernels/fft, so they equal the CPU's. gcb_host_fft (host.h) adds errors or makes
 * them fail.
 */
#include "cuda_runtime.h"

enum cufftResult {
    CUFFT_SUCCESS = 0,
    CUFFT_INVALID_PLAN = 1,
    CUFFT_ALLOC_FAILED = 2,
    CUFFT_INVALID_VALUE = 4,
    CUFFT_INTERNAL_ERROR = 5,
    CUFFT_EXEC_FAILED = 6,
    CUFFT_SETUP_FAILED = 7,
    CUFFT_INVALID_SIZE = 8,
    CUFFT_NOT_SUPPORTED = 16
};

enum cufftType { CUFFT_R2C = 0x2a, CUFFT_C2R = 0x2c };

typedef int cufftHandle;
typedef float cufftReal;
typedef float2 cufftComplex;

extern "C" {
cufftResult cufftGetVersion(int *version);
cufftResult cufftCreate(cufftHandle *plan);
cufftResult cufftDestroy(cufftHandle plan);
cufftResult cufftSetAutoAllocation(cufftHandle plan, int autoAllocate);
cufftResult cufftMakePlanMany64(cufftHandle plan, int rank, long long *n, long long *inembed,
                                long long istride, long long idist, long long *onembed,
                                long long ostride, long long odist, cufftType type, long long batch,
                                size_t *workSize);
cufftResult cufftSetStream(cufftHandle plan, cudaStream_t stream);
cufftResult cufftSetWorkArea(cufftHandle plan, void *workArea);
cufftResult cufftExecR2C(cufftHandle plan, cufftReal *idata, cufftComplex *odata);
cufftResult cufftExecC2R(cufftHandle plan, cufftComplex *idata, cufftReal *odata);
}

#endif
