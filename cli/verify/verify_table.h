#ifndef CLI_VERIFY_VERIFY_TABLE_H
#define CLI_VERIFY_VERIFY_TABLE_H

#include "cli/base/output.h"
#include "src/tool/verify/verify.h"

/* What `verify` prints for people. */
struct verify_tally { /* of a method */
    uint64_t kept, broken, idle;
};

/* Messages that were not looked at, the first few by name. Starts zeroed. */
struct verify_names {
    char text[360];
    size_t shown;
};
/* "fft on step 100 worker 0 layers.0.bias"; `method` NULL: the message alone. */
void verify_name(struct verify_names *names, const struct gcb_verify_note *note,
                 const char *method);

/* A message that is chosen: a line. */
void verify_show_message(FILE *out, const struct gcb_verify_note *note);
/* A check: in full where it is broken, else a line. */
void verify_show_check(FILE *out, const struct gcb_method *method,
                       const struct gcb_verify_check *check);
int verify_show_table(const struct out_report *report, const struct gcb_method *methods,
                      const struct verify_tally *tallies, size_t count, struct gcb_diag *diag);
/* The last line of the table: how many promises, on what. */
void verify_show_sum(FILE *out, const struct gcb_verify_result *result);
/* What was not looked at; `apart` from the table each in a line, as errors are. */
void verify_show_notes(FILE *out, bool apart, const struct gcb_verify_result *result,
                       const struct verify_names *left_out, const struct verify_names *not_there,
                       const struct verify_names *unreached);

#endif
