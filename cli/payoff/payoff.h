#ifndef CLI_PAYOFF_PAYOFF_H
#define CLI_PAYOFF_PAYOFF_H

#include "cli/base/session.h"
#include "src/tool/payoff/curve.h"
#include "src/tool/payoff/judge.h"
#include "src/tool/payoff/measured.h"

/* The options of `payoff`, by group. Texts that are not given are NULL. */
struct payoff_network {
    const char *cluster;
    struct opt_list bandwidth, workers;
    double latency; /* in seconds; NAN: not given */
    const char *link, *nodes, *intra;
};
struct payoff_exchange {
    const char *params, *host_copy;
    uint64_t model_bytes, bucket_bytes; /* 0: not given */
    double compute;                     /* in seconds; NAN: not given */
    int inner_steps;                    /* 0: not given */
    double cores;                       /* 0: not given */
    bool sharded;
    int reduce_dtype; /* 0: bf16; 1: fp32 */
};
struct payoff_judging {
    struct opt_list methods;
    const char *coding;  /* NULL: what the cluster has, or cpu */
    double exact, noise; /* 0: not given */
    bool all;
};
struct payoff_options {
    struct payoff_network network;
    struct payoff_exchange exchange;
    struct payoff_judging judging;
    struct session_options common;
};

extern const struct opt_row payoff_network_rows[], payoff_exchange_rows[], payoff_judging_rows[];

/* Bandwidths in bytes per second, or numbers of workers, in the order in which they were given.
 * Each pair of a bandwidth and a number of workers is a place. */
#define PAYOFF_GRID 256
struct payoff_grid {
    double values[PAYOFF_GRID];
    size_t count;
};

struct payoff_plan {
    const char *cluster; /* name of the preset; NULL: none */
    const char *coding;  /* as in --coding; from the cluster if not given */
    struct payoff_grid bandwidths, workers;
    /* What all places share. The network's bandwidth and workers are not set. `elements` is 0 if
     * the size of the gradient comes from the dump or the rows. */
    struct gcb_setting setting;
    struct gcb_curve curve; /* from --link; else zeroed */
};
/* Makes the plan from the options, whose texts it borrows. *out must not move, because its setting
 * points to its curve. GCB_E_INVALID: a wrong value, or options that do not go together. Other
 * errors are those of gcb_curve_read. */
int payoff_plan(struct payoff_plan *out, const struct payoff_options *o, struct gcb_diag *diag);

/* ---- what `payoff` prints: headings, tables, notes and the answer ---- */

/* Prints where errors (`from`) and times (`coding`) come from, and the size of the sample if a dump
 * was measured. */
void payoff_show_origin(const struct out_report *report, const struct gcb_ways *ways,
                        const char *from, const char *coding);
/* Prints the network and the gradient of the setting `s`; if there are `several` places, only what
 * they have in common. */
void payoff_show_setting(const struct out_report *report, const struct payoff_plan *plan,
                         const struct gcb_setting *s, bool several);
/* Prints the table of ways for one place: with -v all, otherwise those with `shown`. */
void payoff_show_ways(const struct out_report *report, const struct gcb_judgement *j);

/* Prints notes: which ways are left out, what is unusual in the dump's values, and for how many
 * workers and steps the errors hold. */
void payoff_show_notes(const struct out_report *report, const struct gcb_ways *ways,
                       const struct gcb_judgement *j);

/* Prints a table with a line for each of several places: the baseline and the recommended way. Each
 * place must have a baseline. */
void payoff_show_places(const struct out_report *report, const struct gcb_judgement *places,
                        size_t count);

/* Prints a table of measured exchanges beside their predictions, and how many predictions are good.
 * The caller has called gcb_measured_predict. */
void payoff_show_measured(const struct out_report *report, const struct gcb_measureds *all,
                          const struct gcb_network *network);

/* Writes the answer for one place. `on_cpu`: the times of coding are those of a CPU. Returns
 * out. */
#define PAYOFF_ANSWER 1200
char *payoff_answer(char out[PAYOFF_ANSWER], const struct gcb_judgement *j, bool on_cpu);

#endif
