#ifndef SRC_TOOL_PRINT_NUMBER_H
#define SRC_TOOL_PRINT_NUMBER_H

#include <stddef.h>
#include <stdint.h>

/* Numbers for people, into a buffer of at least 32 bytes, which is returned. Not finite: "-". */
char *gcb_number(char *out, double value, int digits); /* so many significant digits */
/* The same with fewer digits, or as d.de+03, where it would take more than `width` columns: 7 have room for any. */
char *gcb_number_within(char *out, double value, int digits, size_t width);
char *gcb_scientific(char *out, double value, int digits); /* always d.de-03; "0" for zero */
char *gcb_percent(char *out, double share);                /* "12.3 %" of 0.123 */
char *gcb_bytes(char *out, double bytes);                  /* "13.1 MB", powers of 1000 */
char *gcb_count(char *out, uint64_t n);                    /* "269722", "25.6 M" from ten million */
char *gcb_seconds(char *out, double seconds);              /* "3.21 ms", three digits */

#endif
