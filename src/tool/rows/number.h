#ifndef SRC_TOOL_ROWS_NUMBER_H
#define SRC_TOOL_ROWS_NUMBER_H

#include <stddef.h>
#include <stdint.h>

#define GCB_NUMBER_TEXT 32 /* bytes of `out` in these functions */

/* All functions write a number for people to `out` and return out. They write "-" for a number that
 * is not finite, except gcb_bytes, which takes only finite numbers. */

/* Writes at least `digits` significant digits, or `digits` decimals if the magnitude is below 1. If
 * the magnitude is 1e7 or more, or below 1e-3 but not 0, writes as gcb_scientific does. */
char *gcb_number(char *out, double value, int digits);
/* Like gcb_number, but with fewer digits, or as d.de+03, if the text would take more than `width`
 * columns. Writes "?" if no such text fits; 7 columns are enough for any number. */
char *gcb_number_within(char *out, double value, int digits, size_t width);
char *gcb_scientific(char *out, double value, int digits); /* two digits: "1.2e-03"; "0" for zero */
char *gcb_factor(char *out, double times);                 /* "1.15", "12.3", "123" */
char *gcb_percent(char *out, double share);                /* 0.123: "12.3 %"; 0.0001: "<0.1 %" */
char *gcb_bytes(char *out, double bytes);                  /* "13.1 MB", powers of 1000 */
char *gcb_count(char *out, uint64_t n);       /* "269722"; from ten million on "25.6 M" */
char *gcb_seconds(char *out, double seconds); /* "3.21 ms", three digits */

#endif
