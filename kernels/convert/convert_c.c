#include "kernels/base/hd.h"
#include "kernels/convert/convert.h"
#include "kernels/convert/convert_elem.h"
#include "src/lib/base/cpu_flags.h"

size_t gcb_convert_to_fp16_c(uint8_t *out, const float *x, size_t n)
{
    size_t saturated = 0;

    for (size_t i = 0; i < n; i++) {
        const uint32_t u = gcb_bits_of(x[i]);

        gcb_store_half(out + 2 * i, gcb_fp16_of_fp32(u));
        saturated += gcb_fp16_saturates(u & GCB_MAGNITUDE_MASK);
    }
    return saturated;
}

size_t gcb_convert_to_bf16_c(uint8_t *out, const float *x, size_t n)
{
    size_t saturated = 0;

    for (size_t i = 0; i < n; i++) {
        const uint32_t u = gcb_bits_of(x[i]);

        gcb_store_half(out + 2 * i, gcb_bf16_of_fp32(u));
        saturated += gcb_bf16_saturates(u & GCB_MAGNITUDE_MASK);
    }
    return saturated;
}

/* Results are stored as bits: copying a float may change a NaN on some machines. */
void gcb_convert_from_fp16_c(float *out, const uint8_t *in, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const uint32_t u = gcb_fp32_of_fp16(gcb_load_half(in + 2 * i));

        memcpy(out + i, &u, sizeof(u));
    }
}

void gcb_convert_from_bf16_c(float *out, const uint8_t *in, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const uint32_t u = gcb_fp32_of_bf16(gcb_load_half(in + 2 * i));

        memcpy(out + i, &u, sizeof(u));
    }
}

void gcb_convert_init(struct gcb_convert_fns *fns, unsigned cpu_flags)
{
    fns->to_fp16 = gcb_convert_to_fp16_c;
    fns->to_bf16 = gcb_convert_to_bf16_c;
    fns->from_fp16 = gcb_convert_from_fp16_c;
    fns->from_bf16 = gcb_convert_from_bf16_c;
#if defined(__x86_64__)
    if (cpu_flags & GCB_CPU_AVX2) {
        fns->to_fp16 = gcb_convert_to_fp16_avx2;
        fns->to_bf16 = gcb_convert_to_bf16_avx2;
        fns->from_fp16 = gcb_convert_from_fp16_avx2;
        fns->from_bf16 = gcb_convert_from_bf16_avx2;
    }
#endif
}
