#ifndef SRC_TOOL_BASE_UNITS_H
#define SRC_TOOL_BASE_UNITS_H

#include <stdbool.h>

/*
 * These functions parse a number followed by a unit. The decimal point is "." in any locale. They
 * return false, and set nothing, for any other text, such as a negative number.
 */

/*
 * Parses a bandwidth above 0, in bits ("10Gb", "400Mbit", "1Tb", "25GbE") or in bytes ("1.25GB",
 * "90MB", "2TB"). The unit may end in "/s"; a unit of bits may also end in "ps". Prefixes are
 * powers of 1000.
 */
bool gcb_parse_bandwidth(const char *s, double *bytes_per_second);

/* Parses a duration: "20us", "80ms", "1.5s" or "350ns". Only "0" needs no unit. */
bool gcb_parse_duration(const char *s, double *seconds);

/* Parses a time limit: a duration as above, "5m", "1h", or a number of seconds without a unit. */
bool gcb_parse_seconds(const char *s, double *seconds);

#endif
