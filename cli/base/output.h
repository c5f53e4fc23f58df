#ifndef CLI_BASE_OUTPUT_H
#define CLI_BASE_OUTPUT_H

#include "cli/base/cmd.h"
#include "cli/base/options.h"
#include "src/tool/measure/bandwidth.h"
#include "src/tool/rows/answer.h"
#include "src/tool/rows/labels.h"
#include "src/tool/rows/table.h"
#include "src/tool/run/promises.h"
#include "src/tool/run/rows.h"
#include "src/tool/write/outfile.h"

/*
 * The places to which a command's results go: a stream, in the format asked for, and the file of
 * --results. The file is written under another name and renamed by out_commit.
 */
struct out_report {
    struct gcb_sink *stream; /* takes rows; drops them if the format is table */
    struct gcb_sink *saved;  /* sink for the file of --results, or NULL */
    struct gcb_outfile file;
    FILE *saved_stream;
    bool table; /* print tables and notes on `out` */
    bool color; /* use colour in tables on `out` */
    bool quiet;
    int verbose;
    unsigned width; /* columns of tables; 0: 80 */
    FILE *out;
};

/* Opens the stream and the file. --results must not overwrite one of the `inputs`. `save` and
 * `inputs` may be NULL. Returns 0, or a negative status with words in ctx->diag. Call out_close in
 * both cases. */
int out_open(struct out_report *r, const struct opt_show *show, const struct opt_save *save,
             const struct opt_list *inputs, unsigned records, const struct cmd_context *ctx);
/* Sends a row to the stream and the file, and releases it, also on failure. */
int out_put(struct out_report *r, struct gcb_row *row, struct gcb_diag *diag);
/* Sends a summary of each method of a run, if rows are wanted. `empty`: also of methods that had no
 * message. */
int out_summaries(struct out_report *r, const struct gcb_rows_setting *setting,
                  const struct gcb_method *methods, const struct gcb_run_result *result,
                  const char *files, bool empty, struct gcb_diag *diag);
/* out_put as a callback: `report` is the struct out_report. */
int out_put_row(void *report, struct gcb_row *row, struct gcb_diag *diag);
/* Prints the command's last line, "answer: TEXT", below a table, and sends the row
 * (gcb_answer_row), which it releases. */
int out_answer(struct out_report *r, struct gcb_row *row, struct gcb_diag *diag);
/* Sends the `environment` row, the first of a stream, if rows are wanted. `bandwidths`: as
 * measured, the first one with the backend's number of threads. `hash`: hash inputs over 1 GiB
 * too. */
int out_environment(struct out_report *r, const struct opt_backend *backend,
                    const struct opt_list *files, const struct gcb_bandwidth *bandwidths,
                    size_t bandwidth_count, bool hash, const struct cmd_context *ctx);
/* True if rows are shown or saved. If not, a command need not make rows. */
bool out_wants_rows(const struct out_report *r);
/* Renames the finished file of --results to its name. */
int out_commit(struct out_report *r, struct gcb_diag *diag);
void out_close(struct out_report *r); /* `r` may be zeroed */

/* Returns the first of $TMPDIR, /tmp, /dev/shm and "." that is a folder in which files can be
 * made. */
const char *out_temp_folder(void);
/* Opens the temporary file of an output. */
int out_open_file(FILE **out, const struct gcb_outfile *file, struct gcb_diag *diag);
/* Closes the temporary file and renames it to its final name, unless something could not be
 * written. */
int out_commit_file(FILE *stream, struct gcb_outfile *file, struct gcb_diag *diag);

/* Prints a table on `out`, `width` columns wide, and releases it. GCB_E_NOMEM if there was no
 * memory for the table. */
int out_table(const struct out_report *r, struct gcb_table *table, struct gcb_diag *diag);
/*
 * Prints a table of the methods except methods[0]: for how many elements each is nearer to the
 * input than methods[0], and for how many farther. Prints nothing if the run made no comparison
 * (gcb_run_config.compare).
 */
int out_nearer(const struct out_report *r, const struct gcb_method *methods, size_t count,
               const struct gcb_run_result *result, struct gcb_diag *diag);

/* Prints a note for each method that keeps far more than its density, because it sends small
 * tensors whole. */
void out_note_dense(FILE *out, const struct gcb_method *methods, size_t count,
                    const struct gcb_run_result *result);

/* Prints a note if the input has only zeros, or values so large that their sums may overflow: then
 * errors say little. `squares`: the sum of its squares. */
void out_note_values(FILE *out, double squares);

/* Adds a cell "1.23 ±2%": the speed, and half of the interval from `low` to `high` as a share of
 * the median; "1.23 ±?" if the interval is wider than twice the median. Without an interval it adds
 * only the speed. At most 11 columns. */
void out_speed(struct gcb_table *table, double gbps, const struct gcb_times *times);

/* Adds a cell with a number as tables show this field, in at most `width` columns; 0: any width. */
void out_cell(struct gcb_table *table, enum gcb_field field, double value, size_t width);

/* The columns of a table of methods, for `compress` and `merge`. The last two are speeds. */
#define OUT_COLUMNS 7
extern const struct gcb_table_column out_columns[OUT_COLUMNS];
/* Adds the cells of the columns that have a field: the tally's figures. */
void out_figures(struct gcb_table *table, const struct gcb_table_column *columns, size_t count,
                 const struct gcb_tally *tally, size_t width);

/* Prints why methods failed, or do not run on the device. With `methods` it names their
 * settings. */
void out_failures(FILE *out, const struct gcb_method *methods, const struct gcb_run_result *result);

/* Makes the answer of `compress`, `bench` and `merge` (src/tool/rows/answer.h): "for WHERE, ..."
 * unless `where` is "". With `speeds` it says how fast the methods encode. These commands leave
 * memories out, so they recommend none that needs one. */
int answer_make(struct gcb_row *out, const char *where, const struct gcb_method *methods,
                const struct gcb_run_result *result, bool speeds, struct gcb_diag *diag);

/* The outcome of `bench` or `sweep`: how many methods failed, over all cases. Starts zeroed. */
struct bench_outcome {
    size_t methods;    /* number of methods tried; a method counts once for each case */
    size_t failed;     /* number of methods that failed, including the unverified ones */
    size_t unverified; /* number of methods whose result on the device differs from the CPU's */
    /* message of the first unverified method, or else of the first failed method */
    struct gcb_diag first_bad;
    struct gcb_diag missing; /* message of the first method that lacks a library of the device */
};

/* Adds the totals of one case to the outcome. */
void bench_outcome_add(struct bench_outcome *o, const struct gcb_run_result *result);

/*
 * Returns the exit status of the command, the worst that applies: CMD_NOT_VERIFIED (5), CMD_FAILED
 * (1), GCB_E_BACKEND (3) with its words in `diag`, or 0. The reason for 5 and 1 is printed on
 * `err`. A method that does not run on the device does not change the exit status.
 */
int bench_outcome_judge(const struct bench_outcome *o, FILE *err, struct gcb_diag *diag);

/* ---- checks of verify, also those of all shards that merge joins ---- */

/* What `verify` prints of its checks, and `merge` of the checks of all shards. */

/* The number of checks of a method, by outcome. */
struct promise_counts {
    uint64_t of[GCB_PROMISE_STATUSES];
};

/* Counts a row of record `promise`. For a table, prints it: several lines if the promise is broken,
 * or one line if `report` is verbose. */
void promise_take(struct promise_counts *counts, const struct out_report *report, const char *label,
                  const struct gcb_row *row);

/* Prints a table of the checks of each method, by outcome, the line of their sum, and how to read
 * it. */
int promise_show_counts(const struct out_report *report, const struct gcb_label *labels,
                        size_t count, const struct promise_counts *counts, uint64_t messages,
                        struct gcb_diag *diag);

/* The number of checks of all methods with this outcome. */
uint64_t promise_sum(const struct promise_counts *counts, size_t count,
                     enum gcb_promise_status status);

#endif
