#ifndef CLI_BASE_OUTPUT_H
#define CLI_BASE_OUTPUT_H

#include "cli/base/cmd.h"
#include "cli/base/options.h"
#include "src/tool/hdf5/outfile.h"
#include "src/tool/print/table.h"
#include "src/tool/timing/bandwidth.h"

/*
 * Where a command's results go: the stream in the format asked for, and the file of --results. The file
 * is written beside its name and appears when committed.
 */
struct out_report {
    struct gcb_sink *stream; /* drops rows where the format is table */
    struct gcb_sink *saved;  /* NULL without --results */
    struct gcb_outfile file;
    FILE *saved_stream;
    bool table; /* print tables and notes on `out` */
    bool color; /* in tables on `out` */
    bool quiet;
    int verbose;
    FILE *out;
};

/* What --results must not overwrite: the inputs (never), an existing file without --force. */
struct out_guard {
    const struct opt_list *inputs; /* may be NULL */
    bool force;
};

/* `save` and `guard` may be NULL. 0 or a negative status with words in ctx->diag. Close on both. */
int out_open(struct out_report *r, const struct opt_show *show, const struct opt_save *save,
             const struct out_guard *guard, unsigned records, const struct cmd_context *ctx);
/* Sends a row to both and releases it, also on failure. */
int out_put(struct out_report *r, struct gcb_row *row, struct gcb_diag *diag);
/*
 * Sends the `environment` row, the first of its stream, if somebody is going to see it. `hash`: of inputs
 * over 1 GiB too.
 */
struct out_bandwidths { /* measured, of the backend's threads first; count 0: none */
    const struct gcb_bandwidth *items;
    size_t count;
};
int out_environment(struct out_report *r, const struct opt_backend *backend,
                    const struct opt_list *files, const struct out_bandwidths *bandwidths,
                    bool hash, const struct cmd_context *ctx);
/* Is somebody going to see rows, so that making them is worth it? */
bool out_wants_rows(const struct out_report *r);
/* Makes the file of --results appear. */
int out_commit(struct out_report *r, struct gcb_diag *diag);
void out_close(struct out_report *r); /* zeroed is fine */

/* Prints a table on the report's stream. */
void out_table(const struct out_report *r, const struct gcb_table *table);

#endif
