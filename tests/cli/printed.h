#ifndef TESTS_CLI_PRINTED_H
#define TESTS_CLI_PRINTED_H

#include "cli/base/output.h"

/* Checks that what a command prints fits into 80 columns. */
struct printed {
    char *text;
    size_t size;
    struct out_report report;
};
void begin(struct printed *p); /* prints tables into `p` */
void end(struct printed *p);   /* fails the test if a line is too long */

/* Extreme numbers, which tables have to fit. */
#define VALUES 22
extern const double values[VALUES];

#endif
