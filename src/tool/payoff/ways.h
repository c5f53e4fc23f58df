#ifndef SRC_TOOL_PAYOFF_WAYS_H
#define SRC_TOOL_PAYOFF_WAYS_H

#include <stdint.h>

#include "src/tool/payoff/model.h"
#include "src/tool/replay/mean.h"
#include "src/tool/rows/labels.h"

#define GCB_WAY_LABEL (GCB_LABEL + 16) /* bytes of the label of a way */
#define GCB_WAY_ROUNDS 25              /* most rounds of timing */

/*
 * A way to exchange a gradient is a method with its setting and a collective. A way has the bytes
 * that it sends, the time that it costs a worker, and its error. Bytes and times are for each
 * element of the gradient. Each is measured on a dump (gcb_ways_measure) or comes from rows
 * (timed.h).
 */
struct gcb_way {
    struct gcb_method method; /* names its collective */
    enum gcb_collective collective;
    bool baseline;             /* fp32, fp16 or bf16, by all-reduce */
    char label[GCB_WAY_LABEL]; /* "qgz:bits=8 twoshot" */
    /* Measured for the mean of `workers` workers; errors are NAN if unknown. With 1 worker, the
     * error of one message stands for that of the mean. */
    struct gcb_mean mean;
    unsigned workers;
    /* For a measured all-reduce that is no baseline: the bytes of an element for each number in
     * ways->reduced_workers, NAN if so many workers cannot use the way; owned. NULL: always
     * mean.bytes. */
    double *reduced;
    struct gcb_cost cost; /* seconds for each element; cost.code < 0: unknown */
    /* the cost in each of the ways->round_count rounds, in which all ways ran in turn */
    struct gcb_cost rounds[GCB_WAY_ROUNDS];
};

#define GCB_LEFT_OUT 400 /* bytes of a list of methods that were left out */

struct gcb_ways {
    struct gcb_way *items;
    size_t count, cap;
    size_t round_count;            /* rounds of timing; 0: ways have only `cost` */
    const double *reduced_workers; /* reduced_count numbers of workers; borrowed */
    size_t reduced_count;
    double add_fp32; /* seconds to add an element of one gradient to another */
    /* The gradients on which errors were measured, without their arrays. For ways from rows only
     * dump.all is set; 0: unknown. */
    struct gcb_gradients dump;
    char left_out[GCB_LEFT_OUT]; /* methods that cannot be judged, with the reason; "": none */
};

/* The methods that are tried if the user names none. Ends with NULL. */
extern const char *const gcb_ways_default[];

/*
 * Adds the ways of a method, except ways that are there already. If the spec names a collective,
 * there is one way. Otherwise there is one for each collective that the method can use, except
 * collectives that must be named; a baseline has only the all-reduce. GCB_E_INVALID: as
 * gcb_method_parse.
 */
int gcb_ways_add(struct gcb_ways *w, const char *spec, struct gcb_diag *diag);
/* Adds a way without figures, and returns it. The pointer is valid until the next way is added. */
struct gcb_way *gcb_ways_new(struct gcb_ways *w, const struct gcb_method *method,
                             enum gcb_collective collective);
/* True if the way sends fp32 by all-reduce. */
bool gcb_way_is_fp32(const struct gcb_way *way);
/* Returns the name that tables show for a method: "fp32" for identity, otherwise `name`. */
const char *gcb_shown_name(const char *name);
/* Writes the label of a way: the method's label and the collective. Returns out. */
char *gcb_way_label(char out[GCB_WAY_LABEL], const char *label, const char *collective);
/* Writes the labels of all ways. Call it after the last way was added. */
void gcb_ways_label(struct gcb_ways *w);
/* Adds a method and the reason why it is left out to a list, unless the list has this entry. A list
 * that is full ends with "...". */
void gcb_leave_out(char list[GCB_LEFT_OUT], const char *name, const char *why);

struct gcb_ways_measuring {
    /* gcb_ways_measure sets `draws` and `evict`; after the call `evict` is not valid */
    struct gcb_mean_config config;
    /* worker_count numbers of workers to judge; errors are measured with at most the largest of
     * them */
    const double *workers;
    size_t worker_count;
    bool all;     /* use all elements of the dump, not a sample */
    bool untimed; /* do not time, because times come from elsewhere */
    /* after these seconds no further round of timing begins; GCB_STATS_LEAST rounds always run */
    double seconds;
    unsigned cpu_flags;
};

/* Most elements of a worker in a step on which errors are measured, without `all`. */
#define GCB_WAYS_SAMPLE (UINT64_C(4) << 20)
/*
 * Measures the ways on gradients of a dump: errors and bytes on a sample of at most GCB_WAYS_SAMPLE
 * elements of a worker in a step, or with `all` on the whole dump; times, and the bytes of
 * all-reduces, on fewer elements. Ways that fail are noted in w->left_out: without an error they
 * are removed, and without times their cost is unknown. Keeps a pointer to m->workers. Returns 0, 1
 * after a stop, or a negative status, which is GCB_E_INVALID if no way is left.
 */
int gcb_ways_measure(struct gcb_ways *w, struct gcb_source *source, const struct gcb_layout *layout,
                     struct gcb_ways_measuring *m, struct gcb_diag *diag);
void gcb_ways_fini(struct gcb_ways *w); /* zeroed is fine */

/* Returns the bytes for each element if n workers use the way. NAN: so many workers cannot. */
double gcb_way_bytes(const struct gcb_ways *w, const struct gcb_way *way, double n);
/* Returns the error of the mean of n workers, with per_node workers in each node. `half`: without
 * the second encoding of a two-shot. */
double gcb_way_error(const struct gcb_ways *w, const struct gcb_way *way, double n, double per_node,
                     bool half);

#endif
