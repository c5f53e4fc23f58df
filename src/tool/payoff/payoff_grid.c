#include "src/tool/payoff/payoff_grid.h"

#include <math.h>
#include <string.h>

#include "src/lib/base/text.h"
#include "src/tool/base/units.h"
#include "src/tool/payoff/payoff.h"

static int add_value(struct gcb_payoff_grid *g, const char *option, double value,
                     struct gcb_diag *diag)
{
    if (g->count == GCB_PAYOFF_GRID)
        return gcb_diag_set(diag, GCB_E_INVALID, "%s: more than %d values", option,
                            GCB_PAYOFF_GRID);
    g->values[g->count++] = value;
    return 0;
}

static int bad_bandwidth(const char *text, struct gcb_diag *diag)
{
    char shown[64];

    return gcb_diag_set(
        diag, GCB_E_INVALID,
        "--bandwidth: '%s' is not a bandwidth such as 10Gb, 400Mb (bits), 1.25GB, 90MB "
        "(bytes) or 1Gb..100Gb/20",
        gcb_escape(shown, sizeof(shown), text));
}

/* Splits "LO..HI/COUNT" in place; false if it is something else. */
static bool split_range(char *text, const char **high, uint64_t *steps)
{
    char *dots = strstr(text, ".."), *slash = strrchr(text, '/');

    if (!dots || !slash || slash < dots || !gcb_parse_u64(slash + 1, steps))
        return false;
    *dots = '\0';
    *slash = '\0';
    *high = dots + 2;
    return *steps >= 2;
}

static int add_bandwidth(struct gcb_payoff_grid *g, char *text, const char *shown,
                         struct gcb_diag *diag)
{
    const char *high_text = NULL;
    uint64_t steps = 0;
    double low, high;
    int err = 0;

    if (gcb_parse_bandwidth(text, &low))
        return add_value(g, "--bandwidth", low, diag);
    if (!split_range(text, &high_text, &steps) || !gcb_parse_bandwidth(text, &low) ||
        !gcb_parse_bandwidth(high_text, &high) || !(low < high))
        return bad_bandwidth(shown, diag);
    for (uint64_t i = 0; !err && i < steps; i++)
        err = add_value(
            g, "--bandwidth",
            i + 1 == steps ? high : low * pow(high / low, (double)i / (double)(steps - 1)), diag);
    return err;
}

static int add_workers(struct gcb_payoff_grid *g, char *text, const char *shown,
                       struct gcb_diag *diag)
{
    char quoted[64];
    uint64_t n;

    if (!gcb_parse_u64(text, &n) || n < 2 || n > GCB_PAYOFF_WORKERS)
        return gcb_diag_set(diag, GCB_E_INVALID,
                            "--workers takes whole numbers from 2 to %d, not '%s'",
                            GCB_PAYOFF_WORKERS, gcb_escape(quoted, sizeof(quoted), shown));
    return add_value(g, "--workers", (double)n, diag);
}

typedef int add_fn(struct gcb_payoff_grid *g, char *text, const char *shown, struct gcb_diag *diag);

/* Adds each piece between commas. */
static int add_pieces(struct gcb_payoff_grid *g, const char *text, add_fn *one,
                      struct gcb_diag *diag)
{
    char piece[96], shown[96];
    int err;

    do {
        const size_t n = strcspn(text, ",");

        if (n >= sizeof(piece))
            return one(g, strcpy(piece, ""), text, diag);
        memcpy(piece, text, n);
        piece[n] = '\0';
        memcpy(shown, piece, n + 1);
        err = one(g, piece, shown, diag);
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
