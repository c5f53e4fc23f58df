#ifndef SRC_TOOL_SEARCH_LINE_SEARCH_H
#define SRC_TOOL_SEARCH_LINE_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/lib/base/diag.h"
#include "src/tool/run/breakdown.h"

/* What a figure of a setting has to reach: an error of at most the target, a ratio of at least the
 * target, ... */
struct gcb_match_goal {
    enum gcb_field field;
    double target;
    bool at_most; /* the target is an upper limit */
    bool rises;   /* the figure grows with the size of the messages */
    /* The figure to this power is a sum over messages: 2 for an error, 1 for a size, -1 for a
     * ratio. So two settings can share the messages, and the result lies between theirs
     * (gcb_mix_find). 0: no power is */
    int power;
    /* of an error of the mean: of so many workers, measured by `mean`, which the caller sets before
     * a run; else 0 */
    unsigned workers;
    const struct gcb_match_mean *mean;
};

/* Measures a method's error of the mean of n workers. Returns 1 after a stop. */
struct gcb_match_mean {
    int (*measure)(void *ctx, double *out, const struct gcb_method *method, unsigned n,
                   struct gcb_diag *diag);
    void *ctx;
};

/* Parses "rel_l2=0.3", "error_of_mean=0.2,workers=16", "ratio=20", "bits=2", "cosine=0.9" or
 * "bytes=1M", the value of `option`. GCB_E_INVALID with a message. */
int gcb_match_goal_parse(struct gcb_match_goal *out, const char *option, const char *text,
                         struct gcb_diag *diag);
/* True if the value meets the goal. NAN does not. */
bool gcb_match_meets(const struct gcb_match_goal *goal, double value);
/* A figure as a sum over messages, less for a value that meets more targets; without a power, only
 * the order is right. */
double gcb_match_sum(const struct gcb_match_goal *goal, double value);

/*
 * Searches a line of settings (src/tool/search/rate.h) for the best setting that meets a goal: the
 * smallest messages for a limit on the error, the largest for a limit on the size. First it
 * measures a grid. Then it bisects between a setting that meets the goal and its neighbour that
 * does not, until the two are adjacent, or the value is within a thousandth of the target.
 *
 * The setting found is the best one if the figure is monotonic along the line. The search reports
 * whether all values it has seen are monotonic; if not, there may be better settings. If nothing
 * meets the goal, it follows the nearest value down to a minimum inside the line, and also looks
 * for a minimum near an end.
 *
 * A search that starts near a setting expected to be best (gcb_line_search_start) skips the grid:
 * it steps away from that setting, each time four times as far, until one setting meets the goal
 * and another does not. If none meets the goal up to the end of the line, it goes on with the grid.
 *
 * The caller measures: it asks for positions, measures them and tells their values, until no
 * position is left to measure.
 */
#define GCB_LINE_ASKS 8
#define GCB_LINE_SEEN 96
#define GCB_LINE_NEAR 1e-3 /* values whose difference is this share of the target count as equal */

struct gcb_line_point {
    uint64_t at; /* rank: rank 0 is the least likely to meet the goal */
    double value;
    double error; /* rel_l2 */
    double bytes; /* of all messages */
};

struct gcb_line_search {
    const struct gcb_match_goal *goal;         /* borrowed */
    uint64_t count;                            /* positions of the line */
    struct gcb_line_point seen[GCB_LINE_SEEN]; /* sorted by rank */
    size_t seen_count;
    bool near;      /* no grid yet: the search started near `start` */
    uint64_t start; /* rank */
};

void gcb_line_search_init(struct gcb_line_search *s, const struct gcb_match_goal *goal,
                          uint64_t count);
/* Lets a search that has not begun start near a position. */
void gcb_line_search_start(struct gcb_line_search *s, uint64_t position);
/* Writes the positions to measure next and returns how many; 0: the search has ended. */
size_t gcb_line_search_ask(struct gcb_line_search *s, uint64_t position[GCB_LINE_ASKS]);
/* Stores the figures of a position, whose `at` is ignored; NAN: the setting failed. Call this once
 * for each position. */
void gcb_line_search_tell(struct gcb_line_search *s, uint64_t position,
                          struct gcb_line_point figures);
/* The position of a point seen. */
uint64_t gcb_line_search_position(const struct gcb_line_search *s, size_t seen);

struct gcb_line_found {
    uint64_t position;
    double value;
    bool reached;   /* the value meets the goal; otherwise it is the nearest value seen */
    double beyond;  /* value of the next setting seen that does not meet the goal; NAN: none */
    bool monotonic; /* the values seen are monotonic along the line */
};
/* Needs at least one value from gcb_line_search_tell. */
void gcb_line_search_result(struct gcb_line_found *out, const struct gcb_line_search *s);

#endif
