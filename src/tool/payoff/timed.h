#ifndef SRC_TOOL_PAYOFF_TIMED_H
#define SRC_TOOL_PAYOFF_TIMED_H

#include "src/tool/payoff/measured.h"
#include "src/tool/payoff/ways.h"

/*
 * Times of coding in rows of results: `result` and `summary` rows of bench, sweep and compress.
 * They are scaled by size, so gradients should be about as large as the messages that were timed.
 * With these rows and those of `replay`, ways need no dump.
 */
struct gcb_timed_method {
    struct gcb_method method;
    double elements;       /* of all its messages */
    double bytes;          /* of the messages, for each element */
    double encode, decode; /* seconds for each element */
    double sum, finish;    /* adding n messages takes n sum + finish; NAN: not timed */
    double error;          /* relative L2 error of the messages */
    bool varies;           /* lengths vary */
    int rank; /* rows with cold caches replace warm ones, and `result` rows a `summary` */
};

struct gcb_timed {
    struct gcb_timed_method *items;
    size_t count, cap;
    double exchange_elements; /* of one step and worker; 0: unknown */
    double copy;              /* bytes a second that are copied; NAN: unknown */
    char device[64];          /* of the rows: "cpu", "cuda:0" */
    char where[200];          /* device, threads and instruction set: one for all rows */
    char gpu[64], date[16];   /* of the environment row; "": unknown */
    struct gcb_ways
        replayed; /* of `replay` rows; mean.bytes is that of one worker's link, in one step */
    char left_out[GCB_LEFT_OUT];
    struct gcb_measureds *measured; /* of gcb_timed_read */
    /* bytes per second of an ideal memory (`--coding 3000GB/s`); 0: times come from rows */
    double memory;
};

/*
 * Reads the rows of files, each once: it may be a pipe. Measured exchanges are added to `measured`;
 * NULL: they are left out. Rows of another device, number of threads or instruction set than the
 * first one are left out. Release *t with gcb_timed_fini, also on failure. GCB_E_IO; GCB_E_CORRUPT:
 * a row without method or spec; GCB_E_NOMEM.
 */
int gcb_timed_read(struct gcb_timed *t, const char *const *paths, size_t count,
                   struct gcb_measureds *measured, struct gcb_diag *diag);
void gcb_timed_fini(struct gcb_timed *t); /* zeroed is fine */

/*
 * Fills *out with the cost of a way with `bytes` bytes for each element. If this setting of its
 * method was not timed, takes the nearest one, scaled by the bytes that must move. Returns false if
 * no setting was timed. With NAN bytes only this setting counts, with its own bytes.
 */
bool gcb_timed_cost(struct gcb_cost *out, const struct gcb_timed *t,
                    const struct gcb_method *method, enum gcb_collective collective, double bytes);

/* Gives the ways these times, in place of measured ones, and leaves out those without. */
void gcb_ways_take_times(struct gcb_ways *w, const struct gcb_timed *t);

/*
 * Makes ways of the timed methods. Their error is that of `replay` rows, and otherwise that of one
 * message, as if noise did not average out; a two-shot then has it twice. Sparse all-reduces, and
 * all-reduces of other bytes than the messages', need `replay` rows. GCB_E_NOMEM.
 */
int gcb_ways_from_rows(struct gcb_ways *w, const struct gcb_timed *t, struct gcb_diag *diag);

#endif
