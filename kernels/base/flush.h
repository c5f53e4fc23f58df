#ifndef KERNELS_BASE_FLUSH_H
#define KERNELS_BASE_FLUSH_H

#include <stddef.h>

/* Takes the cache lines of [p, p + bytes) out of every cache of the machine; what they held is in memory then. The bytes
 * are mapped and readable. */
typedef void gcb_flush_lines_fn(const void *p, size_t bytes);

struct gcb_flush_fns {
    gcb_flush_lines_fn *lines; /* NULL where there is no quick way of doing so */
};

/* The quick way is x86's CLFLUSHOPT (GCB_CPU_FLUSH); the older CLFLUSH takes fifty times as long. */
void gcb_flush_init(struct gcb_flush_fns *f, unsigned cpu_flags);

#endif
