#ifndef SRC_TOOL_SEARCH_MATCH_H
#define SRC_TOOL_SEARCH_MATCH_H

#include "src/tool/rows/row.h"
#include "src/tool/rows/sink.h"
#include "src/tool/run/run.h"
#include "src/tool/search/line_search.h"
#include "src/tool/search/rate.h"

/*
 * Two settings of a method together: a share of the messages is sent with one and the rest with the
 * other. Bytes and squared errors of the messages add up, so both change linearly with the share,
 * and a mix can meet a limit exactly. What can be reached in this way is the lower convex hull of
 * all settings.
 */
struct gcb_match_search;

struct gcb_mix_point {
    double limited; /* the figure that has a limit; NAN: the setting failed */
    /* what should be small: bytes for a limit on the error, squared error for a limit on the
     * size */
    double cost;
    /* the search that has seen the setting, and its place in search->line.seen */
    const struct gcb_match_search *search;
    size_t seen;
};

struct gcb_mix {
    size_t first;  /* a setting within the limit, or the nearest one if none is */
    size_t second; /* a setting beyond the limit; equal to `first`: that setting stands by itself */
    double share;  /* of the messages that are sent with `first` */
    bool reached;  /* the limit is met */
};

/*
 * Finds the point of the hull at the limit, an upper one: the cheapest mix of a setting within it
 * and a setting beyond it, or the cheapest setting within it. A setting within it that is at most
 * `near` below it and at most GCB_MIX_WORTH dearer is taken by itself; of several such settings the
 * first, unless a later one is cheaper by half of that. `mixes`: settings can be mixed at all.
 * SIZE_MAX in `first`: all settings failed.
 */
#define GCB_MIX_WORTH 0.01
void gcb_mix_find(struct gcb_mix *out, const struct gcb_mix_point *points, size_t count,
                  double limit, double near, bool mixes);

/* The figure of the mix: by the share between the figures of its two settings. */
double gcb_mix_between(const struct gcb_mix *mix, double first, double second);

/* What a search has found: its own setting by itself, or two settings that share the messages. */
struct gcb_match_mix {
    bool reached;
    double share; /* of the messages that are sent with the search's own setting; 1: all */
    struct gcb_method other; /* the setting of the rest, if there is a rest */
    double error, bytes;     /* of both together, over all messages */
};

/*
 * Finds a setting of each method that meets a goal. All searches advance together in rounds, so
 * that each round reads the file once. Nothing is timed.
 */
struct gcb_match_search {
    struct gcb_method method; /* after the search: with the setting found */
    const struct gcb_match_goal *goal;
    struct gcb_rate_axis axis;
    struct gcb_line_search line;
    struct gcb_line_found found;
    /* Measured at `found`; its times are NAN. If a mix was found elsewhere on the line, it has no
     * messages. */
    struct gcb_tally tally;
    struct gcb_match_mix mix; /* `method` meets the goal by itself, if it can be met */
    size_t evaluations;       /* settings measured */
    double
        weight; /* bytes count this much when settings are compared (gcb_match_better); 1: usual */
};

/* `key`: the parameter to search along (gcb_rate_axis_init). A method without that parameter is
 * searched along its own. If the parameters of a method contradict each other, only the method as
 * given is tried. */
int gcb_match_search_init(struct gcb_match_search *s, const struct gcb_method *method,
                          const struct gcb_match_goal *goal, const char *key,
                          struct gcb_diag *diag);

/* Lets a search start near the setting that a search of a similar method, or over other messages,
 * has found. Does nothing if that search has not met its goal, or searched along another line. */
void gcb_match_search_near(struct gcb_match_search *s, const struct gcb_match_search *other);

/* Makes a search like one that has ended, over other messages, which starts near the setting
 * found. */
int gcb_match_search_again(struct gcb_match_search *s, const struct gcb_match_search *other,
                           struct gcb_diag *diag);

/*
 * Runs all searches. `config` gives everything except methods and timing. Only `progress` and
 * `stop` of `observer` are called. A setting that fails does not meet the goal. A device that fails
 * or gives wrong results ends the run (GCB_E_DEVICE, GCB_E_UNVERIFIED).
 *
 * *interrupted: the run was stopped before all searches had ended. Each search is then at the best
 * setting measured over all messages so far. If there is none, the search has a tally over some
 * messages (tally.messages; 0: nothing was measured).
 */
int gcb_match_run(struct gcb_match_search *searches, size_t count,
                  const struct gcb_run_config *config, const struct gcb_run_observer *observer,
                  bool *interrupted, struct gcb_diag *diag);

/*
 * Copies the tallies of the searches into the totals of an interrupted run, if a tally covers more
 * messages than the total. `out` may be empty. Afterwards it has method_count totals, and the first
 * `count` belong to the searches. 0 or GCB_E_NOMEM.
 */
int gcb_match_fill_totals(struct gcb_run_result *out, size_t method_count,
                          const struct gcb_match_search *searches, size_t count,
                          struct gcb_diag *diag);

/* Makes one result of searches that have ended, for the same goal: all their settings can be mixed.
 * `out` may be one of them. */
int gcb_match_combine(struct gcb_match_search *out, const struct gcb_match_search *searches,
                      size_t count, struct gcb_diag *diag);

/* What the mix found costs: bytes if the goal limits the error, else the error. INFINITY: the goal
 * is not met. */
double gcb_match_cost(const struct gcb_match_search *s);
/* True if one search's result is better than another's by more than GCB_MATCH_GAIN. Less may come
 * from a line search that ended within a thousandth of the target. Results that miss the goal are
 * compared by how far they miss it. */
#define GCB_MATCH_GAIN 0.005
bool gcb_match_better(const struct gcb_match_search *a, const struct gcb_match_search *b);
/* True if the search's setting, measured as `tally`, meets the goal, by itself or mixed. A setting
 * without messages does not. */
bool gcb_match_reached(const struct gcb_match_search *s, const struct gcb_tally *tally);
/* Changes the bytes and the error in the tally of the search's setting to those of the mix. The
 * cosine and the speeds of a mix are not known. All other figures stay. */
void gcb_match_mix_tally(struct gcb_tally *tally, const struct gcb_match_search *s);

/* True if the goal is a limit on the error. Otherwise it limits the size. */
bool gcb_match_limits_error(const struct gcb_match_goal *goal);

/* A note on the setting found, measured as `tally`: why the goal is not met, or how far the answer
 * can be trusted. NULL: there is nothing to say. `out` has at least 200 bytes. */
const char *gcb_match_note(char *out, const struct gcb_match_search *s,
                           const struct gcb_tally *tally);

/* Adds the fields of --match to a summary row (docs/rows.md). `s`: the search of this setting;
 * NULL: all null, for a baseline. `total`: the final measurement of the setting. `whole`: no search
 * was interrupted. */
void gcb_match_put(struct gcb_row *row, const struct gcb_match_search *s,
                   const struct gcb_run_total *total, bool whole);

/* The records of `sweep`. */
#define GCB_SWEEP_RECORDS (GCB_RESULT_RECORDS | GCB_RECORD_BIT(GCB_RECORD_SWEEP))

#endif
