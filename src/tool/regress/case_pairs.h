#ifndef SRC_TOOL_REGRESS_CASE_PAIRS_H
#define SRC_TOOL_REGRESS_CASE_PAIRS_H

#include "src/tool/regress/cases.h"

/* A case of one file and the same case of the other file. If only one file has the case, the other pointer is NULL. */
struct gcb_case_pair {
    const struct gcb_case *base, *next;
};

/*
 * Pairs the cases of two files, first by everything that identifies a case: file, scope, method, device, instruction
 * set, cache and threads. The remaining cases are paired without the folders of their files, and then also without the
 * instruction set, which changes neither sizes nor errors. A step leaves out cases that have the same key as another
 * case of their file.
 *
 * *out holds *count pairs: those with a base in the order of `base`, then the cases that only `next` has. Release it
 * with gcb_free. The pairs borrow the cases.
 */
int gcb_pair_cases(struct gcb_case_pair **out, size_t *count, const struct gcb_cases *base,
                   const struct gcb_cases *next, struct gcb_diag *diag);

/*
 * Returns GCB_E_INVALID if two result files have no case in common: they hold different measurements, so no case is
 * GONE or NEW. The message names what differs (files, methods, scopes, ...) and what to do. File names are shown
 * escaped. GCB_E_NOMEM.
 */
int gcb_cases_check_common(const struct gcb_cases *base, const char *base_name,
                           const struct gcb_cases *next, const char *next_name,
                           struct gcb_diag *diag);

#endif
