#include "kernels/accumulate/accumulate.h"
#include "kernels/base/accumulate_elem.h"
#include "src/lib/base/cpu_flags.h"

static void add(float *acc, const float *x, size_t n, float weight)
{
    for (size_t i = 0; i < n; i++)
        acc[i] = gcb_accumulated(acc[i], x[i], weight);
}

static void scatter(float *acc, const uint32_t *pos, const float *x, size_t n, float weight)
{
    for (size_t j = 0; j < n; j++)
        acc[pos[j]] = gcb_accumulated(acc[pos[j]], x[j], weight);
}

static void scatter2(float *acc, const uint32_t *pos, const float *x, size_t n, float weight)
{
    for (size_t j = 0; j < n; j++) {
        float *pair = acc + 2 * (size_t)pos[j];

        pair[0] = gcb_accumulated(pair[0], x[2 * j], weight);
        pair[1] = gcb_accumulated(pair[1], x[2 * j + 1], weight);
    }
}

static void add_exponents(float *acc, const uint16_t *code, size_t n, float weight)
{
    for (size_t i = 0; i < n; i++)
        acc[i] =
            gcb_accumulated(acc[i], gcb_float_of((uint32_t)code[i] << GCB_EXPONENT_SHIFT), weight);
}

void gcb_accumulate_init(struct gcb_accumulate_fns *fns, unsigned cpu_flags)
{
    *fns = (struct gcb_accumulate_fns){
        .add = add, .scatter = scatter, .scatter2 = scatter2, .add_exponents = add_exponents};
#if defined(__x86_64__)
    if (cpu_flags & GCB_CPU_AVX2) {
        fns->add = gcb_accumulate_add_avx2;
        fns->add_exponents = gcb_accumulate_exponents_avx2;
    }
    if (cpu_flags & GCB_CPU_AVX512) {
        fns->add = gcb_accumulate_add_avx512;
        fns->add_exponents = gcb_accumulate_exponents_avx512;
    }
#endif
}
