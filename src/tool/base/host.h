#ifndef SRC_TOOL_BASE_HOST_H
#define SRC_TOOL_BASE_HOST_H

#include <stdint.h>

/* Facts about the machine, for the `environment` row. An unknown fact is an empty string, -1 or 0
 * bytes. */
struct gcb_host {
    char cpu_model[128];
    char kernel[160];
    char governor[32]; /* frequency governor of the first CPU */
    int cpus;          /* number of CPUs that this process may use */
    double load1;      /* load average of the last minute */
    uint64_t memory_bytes;
};
void gcb_host_read(struct gcb_host *out);

/* Returns the size of physical memory in bytes; 0 if unknown. */
uint64_t gcb_host_memory(void);

/* Returns the size in bytes of the largest cache of the first CPU; 0 if unknown. */
uint64_t gcb_host_cache(void);

#endif
