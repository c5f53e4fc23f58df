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
 * The places to which a command's results go: a stream, in the format of --format, and the file of
 * --results. The file is written under another name and renamed by out_commit.
 */
struct out_report {
    struct gcb_sink *stream; /* takes rows; drops them if the format is table */
    struct gcb_sink *saved;  /* sink for the file of --results; NULL: none */
    struct gcb_outfile file;
    FILE *saved_stream;
    bool table;     /* print tables and notes on `out` */
    bool color;     /* use colour in tables on `out` */
    bool quiet;     /* print no notes */
    int verbose;    /* how often -v was given */
    unsigned width; /* number of characters to which the lines of tables shrink if they can */
    FILE *out;      /* standard output */
};

/* Opens the stream and the file. `records`: the kinds of record (GCB_RECORD_BIT) that csv and tsv
 * show; json shows all rows. --results must not overwrite one of the `inputs`. `save` and `inputs`
 * may be NULL. Returns 0, or a negative status with words in ctx->diag. Call out_close in both
 * cases. */
int out_open(struct out_report *r, const struct opt_show *show, const struct opt_save *save,
             const struct opt_list *inputs, unsigned records, const struct cmd_context *ctx);
/* Sends a row to the stream and the file, and releases it, also on failure. */
int out_put(struct out_report *r, struct gcb_row *row, struct gcb_diag *diag);
/* Sends a summary of each method of a run, if rows are wanted. `files`: the names of the inputs.
 * `empty`: also of methods that had no message and did not fail. */
int out_summaries(struct out_report *r, const struct gcb_rows_setting *setting,
                  const struct gcb_method *methods, const struct gcb_run_result *result,
                  const char *files, bool empty, struct gcb_diag *diag);
/* out_put as a callback: `report` is the struct out_report. */
int out_put_row(void *report, struct gcb_row *row, struct gcb_diag *diag);
/* Sends a row that gcb_answer_row made, and releases it. With a table, also prints "answer: " and
 * the row's text. */
int out_answer(struct out_report *r, struct gcb_row *row, struct gcb_diag *diag);
/* Sends the `environment` row, the first of a stream, if rows are wanted. `bandwidths`: those of
 * memory, one for each number of threads; the first is for the backend's number of threads. `hash`:
 * also hash inputs over 1 GiB. `source`: what was read from `files`; NULL: nothing was. */
int out_environment(struct out_report *r, const struct opt_backend *backend,
                    const struct gcb_source *source, const struct opt_list *files,
                    const struct gcb_bandwidth *bandwidths, size_t bandwidth_count, bool hash,
                    const struct cmd_context *ctx);
/* True if rows are shown or saved. If not, a command need not make rows. */
bool out_wants_rows(const struct out_report *r);
/* Closes the file of --results, and renames it to its final name. Does nothing without a file.
 * Errors are those of out_commit_file. */
int out_commit(struct out_report *r, struct gcb_diag *diag);
/* Releases what out_open made, and removes the temporary file of --results unless out_commit has
 * renamed it. `r` may be zeroed. */
void out_close(struct out_report *r);

/* Returns the first of $TMPDIR, /tmp and /dev/shm that is a folder in which files can be made, or
 * "." if none is. */
const char *out_temp_folder(void);
/* Opens the temporary file of an output for writing. Returns 0 or GCB_E_IO. */
int out_open_file(FILE **out, const struct gcb_outfile *file, struct gcb_diag *diag);
/* Closes the temporary file, and renames it to its final name. GCB_E_IO: something could not be
 * written; the file is closed then, but not renamed. */
int out_commit_file(FILE *stream, struct gcb_outfile *file, struct gcb_diag *diag);

/* Prints a table on r->out, and releases it. */
void out_table(const struct out_report *r, struct gcb_table *table);
/* Prints a note for each method that keeps more than twice as many elements as its density says,
 * because it sends small tensors whole. */
void out_note_dense(FILE *out, const struct gcb_method *methods, size_t count,
                    const struct gcb_run_result *result);

/* Prints a note if the errors say little: because the input has only zeros, or values so large that
 * sums of them may overflow. `squares`: the sum of the input's squares. */
void out_note_values(FILE *out, double squares);

/* Adds a cell "1.23 ±2%": the speed, and half of the interval of `times` as a share of their
 * median; "1.23 ±?" if that is more than 99 %; only the speed if there is no interval. The cell has
 * at most 11 columns. */
void out_speed(struct gcb_table *table, double gbps, const struct gcb_times *times);

/* Adds a cell with a number as tables show this field, in at most `width` columns; 0: any width. */
void out_cell(struct gcb_table *table, enum gcb_field field, double value, size_t width);

/* The columns of a table of methods, for `compress` and `merge`. The last two are speeds. */
#define OUT_COLUMNS 7
extern const struct gcb_table_column out_columns[OUT_COLUMNS];
/* For each of the columns that has a field, adds a cell with the tally's figure. `width` is that of
 * out_cell. */
void out_figures(struct gcb_table *table, const struct gcb_table_column *columns, size_t count,
                 const struct gcb_tally *tally, size_t width);

/* Prints a line for each method that failed or does not run here, with the reason. The line also
 * has the method's settings, unless `methods` is NULL. */
void out_failures(FILE *out, const struct gcb_method *methods, const struct gcb_run_result *result);

/* Makes the row of the answer of `compress`, `bench` and `merge` (src/tool/rows/answer.h). Its text
 * begins with "for WHERE, " unless `where` is "", and says how fast the methods encode if `speeds`
 * is set. These commands leave memories out, so the answer recommends no method that needs a
 * memory. out_answer sends and releases the row. */
void answer_make(struct gcb_row *out, const char *where, const struct gcb_method *methods,
                 const struct gcb_run_result *result, bool speeds);

/* How many methods of `bench`, `compress` or `sweep` failed, over all cases. Starts zeroed. */
struct bench_outcome {
    size_t methods;    /* number of methods tried; a method counts once for each case */
    size_t failed;     /* number of methods that failed, including the unverified ones */
    size_t unverified; /* number of methods of which a result is wrong: GCB_E_UNVERIFIED */
    /* message of the first unverified method, or else of the first failed method */
    struct gcb_diag first_bad;
    struct gcb_diag missing; /* message of the first method that lacks a library of the device */
};

/* Adds the totals of one case to the outcome. */
void bench_outcome_add(struct bench_outcome *o, const struct gcb_run_result *result);

/*
 * Returns the exit status of the command, the worst that applies: CMD_NOT_VERIFIED (5), CMD_FAILED
 * (1), GCB_E_BACKEND (3) with its words in `diag`, or 0. The reason for 5 and 1 is printed on
 * `err`. A method that does not run on the device (GCB_E_UNSUPPORTED) does not change the exit
 * status.
 */
int bench_outcome_judge(const struct bench_outcome *o, FILE *err, struct gcb_diag *diag);

/* ---- checks of verify, also those of all shards that merge joins ---- */

/* The number of checks of a method, by outcome. */
struct promise_counts {
    uint64_t of[GCB_PROMISE_STATUSES];
};

/* Counts the check that a row of record `promise` describes. With a table, prints it if the promise
 * is broken or the report is verbose. */
void promise_take(struct promise_counts *counts, const struct out_report *report, const char *label,
                  const struct gcb_row *row);

/* Prints a table with the number of each method's checks by outcome, and how many checks of all
 * methods found a promise kept or broken. `messages`: number of messages that were checked. */
void promise_show_counts(const struct out_report *report, const struct gcb_label *labels,
                         size_t count, const struct promise_counts *counts, uint64_t messages);

/* Returns how many checks of all `count` methods had this outcome. */
uint64_t promise_sum(const struct promise_counts *counts, size_t count,
                     enum gcb_promise_status status);

#endif
