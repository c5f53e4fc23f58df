#ifndef SRC_TOOL_SUITE_SUITE_FIELDS_H
#define SRC_TOOL_SUITE_SUITE_FIELDS_H

#include "src/tool/suite/suite.h"

/*
 * Takes one field of a suite's object into `s`, which borrows its texts. `file` is for the words, escaped.
 * GCB_E_INVALID: no such field, or not a value for it.
 */
int gcb_suite_take(struct gcb_suite *s, const char *file, const char *key, const json_t *value,
                   struct gcb_diag *diag);

#endif
