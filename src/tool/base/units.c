#include "src/tool/base/units.h"

#include <string.h>

#include "src/lib/base/text.h"

/* A unit, and its value in bytes per second or in seconds. */
struct unit {
    const char *name;
    double value;
};

static const struct unit bandwidths[] = {
    {"Tb", 1e12 / 8}, {"Gb", 1e9 / 8}, {"Mb", 1e6 / 8}, {"kb", 1e3 / 8},
    {"Kb", 1e3 / 8},  {"TB", 1e12},    {"GB", 1e9},     {"MB", 1e6},
    {"kB", 1e3},      {"KB", 1e3},     {.name = NULL},
};

static const struct unit durations[] = {
    {"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1.0}, {.name = NULL},
};

/* Time limits have these units besides the units of durations. */
static const struct unit limits[] = {{"", 1.0}, {"m", 60.0}, {"h", 3600.0}, {.name = NULL}};

/* True if `s` is `unit`, alone or with one of the endings that a bandwidth may have. */
static bool is_bandwidth(const char *s, const char *unit)
{
    static const char *const endings[] = {"", "/s", "it", "it/s", "ps", "E"};
    /* a unit of bytes has only the first two endings */
    const size_t count = unit[1] == 'b' ? sizeof(endings) / sizeof(endings[0]) : 2;
    const size_t length = strlen(unit);

    for (size_t i = 0; i < count; i++)
        if (strncmp(s, unit, length) == 0 && strcmp(s + length, endings[i]) == 0)
            return true;
    return false;
}

/* Parses the number at the start of `s`. Returns the text after it, or NULL if there is no number
 * of at most 39 characters. */
static const char *parse_number(const char *s, double *number)
{
    const size_t n = strspn(s, "0123456789.");
    char digits[40];

    if (n == 0 || n >= sizeof(digits))
        return NULL;
    memcpy(digits, s, n);
    digits[n] = '\0';
    return gcb_parse_real(digits, number) ? s + n : NULL;
}

/* Parses a number followed by one of `units`, a table that ends with a NULL name. */
static bool parse_time(const char *s, const struct unit *units, double *seconds)
{
    double number;
    const char *unit = parse_number(s, &number);

    for (const struct unit *u = units; unit && u->name; u++)
        if (strcmp(unit, u->name) == 0) {
            *seconds = number * u->value;
            return true;
        }
    return false;
}

bool gcb_parse_bandwidth(const char *s, double *bytes_per_second)
{
    double number;
    const char *unit = parse_number(s, &number);

    for (const struct unit *u = bandwidths; unit && u->name; u++)
        if (number > 0.0 && is_bandwidth(unit, u->name)) {
            *bytes_per_second = number * u->value;
            return true;
        }
    return false;
}

bool gcb_parse_duration(const char *s, double *seconds)
{
    if (strcmp(s, "0") == 0) {
        *seconds = 0.0;
        return true;
    }
    return parse_time(s, durations, seconds);
}

bool gcb_parse_seconds(const char *s, double *seconds)
{
    return parse_time(s, limits, seconds) || parse_time(s, durations, seconds);
}
