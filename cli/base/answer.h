#ifndef CLI_BASE_ANSWER_H
#define CLI_BASE_ANSWER_H

#include "src/lib/codec/method.h"
#include "src/tool/trial/run.h"

/* Is the method one that answers never recommend: identity, memcpy, fp16 or bf16? */
bool answer_is_baseline(const struct gcb_method *m);

/* Writes the answer of `compress`, `bench` and `merge` to `out` (src/tool/search/answer.h): "for WHERE, ..." unless `where` is "".
 * With `speeds` it says which method encodes fastest. Methods whose memory the command left out count as methods that live
 * on error feedback. */
#define ANSWER_SIZE 4000
int answer_write(char out[ANSWER_SIZE], const char *where, const struct gcb_method *methods,
                 const struct gcb_run_result *result, bool speeds, struct gcb_diag *diag);

#endif
