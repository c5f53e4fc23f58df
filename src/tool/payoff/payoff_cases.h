#ifndef SRC_TOOL_PAYOFF_PAYOFF_CASES_H
#define SRC_TOOL_PAYOFF_PAYOFF_CASES_H

#include <jansson.h>
#include <stdint.h>

#include "src/lib/codec/method.h"
#include "src/tool/timing/fit.h"

/*
 * The cases of result files: times and bytes of each method, from the `result` rows of compress, bench and sweep; from a
 * `summary` row if a case has no others. A case is a method's spec and the conditions under which it ran. Cases that ran under
 * the same conditions are a group, and are compared with each other.
 *
 * Files are untrusted: every text is escaped as it is read.
 */

/* What lines are fitted through. */
enum gcb_payoff_quantity {
    GCB_PAYOFF_BYTES,  /* of the message */
    GCB_PAYOFF_ENCODE, /* seconds */
    GCB_PAYOFF_DECODE,
    GCB_PAYOFF_QUANTITIES
};

/* Sums over the messages of a case. */
struct gcb_payoff_sums {
    double rows, messages, elements;
    double value[GCB_PAYOFF_QUANTITIES];
    double error;    /* of rel_l2 squared times elements */
    double stage[4]; /* seconds of transform, select, quantise, index; NAN if some row lacks them */
};

struct gcb_payoff_case {
    char *path; /* of the result file; the other texts are from its rows */
    char *method, *spec, *scope, *device, *isa, *cache;
    uint64_t threads;
    size_t group; /* from 0 */
    char label
        [256]; /* for tables: the name, the main parameters, and those that differ from the defaults */
    bool sums;     /* messages can be summed without decoding */
    bool sparse;   /* the decoded gradient is mostly zeros: a density below 1 and no transform */
    bool baseline; /* identity or fp16, which every comparison has anyway */
    bool summary_only;  /* no result rows: counts as one exchange, and no lines can be fitted */
    double exchanges;   /* steps x workers that the sums cover */
    double copy;        /* bytes per second that the machine copies; NAN: not measured */
    double rel_l2;      /* of the summaries, else of the messages, by elements; NAN: unknown */
    bool searched;      /* by `sweep --match` */
    bool missed;        /* searched, and the target was not met */
    bool single_run;    /* some of its times are of one run only */
    double load1, cpus; /* of the machine that measured; NAN: unknown */
    struct gcb_payoff_sums total;
    struct gcb_fit fit[GCB_PAYOFF_QUANTITIES]; /* over a message's bytes as fp32 */
};

/* By group, in the order of their first rows; the baselines of a group come last. */
struct gcb_payoff_cases {
    struct gcb_payoff_case *items;
    size_t count;
    uint64_t left_out; /* rows with a status other than ok, or without times */
};

struct gcb_payoff_reader;
int gcb_payoff_reader_create(struct gcb_payoff_reader **out, struct gcb_diag *diag);
/* Reads a file; "-" is standard input. GCB_E_IO, GCB_E_CORRUPT, GCB_E_NOMEM. */
int gcb_payoff_reader_file(struct gcb_payoff_reader *r, const char *path, struct gcb_diag *diag);
/* Reads one row of any record, as if it were in a file of this name. */
int gcb_payoff_reader_row(struct gcb_payoff_reader *r, const char *path, const json_t *row,
                          struct gcb_diag *diag);
/* Hands over what was read; then the reader can only be destroyed. GCB_E_CORRUPT: no method with times. Release with fini. */
int gcb_payoff_reader_finish(struct gcb_payoff_reader *r, struct gcb_payoff_cases *out,
                             struct gcb_diag *diag);
void gcb_payoff_reader_destroy(struct gcb_payoff_reader *r); /* NULL is fine */
void gcb_payoff_cases_fini(struct gcb_payoff_cases *c);      /* zeroed is fine */

/*
 * Drops all cases except those that one of `specs` names, and the baselines of their groups. A spec is the name of a method, or
 * a name with some of the parameters in the case's spec. GCB_E_INVALID: a spec names no case.
 */
int gcb_payoff_select(struct gcb_payoff_cases *c, const char *const *specs, size_t count,
                      struct gcb_diag *diag);

/* The fp16 case of a group, or NULL. */
const struct gcb_payoff_case *gcb_payoff_find_fp16(const struct gcb_payoff_cases *cases,
                                                   size_t group);

#endif
