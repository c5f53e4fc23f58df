#include "src/tool/rows/number.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

char *gcb_number(char *out, double value, int digits)
{
    const double size = fabs(value);
    int decimals;

    if (!isfinite(value) || (value != 0.0 && (size >= 1e7 || size < 1e-3)))
        return gcb_scientific(out, value, digits);
    decimals = size >= 1.0 ? digits - 1 - (int)floor(log10(size)) : digits;
    snprintf(out, 32, "%.*f", decimals < 0 ? 0 : decimals, value);
    return out;
}

char *gcb_number_within(char *out, double value, int digits, size_t width)
{
    for (int d = digits; d > 0; d--)
        if (strlen(gcb_number(out, value, d)) <= width)
            return out;
    for (int d = digits; d > 0; d--)
        if (strlen(gcb_scientific(out, value, d)) <= width)
            return out;
    return strcpy(out, "?");
}

char *gcb_scientific(char *out, double value, int digits)
{
    if (!isfinite(value))
        snprintf(out, 32, "-");
    else if (value == 0.0)
        snprintf(out, 32, "0");
    else
        snprintf(out, 32, "%.*e", digits - 1, value);
    return out;
}

char *gcb_factor(char *out, double times)
{
    if (!isfinite(times))
        strcpy(out, "-");
    else
        snprintf(out, 32, times < 9.995 ? "%.2f" : times < 99.95 ? "%.1f" : "%.0f", times);
    return out;
}

char *gcb_percent(char *out, double share)
{
    if (!isfinite(share))
        snprintf(out, 32, "-");
    else if (share > 0.0 && share < 0.0005)
        snprintf(out, 32, "<0.1 %%");
    else if (fabs(share) >= 1e4)
        snprintf(out, 32, "%.1e %%", 100.0 * share);
    else
        snprintf(out, 32, "%.1f %%", 100.0 * share);
    return out;
}

char *gcb_bytes(char *out, double bytes)
{
    static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB", "PB"};
    size_t unit = 0;

    for (; bytes >= 1000.0 && unit < 5; unit++)
        bytes /= 1000.0;
    if (unit == 0)
        snprintf(out, 32, "%.0f %s", bytes, units[unit]);
    else
        snprintf(out, 32, "%.*f %s", bytes < 100.0 ? 1 : 0, bytes, units[unit]);
    return out;
}

char *gcb_count(char *out, uint64_t n)
{
    if (n < 10000000)
        snprintf(out, 32, "%" PRIu64, n);
    else
        snprintf(out, 32, "%.1f M", (double)n / 1e6);
    return out;
}

char *gcb_seconds(char *out, double seconds)
{
    static const char *const units[] = {"s", "ms", "us", "ns"};
    size_t unit = 0;
    char number[32];

    if (!isfinite(seconds) || seconds == 0.0) {
        snprintf(out, 32, seconds == 0.0 ? "0 s" : "-");
        return out;
    }
    for (; seconds > 0.0 && seconds < 0.9995 && unit < 3; unit++)
        seconds *= 1000.0;
    snprintf(out, 32, "%s %s", gcb_number(number, seconds, 3), units[unit]);
    return out;
}
