#include <stddef.h>
#include <string.h>

#include "src/lib/base/cpu_flags.h"
#include "src/lib/base/status.h"

/* Widest first: the first row whose flags are all set gives the name. */
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
