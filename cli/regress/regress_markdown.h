#ifndef CLI_REGRESS_REGRESS_MARKDOWN_H
#define CLI_REGRESS_REGRESS_MARKDOWN_H

#include "cli/regress/regress_table.h"
#include "src/tool/hdf5/outfile.h"

/* The outcome as Markdown, for a comment on a change. Names are text there, whatever characters they have. */
struct regress_markdown {
    const char *title; /* "gcbench regress: 0123abc against 4567def" */
    const struct gcb_verdicts *verdicts;
    bool strict;
};

/* Writes it to `file`, which was opened before any work, and renames it. 0 or a negative status with words. */
int regress_markdown_write(const struct regress_markdown *m, struct gcb_outfile *file,
                           struct gcb_diag *diag);

#endif
