#include "kernels/cpu_flags.h"
#include "kernels/hadamard/hadamard_variants.h"
#include "kernels/hd.h"

static void transform_c(float *x, size_t n)
{
    for (size_t half = 1; half < n; half *= 2) {
        for (size_t from = 0; from < n; from += 2 * half) {
            for (size_t i = from; i < from + half; i++) {
                const float a = x[i], b = x[i + half];

                x[i] = a + b;
                x[i + half] = a - b;
            }
        }
    }
}

static void flip_c(float *x, const uint8_t *sign, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const uint32_t minus = sign[i / 8] >> (i % 8) & 1u;

        x[i] = gcb_float_of(gcb_bits_of(x[i]) ^ minus << 31);
    }
}

void gcb_hadamard_init(struct gcb_hadamard_fns *fns, unsigned cpu_flags)
{
    fns->transform = transform_c;
    fns->flip = flip_c;
#if defined(__x86_64__)
    if (cpu_flags & GCB_CPU_AVX2) {
        fns->transform = gcb_hadamard_transform_avx2;
        fns->flip = gcb_hadamard_flip_avx2;
    }
#else
    (void)cpu_flags;
#endif
}
