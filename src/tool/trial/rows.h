#ifndef SRC_TOOL_TRIAL_ROWS_H
#define SRC_TOOL_TRIAL_ROWS_H

#include "src/tool/rows/row.h"
#include "src/tool/trial/run.h"

/*
 * Rows of results (docs/rows.md) from tallies. Every field of a result is there, null where it has no
 * meaning or was not measured. Beyond the contract's: `messages`, `dense` (messages sent as fp32 instead)
 * and `nonfinite` (infinities and NaNs in the input).
 */
struct gcb_rows_setting { /* what all rows of a run share */
    const char *scope, *order, *device, *isa;
    int threads;
    double read_gbps, fill_gbps; /* of this device and thread count; NAN: unknown */
    double device_copy_gbps;     /* of the device that rows are of; unused otherwise */
    const char *suite;           /* NULL: none */
    const char *cache;           /* "warm", "cold"; NULL: not looked after */
    bool without_samples;        /* leave the raw timings away */
};

/* Fields that rows of other records share: scope to isa, and wire_bytes to dense. */
void gcb_rows_put_setting(struct gcb_row *row, const struct gcb_rows_setting *setting,
                          const struct gcb_method *method);
void gcb_rows_put_bytes(struct gcb_row *row, const struct gcb_tally *tally);

/* Each starts a row; release it with gcb_row_fini. */
void gcb_rows_result(struct gcb_row *row, const struct gcb_rows_setting *setting,
                     const struct gcb_method *method, const struct gcb_run_trial *trial);

/* `file` names what was read; a method that failed says so itself. */
void gcb_rows_summary(struct gcb_row *row, const struct gcb_rows_setting *setting,
                      const struct gcb_method *method, const struct gcb_run_total *total,
                      const char *file, bool interrupted);

/* A summary of nothing: the method does not run on this device, for this reason. */
void gcb_rows_unsupported(struct gcb_row *row, const struct gcb_rows_setting *setting,
                          const struct gcb_method *method, const char *file, const char *reason);

#endif
