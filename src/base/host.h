#ifndef SRC_BASE_HOST_H
#define SRC_BASE_HOST_H

#include <stddef.h>
#include <stdint.h>

/* What this machine can do (kernels/cpu_flags.h), asked of the processor. */
unsigned gcb_host_cpu_flags(void);

/*
 * Flags for an --isa name: "auto" and "c" everywhere, "avx2", "avx512", "neon" where the processor has
 * them. Returns 0; GCB_E_INVALID for an unknown name; GCB_E_BACKEND for one this machine lacks.
 */
int gcb_host_isa(unsigned *flags, const char *name);
/* Name of the widest flag: "c", "avx2", "avx512", "neon". */
const char *gcb_host_isa_name(unsigned flags);

/* Facts for the environment record; empty strings and -1 where unknown. */
struct gcb_host {
    char cpu_model[128];
    char kernel[160];
    char governor[32];
    int cpus; /* this process may use */
    double load1;
    uint64_t memory_bytes;
};
void gcb_host_read(struct gcb_host *out);

/* Physical memory in bytes, 0 if unknown. */
uint64_t gcb_host_memory(void);

#endif
