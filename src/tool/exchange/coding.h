#ifndef SRC_TOOL_EXCHANGE_CODING_H
#define SRC_TOOL_EXCHANGE_CODING_H

#include "src/lib/codec/method.h"
#include "src/tool/exchange/net.h"

/* The times of coding in files of results, for a simulated cluster, where computing takes no time. */
struct gcb_coding;

/* Reads a file of results (docs/rows.md). Release *out with gcb_coding_close. */
int gcb_coding_open(struct gcb_coding **out, const char *path, struct gcb_diag *diag);
void gcb_coding_close(struct gcb_coding *c); /* NULL is fine */

/* What a worker computes in an exchange. */
struct gcb_coding_times {
    double encode; /* seconds in which it encodes its messages */
    double sum;    /* seconds in which it decodes and adds what arrives */
};
/*
 * The times of a method for a gradient of `bytes` bytes as fp32, scaled by size from what was timed (docs/payoff.md).
 * GCB_E_INVALID: the file has no times of this codec with these parameters.
 */
int gcb_coding_find(struct gcb_coding_times *out, const struct gcb_coding *c,
                    const struct gcb_method *method, unsigned workers, double bytes,
                    struct gcb_diag *diag);

#endif
