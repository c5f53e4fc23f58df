#include "src/tool/rows/number.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

char *gcb_number(char *out, double value, int digits)
{
    const double size = fabs(value);
    int decimals = digits;

    /* outside of these limits a reader would have to count zeros */
    if (!isfinite(value) || (value != 0.0 && (size >= 1e7 || size < 1e-3)))
        return gcb_scientific(out, value, digits);
    if (size >= 1.0)
        decimals = digits - 1 - (int)floor(log10(size));
    snprintf(out, GCB_NUMBER_TEXT, "%.*f", decimals < 0 ? 0 : decimals, value);
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
        snprintf(out, GCB_NUMBER_TEXT, "-");
    else if (value == 0.0)
        snprintf(out, GCB_NUMBER_TEXT, "0");
    else
        snprintf(out, GCB_NUMBER_TEXT, "%.*e", digits - 1, value);
    return out;
}

char *gcb_factor(char *out, double times)
{
    int decimals = 0;

    /* the limits are where rounding would add a digit: 9.995 is "10.0", not "10.00" */
    if (times < 9.995)
        decimals = 2;
    else if (times < 99.95)
        decimals = 1;
    if (!isfinite(times))
        strcpy(out, "-");
    else
        snprintf(out, GCB_NUMBER_TEXT, "%.*f", decimals, times);
    return out;
}

char *gcb_percent(char *out, double share)
{
    if (!isfinite(share))
        snprintf(out, GCB_NUMBER_TEXT, "-");
    else if (share > 0.0 && share < 0.0005) /* would be "0.0 %" */
        snprintf(out, GCB_NUMBER_TEXT, "<0.1 %%");
    else if (fabs(share) >= 1e4)
        snprintf(out, GCB_NUMBER_TEXT, "%.1e %%", 100.0 * share);
    else
        snprintf(out, GCB_NUMBER_TEXT, "%.1f %%", 100.0 * share);
    return out;
}

char *gcb_bytes(char *out, double bytes)
{
    static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB", "PB"};
    size_t unit = 0;

    /* the limits are where rounding would add a digit: 999.6 kB is "1.0 MB", 99.97 MB "100 MB" */
    for (; bytes >= 999.5 && unit < 5; unit++)
        bytes /= 1000.0;
    snprintf(out, GCB_NUMBER_TEXT, "%.*f %s", unit > 0 && bytes < 99.95, bytes, units[unit]);
    return out;
}

char *gcb_count(char *out, uint64_t n)
{
    if (n < 10000000)
        snprintf(out, GCB_NUMBER_TEXT, "%" PRIu64, n);
    else
        snprintf(out, GCB_NUMBER_TEXT, "%.1f M", (double)n / 1e6);
    return out;
}

char *gcb_seconds(char *out, double seconds)
{
    static const char *const units[] = {"s", "ms", "us", "ns"};
    size_t unit = 0;
    char number[GCB_NUMBER_TEXT];

    if (!isfinite(seconds) || seconds == 0.0) {
        snprintf(out, GCB_NUMBER_TEXT, seconds == 0.0 ? "0 s" : "-");
        return out;
    }
    /* 0.9996 s is "1.000 s", not "1000 ms" */
    for (; seconds > 0.0 && seconds < 0.9995 && unit < 3; unit++)
        seconds *= 1000.0;
    snprintf(out, GCB_NUMBER_TEXT, "%s %s", gcb_number(number, seconds, 3), units[unit]);
    return out;
}
