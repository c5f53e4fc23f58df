#ifndef CLI_BASE_SESSION_H
#define CLI_BASE_SESSION_H

#include "cli/base/output.h"
#include "cli/base/progress.h"
#include "src/tool/trial/rows.h"

/*
 * What commands share that read a dump and run methods on it: the backend, the dump, where rows go, and what all
 * rows have in common. A command fills `o`, `files` and `ctx`, calls the functions it needs in the order below,
 * and always closes the session. Starts zeroed.
 *
 * Functions return 0 or a negative gcb_status with words in the context's diag.
 */
struct session_options { /* borrowed, not NULL */
    const struct opt_input *input;
    const struct opt_message *message;
    const struct opt_exec *exec;
    const struct opt_save *save;
    const struct opt_show *show;
};

/* The groups of options that such a command has: of the members `input`, `message` and `exec` of its struct... */
#define SESSION_GROUPS(type) \
    OPT_GROUP("Input", opt_part_rows, type, input), \
        OPT_GROUP("Input", opt_input_rows, type, input), \
        OPT_GROUP("Messages", opt_scope_rows, type, message), \
        OPT_GROUP("Messages", opt_message_rows, type, message), \
        OPT_GROUP("Running", opt_device_rows, type, exec), \
        OPT_GROUP("Running", opt_threads_rows, type, exec), \
        OPT_GROUP("Running", opt_exec_rows, type, exec)
/* ... and, if it writes no other file, of `save` and `show`. */
#define SESSION_OUTPUT_GROUPS(type) \
    OPT_GROUP("Output", opt_force_rows, type, save), \
        OPT_GROUP("Output", opt_save_rows, type, save), \
        OPT_GROUP("Output", opt_hash_rows, type, save), \
        OPT_GROUP("Output", opt_show_rows, type, show)

struct session {
    struct session_options o;
    const struct opt_list *files;
    struct cmd_context *ctx;
    struct opt_backend backend;
    char place[24];                 /* for session_describe: ", cuda:0"; "" for the CPU */
    struct gcb_bandwidth bandwidth; /* zeroed until measured */
    struct gcb_source *source;      /* owned */
    struct gcb_layout layout;
    struct out_report report;
    struct progress progress;
    struct gcb_rows_setting setting;
};

/* Checks the options against each other and finds kernels, threads and device. With a device, methods run there; kernels
 * and threads are those of the CPU, which makes the messages for comparison. GCB_E_BACKEND: the device is missing.
 * GCB_E_INVALID: an option has no meaning on a device. */
int session_resolve(struct session *s);
/* The status of a finished run: GCB_E_BACKEND if a method does not run on the device asked for. */
int session_judge(const struct session *s, int err);

/* For a command that treats each message by itself: removes the methods' memories; prints a note if the user asked
 * for one. */
void session_drop_memory(const struct session *s, const char *command, struct gcb_method *methods,
                         size_t count);

/* Opens the files as one dump and plans its messages. */
int session_open_input(struct session *s);
/* Plans the messages of the open dump; again after `o.message` changed. */
int session_plan(struct session *s);

/* Fills `setting` from the options, the backend and the bandwidth as measured so far. */
void session_fill_setting(struct session *s);
/* Opens the stream and the results file (`force` replaces an existing one), and fills `setting`. */
int session_open_report(struct session *s, unsigned records, bool force);
/* Measures the bandwidth of memory, with the backend's threads and over as many bytes as the messages need, and that
 * of the device; fills `setting`. */
int session_measure_bandwidth(struct session *s);
/* Sends the `environment` row, if rows are wanted. */
int session_put_environment(struct session *s);
int session_put(struct session *s, struct gcb_row *row);

/* How the options run methods over the messages: each message once after one warm-up, unless `timing` asks for more.
 * Borrows from `s`. */
struct gcb_run_config session_run_config(const struct session *s, const struct opt_timing *timing,
                                         const struct gcb_method *methods, size_t count);

/* Starts `progress`; --quiet hides it. */
void session_start_progress(struct session *s);
/* Prints on stderr that the run was interrupted, and the consequence unless it is "". Returns CMD_FAILED. */
int session_interrupted(const struct session *s, const char *consequence);

/* The settings of a whole table, for its heading: "scope tensor, 1 thread"; then `more`, which may be "". */
void session_describe(char *out, size_t size, const struct session *s, const char *more);
/* The names of the files for rows; `files` has SESSION_FILES bytes. Returns files. */
#define SESSION_FILES 4096
const char *session_name_files(char *files, const struct session *s);

void session_close(struct session *s); /* zeroed is fine */

#endif
