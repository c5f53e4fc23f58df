#ifndef CLI_BASE_SESSION_H
#define CLI_BASE_SESSION_H

#include "cli/base/options.h"
#include "cli/base/output.h"
#include "cli/base/progress.h"
#include "src/tool/run/input.h"
#include "src/tool/run/rows.h"

/* The options of a command that reads a dump and runs methods on it. */
struct session_options {
    struct opt_input input;
    struct opt_message message;
    struct opt_shard shard;
    struct opt_exec exec;
    struct opt_save save;
    struct opt_show show;
};

/* The groups of options of a command whose struct has a session_options named `common`, except
 * --shard and those of its output. */
#define SESSION_GROUPS(type) \
    OPT_GROUP("Input", opt_input_rows, type, common.input), \
        OPT_GROUP("Messages", opt_scope_rows, type, common.message), \
        OPT_GROUP("Messages", opt_message_rows, type, common.message), \
        OPT_GROUP("Running", opt_device_rows, type, common.exec), \
        OPT_GROUP("Running", opt_threads_rows, type, common.exec), \
        OPT_GROUP("Running", opt_exec_rows, type, common.exec)
/* The groups of output options, without -o. */
#define SESSION_OUTPUT_GROUPS(type) \
    OPT_GROUP("Output", opt_force_rows, type, common.save), \
        OPT_GROUP("Output", opt_save_rows, type, common.save), \
        OPT_GROUP("Output", opt_hash_rows, type, common.save), \
        OPT_GROUP("Output", opt_show_rows, type, common.show)

/*
 * The state that commands share if they read a dump and run methods on it: the backend, the dump,
 * where rows go, and what all rows have in common. Starts zeroed. A command fills `o`, `files` and
 * `ctx`, reads --shard if it has this option, resolves the options, opens the input and starts the
 * report, and always closes the session.
 *
 * Functions that return int return 0 or a negative gcb_status with words in the context's diag,
 * unless said otherwise.
 */
struct session {
    struct session_options o;
    const struct opt_list *files; /* the operands */
    struct cmd_context *ctx;
    struct opt_backend backend;
    struct gcb_bandwidth bandwidth; /* bandwidth of memory; zeroed until it is measured */
    struct gcb_source *source;      /* the open dump, which session_close closes */
    struct gcb_shard shard;         /* `count` is 0 without --shard */
    struct gcb_layout layout;       /* the messages to run on */
    struct out_report report;
    struct progress progress;
    struct gcb_rows_setting setting; /* fields that all rows share */
};

/* Checks the options against each other, and fills `backend`. With a device, methods run there, and
 * the CPU's kernels and threads make the messages for comparison. GCB_E_BACKEND: as in
 * opt_exec_resolve. GCB_E_INVALID: options are wrong or contradict each other, or an option has no
 * meaning on a device. */
int session_resolve(struct session *s);
/* Returns the status of the command for `err`, the status of a run: GCB_E_BACKEND if a device was
 * in use and `err` is GCB_E_UNSUPPORTED, because a method does not run on the device; otherwise
 * `err`. */
int session_status(const struct session *s, int err);

/* Removes the methods' memories, for a command that treats each message by itself. Unless --quiet
 * is given, prints a note if the user named a memory; `command` is the command's name. */
void session_drop_memory(const struct session *s, const char *command, struct gcb_method *methods,
                         size_t count);

/* Opens the files as one dump, prints notes on it (heading_note_input) unless --quiet is given, and
 * plans its messages. */
int session_open_input(struct session *s);
/* Plans the messages of the open dump. Call it again if `o.message` changed. */
void session_plan(struct session *s);

/* Fills `setting` from the options, the backend and the bandwidth as measured so far. Zeroes its
 * other members, so set those later. */
void session_fill_setting(struct session *s);
/* Opens the stream and the results file, and fills `setting`. `records` is that of out_open. */
int session_open_report(struct session *s, unsigned records);
/* Sends the `environment` row, if rows are wanted. */
int session_put_environment(struct session *s);
/* Opens the report and sends the `environment` row. If `measure` is set and rows are wanted,
 * measures the bandwidth of memory and of the device before that row: that of memory with the
 * backend's threads, over as many bytes as the messages need. */
int session_start_report(struct session *s, unsigned records, bool measure);
/* Sends a row to the session's report and releases the row, as out_put does. */
int session_put(struct session *s, struct gcb_row *row);

/* Returns the run that the options ask for: one timed run of each message after one warm-up, unless
 * `timing` says otherwise. Borrows `methods`, and the dump, layout, backend and options of `s`. */
struct gcb_run_config session_run_config(const struct session *s, const struct opt_timing *timing,
                                         const struct gcb_method *methods, size_t count);
/* Without --repeat and --min-time, makes `config` time each message at least twice: until its
 * medians are known to 10 %, or the time is up, which is `seconds` times the number of methods, for
 * all methods together. Rows then leave out the samples. */
void session_repeat(struct session *s, struct gcb_run_config *config,
                    const struct opt_timing *timing, double seconds);

/* Reads --shard. If it is given, GCB_E_INVALID also if a method is named twice, because `merge`
 * tells the rows of methods apart by their field `spec`. */
int session_read_shard(struct session *s, const struct gcb_method *methods, size_t count);
/* What a `shard` row says of a run. */
struct session_shard {
    const struct gcb_layout *layout;
    const struct gcb_method *methods;
    size_t method_count;
    const struct gcb_run_result *result; /* NULL: the device cannot be used */
    const char *files;                   /* name of the input */
    /* in `verify`: the counts of each method's checks; in other commands NULL */
    const struct promise_counts *checks;
    bool over_budget; /* `verify` stopped at --budget */
};
/* With --shard, sends the `shard` row, if rows are wanted. Call it after the last row of the run,
 * while `s->setting` still describes the run. Without --shard does nothing. */
int session_put_shard(struct session *s, const struct session_shard *shard);

/* Starts `progress`, which --quiet hides. The caller ends it with progress_end. */
void session_start_progress(struct session *s);
/* Returns the kernels, threads, device, seed and FFT with which messages are coded, as the options
 * say. Borrows from s->backend. */
struct gcb_compute session_compute(const struct session *s);
/* Returns a watch that updates `progress`, which it borrows, and stops the work after a signal that
 * interrupt_catch caught. */
struct gcb_watch session_watch(struct session *s);
/* Prints on stderr that the run was interrupted, and the consequence unless it is "". Returns
 * CMD_FAILED. */
int session_interrupted(const struct session *s, const char *consequence);

/* Writes the settings of a whole table, for its heading: "scope tensor, 1 thread", then `more`,
 * which is "" or begins with ", ", then the order, isa, shard, nonfinite, shuffle, mask and seed
 * that options set. */
void session_describe(char *out, size_t size, const struct session *s, const char *more);
/* Prints the heading of a table: the dump, and the settings of session_describe with `more`. Does
 * nothing if rows are printed instead of a table. */
void session_print_heading(const struct session *s, const char *more);
/* Writes the names of the input files for rows; `files` has SESSION_FILES bytes, and what does not
 * fit is cut. Returns files. */
#define SESSION_FILES 4096
const char *session_name_files(char *files, const struct session *s);

void session_close(struct session *s); /* `s` may be zeroed */

/* ---- headings and notes ---- */

/* Prints the lines above a table: what was read, and the settings, unless they are "". */
void heading_print(FILE *out, const struct opt_list *files, const struct gcb_extent *extent,
                   const char *settings);

/* Prints a note if the machine's load is above its number of CPUs, which makes times longer. If
 * each message had only a few timed runs (`repeat`; 0: as many as were needed), the note advises
 * more. */
void heading_note_load(FILE *out, unsigned repeat);

/*
 * Prints notes on `err`: that --allow-external loosens what the reading process may do; what was
 * left out of the files or is doubtful (gcb_source_remark); and each pattern that matches no
 * tensor, because it is probably misspelt: those of --dataset and --exclude, and those of --dense
 * and --output-layer unless `message` is NULL. `source` was opened by opt_input_open with `in`, or
 * is synthetic.
 */
void heading_note_input(FILE *err, const struct gcb_source *source, const struct opt_input *in,
                        const struct opt_message *message);

#endif
