#ifndef KERNELS_FLUSH_H
#define KERNELS_FLUSH_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Takes the cache lines of [p, p + bytes) out of every cache of the machine; what they held is in memory then. The bytes are
 * mapped and readable. Whether this processor has a quick way of doing so (x86's CLFLUSHOPT; the older CLFLUSH takes
 * fifty times as long): where not, the first does nothing.
 */
void gcb_flush_lines(const void *p, size_t bytes);
bool gcb_flush_available(void);

#endif
