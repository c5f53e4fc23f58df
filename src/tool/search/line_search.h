#ifndef SRC_TOOL_SEARCH_LINE_SEARCH_H
#define SRC_TOOL_SEARCH_LINE_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/lib/base/diag.h"
#include "src/tool/run/breakdown.h"

/* What a figure of a setting has to reach, such as an error of at most the target, or a ratio of at
 * least the target. */
struct gcb_match_goal {
    enum gcb_field field;
    double target;
    bool at_most; /* the target is an upper limit */
    bool rises;   /* the figure grows with the size of the messages */
    /* The figure to this power is a sum over messages: 2 for an error, 1 for a size, -1 for a
     * ratio. So if two settings share the messages, the sum lies between the sums of both
     * (gcb_mix_find). 0: there is no such power. */
    int power;
    /* For error_of_mean: the number of workers, and how to measure it. The caller sets `mean`
     * before a run. For other figures 0 and NULL. */
    unsigned workers;
    const struct gcb_match_mean *mean;
};

/* Measures a method's error of the mean of n workers. `measure` returns 0, a negative status, or 1
 * if the user stopped it. */
struct gcb_match_mean {
    int (*measure)(void *ctx, double *out, const struct gcb_method *method, unsigned n,
                   struct gcb_diag *diag);
    void *ctx;
};

/* Parses a goal, such as "rel_l2=0.3", "error_of_mean=0.2,workers=16", "ratio=20", "bits=2",
 * "cosine=0.9" or "bytes=1M". `option` is the option that has this value, for messages. Returns 0
 * or GCB_E_INVALID. */
int gcb_match_goal_parse(struct gcb_match_goal *out, const char *option, const char *text,
                         struct gcb_diag *diag);
/* True if the value meets the goal. NAN does not. */
bool gcb_match_meets(const struct gcb_match_goal *goal, double value);
/* Converts a figure to a number that is smaller for better figures: the figure to the goal's power,
 * which is a sum over messages. Without a power the number only gives the order. */
double gcb_match_sum(const struct gcb_match_goal *goal, double value);

/*
 * Searches a line of settings (src/tool/search/rate.h) for the best setting that meets a goal: the
 * smallest messages for a limit on the error, the largest for a limit on the size. First it
 * measures a grid. Then it bisects between a setting that meets the goal and its neighbour that
 * does not, until the two are adjacent, or the value is within a thousandth of the target.
 *
 * The setting found is the best one if the figure is monotonic along the line. The search reports
 * whether all values measured are monotonic; if not, there may be better settings. If no setting
 * meets the goal, the search looks for the value nearest to the target: it bisects on both sides of
 * the nearest value so far, also near an end of the line.
 *
 * A search that starts near a setting expected to be best (gcb_line_search_start) skips the grid.
 * The search steps away from that setting, each time four times as far, until one setting meets the
 * goal and another does not. If no setting up to the end of the line meets the goal, the search
 * goes on with the grid.
 *
 * The caller measures: it asks for positions (gcb_line_search_ask), measures them and stores their
 * figures (gcb_line_search_tell), until no position is left to measure.
 */
#define GCB_LINE_ASKS 8    /* most positions that a search asks for at once */
#define GCB_LINE_SEEN 96   /* most points of a search */
#define GCB_LINE_NEAR 1e-3 /* values that differ by at most this share of the target are equal */

/* A position that was measured. */
struct gcb_line_point {
    /* The rank is the position counted from the end of the line that is least likely to meet the
     * goal. */
    uint64_t at;
    double value; /* value of the goal's figure; NAN: the setting failed */
    double error; /* rel_l2 */
    double bytes; /* size of all messages */
};

struct gcb_line_search {
    const struct gcb_match_goal *goal;         /* borrowed */
    uint64_t count;                            /* positions of the line */
    struct gcb_line_point seen[GCB_LINE_SEEN]; /* sorted by rank */
    size_t seen_count;
    bool near;      /* the search started near `start`, and has not needed the grid */
    uint64_t start; /* rank */
};

/* Starts a search over the positions 0 to count - 1. Nothing needs releasing. */
void gcb_line_search_init(struct gcb_line_search *s, const struct gcb_match_goal *goal,
                          uint64_t count);
/* Makes a search that has measured nothing start near a position. */
void gcb_line_search_start(struct gcb_line_search *s, uint64_t position);
/* Writes the positions to measure next and returns their number; 0: the search has ended. */
size_t gcb_line_search_ask(struct gcb_line_search *s, uint64_t position[GCB_LINE_ASKS]);
/* Stores the figures of a position; figures.at is ignored. Call this once for each position that
 * the search asked for. */
void gcb_line_search_tell(struct gcb_line_search *s, uint64_t position,
                          struct gcb_line_point figures);
/* Returns the position of s->seen[seen]. */
uint64_t gcb_line_search_position(const struct gcb_line_search *s, size_t seen);

struct gcb_line_found {
    uint64_t position;
    double value;
    bool reached;   /* the value meets the goal; otherwise it is the nearest value measured */
    double beyond;  /* value of the next setting, which does not meet the goal; NAN: none */
    bool monotonic; /* the values measured are monotonic along the line */
};
/* Finds the best setting measured so far. Needs at least one. */
void gcb_line_search_result(struct gcb_line_found *out, const struct gcb_line_search *s);

#endif
