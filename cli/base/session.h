#ifndef CLI_BASE_SESSION_H
#define CLI_BASE_SESSION_H

#include "cli/base/output.h"
#include "cli/base/progress.h"
#include "src/tool/trial/rows.h"

/*
 * What every command needs that reads a dump and runs methods on it: where work runs, what is read, where
 * rows go, what all rows share. A command fills `o`, `files` and `ctx`, calls what it needs in the order
 * below, and closes it in every case. Starts zeroed.
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

struct session {
    struct session_options o;
    const struct opt_list *files;
    struct cmd_context *ctx;
    struct opt_backend backend;
    char place[24];                 /* for session_words: ", cuda:0"; "" on the CPU */
    struct gcb_bandwidth bandwidth; /* zeroed until measured */
    struct gcb_source *source;      /* owned */
    struct gcb_layout layout;
    struct out_report report;
    struct progress progress;
    struct gcb_rows_setting setting;
};

/* Checks the options against each other and finds kernels, threads and device: on one, session_run's methods run
 * there, and threads and kernels are of the CPU that they are held against. GCB_E_BACKEND: it is not there. GCB_E_INVALID: an
 * option has no meaning on it. */
int session_resolve(struct session *s);
/* The end of a run of methods: what a method does not do on the device asked for is GCB_E_BACKEND. */
int session_verdict(const struct session *s, int err);

/* Where every message stands alone: takes the methods' memories away, with a note on those asked for. */
void session_forget(const struct session *s, const char *command, struct gcb_method *methods,
                    size_t count);

/* Opens the files as one dump and plans its messages. */
int session_input(struct session *s);
/* Plans the messages of the open dump (again): after `o.message` changed. */
int session_layout(struct session *s);

/* What rows share, as the options and the backend now are; bandwidth as far as it was measured. */
void session_setting(struct session *s);
/* Opens stream and results file; `force` replaces an existing one. Sets the setting. */
int session_report(struct session *s, unsigned records, bool force);
/* Measures memory bandwidth with the backend's threads, over as much memory as the messages call for, and that of the
 * device; sets the setting. */
int session_bandwidth(struct session *s);
/* Sends the `environment` row, if rows are wanted. */
int session_environment(struct session *s);
int session_put(struct session *s, struct gcb_row *row);

/* A run of methods over the messages, as the options say; each message once after one warm-up, unless
 * `timing` asks for more. Borrows from `s`. */
struct gcb_run_config session_run(const struct session *s, const struct opt_timing *timing,
                                  const struct gcb_method *methods, size_t count);

/* Starts `progress`, which --quiet hides. */
void session_start_progress(struct session *s);
/* Is it time to stop? For observers; takes any context. */
bool session_stop(void *ctx);
/* Says on stderr that the run was interrupted, and what that means ("" if nothing): CMD_FAILED. */
int session_interrupted(const struct session *s, const char *consequence);

/* What applies to a whole table and is not plain from its columns: "scope tensor, 1 thread"; `more` stands
 * behind that ("" if nothing). */
void session_words(char *out, size_t size, const struct session *s, const char *more);
/* The files as rows name them; `files` has room for SESSION_FILES. */
#define SESSION_FILES 4096
const char *session_files(char *files, const struct session *s);

void session_close(struct session *s); /* zeroed is fine */

#endif
