#include "src/tool/payoff/payoff_grid.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/lib/base/text.h"
#include "src/tool/base/units.h"
#include "src/tool/payoff/model.h"

static int add_value(struct gcb_payoff_grid *g, const char *option, double value,
                     struct gcb_diag *diag)
{
    if (g->count == GCB_PAYOFF_GRID)
        return gcb_diag_set(diag, GCB_E_INVALID, "%s: more than %d values", option,
                            GCB_PAYOFF_GRID);
    g->values[g->count++] = value;
    return 0;
}

/* Reads "LO..HI/COUNT". Returns false if the text is anything else. */
static bool read_range(double *low, double *high, uint64_t *steps, const char *text)
{
    const char *dots = strstr(text, ".."), *slash = strrchr(text, '/');
    char ends[2][64];

    if (!dots || !slash || slash < dots)
        return false;
    snprintf(ends[0], sizeof(ends[0]), "%.*s", (int)(dots - text), text);
    snprintf(ends[1], sizeof(ends[1]), "%.*s", (int)(slash - dots) - 2, dots + 2);
    return gcb_parse_bandwidth(ends[0], low) && gcb_parse_bandwidth(ends[1], high) &&
           *low < *high && gcb_parse_u64(slash + 1, steps) && *steps >= 2;
}

static int add_bandwidth(struct gcb_payoff_grid *g, const char *text, struct gcb_diag *diag)
{
    uint64_t steps = 0;
    double low, high;
    char shown[64];
    int err = 0;

    if (gcb_parse_bandwidth(text, &low))
        return add_value(g, "--bandwidth", low, diag);
    if (!read_range(&low, &high, &steps, text))
        return gcb_diag_set(
            diag, GCB_E_INVALID,
            "--bandwidth: '%s' is not a bandwidth such as 10Gb, 400Mb (bits), 1.25GB, 90MB "
            "(bytes) or 1Gb..100Gb/20",
            gcb_escape(shown, sizeof(shown), text));
    for (uint64_t i = 0; !err && i < steps; i++)
        err = add_value(
            g, "--bandwidth",
            i + 1 == steps ? high : low * pow(high / low, (double)i / (double)(steps - 1)), diag);
    return err;
}

/* Adds "LO..HI": LO, its double, and so on, and HI. */
static int add_doublings(struct gcb_payoff_grid *g, uint64_t low, uint64_t high,
                         struct gcb_diag *diag)
{
    int err = 0;

    for (uint64_t n = low; !err && n < high; n *= 2)
        err = add_value(g, "--workers", (double)n, diag);
    return err ? err : add_value(g, "--workers", (double)high, diag);
}

static int add_workers(struct gcb_payoff_grid *g, const char *text, struct gcb_diag *diag)
{
    const char *dots = strstr(text, "..");
    char shown[64], low_text[32];
    uint64_t low, high;
    bool good;

    snprintf(low_text, sizeof(low_text), "%.*s", dots ? (int)(dots - text) : 31, text);
    good = gcb_parse_u64(low_text, &low) && gcb_parse_u64(dots ? dots + 2 : text, &high);
    if (!good || low < 2 || high < low || high > GCB_NETWORK_WORKERS)
        return gcb_diag_set(
            diag, GCB_E_INVALID,
            "--workers takes whole numbers from 2 to %d, or a range such as 2..128, not '%s'",
            GCB_NETWORK_WORKERS, gcb_escape(shown, sizeof(shown), text));
    return add_doublings(g, low, high, diag);
}

/* Splits a text at its commas and adds each piece. */
static int add_pieces(struct gcb_payoff_grid *g, const char *text,
                      int (*add)(struct gcb_payoff_grid *, const char *, struct gcb_diag *),
                      struct gcb_diag *diag)
{
    char piece[96];
    int err;

    do {
        const size_t n = strcspn(text, ",");

        /* no value is longer; the dots make a longer piece invalid, so its beginning is not read */
        snprintf(piece, sizeof(piece), "%.*s%s", (int)(n < 90 ? n : 90), text, n < 90 ? "" : "...");
        err = add(g, piece, diag);
        text += n;
    } while (!err && *text++ == ',');
    return err;
}

int gcb_payoff_grid_bandwidths(struct gcb_payoff_grid *g, const char *text, struct gcb_diag *diag)
{
    return add_pieces(g, text, add_bandwidth, diag);
}

int gcb_payoff_grid_workers(struct gcb_payoff_grid *g, const char *text, struct gcb_diag *diag)
{
    return add_pieces(g, text, add_workers, diag);
}
