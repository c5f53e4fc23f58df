#ifndef SRC_TOOL_DUMP_SYNTHETIC_H
#define SRC_TOOL_DUMP_SYNTHETIC_H

#include "src/lib/base/diag.h"

/*
 * Synthetic gradients for `generate`, by Philox: value i of a stream depends on seed, stream and i alone
 * (ar: on the values before it), so files are the same on every machine with the same libm.
 */
enum gcb_dist {
    GCB_DIST_NORMAL,
    GCB_DIST_LAPLACE,
    GCB_DIST_STUDENT_T,
    GCB_DIST_SPARSE,
    GCB_DIST_AR
};

struct gcb_synthetic {
    enum gcb_dist dist;
    double df;    /* student-t: degrees of freedom, above 0 (default 3) */
    double zeros; /* sparse: share of zeros in [0, 1] (default 0.9), the rest normal */
    double rho;   /* ar: correlation of neighbours in (-1, 1) (default 0.9) */
};

/* Parses "normal", "laplace", "student-t:df=3", "sparse:zeros=0.9", "ar:rho=0.9". GCB_E_INVALID. */
int gcb_synthetic_parse(struct gcb_synthetic *out, const char *text, struct gcb_diag *diag);

/*
 * n values with unit variance where the distribution has one (sparse: those that are not zero), times
 * 0.01. All are finite. A fill of fewer values gives the first ones of a longer fill.
 */
void gcb_synthetic_fill(const struct gcb_synthetic *s, float *out, uint64_t n, uint64_t seed,
                        uint64_t stream);

/* Parameter shapes of known networks, for --layout; flat is one tensor of the asked-for elements. */
struct gcb_shape_row {
    const char *name;
    unsigned rank;
    uint64_t dims[4];
};
/* Rows of "resnet50" or "gpt2" (124 M) in registration order; NULL for an unknown name. */
const struct gcb_shape_row *gcb_synthetic_layout(const char *name, size_t *count);

#endif
