#ifndef SRC_TOOL_PAYOFF_PAYOFF_CASES_H
#define SRC_TOOL_PAYOFF_PAYOFF_CASES_H

#include <jansson.h>
#include <stdint.h>

#include "src/lib/codec/method.h"
#include "src/tool/payoff/payoff.h"
#include "src/tool/payoff/payoff_papers.h"
#include "src/tool/timing/fit.h"

/*
 * What result files say of each method: times, bytes, and the lines through them, from the `result` rows of compress,
 * bench and sweep; from a `summary` row where a case has no others. A case is a method's spec with all it ran
 * under; cases that ran under the same belong to one group, and compare.
 *
 * Files are untrusted: every text is escaped as it is taken.
 */

/* Sums over the messages of a case. */
struct gcb_payoff_sums {
    double rows, messages, elements, wire, encode, decode;
    double error; /* squares of rel_l2 times elements */
    double
        stage[4]; /* seconds of transform, select, quantise, index; NAN where some row has none */
};

struct gcb_payoff_case {
    char *path; /* of the result file, and below as its rows say */
    char *method, *spec, *scope, *device, *isa, *cache;
    uint64_t threads;
    size_t group;    /* from 0; equal where all but method and spec is */
    char label[256]; /* what a table calls it: the name, main parameters, and what is no default */
    bool sums;       /* can be added undecoded */
    bool sparse;     /* what is decoded is mostly zeros: no transform stands behind it */
    bool baseline;   /* identity or fp16, which stand in every comparison anyway */
    bool summary_only; /* no result rows: one exchange, and nothing to fit */
    double exchanges;  /* steps x workers: what a sum is of */
    double copy;       /* bytes per second that the machine copies; NAN: not measured */
    double
        rel_l2; /* of the summaries, else of the messages, weighted by elements; NAN: none seen */
    bool searched, missed; /* by `sweep --match`; and the target was not met */
    bool once;             /* its times, or some of them, are of a single run each */
    double load1, cpus;    /* of the machine that measured; NAN: not known */
    struct gcb_payoff_sums total;
    struct gcb_fit encode, decode, wire; /* over a message's bytes as fp32 */
};

struct gcb_payoff_cases {
    struct gcb_payoff_case
        *items; /* count of them, by group, in the order they were met, a group's baselines last */
    size_t count;
    uint64_t left_out; /* rows with another status than ok, or without times */
};

struct gcb_payoff_reader;
int gcb_payoff_reader_create(struct gcb_payoff_reader **out, struct gcb_diag *diag);
/* One file; "-" is standard input. GCB_E_IO, GCB_E_CORRUPT, GCB_E_NOMEM. */
int gcb_payoff_reader_file(struct gcb_payoff_reader *r, const char *path, struct gcb_diag *diag);
/* One row as JSON, of whatever record, as if it stood in a file of that name. */
int gcb_payoff_reader_row(struct gcb_payoff_reader *r, const char *path, const json_t *row,
                          struct gcb_diag *diag);
/* What was read so far. GCB_E_INVALID: no method with times. Release with fini; the reader is empty then. */
int gcb_payoff_reader_finish(struct gcb_payoff_reader *r, struct gcb_payoff_cases *out,
                             struct gcb_diag *diag);
void gcb_payoff_reader_destroy(struct gcb_payoff_reader *r); /* NULL is fine */
void gcb_payoff_cases_fini(struct gcb_payoff_cases *c);      /* zeroed is fine */

/*
 * Drops all cases but those that one of `specs` names, the baselines beside them, and groups without any. A spec is a
 * method's name, or a name with parameters that stand in the case's spec. GCB_E_INVALID: one names none.
 */
int gcb_payoff_select(struct gcb_payoff_cases *c, const char *const *specs, size_t count,
                      struct gcb_diag *diag);
void gcb_payoff_case_fini(struct gcb_payoff_case *c);

/* What an exchange is of: that of the results, or of a model of another size, by the fitted lines. */
struct gcb_payoff_model {
    double bytes;    /* of the gradient as fp32; 0: as in the results */
    double messages; /* that are coded; 0: as in the results */
    double bucket;   /* bytes of it that travel together, above 0 */
    double compute;  /* seconds; NAN: nothing is overlapped */
};
struct gcb_payoff_scale {
    double bytes, messages, transfers; /* in force */
    bool
        fitted; /* by the lines; else measured sums, or in proportion where nothing can be fitted */
    bool beyond; /* messages of another size than any that was measured */
    const char *
        doubt; /* "bytes", "encoding times", "decoding times": `fitted`, but a line misses what it was measured
                          from by more than it may; else NULL */
    double
        off; /* the worst line's: root mean square over messages, or of their sum, whichever is more; NAN: none */
};
#define GCB_PAYOFF_BYTES_OFF 0.5
#define GCB_PAYOFF_TIMES_OFF 0.75 /* large messages leave the caches */
/* The load of a case, and of plain fp32 of the same gradient. `scale` may be NULL. */
void gcb_payoff_load(struct gcb_load *out, struct gcb_payoff_scale *scale,
                     const struct gcb_payoff_case *c, const struct gcb_payoff_model *model);
void gcb_payoff_load_fp32(struct gcb_load *out, const struct gcb_payoff_case *c,
                          const struct gcb_payoff_model *model);
/* The same of fp16, with the conversions of `half` (the group's fp16 case), free where it is NULL. */
void gcb_payoff_load_fp16(struct gcb_load *out, const struct gcb_payoff_case *c,
                          const struct gcb_payoff_case *half, const struct gcb_payoff_model *model);
/* The fp16 case of a group, or NULL. */
const struct gcb_payoff_case *gcb_payoff_half(const struct gcb_payoff_cases *cases, size_t group);

/* Measured throughputs as the FFT paper counts them; false where stages were not timed. */
bool gcb_payoff_stages(struct gcb_fft_stages *out, const struct gcb_payoff_case *c);

#endif
