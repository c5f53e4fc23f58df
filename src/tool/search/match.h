#ifndef SRC_TOOL_SEARCH_MATCH_H
#define SRC_TOOL_SEARCH_MATCH_H

#include "src/tool/rows/row.h"
#include "src/tool/rows/sink.h"
#include "src/tool/search/line_search.h"
#include "src/tool/search/rate.h"
#include "src/tool/trial/run.h"

/*
 * Finds a setting of each method that meets a goal. All searches advance together in rounds, so that each round reads
 * the file once. Nothing is timed.
 */
struct gcb_match_search {
    struct gcb_method method; /* after the search: with the setting found */
    const struct gcb_match_goal *goal;
    struct gcb_rate_axis axis;
    struct gcb_line_search line;
    struct gcb_line_found found;
    struct gcb_tally tally; /* measured at the setting found; its times are NAN */
};

/* `key`: the parameter to search along (gcb_rate_axis_init). A method without that parameter is
 * searched along its own. If the parameters of a method contradict each other, only the method as given is tried. */
int gcb_match_search_init(struct gcb_match_search *s, const struct gcb_method *method,
                          const struct gcb_match_goal *goal, const char *key,
                          struct gcb_diag *diag);

/* Lets a search start near the setting that a search of a similar method, or over other messages, has found. Does nothing if
 * that search has not met its goal, or searched along another line, or along whole numbers. */
void gcb_match_search_near(struct gcb_match_search *s, const struct gcb_match_search *other);

/* Makes a search like one that has ended, over other messages, which starts near the setting found. */
int gcb_match_search_again(struct gcb_match_search *s, const struct gcb_match_search *other,
                           struct gcb_diag *diag);

/*
 * Runs all searches. `config` gives everything except methods and timing. Only `progress` and `stop` of `observer` are
 * called. A setting that fails does not meet the goal. A device that fails or gives wrong results ends the run
 * (GCB_E_DEVICE, GCB_E_UNVERIFIED).
 *
 * *interrupted: the run was stopped before all searches had ended. Each search is then at the best setting measured
 * over all messages so far. If there is none, the search has a tally over some messages (tally.messages; 0: nothing was
 * measured).
 */
int gcb_match_run(struct gcb_match_search *searches, size_t count,
                  const struct gcb_run_config *config, const struct gcb_run_observer *observer,
                  bool *interrupted, struct gcb_diag *diag);

/*
 * Copies the tallies of the searches into the totals of an interrupted run, if a tally covers more messages than the
 * total. `out` may be empty. Afterwards it has method_count totals, and the first `count` belong to the searches. 0 or
 * GCB_E_NOMEM.
 */
int gcb_match_fill_totals(struct gcb_run_result *out, size_t method_count,
                          const struct gcb_match_search *searches, size_t count,
                          struct gcb_diag *diag);

/* Does the setting, measured as `tally`, meet the goal? A setting without messages does not. */
bool gcb_match_reached(const struct gcb_match_search *s, const struct gcb_tally *tally);

/* By what settings that meet the goal are ranked: the ratio if it limits the error, else the error with a minus sign. */
double gcb_match_merit(const struct gcb_match_goal *goal, const struct gcb_tally *tally);
/* Is the goal a limit on the error? Otherwise it limits the size. */
bool gcb_match_limits_error(const struct gcb_match_goal *goal);

/* A note on the setting found, measured as `tally`: why the goal is not met, or how far the answer can be trusted. NULL:
 * there is nothing to say. `out` has at least 200 bytes. */
const char *gcb_match_note(char *out, const struct gcb_match_search *s,
                           const struct gcb_tally *tally);

/* What a sweep adds to a summary row (docs/rows.md). */
struct gcb_sweep_row {
    bool compared; /* the Pareto set is known */
    bool pareto;
    bool matching;                        /* settings were searched for */
    const struct gcb_match_search *match; /* the search of this setting; NULL for a baseline */
    const struct gcb_run_total *total;    /* the final measurement of the setting */
};
void gcb_sweep_put(struct gcb_row *row, const struct gcb_sweep_row *sweep);

/* The records of `sweep`. */
#define GCB_SWEEP_RECORDS (GCB_RESULT_RECORDS | GCB_RECORD_BIT(GCB_RECORD_SWEEP))

#endif
