#include "src/lib/base/cpu_flags.h"

#if defined(__x86_64__)

#include <cpuid.h>

#define CLFLUSHOPT (1u << 23) /* bit of EBX of CPUID leaf 7 */

unsigned gcb_cpu_detect(void)
{
    unsigned flags = 0, a, b, c, d;

    __builtin_cpu_init();
    /* F16C and LZCNT are not tested, because not all compilers can ask for them. Every processor
     * with AVX2 and BMI2 has both. */
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
        __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt"))
        flags |= GCB_CPU_AVX2;
    if (flags && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        flags |= GCB_CPU_AVX512;
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d) && b & CLFLUSHOPT)
        flags |= GCB_CPU_FLUSH;
    return flags;
}
#elif defined(__aarch64__)
unsigned gcb_cpu_detect(void)
{
    return GCB_CPU_NEON;
}
#else
unsigned gcb_cpu_detect(void)
{
    return 0;
}
#endif
