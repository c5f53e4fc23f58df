#ifndef SRC_TOOL_REGRESS_APART_H
#define SRC_TOOL_REGRESS_APART_H

#include "src/tool/regress/cases.h"

/*
 * Have two result files any case in common? If not nothing is GONE and nothing is NEW: two runs of different things were
 * given. GCB_E_INVALID, with words for what is another in each (files, methods, scopes, ...) and what to do. The names of
 * the files are shown escaped. GCB_E_NOMEM.
 */
int gcb_cases_meet(const struct gcb_cases *base, const char *base_name,
                   const struct gcb_cases *next, const char *next_name, struct gcb_diag *diag);

#endif
