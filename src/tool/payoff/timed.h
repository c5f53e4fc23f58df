#ifndef SRC_TOOL_PAYOFF_TIMED_H
#define SRC_TOOL_PAYOFF_TIMED_H

#include "src/tool/payoff/measured.h"
#include "src/tool/payoff/ways.h"

/*
 * Times of coding from `result` and `summary` rows of bench, sweep and compress. Times for each
 * element are scaled by the size of the gradient, so the gradient should be about as large as the
 * messages that were timed. With these rows and `replay` rows, ways need no dump.
 */
struct gcb_timed_method {
    struct gcb_method method;
    double elements;       /* elements of all the method's messages */
    double bytes;          /* bytes of the messages for each element */
    double encode, decode; /* seconds for each element */
    /* For each element, adding n messages takes n * sum + finish seconds. If some row lacks these
     * times, sum is NAN. */
    double sum, finish;
    double error; /* relative L2 error of the messages; NAN: unknown */
    bool varies;  /* lengths of messages vary */
    /* Rank of the rows that the figures come from. Rows with a higher rank replace them. Rows with
     * cold caches rank above rows with warm caches. With equal caches, `result` rows rank above
     * `summary` rows. */
    int rank;
};

struct gcb_timed {
    struct gcb_timed_method *items;
    size_t count, cap;
    double exchange_elements; /* elements of one step and worker; 0: unknown */
    double copy;              /* bytes per second that memory copies; NAN: unknown */
    char device[64];          /* device of the timed rows: "cpu", "cuda:0" */
    char where[200];          /* device, instruction set and threads, the same for all timed rows */
    char gpu[64], date[16];   /* from the environment row; "": unknown */
    /* ways from `replay` rows; mean.bytes has the bytes of one worker's link in one step */
    struct gcb_ways replayed;
    char left_out[GCB_LEFT_OUT];    /* methods that were left out, with the reason */
    struct gcb_measureds *measured; /* as in gcb_timed_read */
    /* Bytes per second of an ideal memory (`--coding 3000GB/s`), set by the caller; 0, as after
     * gcb_timed_read: times come from rows. */
    double memory;
};

/*
 * Reads the rows of files. Reads each file only once, because it may be a pipe. Measured exchanges
 * are added to `measured`; NULL: they are left out. `result` and `summary` rows of another device,
 * instruction set or number of threads than the first of them are left out; `replay` rows are not.
 * Release *t with gcb_timed_fini, also after a failure. Errors are those of gcb_results_read and
 * gcb_measured_add; GCB_E_CORRUPT: a row without method or spec.
 */
int gcb_timed_read(struct gcb_timed *t, const char *const *paths, size_t count,
                   struct gcb_measureds *measured, struct gcb_diag *diag);
void gcb_timed_fini(struct gcb_timed *t); /* zeroed is fine */

/*
 * Writes the cost, in seconds for each element, of a way that sends `bytes` bytes for each. If this
 * setting of the method was not timed, takes the setting of the same codec and preset with the
 * nearest number of bytes. Scales the times by the bytes that must move. Returns false if no such
 * setting was timed. If `bytes` is NAN, takes only this setting, with its own bytes. If t->memory
 * is above 0, takes the times of an ideal coder instead; `bytes` must then be known.
 */
bool gcb_timed_cost(struct gcb_cost *out, const struct gcb_timed *t,
                    const struct gcb_method *method, enum gcb_collective collective, double bytes);

/* Replaces the times of all ways, and w->add_fp32, by the times of `t`, which have no rounds. Notes
 * ways without such times as left out; their cost is unknown. */
void gcb_ways_take_times(struct gcb_ways *w, const struct gcb_timed *t);

/*
 * Makes ways of the timed methods. *w is zeroed before; release it with gcb_ways_fini. Errors come
 * from `replay` rows. A way without a `replay` row has the error of one message, as if noise did
 * not average out; a two-shot adds a second such error. `replay` rows are needed for collectives
 * that payoff considers only if they are named, for sparse all-reduces, and for all-reduces of
 * values that are not the messages.
 */
void gcb_ways_from_rows(struct gcb_ways *w, const struct gcb_timed *t);

#endif
