#ifndef SRC_BENCH_MATCH_RUN_H
#define SRC_BENCH_MATCH_RUN_H

#include "src/bench/match.h"
#include "src/bench/rate.h"
#include "src/bench/run.h"

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
};

/* `key`: see gcb_rate_axis_init; a method that lacks it goes by its own parameter. */
int gcb_match_search_init(struct gcb_match_search *s, const struct gcb_method *method,
                          const struct gcb_match_goal *goal, const char *key,
                          struct gcb_diag *diag);

/*
 * `config` gives all but methods and timing; of `observer` progress and stop are used. *interrupted: stopped
 * before every search ended; what they found until then is nothing to build on.
 */
int gcb_match_run(struct gcb_match_search *searches, size_t count,
                  const struct gcb_run_config *config, const struct gcb_run_observer *observer,
                  bool *interrupted, struct gcb_diag *diag);

/*
 * What there is to say of a setting found, measured as `tally`: why the target is not met, or how far the answer
 * can be trusted. NULL: nothing. `out` has at least 200 bytes.
 */
const char *gcb_match_words(char *out, const struct gcb_match_search *s,
                            const struct gcb_tally *tally);

#endif
