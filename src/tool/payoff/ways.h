#ifndef SRC_TOOL_PAYOFF_WAYS_H
#define SRC_TOOL_PAYOFF_WAYS_H

#include <stdint.h>

#include "src/tool/payoff/model.h"
#include "src/tool/replay/mean.h"
#include "src/tool/rows/labels.h"

/*
 * Ways to exchange a gradient: a method, its setting and a collective, with what each sends, costs
 * a worker, and loses. Figures are for each element of the gradient. They come from a dump
 * (gcb_ways_measure) or from rows (timed.h).
 */
#define GCB_WAY_LABEL (GCB_LABEL + 16)
#define GCB_WAY_ROUNDS 25 /* the most rounds of times */
struct gcb_way {
    struct gcb_method method; /* names its collective */
    enum gcb_collective collective;
    bool baseline;             /* fp32, fp16 or bf16, by all-reduce */
    char label[GCB_WAY_LABEL]; /* "qgz:bits=8 twoshot" */
    /* of the mean of `workers` workers; errors are NAN if they are unknown */
    struct gcb_mean mean;
    unsigned workers; /* 1: of one message, which is then taken for that of the mean */
    /* bytes in an all-reduce of each of ways->reduced_workers; NULL: always mean.bytes */
    double *reduced;
    struct gcb_cost cost; /* seconds for each element; negative: unknown */
    /* of each round of measuring, in which all ways ran in turn; there are ways->round_count */
    struct gcb_cost rounds[GCB_WAY_ROUNDS];
};

#define GCB_LEFT_OUT 400

struct gcb_ways {
    struct gcb_way *items;
    size_t count, cap;
    size_t round_count;            /* of each way that was timed */
    const double *reduced_workers; /* borrowed: numbers of workers, reduced_count */
    size_t reduced_count;
    double add_fp32; /* seconds to add an element of one gradient to another */
    /* on which errors were measured, without the arrays; from rows: only dump.all, and 0 if that
     * is unknown */
    struct gcb_gradients dump;
    char left_out[GCB_LEFT_OUT]; /* methods that cannot be judged, with the reason; "": none */
};

/* The methods that are tried if the user names none. Ends with NULL. */
extern const char *const gcb_ways_default[];

/*
 * Adds the ways of a method: one for each collective that it can use, or the one that the spec
 * names. Baselines have only the all-reduce. GCB_E_INVALID: as gcb_method_parse. GCB_E_NOMEM.
 */
int gcb_ways_add(struct gcb_ways *w, const char *spec, struct gcb_diag *diag);
/* Adds a way without any figure. NULL: no memory. */
struct gcb_way *gcb_ways_new(struct gcb_ways *w, const struct gcb_method *method,
                             enum gcb_collective collective);
/* True for fp32 by all-reduce. */
bool gcb_way_is_fp32(const struct gcb_way *way);
/* What people call a method: "fp32" for identity. */
const char *gcb_shown_name(const char *name);
/* The name of a way: the method's label and its collective. Returns out. */
char *gcb_way_label(char out[GCB_WAY_LABEL], const char *label, const char *collective);
/* Names all ways, after the last was added. */
int gcb_ways_label(struct gcb_ways *w, struct gcb_diag *diag);
/* Notes once that a method is left out, and why. */
void gcb_leave_out(char list[GCB_LEFT_OUT], const char *name, const char *why);

struct gcb_ways_measuring {
    struct gcb_mean_config config; /* draws and evict are not read; it has `stop` */
    /* numbers of workers to judge, worker_count; errors are measured with at most the largest of
     * them */
    const double *workers;
    size_t worker_count;
    bool all;     /* all elements of the dump, and not a sample of it */
    bool untimed; /* times come from elsewhere */
    /* no new round of timing begins after this time, except the first GCB_STATS_LEAST */
    double seconds;
    unsigned cpu_flags;
    void (*progress)(void *ctx, double done); /* with the context of `config` */
};

/*
 * Measures the ways on gradients of a dump: errors and bytes on a sample of at most GCB_WAYS_SAMPLE
 * elements of a worker, times on fewer. Ways that fail are left out. Returns 1 after a stop.
 */
#define GCB_WAYS_SAMPLE (UINT64_C(4) << 20)
int gcb_ways_measure(struct gcb_ways *w, struct gcb_source *source, const struct gcb_layout *layout,
                     struct gcb_ways_measuring *m, struct gcb_diag *diag);
void gcb_ways_fini(struct gcb_ways *w); /* zeroed is fine */

/* The bytes of the way among n workers, for each element. NAN: so many workers cannot use it. */
double gcb_way_bytes(const struct gcb_ways *w, const struct gcb_way *way, double n);
/* The error of the mean of n workers, of which per_node each share a node. `half`: without the
 * second encoding of a two-shot. */
double gcb_way_error(const struct gcb_ways *w, const struct gcb_way *way, double n, double per_node,
                     bool half);

#endif
