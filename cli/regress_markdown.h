#ifndef CLI_REGRESS_MARKDOWN_H
#define CLI_REGRESS_MARKDOWN_H

#include "cli/regress_table.h"

/* The outcome as Markdown, for a comment on a change. Names are text there, whatever characters they have. */
struct regress_markdown {
    const char *title; /* "gcbench regress: 0123abc against 4567def" */
    const struct gcb_verdicts *verdicts;
    bool strict;
};

/* Writes it beside its name and renames it. `force`: an existing file is replaced. 0 or a negative status with words. */
int regress_markdown_write(const struct regress_markdown *m, const char *path, bool force,
                           const struct opt_list *inputs, struct gcb_diag *diag);

#endif
