#include "src/tool/payoff/payoff_grid.h"

#include <stdio.h>
#include <string.h>

#include "src/lib/base/text.h"
#include "src/tool/base/units.h"
#include "src/tool/payoff/model.h"

typedef bool parse_fn(const char *text, double *out);

static bool parse_workers(const char *text, double *out)
{
    uint64_t n = 0;
    const bool good = gcb_parse_u64(text, &n) && n >= 2 && n <= GCB_NETWORK_WORKERS;

    *out = (double)n;
    return good;
}

/* Adds the values of one piece of a list. Returns false if it is neither a value nor a range, or if there is no room. */
static bool add_piece(struct gcb_payoff_grid *g, const char *text, parse_fn *parse)
{
    const char *dots = strstr(text, "..");
    char first[96];
    double low, high;

    snprintf(first, sizeof(first), "%.*s", dots ? (int)(dots - text) : 95, text);
    if (!parse(first, &low) || !parse(dots ? dots + 2 : text, &high) || low > high)
        return false;
    for (; low < high && g->count < GCB_PAYOFF_GRID; low *= 2.0)
        g->values[g->count++] = low;
    if (g->count == GCB_PAYOFF_GRID)
        return false;
    g->values[g->count++] = high;
    return true;
}

static int add_list(struct gcb_payoff_grid *g, const char *text, parse_fn *parse, const char *takes,
                    struct gcb_diag *diag)
{
    char piece[96], shown[128];

    do {
        const size_t n = strcspn(text, ",");

        /* no value is longer; the dots make a longer piece invalid, so its beginning is not read */
        snprintf(piece, sizeof(piece), "%.*s%s", (int)(n < 90 ? n : 90), text, n < 90 ? "" : "...");
        if (!add_piece(g, piece, parse))
            return gcb_diag_set(diag, GCB_E_INVALID, "%s, %d values at most: not '%s'", takes,
                                GCB_PAYOFF_GRID, gcb_escape(shown, sizeof(shown), piece));
        text += n;
    } while (*text++ == ',');
    return 0;
}

int gcb_payoff_grid_bandwidths(struct gcb_payoff_grid *g, const char *text, struct gcb_diag *diag)
{
    return add_list(g, text, gcb_parse_bandwidth,
                    "--bandwidth takes 10Gb, 400Mb (bits), 1.25GB, 90MB (bytes), a list, or a "
                    "range 1Gb..64Gb, which doubles",
                    diag);
}

int gcb_payoff_grid_workers(struct gcb_payoff_grid *g, const char *text, struct gcb_diag *diag)
{
    return add_list(g, text, parse_workers,
                    "--workers takes whole numbers from 2 to 65536, a list, or a range 2..128, "
                    "which doubles",
                    diag);
}
