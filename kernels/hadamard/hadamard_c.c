#include "kernels/hadamard/hadamard.h"
#include "kernels/hadamard/hadamard_elem.h"
#include "src/lib/base/cpu_flags.h"

void gcb_hadamard_transform_c(float *x, size_t n)
{
    for (size_t half = 1; half < n; half *= 2) {
        for (size_t from = 0; from < n; from += 2 * half)
            for (size_t i = from; i < from + half; i++)
                gcb_hadamard_pair(&x[i], &x[i + half]);
    }
}

void gcb_hadamard_flip_c(float *x, const uint8_t *sign, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = gcb_hadamard_flip(x[i], sign[i / 8] >> (i % 8) & 1u);
}

void gcb_hadamard_init(struct gcb_hadamard_fns *fns, unsigned cpu_flags)
{
    fns->transform = gcb_hadamard_transform_c;
    fns->flip = gcb_hadamard_flip_c;
#if defined(__x86_64__)
    if (cpu_flags & GCB_CPU_AVX2) {
        fns->transform = gcb_hadamard_transform_avx2;
        fns->flip = gcb_hadamard_flip_avx2;
    }
#endif
}
