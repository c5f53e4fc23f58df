#include "kernels/dither/dither.h"
#include "src/lib/base/cpu_flags.h"

static void signed_levels_c(uint16_t *code, const float *x, size_t n, const uint8_t *byte,
                            uint64_t index, const struct gcb_dither *d, unsigned sign_bit)
{
    const struct gcb_dither local = *d; /* a copy can stay in registers while code[] is written */

    for (size_t i = 0; i < n; i++)
        code[i] = (uint16_t)gcb_dither_signed(x[i], byte[i], index + i, &local, sign_bit);
}

static void nearest_levels_c(uint16_t *code, const float *x, size_t n, const struct gcb_dither *d,
                             unsigned sign_bit)
{
    const struct gcb_dither local = *d;

    for (size_t i = 0; i < n; i++)
        code[i] = (uint16_t)gcb_dither_nearest(x[i], &local, sign_bit);
}

static void trits_c(uint16_t *code, const float *x, size_t n, const uint8_t *byte, uint64_t index,
                    const struct gcb_dither *d)
{
    const struct gcb_dither local = *d;

    for (size_t i = 0; i < n; i++)
        code[i] = (uint16_t)gcb_dither_trit(x[i], byte[i], index + i, &local);
}

static void from_levels_c(float *x, const uint16_t *code, size_t n, const float *step, float scale,
                          unsigned sign_bit)
{
    for (size_t i = 0; i < n; i++)
        x[i] = gcb_dither_value(code[i], step, scale, sign_bit);
}

static void from_trits_c(float *x, const uint16_t *code, size_t n, float scale)
{
    for (size_t i = 0; i < n; i++)
        x[i] = gcb_dither_trit_value(code[i], scale);
}

static void add_levels_c(float *acc, const uint16_t *code, size_t n, const float *step, float scale,
                         unsigned sign_bit, float weight)
{
    for (size_t i = 0; i < n; i++)
        acc[i] += weight * gcb_dither_value(code[i], step, scale, sign_bit);
}

static void add_trits_c(float *acc, const uint16_t *code, size_t n, float scale, float weight)
{
    for (size_t i = 0; i < n; i++)
        acc[i] += weight * gcb_dither_trit_value(code[i], scale);
}

void gcb_dither_init(struct gcb_dither_fns *fns, unsigned cpu_flags)
{
    fns->signed_levels = signed_levels_c;
    fns->nearest_levels = nearest_levels_c;
    fns->trits = trits_c;
    fns->from_levels = from_levels_c;
    fns->from_trits = from_trits_c;
    fns->add_levels = add_levels_c;
    fns->add_trits = add_trits_c;
#if defined(__x86_64__)
    if (cpu_flags & GCB_CPU_AVX2) {
        fns->signed_levels = gcb_dither_signed_levels_avx2;
        fns->nearest_levels = gcb_dither_nearest_levels_avx2;
        fns->trits = gcb_dither_trits_avx2;
        fns->from_levels = gcb_dither_from_levels_avx2;
        fns->from_trits = gcb_dither_from_trits_avx2;
        fns->add_levels = gcb_dither_add_levels_avx2;
        fns->add_trits = gcb_dither_add_trits_avx2;
    }
    if (cpu_flags & GCB_CPU_AVX512) {
        fns->signed_levels = gcb_dither_signed_levels_avx512;
        fns->from_levels = gcb_dither_from_levels_avx512;
        fns->from_trits = gcb_dither_from_trits_avx512;
        fns->add_levels = gcb_dither_add_levels_avx512;
        fns->add_trits = gcb_dither_add_trits_avx512;
    }
#endif
}
