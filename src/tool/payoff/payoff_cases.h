#ifndef SRC_TOOL_PAYOFF_PAYOFF_CASES_H
#define SRC_TOOL_PAYOFF_PAYOFF_CASES_H

#include <jansson.h>
#include <stdint.h>

#include "src/lib/codec/method.h"
#include "src/tool/timing/fit.h"

/*
 * The cases of result files. A case is a method's spec and the conditions under which the method ran. Cases with the
 * same conditions are a group and are compared with each other. A case has times and bytes from the `result` rows of
 * compress, bench and sweep, or from a `summary` row if it has no `result` rows.
 *
 * Files are untrusted: every text is escaped as it is read.
 */

/* Quantities to which lines are fitted. */
enum gcb_payoff_quantity {
    GCB_PAYOFF_BYTES,  /* bytes of the message */
    GCB_PAYOFF_ENCODE, /* seconds to encode it */
    GCB_PAYOFF_DECODE, /* seconds to decode it */
    GCB_PAYOFF_SUM,    /* seconds to add it to a sum */
    GCB_PAYOFF_SUM16,  /* seconds of a whole sum of 16 such messages */
    GCB_PAYOFF_QUANTITIES
};

/* Sums over the messages of a case. */
struct gcb_payoff_sums {
    double rows, messages, elements;
    /* NAN: some row lacks the quantity; for an end of the interval: some row was measured too few times */
    double value[GCB_PAYOFF_QUANTITIES], low[GCB_PAYOFF_QUANTITIES], high[GCB_PAYOFF_QUANTITIES];
    double headers;   /* bytes of headers */
    double exchanges; /* of a summary: steps times workers; 0: unknown */
    double error;     /* sum of rel_l2 squared times elements */
    double stage[4]; /* seconds of transform, select, quantise, index; NAN if some row lacks them */
};

struct gcb_payoff_case {
    char *path; /* path of the result file; the other texts are from its rows */
    char *method, *spec, *scope, *device, *isa, *cache;
    uint64_t threads;
    char *policy;    /* the rules of a policy, as options; NULL: no policy, or no summary row */
    size_t group;    /* number of the group, from 0 */
    char label[256]; /* gcb_payoff_label_cases */
    /* GCB_COLLECTIVE_BITs of those that can carry the messages and keep the measured error; if the spec names another
     * collective: that one */
    unsigned collectives;
    unsigned
        lossy; /* those that compress sums again, so that the error is larger; 0 if the spec names one */
    bool sizes;         /* the lengths of messages vary */
    bool baseline;      /* identity, fp16 or bf16, with which every method is compared */
    double exchanges;   /* number of pairs of step and worker that the sums cover; 0: unknown */
    double copy;        /* bytes per second that the machine copies; NAN: not measured */
    double rel_l2;      /* error over all elements of the summaries, or else the results; or NAN */
    bool searched;      /* `sweep --match` chose the setting */
    bool missed;        /* `sweep --match` did not meet its target */
    double target;      /* target of `sweep --match`; NAN: none */
    double load1, cpus; /* load and processors of the measuring machine; NAN: unknown */
    struct gcb_payoff_sums total;
    struct gcb_fit fit[GCB_PAYOFF_QUANTITIES]; /* lines over the message's size as fp32 */
};

/* The collectives that compress sums again. */
#define GCB_PAYOFF_LOSSY \
    (GCB_COLLECTIVE_BIT(GCB_COLLECTIVE_TWOSHOT) | GCB_COLLECTIVE_BIT(GCB_COLLECTIVE_OKTOPK) | \
     GCB_COLLECTIVE_BIT(GCB_COLLECTIVE_SPARDL))

/* Cases are ordered by group, then by their first rows. The baselines of a group come last. */
struct gcb_payoff_cases {
    struct gcb_payoff_case *items;
    size_t count;
    /* "topk (interrupted), fft (no times)": methods that cannot be judged; or "" */
    char *left_out;
};

struct gcb_payoff_reader;
struct gcb_truths;
/* `truths` gets the measured exchanges; NULL: they are not wanted. */
int gcb_payoff_reader_create(struct gcb_payoff_reader **out, struct gcb_truths *truths,
                             struct gcb_diag *diag);
/* Reads a file; "-" is standard input. May return GCB_E_IO, GCB_E_CORRUPT or GCB_E_NOMEM. */
int gcb_payoff_reader_file(struct gcb_payoff_reader *r, const char *path, struct gcb_diag *diag);
/* Reads one row of any record, as if the row were in a file of the name `path`. */
int gcb_payoff_reader_row(struct gcb_payoff_reader *r, const char *path, const json_t *row,
                          struct gcb_diag *diag);
/* Moves the cases to *out, which is released with gcb_payoff_cases_fini. Leaves out methods with incomplete results, and
 * cases with warm caches that were also measured with cold ones. After that the reader can only be destroyed. Returns
 * GCB_E_CORRUPT if no method is left and no exchange was read. */
int gcb_payoff_reader_finish(struct gcb_payoff_reader *r, struct gcb_payoff_cases *out,
                             struct gcb_diag *diag);
void gcb_payoff_reader_destroy(struct gcb_payoff_reader *r); /* the argument may be NULL */
void gcb_payoff_cases_fini(struct gcb_payoff_cases *c);      /* a zeroed struct is allowed */
void gcb_payoff_case_fini(struct gcb_payoff_case *c);        /* frees the texts */

/*
 * Keeps only the cases that one of `specs` names, and the baselines of their groups. A spec is the name of a method,
 * which may be followed by some parameters of the case's spec. Returns GCB_E_INVALID if a spec names no case.
 */
int gcb_payoff_select(struct gcb_payoff_cases *c, const char *const *specs, size_t count,
                      struct gcb_diag *diag);

/* What every method is compared with. */
enum gcb_baseline { GCB_BASELINE_FP32, GCB_BASELINE_FP16, GCB_BASELINE_BF16, GCB_BASELINES };
extern const char *const gcb_baseline_names[];   /* "fp32", "fp16", "bf16" */
extern const char *const gcb_baseline_methods[]; /* "identity", "fp16", "bf16" */
/* Returns the baseline that a method of this name is; GCB_BASELINES: none. */
enum gcb_baseline gcb_baseline_of(const char *method);

/* Does a spec of --method name this method with this spec and label? */
bool gcb_payoff_names(const char *wanted, const char *method, const char *spec, const char *label);

/*
 * Sets the labels of all cases: the method; the parameters that are not its defaults, or in which it differs from other
 * cases of this method in the group; and its collective if the spec has one. One of its main parameters follows if the
 * label then takes at most GCB_PAYOFF_LABEL columns. The id of a policy only tells it from another one with as many
 * rules. Each label is a spec that gcb_payoff_select understands.
 */
#define GCB_PAYOFF_LABEL 24
void gcb_payoff_label_cases(struct gcb_payoff_cases *c);
/* Has the spec this parameter, which is `length` characters of "key=value"? */
bool gcb_payoff_has_parameter(const char *spec, const char *piece, size_t length);

/* Returns the case of a baseline in a group, or NULL. */
const struct gcb_payoff_case *gcb_payoff_find_baseline(const struct gcb_payoff_cases *cases,
                                                       size_t group, const char *method);

#endif
