#ifndef SRC_TOOL_SEARCH_MATCH_H
#define SRC_TOOL_SEARCH_MATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/lib/base/diag.h"
#include "src/tool/rows/row.h"
#include "src/tool/rows/sink.h"
#include "src/tool/run/breakdown.h"
#include "src/tool/run/run.h"
#include "src/tool/search/rate.h"

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
    /* For error_of_mean: the number of workers, and how to measure the error. The caller sets
     * `mean` before a run. For other figures 0 and NULL. */
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
 * "cosine=0.9" or "bytes=1M". `option` is the name of the option without "--", for messages.
 * Returns 0 or GCB_E_INVALID. */
int gcb_match_goal_parse(struct gcb_match_goal *out, const char *option, const char *text,
                         struct gcb_diag *diag);
/* True if the value meets the goal. NAN does not. */
bool gcb_match_meets(const struct gcb_match_goal *goal, double value);
/* Returns the figure to the goal's power, which is a sum over messages. Without a power, returns
 * the figure, or its negative if the target is a lower limit. The smaller the number returned, the
 * better the figure meets the goal. */
double gcb_match_sum(const struct gcb_match_goal *goal, double value);

/*
 * Searches a line of settings (src/tool/search/rate.h) for the best setting that meets a goal: the
 * smallest messages for a limit on the error, the largest for a limit on the size. First it
 * measures a grid. Then it bisects between a setting that meets the goal and its neighbour that
 * does not, until the two are adjacent, or the setting that meets the goal is within a thousandth
 * of the target. A search ends in any case before it has more than GCB_LINE_SEEN points.
 *
 * The setting found is the best one if the figure is monotonic along the line. The search reports
 * whether all values measured are monotonic; if not, there may be better settings. If no setting
 * meets the goal, the search looks for the value nearest to the target: it bisects on both sides of
 * the nearest value so far. At an end of the line, it bisects only long gaps.
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
    /* the rank: the position, counted from the end of the line that is least likely to meet the
     * goal */
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
    uint64_t start; /* rank of the position from which the search started */
};

/* Starts a search over the positions 0 to count - 1; count is at least 1. Nothing needs
 * releasing. */
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
    bool reached; /* the value meets the goal; otherwise it is the nearest value measured */
    /* if `reached`: value of the measured point whose rank comes just before that of the position
     * found; this point misses the goal. NAN: there is no such point, or its setting failed */
    double beyond;
    /* the values measured never get worse from one rank to the next higher one; false also if a
     * setting failed */
    bool monotonic;
};
/* Finds the best setting measured so far. Needs at least one. */
void gcb_line_search_result(struct gcb_line_found *out, const struct gcb_line_search *s);

/*
 * A mix: a share of the messages is sent with one setting of a method, and the rest with another.
 * Bytes and squared errors of the messages add up, so both change linearly with the share, and a
 * mix can meet a limit exactly. The best mixes are the lower convex hull of all settings.
 */
struct gcb_match_search;

/* A setting, as a point for the hull. */
struct gcb_mix_point {
    double limited; /* gcb_match_sum of the goal's figure; NAN: the setting failed */
    /* bytes for a limit on the error, squared error for a limit on the size; either is multiplied
     * by search->weight */
    double cost;
    /* the setting: search->line.seen[seen] */
    const struct gcb_match_search *search;
    size_t seen;
};

struct gcb_mix {
    size_t first;  /* index of a point within the limit; if none is, of the nearest point */
    size_t second; /* index of a point beyond the limit; equal to `first` if there is no mix */
    double share;  /* share of the messages that are sent with `first` */
    bool reached;  /* the limit is met */
};

/* Share of the cost that a mix has to save to be preferred to a single setting. */
#define GCB_MIX_WORTH 0.01

/*
 * Finds the cheapest mix at an upper limit: of a setting within the limit and a setting beyond it,
 * or the cheapest single setting within the limit. `mixes`: false if settings cannot be mixed.
 *
 * A single setting that is at most `near` below the limit is preferred if its cost exceeds the
 * least by at most the share GCB_MIX_WORTH. If there are several, the first is taken, unless a
 * later one is cheaper by half of that share. out->first is SIZE_MAX if all settings failed.
 */
void gcb_mix_find(struct gcb_mix *out, const struct gcb_mix_point *points, size_t count,
                  double limit, double near, bool mixes);

/* Returns a figure of a mix from the figures of its two settings. The figure must be one that adds
 * up over messages: bytes, or a squared error. */
double gcb_mix_between(const struct gcb_mix *mix, double first, double second);

/* The result of a search: one setting for all messages, or a mix of two settings. */
struct gcb_match_mix {
    bool reached;            /* the goal is met */
    double share;            /* share of the messages that have the setting found; 1: all */
    struct gcb_method other; /* the setting of the other messages, if there are any */
    double error, bytes;     /* rel_l2 and size of all messages together */
};

/*
 * Searches for a setting of a method that meets a goal. All searches advance together in rounds, so
 * that each round reads the input once. Nothing is timed.
 */
struct gcb_match_search {
    struct gcb_method method; /* after the search: with the setting found */
    const struct gcb_match_goal *goal;
    struct gcb_rate_axis axis;
    struct gcb_line_search line;
    /* the setting found; in a mix, found.beyond describes the other setting */
    struct gcb_line_found found;
    /* The measurement of `found`; times are NAN. The tally has no messages if the best setting of
     * the line is not the setting of the mix. */
    struct gcb_tally tally;
    struct gcb_match_mix mix; /* if the goal can be met, `method` alone meets it */
    size_t evaluations;       /* number of settings measured */
    double weight;            /* factor of the cost when settings are compared; usually 1 */
};

/* Prepares a search along the parameter `key` (gcb_rate_axis_init). If `key` is NULL or names no
 * parameter that changes the size (gcb_rate_named), the search goes along the method's first
 * parameter that does.
 * Parameters that contradict each other are no error: settings that are not valid fail in the run.
 * `goal` is borrowed; nothing needs releasing. Returns 0 or GCB_E_INVALID. */
int gcb_match_search_init(struct gcb_match_search *s, const struct gcb_method *method,
                          const struct gcb_match_goal *goal, const char *key,
                          struct gcb_diag *diag);

/* Makes a search start near the setting that `other` has found for a similar method or for other
 * messages. Does nothing if `other` missed its goal, or searched another parameter or range. */
void gcb_match_search_near(struct gcb_match_search *s, const struct gcb_match_search *other);

/* Prepares a search of the method of `other` for other messages. The new search starts near the
 * setting that `other` has found (gcb_match_search_near). Returns errors of
 * gcb_match_search_init. */
int gcb_match_search_again(struct gcb_match_search *s, const struct gcb_match_search *other,
                           struct gcb_diag *diag);

/*
 * Runs all searches. `config` gives everything except methods and timing. A setting that fails does
 * not meet the goal. A device that fails or gives wrong results ends the run (GCB_E_DEVICE,
 * GCB_E_UNVERIFIED).
 *
 * *interrupted becomes true if the run was stopped before all searches had ended. Each search then
 * has the best setting that was measured over all messages. If there is none, its tally covers only
 * some messages (tally.messages; 0: nothing was measured).
 */
int gcb_match_run(struct gcb_match_search *searches, size_t count,
                  const struct gcb_run_config *config, const struct gcb_watch *watch,
                  bool *interrupted, struct gcb_diag *diag);

/*
 * Completes the totals of an interrupted run: the first `count` of its method_count totals belong
 * to the searches. If the tally of a search covers more messages than its total, the tally is
 * copied, unless the total has failed. `out` may be empty; then its totals are allocated. Sets
 * out->interrupted.
 */
void gcb_match_fill_totals(struct gcb_run_result *out, size_t method_count,
                           const struct gcb_match_search *searches, size_t count);

/* Combines at least one search into one result: the best setting of all, or the best mix of two.
 * The searches have ended and have the same goal. `out` may be one of them. Returns 0 or an error
 * of gcb_rate_axis_set. */
int gcb_match_combine(struct gcb_match_search *out, const struct gcb_match_search *searches,
                      size_t count, struct gcb_diag *diag);

/* Returns the cost of the mix found: bytes if the goal limits the error, otherwise the error.
 * INFINITY: the goal is not met. */
double gcb_match_cost(const struct gcb_match_search *s);
/* Share of the cost by which a result has to be better. A smaller difference may come from line
 * searches that end within a thousandth of the target. */
#define GCB_MATCH_GAIN 0.005
/* True if the result of `a` is better than that of `b` by more than GCB_MATCH_GAIN. Two results
 * that both miss the goal are compared by how far they miss it. */
bool gcb_match_better(const struct gcb_match_search *a, const struct gcb_match_search *b);
/* True if the search met its goal and `tally`, the measurement of its setting, has messages. */
bool gcb_match_reached(const struct gcb_match_search *s, const struct gcb_tally *tally);
/* Replaces bytes and error in the tally of the search's setting by those of the mix. The cosine and
 * the speeds become NAN, because they are unknown for a mix. All other figures stay. Does nothing
 * if all messages have one setting. */
void gcb_match_mix_tally(struct gcb_tally *tally, const struct gcb_match_search *s);

/* True if the goal is a limit on the error. Otherwise it limits the size. */
bool gcb_match_limits_error(const struct gcb_match_goal *goal);

/* Writes a note on the setting found, measured as `tally`, to `out` (200 bytes): why the goal is
 * not met, or how far the answer can be trusted. Returns out, or NULL if there is nothing to
 * say. */
const char *gcb_match_note(char *out, const struct gcb_match_search *s,
                           const struct gcb_tally *tally);

/* Adds the fields of --match to a summary row (docs/rows.md). `s` is the search that found the
 * row's setting; NULL, for a baseline: all fields are null. `total` is the final measurement of the
 * setting. `whole`: no search was interrupted. */
void gcb_match_put(struct gcb_row *row, const struct gcb_match_search *s,
                   const struct gcb_run_total *total, bool whole);

/* The kinds of rows that `sweep` writes. */
#define GCB_SWEEP_RECORDS (GCB_RESULT_RECORDS | GCB_RECORD_BIT(GCB_RECORD_SWEEP))

#endif
