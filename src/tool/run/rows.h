#ifndef SRC_TOOL_RUN_ROWS_H
#define SRC_TOOL_RUN_ROWS_H

#include "src/tool/rows/row.h"
#include "src/tool/run/policy.h"
#include "src/tool/run/run.h"

/* Makes rows of results (docs/rows.md) from tallies. A row has all fields of its record. Fields
 * that do not apply or were not measured are null. */

/* What all rows of a run have in common. Pointers are borrowed. */
struct gcb_rows_setting {
    const char *scope, *order, *device, *isa;
    int threads;
    double read_gbps, fill_gbps;     /* bandwidth of the CPU with `threads`; NAN: unknown */
    double device_copy_gbps;         /* copy bandwidth of a GPU; NAN: unknown, or the CPU */
    const char *suite;               /* NULL: none */
    const char *shuffle;             /* one of gcb_shuffles; NULL: none */
    const char *cache;               /* "warm" or "cold"; NULL: not controlled */
    bool without_samples;            /* rows have null instead of samples of times */
    const struct gcb_policy *policy; /* policy of the run's gcb_policy_method; NULL: none */
};

/* For each enum gcb_timed_work: the fields of its times. */
extern const struct gcb_times_fields *const gcb_rows_times[GCB_TIMED];

/* Writes `scope`, `order`, `method`, `spec`, `params`, `device`, `threads` and `isa`, which other
 * records have too. */
void gcb_rows_put_setting(struct gcb_row *row, const struct gcb_rows_setting *setting,
                          const struct gcb_method *method);
/* Writes `wire_bytes`, its parts (`header_bytes`, `scale_bytes`, `value_bytes`, `index_bytes`),
 * `stored` and `dense`. The records of `replay` have these fields too. */
void gcb_rows_put_bytes(struct gcb_row *row, const struct gcb_tally *tally);

/* Makes a `result` row. Release it with gcb_row_fini. */
void gcb_rows_result(struct gcb_row *row, const struct gcb_rows_setting *setting,
                     const struct gcb_method *method, const struct gcb_run_trial *trial);

/* Makes a `summary` row. `file` is the name of the input. `interrupted`: the run was stopped, which
 * becomes the status unless the method failed. Release the row with gcb_row_fini. */
void gcb_rows_summary(struct gcb_row *row, const struct gcb_rows_setting *setting,
                      const struct gcb_method *method, const struct gcb_run_total *total,
                      const char *file, bool interrupted);

/* Reads the tally back from which a `result` row was made. GCB_E_CORRUPT: the row lacks the sums, a
 * count or `input_dtype`. */
int gcb_rows_tally(struct gcb_tally *t, const json_t *row, struct gcb_diag *diag);

/* Makes a `summary` row without figures for a method that does not run on this device. `reason`
 * says why. Release the row with gcb_row_fini. */
void gcb_rows_unsupported(struct gcb_row *row, const struct gcb_rows_setting *setting,
                          const struct gcb_method *method, const char *file, const char *reason);

#endif
