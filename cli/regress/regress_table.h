#ifndef CLI_REGRESS_REGRESS_TABLE_H
#define CLI_REGRESS_REGRESS_TABLE_H

#include "cli/base/output.h"
#include "src/tool/regress/verdict.h"

/* What is shown of a comparison to people: a table of the times and of what is not the same, then causes and next
 * steps, then one line that counts everything. */
int regress_show(struct out_report *report, const struct gcb_verdicts *verdicts, bool strict,
                 struct gcb_diag *diag);

/* One value, as the table shows it: "12.3 us", "13107 B", "0.1234". */
char *regress_value(char out[32], const struct gcb_verdict *v, double value);
/* "0.98-1.03", or nothing. */
char *regress_interval(char out[32], const struct gcb_verdict *v);
/* Is it worth a line? All times are, and whatever is not the same. */
bool regress_worth(const struct gcb_verdict *v);
/* "36 comparisons: 30 SAME, 1 SLOW, 5 NOT-COMPARED. 1 regression." */
char *regress_total(char *out, size_t size, const struct gcb_verdicts *verdicts, bool strict);

/* Verdicts that say the same thing, told once. */
struct regress_cause {
    const struct gcb_verdict *first;
    size_t count;
};
/* Causes of all verdicts that have words, in order; released with gcb_free. GCB_E_NOMEM. */
int regress_causes(struct regress_cause **out, size_t *count, const struct gcb_verdicts *verdicts);

#endif
