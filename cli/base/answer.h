#ifndef CLI_BASE_ANSWER_H
#define CLI_BASE_ANSWER_H

#include "src/lib/codec/method.h"
#include "src/tool/rows/answer.h"
#include "src/tool/trial/run.h"

/* Makes the answer of `compress`, `bench` and `merge` (src/tool/rows/answer.h): "for WHERE, ..." unless `where` is "". With
 * `speeds` it says how fast the methods encode. These commands leave memories out, so they recommend none that needs one. */
int answer_make(struct gcb_row *out, const char *where, const struct gcb_method *methods,
                const struct gcb_run_result *result, bool speeds, struct gcb_diag *diag);

/* What answers know of a method: whether it is a baseline, unbiased, and has a memory. Everything else is unknown. */
struct gcb_answer_item answer_item(const struct gcb_method *m);

#endif
