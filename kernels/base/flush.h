#ifndef KERNELS_BASE_FLUSH_H
#define KERNELS_BASE_FLUSH_H

#include <stddef.h>

/* Evicts the cache lines of [p, p + bytes) from every cache of the machine, after writing them to
 * memory. The caller guarantees that the bytes are mapped and readable. */
typedef void gcb_flush_lines_fn(const void *p, size_t bytes);

struct gcb_flush_fns {
    gcb_flush_lines_fn *lines; /* NULL if the CPU lacks GCB_CPU_FLUSH */
};

/* Chooses x86's CLFLUSHOPT if cpu_flags has GCB_CPU_FLUSH. The older CLFLUSH is never chosen,
 * because it takes fifty times as long. */
void gcb_flush_init(struct gcb_flush_fns *f, unsigned cpu_flags);

#endif
