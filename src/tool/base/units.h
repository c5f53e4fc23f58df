#ifndef SRC_TOOL_BASE_UNITS_H
#define SRC_TOOL_BASE_UNITS_H

#include <stdbool.h>

/*
 * Quantities with a unit behind the number, as links and times are written. Whole string, independent of the
 * locale; false on anything else: no unit, a negative or unheard-of number.
 */

/* Bytes per second from "10Gb", "400Mb", "1Tb" (bits) or "1.25GB", "90MB", "2TB" (bytes), with or without "/s" or
 * (bits) "ps" behind it; steps of 1000. Above 0. */
bool gcb_parse_bandwidth(const char *s, double *bytes_per_second);

/* Seconds from "20us", "80ms", "1.5s", "350ns"; "0" needs no unit. */
bool gcb_parse_duration(const char *s, double *seconds);

/* The same of a time to wait: "5m" and "1h" too, and without a unit it is seconds. */
bool gcb_parse_seconds(const char *s, double *seconds);

#endif
