#include "src/tool/base/units.h"

#include <string.h>

#include "src/lib/base/text.h"

struct unit {
    const char *name;
    double value;
};

static const struct unit bandwidths[] = {
    {"Tb", 1e12 / 8}, {"Gb", 1e9 / 8}, {"Mb", 1e6 / 8}, {"kb", 1e3 / 8},
    {"Kb", 1e3 / 8},  {"TB", 1e12},    {"GB", 1e9},     {"MB", 1e6},
    {"kB", 1e3},      {"KB", 1e3},     {.name = NULL},
};

/* Only gcb_parse_seconds accepts the first three units. */
static const struct unit times[] = {
    {"", 1.0},    {"m", 60.0},  {"h", 3600.0}, {"ns", 1e-9},
    {"us", 1e-6}, {"ms", 1e-3}, {"s", 1.0},    {.name = NULL},
};

/* True if this text may follow a unit of bandwidth. */
static bool is_ending(const char *s, const char *unit)
{
    static const char *const endings[] = {"", "/s", "it", "it/s", "ps", "E"};
    const size_t count = unit[1] == 'b' ? 6 : 2; /* of bits, or of bytes */

    for (size_t i = 0; i < count; i++)
        if (strcmp(s, endings[i]) == 0)
            return true;
    return false;
}

/* Parses a number followed by a unit of the table. */
static bool parse(const char *s, const struct unit *units, double *out)
{
    const size_t n = strspn(s, "0123456789.");
    char digits[40];
    double number;

    if (n == 0 || n >= sizeof(digits))
        return false;
    memcpy(digits, s, n);
    digits[n] = '\0';
    if (!gcb_parse_real(digits, &number))
        return false;
    for (const struct unit *u = units; u->name; u++) {
        const size_t length = strlen(u->name);

        if (units == bandwidths
                ? strncmp(s + n, u->name, length) == 0 && is_ending(s + n + length, u->name)
                : strcmp(s + n, u->name) == 0) {
            *out = number * u->value;
            return true;
        }
    }
    return false;
}

bool gcb_parse_bandwidth(const char *s, double *bytes_per_second)
{
    double value;

    if (!parse(s, bandwidths, &value) || !(value > 0.0))
        return false;
    *bytes_per_second = value;
    return true;
}

bool gcb_parse_duration(const char *s, double *seconds)
{
    if (strcmp(s, "0") == 0) {
        *seconds = 0.0;
        return true;
    }
    return parse(s, times + 3, seconds);
}

bool gcb_parse_seconds(const char *s, double *seconds)
{
    return parse(s, times, seconds);
}
