#ifndef CLI_EXCHANGE_EXCHANGE_TABLE_H
#define CLI_EXCHANGE_EXCHANGE_TABLE_H

#include "cli/exchange/exchange_options.h"
#include "src/tool/exchange/link.h"

/* Prints the table of all lanes. */
int exchange_show(const struct out_report *report, const struct gcb_lane *lanes, size_t count,
                  unsigned ranks, struct gcb_diag *diag);
/* Writes the answer: which lane was the fastest, and whether it beats the best of fp32, fp16 and bf16. Lanes with wrong
 * updates do not count. Returns false if there is nothing to compare. */
#define EXCHANGE_ANSWER 500
bool exchange_answer(char *out, size_t size, const struct gcb_lane *lanes, size_t count,
                     const struct gcb_load *load, const struct gcb_net *net);

int exchange_show_link(const struct out_report *report, const struct gcb_link *link,
                       struct gcb_diag *diag);

#endif
