#ifndef SRC_LIB_BASE_CPU_FLAGS_H
#define SRC_LIB_BASE_CPU_FLAGS_H

/*
 * CPU features. The init function of each kernel family (a folder of kernels/) chooses the family's
 * variant by these flags. A flag stands for all instruction sets with which a variant's file is
 * compiled. So a variant need not test for instructions itself:
 *   AVX2    avx2, bmi, bmi2, f16c, popcnt, lzcnt   (no FMA: products are never contracted)
 *   AVX512  all of AVX2, and avx512 f, bw, dq, vl
 *   NEON    the AArch64 baseline
 *   FLUSH   clflushopt; not used for computing, so --isa has no name for it
 * Flags are always an argument, never a global, so that a test can use variants side by side.
 */
enum gcb_cpu_flags {
    GCB_CPU_AVX2 = 1u << 0,
    GCB_CPU_AVX512 = 1u << 1,
    GCB_CPU_NEON = 1u << 2,
    GCB_CPU_FLUSH = 1u << 3,
};

/* Tells the processor that a loop waits for another thread. */
void gcb_cpu_relax(void);

/* Returns the flags (enum gcb_cpu_flags) of this processor. Asks the processor only once. */
unsigned gcb_cpu_detect(void);

/*
 * Sets *flags for a name that --isa takes: "auto" (all features of this processor) and "c" always
 * work; "avx2", "avx512" and "neon" need the processor's support. Returns 0; GCB_E_INVALID for an
 * unknown name; GCB_E_BACKEND if this processor lacks the instruction set.
 */
int gcb_cpu_isa(unsigned *flags, const char *name);
/* Name of the widest instruction set in the flags: "c", "avx2", "avx512" or "neon". */
const char *gcb_cpu_isa_name(unsigned flags);

#endif
