#ifndef SRC_TOOL_REGRESS_LABELS_H
#define SRC_TOOL_REGRESS_LABELS_H

#include "src/tool/regress/cases.h"

/*
 * Gives every case of both runs its label: the method with what differs from its defaults, and of file, scope,
 * device, instruction set, cache and threads only what is not the same for all. Cases that a label does not tell
 * apart get the file and the whole name. Call it once both are read. GCB_E_NOMEM.
 */
int gcb_cases_label(struct gcb_cases *base, struct gcb_cases *next, struct gcb_diag *diag);

#endif
