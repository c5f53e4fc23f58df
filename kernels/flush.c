#include "kernels/flush.h"

#include <stdint.h>

#define LINE 64

#if defined(__x86_64__)

#include <cpuid.h>
#include <immintrin.h>

#define CLFLUSHOPT (1u << 23) /* of leaf 7's ebx */

bool gcb_flush_available(void)
{
    unsigned a, b, c, d;

    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && b & CLFLUSHOPT;
}

__attribute__((target("clflushopt"))) static void flush(const char *p, const char *end)
{
    for (; p < end; p += LINE)
        _mm_clflushopt((void *)(uintptr_t)p);
    _mm_mfence();
}

#else

bool gcb_flush_available(void)
{
    return false;
}

static void flush(const char *p, const char *end)
{
    (void)p;
    (void)end;
}

#endif

void gcb_flush_lines(const void *p, size_t bytes)
{
    const uintptr_t first = (uintptr_t)p / LINE * LINE;

    if (bytes && gcb_flush_available())
        flush((const char *)first, (const char *)p + bytes);
}
