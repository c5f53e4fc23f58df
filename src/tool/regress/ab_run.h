#ifndef SRC_TOOL_REGRESS_AB_RUN_H
#define SRC_TOOL_REGRESS_AB_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "src/lib/base/diag.h"
#include "src/tool/base/child.h"
#include "src/tool/base/watch.h"
#include "src/tool/regress/verdict.h"

/*
 * An A/B run: processes of two builds, the base and the new build, alternate. A pair is one process
 * of each build, and the order changes from pair to pair: base new, new base, base new, ... Every
 * process runs `bench` over all cases. Both processes of a pair see the machine in the same state,
 * so the ratio of their times compares the builds. If a build can be linked again (struct
 * gcb_layout), each process of a pair runs a newly linked program, with the functions at other
 * addresses. So the spread over the pairs includes the effect of the layout of the code.
 * docs/method.md (Regressions) has the rules.
 */

#define GCB_AB_DELTA 0.05  /* default of the smallest change that counts, as a share */
#define GCB_AB_FLOOR 20e-6 /* default of gcb_ab_config.floor, in seconds */
#define GCB_AB_PAIRS 20    /* fewest pairs for a verdict of SAME, SLOW or FAST on a time */
#define GCB_AB_MOST 200    /* default for the most pairs */
#define GCB_AB_ALPHA 0.05  /* accepted probability that any SLOW or FAST of a run is wrong */
#define GCB_AB_SEED 1      /* seed of the bootstrap */

#define GCB_AB_WORD 512 /* bytes of a word that is written into the command line */
/* The command line of both builds, and the meaning of their exit statuses. */
struct gcb_ab_command {
    char **argv; /* ends with NULL; gcb_ab_run sets argv[0] to the program */
    /* The word of argv that changes from process to process; it has room for GCB_AB_WORD bytes.
     * gcb_ab_run writes the number of calls of each case there, and gcb_counts_run the method.
     * NULL: no word changes; gcb_counts_run needs the word. */
    char *word;
    /* Turns the exit status of a build into a status: GCB_E_INVALID if the build was called
     * wrongly, GCB_E_BACKEND if it lacks a device, otherwise GCB_E_IO. */
    int (*failure)(int exit_status);
};

/* How to run. Everything that the members point to must live as long as the result, which borrows
 * the names of the programs. */
struct gcb_ab_config {
    const char *exe[2];            /* paths of the base and of the new build */
    struct gcb_layout *layouts[2]; /* for base and new; NULL: that build is run as it is */
    struct gcb_ab_command command; /* prints rows of `bench` */
    double budget;                 /* seconds for all processes together */
    unsigned pairs;                /* most pairs, but at least GCB_AB_PAIRS; 0: GCB_AB_MOST */
    double timeout; /* most seconds of one process; 0: the plan chooses, at least 60 */
    double delta;   /* smallest change that counts; 0: GCB_AB_DELTA */
    /* seconds: if both times of a case are shorter, it is neither SLOW nor FAST; negative:
     * GCB_AB_FLOOR, or 0 for a kernel */
    double floor;
    /* Result of an A/A run, one build against itself. It raises the delta of a case whose times
     * differed there. NULL: no delta is raised. gcb_ab_run tests its times again. */
    struct gcb_ab_result *calibration;
    struct gcb_watch watch;
};

/* Times of one operation of one case: a value for each pair. */
struct gcb_ab_times {
    double *seconds[2]; /* base, new */
    double *logs;       /* log(new / base) */
    size_t count;       /* pairs in which both builds measured the time */
    double delta;       /* smallest change that counts */
    /* what a test of the times so far found; only if `tested` */
    bool tested;
    double medians[2];        /* seconds of base and new */
    double median, low, high; /* of log(new / base): median and 95 % interval */
    double farthest;          /* distance from 0 to the farther end of the 99 % interval */
    double p;                 /* p-value of the sign test, adjusted for the number of tests */
};

struct gcb_ab_case {
    struct gcb_case_pair pair; /* the case in the first process of each build */
    bool timed;                /* the case ran in the first process of both builds */
    bool lost;                 /* the case did not run, or was missing, in a later process */
    unsigned failed[2];        /* later processes of base and new in which the case failed */
    char *why;     /* reason of the first failure in the new build; may be NULL; owned */
    bool unsteady; /* sizes or errors changed from process to process */
    struct gcb_ab_times time[2]; /* encode and decode; for a kernel or exchange only the first */
};

struct gcb_ab_result {
    struct gcb_runs runs; /* the first process of each build: cases, sizes, errors, environment */
    struct gcb_ab_case *cases;
    size_t count;     /* number of cases */
    double *times;    /* memory of the arrays in all struct gcb_ab_times */
    unsigned pairs;   /* pairs that were run */
    unsigned most;    /* most pairs that the plan allows */
    unsigned repeat;  /* last chosen calls of a case in a process; 0: the command line sets them */
    double seconds;   /* duration of the run */
    bool interrupted; /* the watch ended the run */
    bool short_of_time; /* fewer than GCB_AB_PAIRS pairs were run */
};

/*
 * Runs GCB_AB_PAIRS pairs, or fewer if they take more than three times the budget. Then runs more
 * pairs until every time is SAME, or the budget or the number of pairs is used up. If the watch
 * ends the run after a pair, the result keeps the pairs measured so far and is marked interrupted;
 * before the end of the first pair the run fails. Returns GCB_E_IO or GCB_E_CORRUPT if a build
 * cannot be run, fails, hangs, or prints no results; GCB_E_INVALID if the budget is too small; the
 * errors of gcb_layout_link; and what `failure` of the command makes of a build's exit status.
 * Release *out with gcb_ab_result_fini, also after a failure.
 */
int gcb_ab_run(struct gcb_ab_result *out, const struct gcb_ab_config *config,
               struct gcb_diag *diag);
void gcb_ab_result_fini(struct gcb_ab_result *r); /* a zeroed struct is allowed */

/* Tests the times, and adds the verdicts on all cases to `out`. The verdicts borrow the cases of
 * `r`. `config` is that of the run. */
void gcb_ab_judge(struct gcb_verdicts *out, struct gcb_ab_result *r,
                  const struct gcb_ab_config *config);

/* Returns the build id if both builds have the same id, otherwise NULL. The text belongs to `r`. */
const char *gcb_ab_same_build(const struct gcb_ab_result *r);

/*
 * Links a program again, with its object files in a random order and random padding between them.
 * The machine code of each function stays the same, but the functions have other addresses. Other
 * addresses alone can change the time of a tight loop by 10 % or more (Mytkowicz, Diwan, Hauswirth,
 * Sweeney: "Producing wrong data without doing anything obviously wrong", ASPLOS 2009). A
 * comparison of builds that varies the layout does not take such a change for a change of the code.
 *
 * The program must have been linked by ninja, and its build folder must still be there. The link
 * command comes from ninja.
 */
struct gcb_layout;

/*
 * Finds out how the program at `exe` was linked, and links it once as a trial. `program` is the
 * path of the new program. Temporary files are beside it, and their names begin with its name.
 * gcb_layout_close removes all these files. `stop` may be NULL; it is called several times a second
 * with the argument NULL, and returns true to end the linking. The caller owns *out, also after a
 * failure. Returns GCB_E_UNSUPPORTED if the program cannot be linked again (the message says why),
 * or GCB_E_IO if `stop` ended the linking.
 */
int gcb_layout_open(struct gcb_layout **out, const char *exe, const char *program,
                    bool (*stop)(void *ctx), struct gcb_diag *diag);

/* Links the program, and replaces the program that gcb_layout_link made before. Equal seeds give
 * equal layouts. Returns GCB_E_UNSUPPORTED if the linker failed, or GCB_E_IO if `stop` ended
 * the linking. */
int gcb_layout_link(struct gcb_layout *l, uint64_t seed, struct gcb_diag *diag);

/* Returns the path of the linked program, which lives as long as `l`. */
const char *gcb_layout_path(const struct gcb_layout *l);

void gcb_layout_close(struct gcb_layout *l); /* the argument may be NULL */

#endif
