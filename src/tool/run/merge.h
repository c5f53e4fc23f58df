#ifndef SRC_TOOL_RUN_MERGE_H
#define SRC_TOOL_RUN_MERGE_H

#include "src/tool/run/rows.h"

/*
 * Joins the results of all shards of a run (src/tool/read/layout.h) into the results of the whole
 * run. The tallies of the messages are added in the order of the messages, as one run adds them, so
 * that every count, sum and error is the same, bit for bit. Times are added too; what only the
 * samples tell is null unless the rows have samples. The rows of `verify` are put in order.
 *
 * A file may have several shards, one after the other. Rows are read twice: first to find and check
 * them, then one at a time in the order of one run.
 */
struct gcb_merge;

/*
 * Reads the files and checks that each shard of one run is there exactly once, and complete.
 * GCB_E_INVALID, with the file: a shard is missing, is there twice, was interrupted, or belongs to
 * another run: to another number of shards, build, input, list of methods, or options.
 * GCB_E_CORRUPT: rows of a shard are missing or repeated. The strings must stay valid until
 * gcb_merge_close.
 */
int gcb_merge_open(struct gcb_merge **out, const char *const *files, size_t count,
                   struct gcb_diag *diag);
void gcb_merge_close(struct gcb_merge *m); /* NULL is fine */

/* Makes the row `environment`: what all shards have in common; other fields are null. `command`
 * becomes argv. */
void gcb_merge_environment(struct gcb_row *row, const struct gcb_merge *m, int argc,
                           char *const *argv);

uint32_t gcb_merge_shards(const struct gcb_merge *m); /* number of shards */
/* True if the shards are those of `verify`. Their rows are promises, not results, and have no
 * totals. */
bool gcb_merge_of_verify(const struct gcb_merge *m);

/* A case of the run: all methods on all messages with one setting. `bench` may have several, other
 * commands have one. */
struct gcb_merge_case {
    const char *file; /* name of the input */
    struct gcb_rows_setting setting;
    const struct gcb_method *methods;
    /* of `verify`: only the skipped messages, and which methods the device lacks */
    struct gcb_run_result result;
    uint64_t all_messages;
};

struct gcb_merge_observer {
    /* Called before the first row of a case. */
    int (*begin)(void *ctx, const struct gcb_merge_case *at, struct gcb_diag *diag);
    /* Takes a row of a message and of methods[method], in the order of one run, and releases it. */
    int (*row)(void *ctx, size_t method, struct gcb_row *row, struct gcb_diag *diag);
    /* Called after the last row of a case. */
    int (*end)(void *ctx, const struct gcb_merge_case *at, struct gcb_diag *diag);
    void *ctx;
};

/* Joins case after case. GCB_E_IO: a file changed since gcb_merge_open. GCB_E_NONFINITE: all
 * messages were skipped. */
int gcb_merge_run(struct gcb_merge *m, const struct gcb_merge_observer *observer,
                  struct gcb_diag *diag);

#endif
