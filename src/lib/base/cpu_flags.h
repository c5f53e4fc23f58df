#ifndef SRC_LIB_BASE_CPU_FLAGS_H
#define SRC_LIB_BASE_CPU_FLAGS_H

/*
 * What a family's init() may choose from. A flag stands for the whole group a variant file is built
 * with, so a variant never tests anything itself:
 *   AVX2    avx2, bmi, bmi2, f16c, popcnt, lzcnt   (no FMA: products are never contracted)
 *   AVX512  all of AVX2 and avx512 f, bw, dq, vl
 *   NEON    the AArch64 baseline
 *   FLUSH   clflushopt; no set of instructions to compute with, so --isa does not name it
 * They are an argument everywhere; a test passes any subset to hold two tables side by side.
 */
enum gcb_cpu_flags {
    GCB_CPU_AVX2 = 1u << 0,
    GCB_CPU_AVX512 = 1u << 1,
    GCB_CPU_NEON = 1u << 2,
    GCB_CPU_FLUSH = 1u << 3,
};

/* What this processor can run. */
unsigned gcb_cpu_detect(void);

/*
 * Flags for an --isa name: "auto" and "c" everywhere, "avx2", "avx512", "neon" where the processor has
 * them. Returns 0; GCB_E_INVALID for an unknown name; GCB_E_BACKEND for one this machine lacks.
 */
int gcb_cpu_isa(unsigned *flags, const char *name);
/* Name of the widest flag: "c", "avx2", "avx512", "neon". */
const char *gcb_cpu_isa_name(unsigned flags);

#endif
