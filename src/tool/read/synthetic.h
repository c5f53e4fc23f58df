#ifndef SRC_TOOL_READ_SYNTHETIC_H
#define SRC_TOOL_READ_SYNTHETIC_H

#include "src/lib/base/diag.h"

/*
 * The distributions of synthetic gradients, which the random number generator Philox draws. Value i
 * of a stream depends only on distribution, seed, stream and i, and on libm. So the values are the
 * same on all machines with the same libm.
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
    double df;    /* student-t: degrees of freedom in (0, 1e6) (default 3) */
    double zeros; /* sparse: share of zeros in [0, 1] (default 0.9); the rest is normal */
    double rho;   /* ar, autoregressive: correlation of neighbours in (-1, 1) (default 0.9) */
};

/* Parses a distribution: "normal", "laplace", "student-t", "sparse" or "ar". The last three may
 * have a parameter: "student-t:df=4", "sparse:zeros=0.5", "ar:rho=0.5". Returns GCB_E_INVALID for
 * any other text, and leaves *out as it was. */
int gcb_synthetic_parse(struct gcb_synthetic *out, const char *text, struct gcb_diag *diag);

/*
 * Fills `out` with n finite values: 0.01 times values of unit variance, if the distribution has a
 * variance. With `sparse`, only the nonzero values have unit variance. No value depends on n.
 */
void gcb_synthetic_fill(const struct gcb_synthetic *s, float *out, uint64_t n, uint64_t seed,
                        uint64_t stream);

/* ---- shapes of networks (networks.c) ---- */

/* Synthetic gradients can have the shapes of known networks, which datasets/networks.json lists. */

#define GCB_LAYOUT_ROWS 161 /* number of rows in the longest layout */

/* One parameter of a network. */
struct gcb_shape_row {
    char name[48];
    unsigned rank;
    uint64_t dims[4];
};

/* "resnet50" (26 M elements), "gpt2" (124 M), "alexnet" (61 M), "vgg16" (138 M) and "lstm" (66 M);
 * ends with NULL. */
extern const char *const gcb_network_names[];

/* The parameters of each network in gcb_network_names. A row of rank 0 ends a network that has
 * fewer than GCB_LAYOUT_ROWS. */
extern const struct gcb_shape_row gcb_network_rows[][GCB_LAYOUT_ROWS];

/*
 * Fills `rows` with the parameters of a network, in the order in which its reference implementation
 * registers them. Returns the number of rows; 0 for an unknown name.
 */
size_t gcb_network_layout(struct gcb_shape_row rows[GCB_LAYOUT_ROWS], const char *name);

/* Sets the message that there is no such network: "unknown layout 'NAME'; give " followed by
 * `others` and the names of the networks. Returns GCB_E_INVALID. */
int gcb_network_unknown(const char *name, const char *others, struct gcb_diag *diag);

/* Returns the product of a row's dims. */
uint64_t gcb_shape_elements(const struct gcb_shape_row *row);

#endif
