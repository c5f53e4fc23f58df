#ifndef SRC_TOOL_RUN_ROWS_H
#define SRC_TOOL_RUN_ROWS_H

#include "src/tool/rows/row.h"
#include "src/tool/run/policy.h"
#include "src/tool/run/run.h"

/* Makes rows of results (docs/rows.md) from tallies. A row has all fields of its record; those that
 * do not apply or were not measured are null. */
struct gcb_rows_setting { /* common to all rows of a run */
    const char *scope, *order, *device, *isa;
    int threads;
    double read_gbps, fill_gbps;          /* bandwidth of the CPU with `threads`; NAN: unknown */
    double device_copy_gbps;              /* copy bandwidth of `device`, if it is not the CPU */
    const char *suite;                    /* NULL: none */
    const char *cache;                    /* "warm" or "cold"; NULL: not controlled */
    bool without_samples;                 /* leave out the samples */
    const struct gcb_policy *policy;      /* that of the run's gcb_policy_method; NULL: none */
    const struct gcb_method *nearer_than; /* the reference of a run with `compare`; NULL: none */
};

/* The fields of the times. */
extern const struct gcb_times_fields *const gcb_rows_times[GCB_TIMED];

/* Write fields that other records have too: scope to isa, and wire_bytes to dense. */
void gcb_rows_put_setting(struct gcb_row *row, const struct gcb_rows_setting *setting,
                          const struct gcb_method *method);
void gcb_rows_put_bytes(struct gcb_row *row, const struct gcb_tally *tally);

/* Each starts a row; release it with gcb_row_fini. */
void gcb_rows_result(struct gcb_row *row, const struct gcb_rows_setting *setting,
                     const struct gcb_method *method, const struct gcb_run_trial *trial);

/* `file` is the name of the input. The status of a method that failed comes from `total`. */
void gcb_rows_summary(struct gcb_row *row, const struct gcb_rows_setting *setting,
                      const struct gcb_method *method, const struct gcb_run_total *total,
                      const char *file, bool interrupted);

/* Reads a row of record `result` back into the tally that it was made from; GCB_E_CORRUPT: the row
 * has no sums. */
int gcb_rows_tally(struct gcb_tally *t, const json_t *row, struct gcb_diag *diag);

/* A summary without figures: the method does not run on this device, for the given reason. */
void gcb_rows_unsupported(struct gcb_row *row, const struct gcb_rows_setting *setting,
                          const struct gcb_method *method, const char *file, const char *reason);

#endif
