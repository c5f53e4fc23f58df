#ifndef CLI_REGRESS_REGRESS_SHOW_H
#define CLI_REGRESS_REGRESS_SHOW_H

#include "cli/base/output.h"
#include "src/tool/regress/verdict.h"

/* Prints a comparison: a table of the times and of everything that changed, then causes and advice, then the counts. */
int regress_show(struct out_report *report, const struct gcb_verdicts *verdicts, bool strict,
                 struct gcb_diag *diag);

/* The same as Markdown, for a comment on a change. Names appear as plain text, whatever characters they have. */
struct regress_markdown {
    const char *title; /* "gcbench regress: 0123abc against 4567def" */
    const struct gcb_verdicts *verdicts;
    bool strict;
};
/* Writes it to `file`, which was opened before any work, and renames the file. */
int regress_markdown_write(const struct regress_markdown *m, struct gcb_outfile *file,
                           struct gcb_diag *diag);

#endif
