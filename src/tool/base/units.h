#ifndef SRC_TOOL_BASE_UNITS_H
#define SRC_TOOL_BASE_UNITS_H

#include <stdbool.h>

/*
 * Parse a number followed by a unit, in any locale. Return false if the text is anything else, such as a number without a
 * unit or a negative number.
 */

/* Bytes per second, above 0: from bits, "10Gb", "400Mb", "1Tb", or bytes, "1.25GB", "90MB", "2TB". The unit may end in "/s",
 * or for bits in "ps". Prefixes are powers of 1000. */
bool gcb_parse_bandwidth(const char *s, double *bytes_per_second);

/* Seconds from "20us", "80ms", "1.5s", "350ns"; "0" needs no unit. */
bool gcb_parse_duration(const char *s, double *seconds);

/* A time limit in seconds: as gcb_parse_duration, but also "5m" and "1h", and a number without a unit is seconds. */
bool gcb_parse_seconds(const char *s, double *seconds);

#endif
