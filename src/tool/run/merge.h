#ifndef SRC_TOOL_RUN_MERGE_H
#define SRC_TOOL_RUN_MERGE_H

#include "src/tool/run/rows.h"

/*
 * Joins the results of all shards of a run (src/tool/read/layout.h) into the results of the whole
 * run. The tallies of the messages are added in the order of the messages, as in a run without
 * shards. So every count, sum and error is the same, bit for bit. Times are added too. A figure
 * that follows only from samples is null if the rows have no samples. Rows of `verify` are only put
 * in order.
 *
 * A file may have several shards, one after the other. Rows are read twice: first to find and check
 * them, then one at a time in the order of a run without shards.
 */
struct gcb_merge;

/*
 * Reads the files, at least one, and checks that each shard of one run is there exactly once, and
 * complete. `files` and its strings must stay valid until gcb_merge_close. GCB_E_INVALID: a file is
 * not a regular file or is of another command, or a shard is missing, is there twice, stopped
 * early, or belongs to a run with another number of shards, another build, input or list of
 * methods, or other options. GCB_E_CORRUPT: rows of a shard are missing, repeated or changed. Also
 * returns the errors of gcb_results_read.
 */
int gcb_merge_open(struct gcb_merge **out, const char *const *files, size_t count,
                   struct gcb_diag *diag);
void gcb_merge_close(struct gcb_merge *m); /* NULL is fine */

/* Makes the row `environment`. A field is null unless it has the same value in all shards, except
 * `command`, which becomes argv, and `date`, which is the earliest. Release the row with
 * gcb_row_fini. */
void gcb_merge_environment(struct gcb_row *row, const struct gcb_merge *m, int argc,
                           char *const *argv);

uint32_t gcb_merge_shard_count(const struct gcb_merge *m);
/* True if the shards are from `verify`. Then the rows are promises, not results. */
bool gcb_merge_of_verify(const struct gcb_merge *m);

/* A case of the run: all methods on all messages with one setting. A run of `bench` may have
 * several cases; a run of another command has one case. Valid only during the observer's calls. */
struct gcb_merge_case {
    const char *file; /* name of the input; NULL: the rows do not have it */
    struct gcb_rows_setting setting;
    const struct gcb_method *methods;
    /* for `verify`: only the number of skipped messages, and the failures of methods that the
     * device lacks */
    struct gcb_run_result result;
    uint64_t all_messages; /* number of messages of the run */
};

struct gcb_merge_observer {
    /* called before the first row of a case */
    int (*begin)(void *ctx, const struct gcb_merge_case *at, struct gcb_diag *diag);
    /* takes a row of a message with methods[method], in the order of a run without shards, and
     * releases the row, even if it returns an error */
    int (*row)(void *ctx, size_t method, struct gcb_row *row, struct gcb_diag *diag);
    /* called after the last row of a case */
    int (*end)(void *ctx, const struct gcb_merge_case *at, struct gcb_diag *diag);
    void *ctx;
};

/* Joins the cases one after the other. GCB_E_IO: a file changed since gcb_merge_open.
 * GCB_E_NONFINITE: all messages of a case were skipped. Also returns the observer's errors, and
 * those of gcb_plugin_read if a method cannot be used here. */
int gcb_merge_run(struct gcb_merge *m, const struct gcb_merge_observer *observer,
                  struct gcb_diag *diag);

#endif
