#ifndef SRC_TOOL_PAYOFF_PAYOFF_ROWS_H
#define SRC_TOOL_PAYOFF_PAYOFF_ROWS_H

#include "src/tool/payoff/judge.h"
#include "src/tool/rows/row.h"

/* A `payoff` row of a way (docs/rows.md). `from`, `coding`: where its errors and times come from. */
void gcb_payoff_row(struct gcb_row *row, const struct gcb_judgement *j, size_t i,
                    const struct gcb_setting *s, const char *from, const char *coding);

#endif
