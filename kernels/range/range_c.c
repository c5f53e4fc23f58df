#include "kernels/range/range.h"
#include "src/lib/base/cpu_flags.h"

static size_t encode_c(uint16_t *code, const float *x, size_t n, const struct gcb_range_format *f)
{
    const struct gcb_range_format local = *f; /* stores to code[] cannot change a copy */
    size_t clamped = 0;

    for (size_t i = 0; i < n; i++) {
        code[i] = (uint16_t)gcb_range_encode(x[i], &local);
        clamped += gcb_magnitude(x[i]) > local.clamp;
    }
    return clamped;
}

static void decode_c(float *x, const uint16_t *code, size_t n, const struct gcb_range_format *f)
{
    const struct gcb_range_format local = *f;

    for (size_t i = 0; i < n; i++)
        x[i] = gcb_range_decode(code[i], &local);
}

static void add_c(float *acc, const uint16_t *code, size_t n, const struct gcb_range_format *f,
                  float weight)
{
    const struct gcb_range_format local = *f;

    for (size_t i = 0; i < n; i++)
        acc[i] += weight * gcb_range_decode(code[i], &local);
}

void gcb_range_init(struct gcb_range_fns *fns, unsigned cpu_flags)
{
    fns->encode = encode_c;
    fns->decode = decode_c;
    fns->add = add_c;
#if defined(__x86_64__)
    if (cpu_flags & GCB_CPU_AVX2) {
        fns->encode = gcb_range_encode_avx2;
        fns->decode = gcb_range_decode_avx2;
        fns->add = gcb_range_add_avx2;
    }
    if (cpu_flags & GCB_CPU_AVX512) {
        fns->encode = gcb_range_encode_avx512;
        fns->decode = gcb_range_decode_avx512;
        fns->add = gcb_range_add_avx512;
    }
#endif
}
