#ifndef SRC_TOOL_SEARCH_MATCH_H
#define SRC_TOOL_SEARCH_MATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/lib/base/diag.h"
#include "src/tool/trial/groups.h"

/* A figure that settings are to meet: at most so large an error, at least so large a ratio. */
struct gcb_match_goal {
    enum gcb_field field;
    gcb_tally_figure_fn *figure;
    double target;
    bool at_most; /* the target is an upper limit */
    bool rises;   /* the figure grows with the size of messages */
};

/* "rel_l2=0.3", "ratio=20", "bits=2", "cosine=0.9", "wire_bytes=1M". GCB_E_INVALID with words. */
int gcb_match_goal_parse(struct gcb_match_goal *out, const char *text, struct gcb_diag *diag);
/* Does a value meet it? NAN does not. */
bool gcb_match_meets(const struct gcb_match_goal *goal, double value);

/*
 * Search along a line of settings (src/tool/search/rate.h) for the one at the edge: of those that keep a limit on
 * error the smallest, of those that keep a limit on size the largest. A grid first, all of it at once, then
 * bisection between two neighbours of which one meets the target and the other does not, until they are
 * next to each other, or the one that meets it is within a thousandth of the target.
 *
 * That is the edge if the figure is steady along the line. The search does not take this for granted: every
 * value it has seen is held against it. Where nothing seen meets the target, the nearest value is followed to
 * its bottom, if it lies inside the line; before an end one is looked for. One that is not steady may have better settings than those seen.
 *
 * Whoever searches owns the measuring: ask, measure, tell, until there is nothing to ask.
 */
#define GCB_MATCH_ASKS 8
#define GCB_MATCH_SEEN 96
#define GCB_MATCH_NEAR 1e-3 /* share of the target */

struct gcb_match_point {
    uint64_t at; /* position */
    double value;
    double error; /* rel_l2 */
};

struct gcb_match {
    const struct gcb_match_goal *goal; /* borrowed */
    uint64_t count;                    /* positions of the line */
    /* by place: 0 is where the target is least likely to be met */
    struct gcb_match_point seen[GCB_MATCH_SEEN];
    size_t seen_count; /* evaluations */
};

void gcb_match_init(struct gcb_match *m, const struct gcb_match_goal *goal, uint64_t count);
/* Positions to be measured next; returns how many, 0 when the search has ended. */
size_t gcb_match_ask(const struct gcb_match *m, uint64_t position[GCB_MATCH_ASKS]);
/* What the figure is there, and the error. Each position once. */
void gcb_match_tell(struct gcb_match *m, uint64_t position, double value, double error);

struct gcb_match_found {
    uint64_t position;
    double value;
    bool reached; /* the value meets the target; if not, it is the nearest seen */
    double
        beyond; /* value of the next setting seen on the side that does not meet it; NAN: none was */
    bool steady;  /* the values seen never turn back along the line */
    double least; /* error seen among settings that meet the target; INFINITY: none does */
};
/* After at least one value was told. */
void gcb_match_result(struct gcb_match_found *out, const struct gcb_match *m);

#endif
