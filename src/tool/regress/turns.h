#ifndef SRC_TOOL_REGRESS_TURNS_H
#define SRC_TOOL_REGRESS_TURNS_H

#include "src/tool/regress/child.h"
#include "src/tool/regress/compare.h"

/*
 * Two builds in turn: pairs of processes, base new, new base, base new, ..., each of which runs `bench` over all
 * cases. The ratio of the two times of a pair has seen the same machine on both sides of it. docs/method.md
 * (Regressions) has the rules.
 */

#define GCB_TURNS_DELTA 0.05  /* at least */
#define GCB_TURNS_FLOOR 20e-6 /* seconds */
#define GCB_TURNS_PAIRS 20    /* fewer prove nothing */
#define GCB_TURNS_MOST 200    /* unless told otherwise */
#define GCB_TURNS_ALPHA 0.05  /* the chance of any wrong SLOW or FAST */
#define GCB_TURNS_SEED 1

struct gcb_turns_config {
    const char *exe[2];         /* base, new: paths */
    const char *const *options; /* of bench, but format, repeat and files */
    size_t option_count;
    const char *const *files;
    size_t file_count;
    bool repeats;   /* do the options say how often? Else it is chosen to fill the budget */
    double budget;  /* seconds, for all processes */
    unsigned pairs; /* at most; 0: GCB_TURNS_MOST */
    double timeout; /* seconds of one process; 0: a minute, or ten times the first */
    double delta;   /* that counts as the same; 0: GCB_TURNS_DELTA */
    double floor;   /* seconds; two times below are never SLOW or FAST; negative: GCB_TURNS_FLOOR */
    const struct gcb_turns *calibration;       /* an A/A run to take deltas from; may be NULL */
    bool (*stop)(void *ctx);                   /* may be NULL */
    void (*progress)(void *ctx, double share); /* may be NULL */
    void *ctx;
};

/* Times of one operation of one case, a value a pair. */
struct gcb_turns_times {
    double *seconds[2]; /* base, new */
    double *logs;       /* of the ratio new / base */
    size_t count;
    double delta;
};

struct gcb_turns_case {
    struct gcb_match match;
    bool timed;
    bool lost;          /* some process had no time for it */
    unsigned failed[2]; /* processes of base and new, behind the first, in which it failed */
    char *why;          /* the new build's words for its first failure; may be NULL; owned */
    bool unsteady;      /* sizes or errors changed from process to process */
    struct gcb_turns_times time[2];
};

struct gcb_turns {
    struct gcb_runs runs; /* the first process of each: cases, sizes, errors, environment */
    struct gcb_match *matches;
    struct gcb_turns_case *cases; /* by match */
    size_t count;
    unsigned pairs, most;
    unsigned repeat; /* calls in a process, in the end; 0: as the options say */
    double seconds;  /* it took */
    bool interrupted, short_of_time;
};

/*
 * Runs the pairs: at least GCB_TURNS_PAIRS, more until every time is SAME or the budget or the number of pairs is used
 * up. If `stop` says so what was measured stays, marked interrupted; before the first pair that is a failure. GCB_E_IO,
 * GCB_E_CORRUPT with words: a build that cannot be run, fails, hangs, or says what is no result.
 * GCB_E_INVALID, GCB_E_BACKEND: what its exit status says of its options; the first also: the budget is too small.
 * Release with gcb_turns_fini on success and failure.
 */
int gcb_turns_run(struct gcb_turns *out, const struct gcb_turns_config *config,
                  struct gcb_diag *diag);
void gcb_turns_fini(struct gcb_turns *t); /* zeroed is fine */

/* What the times of one build against itself show: every delta of `t` becomes what it is in `aa`, if that is more: the
 * farther end of the 99 % interval. GCB_E_NOMEM. */
int gcb_turns_calibrate(struct gcb_turns *t, const struct gcb_turns *aa, struct gcb_diag *diag);

/* Verdicts on everything. `config` as it ran. */
int gcb_turns_judge(struct gcb_verdicts *out, const struct gcb_turns *t,
                    const struct gcb_turns_config *config, struct gcb_diag *diag);

/* Did both processes load the same library? Its build id; NULL: no, or not known. */
const char *gcb_turns_same_build(const struct gcb_turns *t);

#endif
