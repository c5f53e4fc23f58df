#ifndef SRC_TOOL_PRINT_NUMBER_H
#define SRC_TOOL_PRINT_NUMBER_H

#include <stddef.h>
#include <stdint.h>

/* Print a number for people into a buffer of at least 32 bytes, and return it. A number that is not finite is "-". */
char *gcb_number(char *out, double value, int digits); /* significant digits */
/* The same with fewer digits, or as d.de+03, if it would take more than `width` columns. Any number fits 7 columns. */
char *gcb_number_within(char *out, double value, int digits, size_t width);
char *gcb_scientific(char *out, double value, int digits); /* always d.de-03; "0" for zero */
char *gcb_percent(char *out, double share);                /* 0.123: "12.3 %" */
char *gcb_bytes(char *out, double bytes);                  /* "13.1 MB", powers of 1000 */
char *gcb_count(char *out, uint64_t n);       /* "269722"; from ten million on "25.6 M" */
char *gcb_seconds(char *out, double seconds); /* "3.21 ms", three digits */

#endif
