#ifndef CLI_REGRESS_REGRESS_SHOW_H
#define CLI_REGRESS_REGRESS_SHOW_H

#include "cli/base/output.h"
#include "src/tool/regress/verdict.h"

/* Prints a comparison: a table of the times and of everything that changed, then causes and advice, then the counts. */
int regress_show(struct out_report *report, const struct gcb_verdicts *verdicts, bool strict,
                 struct gcb_diag *diag);

/* Writes the comparison as Markdown to `file` and renames the file. Names appear as plain text, whatever characters
 * they have. `title`: "gcbench regress: 0123abc against 4567def". */
int regress_markdown_write(const char *title, const struct gcb_verdicts *verdicts, bool strict,
                           struct gcb_outfile *file, struct gcb_diag *diag);

#endif
