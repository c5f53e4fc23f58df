#ifndef SRC_TOOL_REGRESS_COUNTS_H
#define SRC_TOOL_REGRESS_COUNTS_H

#include "src/lib/codec/method.h"
#include "src/tool/regress/child.h"
#include "src/tool/regress/verdict.h"

/*
 * Instructions of encoding and decoding, counted by valgrind's callgrind: of each method and build one process,
 * `compress --repeat 1 --warmup 0` with one thread, in which only gcb_coder_encode and gcb_coder_decode and what they
 * call count. The same program on the same input counts the same, whatever else the machine does.
 */
#define GCB_COUNTS_DELTA 0.01
#define GCB_COUNTS_TIMEOUT 600.0 /* seconds of one process */

struct gcb_counts_config {
    const char *exe[2]; /* base, new: paths */
    const char *const
        *options; /* of compress: not methods, threads, instruction set, how often, format */
    size_t option_count;
    const char *const *files;
    size_t file_count;
    const struct gcb_method *methods;
    size_t method_count;
    const char *isa, *scope;
    const char *folder;                        /* for temporary files; exists */
    double delta;                              /* 0: GCB_COUNTS_DELTA */
    double timeout;                            /* 0: GCB_COUNTS_TIMEOUT */
    bool (*stop)(void *ctx);                   /* may be NULL */
    void (*progress)(void *ctx, double share); /* may be NULL */
    void *ctx;
};

struct gcb_counts {
    struct gcb_cases cases;
    bool interrupted;
    double seconds;
};

/*
 * Verdicts on every method; one that a build does not know or that fails is NEW, GONE, or, in both, NOT-COMPARED. The
 * verdicts borrow the cases of `counts`; release it with gcb_counts_fini on success and failure. GCB_E_BACKEND: no
 * valgrind. GCB_E_IO with words: nothing could be counted.
 */
int gcb_counts_run(struct gcb_counts *counts, struct gcb_verdicts *out,
                   const struct gcb_counts_config *config, struct gcb_diag *diag);
void gcb_counts_fini(struct gcb_counts *counts); /* zeroed is fine */

#endif
