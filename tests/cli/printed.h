#ifndef TESTS_CLI_PRINTED_H
#define TESTS_CLI_PRINTED_H

#include "cli/base/output.h"

/* What a command prints, held against the 80 columns that everything has to fit. */
struct printed {
    char *text;
    size_t size;
    struct out_report report;
};
void begin(struct printed *p); /* prints tables into `p` */
void end(struct printed *p);   /* fails the test if a line is too long */

/* Numbers that nobody would measure on a good day. */
#define VALUES 22
extern const double values[VALUES];

#endif
