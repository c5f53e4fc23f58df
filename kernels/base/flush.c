#include "kernels/base/flush.h"

#include <stdint.h>

#include "src/lib/base/cpu_flags.h"

#if defined(__x86_64__)

#include <immintrin.h>

#define LINE 64 /* bytes of a cache line on x86-64 */

__attribute__((target("clflushopt"))) static void flush(const void *p, size_t bytes)
{
    const char *at = (const char *)((uintptr_t)p / LINE * LINE), *end = (const char *)p + bytes;

    for (; bytes && at < end; at += LINE)
        _mm_clflushopt((void *)(uintptr_t)at);
    _mm_mfence();
}

#endif

void gcb_flush_init(struct gcb_flush_fns *f, unsigned cpu_flags)
{
    f->lines = NULL;
#if defined(__x86_64__)
    if (cpu_flags & GCB_CPU_FLUSH)
        f->lines = flush;
#endif
}
