#ifndef SRC_TOOL_REGRESS_MATCH_H
#define SRC_TOOL_REGRESS_MATCH_H

#include "src/tool/regress/cases.h"

/* A case of one file and the same case of the other; one of them is NULL where only one file has it. */
struct gcb_match {
    const struct gcb_case *base, *next;
};

/*
 * Pairs the cases of two files. First by everything that tells cases apart: file, scope, method, device, instruction
 * set, cache, threads. What is left then by the same without the folders of files, and then without the
 * instruction set, which changes no size and no error; each only where exactly one case of each file is meant. *out is in
 * the order of `base`, then what only `next` has; *count of them; released with gcb_free. Borrows the cases.
 */
int gcb_match_cases(struct gcb_match **out, size_t *count, const struct gcb_cases *base,
                    const struct gcb_cases *next, struct gcb_diag *diag);

#endif
