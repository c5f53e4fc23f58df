#include "src/lib/base/cpu_flags.h"

#include <stddef.h>
#include <string.h>

#include "src/lib/base/status.h"

#if defined(__x86_64__)

#include <cpuid.h>

#define CLFLUSHOPT (1u << 23) /* bit of EBX of CPUID leaf 7 */

void gcb_cpu_relax(void)
{
    __builtin_ia32_pause();
}

#define LOOKED (1u << 31) /* not a feature: makes the result of find_features differ from 0 */

static unsigned find_features(void)
{
    unsigned flags = LOOKED, a, b, c, d;

    __builtin_cpu_init();
    /* F16C and LZCNT are not tested, because not all compilers can ask for them. Every processor
     * with AVX2 and BMI2 has both. */
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
        __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt"))
        flags |= GCB_CPU_AVX2;
    if (flags & GCB_CPU_AVX2 && __builtin_cpu_supports("avx512f") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
        flags |= GCB_CPU_AVX512;
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d) && b & CLFLUSHOPT)
        flags |= GCB_CPU_FLUSH;
    return flags;
}

/* In a virtual machine CPUID is slow, because the host answers it. So the processor is asked only
 * once. */
unsigned gcb_cpu_detect(void)
{
    static _Atomic unsigned found;

    if (!found)
        found = find_features();
    return found & ~LOOKED;
}
#elif defined(__aarch64__)
void gcb_cpu_relax(void)
{
    __asm__ volatile("yield");
}

unsigned gcb_cpu_detect(void)
{
    return GCB_CPU_NEON;
}
#else
void gcb_cpu_relax(void)
{
}

unsigned gcb_cpu_detect(void)
{
    return 0;
}
#endif

/* Ordered from the widest instruction set to the narrowest. The first row whose flags are all set
 * gives the name. */
static const struct {
    const char *name;
    unsigned flags;
} isas[] = {
    {"avx512", GCB_CPU_AVX512 | GCB_CPU_AVX2},
    {"avx2", GCB_CPU_AVX2},
    {"neon", GCB_CPU_NEON},
    {"c", 0},
};

int gcb_cpu_isa(unsigned *flags, const char *name)
{
    const unsigned have = gcb_cpu_detect();

    if (strcmp(name, "auto") == 0) {
        *flags = have;
        return 0;
    }
    for (size_t i = 0; i < sizeof(isas) / sizeof(isas[0]); i++) {
        if (strcmp(name, isas[i].name) != 0)
            continue;
        *flags = isas[i].flags;
        return (have & *flags) == *flags ? 0 : GCB_E_BACKEND;
    }
    return GCB_E_INVALID;
}

const char *gcb_cpu_isa_name(unsigned flags)
{
    for (size_t i = 0; i < sizeof(isas) / sizeof(isas[0]); i++)
        if ((flags & isas[i].flags) == isas[i].flags)
            return isas[i].name;
    return "c";
}
