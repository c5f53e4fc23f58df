#ifndef SRC_TOOL_SEARCH_MATCH_RUN_H
#define SRC_TOOL_SEARCH_MATCH_RUN_H

#include "src/tool/search/match.h"
#include "src/tool/search/rate.h"
#include "src/tool/trial/run.h"

/*
 * Searches of several methods over the messages of a layout: all of them take each step together, so that a
 * round reads the file once. Nothing is timed.
 */
struct gcb_match_search {
    struct gcb_method method; /* in the end: at the setting found */
    const struct gcb_match_goal *goal;
    struct gcb_rate_axis axis;
    struct gcb_match match;
    struct gcb_match_found found;
    struct gcb_tally
        tally; /* measured at the setting found; its times are none, for nothing is timed */
};

/* `key`: see gcb_rate_axis_init; a method that lacks it goes by its own parameter, and one whose parameters do not
 * go together by none. */
int gcb_match_search_init(struct gcb_match_search *s, const struct gcb_method *method,
                          const struct gcb_match_goal *goal, const char *key,
                          struct gcb_diag *diag);

/*
 * `config` gives all but methods and timing; of `observer` progress and stop are used. A setting that fails counts as
 * one that misses the target; but what a device does wrong ends it all (GCB_E_UNVERIFIED, GCB_E_DEVICE).
 *
 * *interrupted: stopped before every search ended. Each is then at the best setting it had measured, over every
 * message, or where it had none yet over those that were done (tally.messages; 0: none was, and nothing was found).
 */
int gcb_match_run(struct gcb_match_search *searches, size_t count,
                  const struct gcb_run_config *config, const struct gcb_run_observer *observer,
                  bool *interrupted, struct gcb_diag *diag);

/*
 * What searches measured, in the place of totals that a run did not get to because it was interrupted. `out` may be
 * empty, and has method_count totals afterwards, of which the first `count` are of the searches. 0 or GCB_E_NOMEM.
 */
int gcb_match_fill(struct gcb_run_result *out, size_t method_count,
                   const struct gcb_match_search *searches, size_t count, struct gcb_diag *diag);

/*
 * What there is to say of a setting found, measured as `tally`: why the target is not met, or how far the answer
 * can be trusted. NULL: nothing. `out` has at least 200 bytes.
 */
const char *gcb_match_words(char *out, const struct gcb_match_search *s,
                            const struct gcb_tally *tally);

#endif
