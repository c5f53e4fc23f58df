#ifndef CLI_BASE_ANSWER_H
#define CLI_BASE_ANSWER_H

#include <stdio.h>

#include "src/lib/codec/method.h"
#include "src/tool/trial/run.h"

/* Is the method one that answers never recommend: identity, memcpy, fp16 or bf16? */
bool answer_is_baseline(const struct gcb_method *m);

/* Prints the last line of `compress` and `bench`: "answer: ...", after `where` if it is not "" (src/tool/search/answer.h). With
 * `speeds` it says which method encodes fastest. Methods whose memory the command left out count as methods that live
 * on error feedback. */
int answer_print(FILE *out, const char *where, const struct gcb_method *methods,
                 const struct gcb_run_result *result, bool speeds, struct gcb_diag *diag);

#endif
