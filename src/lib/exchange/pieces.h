#ifndef SRC_LIB_EXCHANGE_PIECES_H
#define SRC_LIB_EXCHANGE_PIECES_H

#include "src/lib/exchange/collective.h"
#include "src/lib/sparse/list.h"

/*
 * Functions that the collectives for sparse messages share (oktopk.c, spardl.c). Each worker
 * selects elements of its tensor. Workers send each other lists of elements as pieces
 * (src/lib/sparse/list.h), and add the lists they receive. In the end all workers have the same
 * list, the result.
 *
 * A message is what one worker sends to another in a round. It begins with four bytes: flags, the
 * id of the value coder, the id of the index coder, and the bits of a value. Then come pieces. In
 * oktopk.c's GATHER, the number of elements that the sender selected comes before the piece.
 *
 * An infinity or NaN in a worker's tensor, or in a sum of elements, spoils the step: all updates
 * become NaNs. A worker that knows of it sends only the four bytes, with a flag.
 *
 * Functions that return int return 0, GCB_E_NOMEM or GCB_E_CORRUPT, unless their comment says
 * otherwise.
 */

/* Flags of a message. SPOILT: the step is spoilt. ESTIMATES: in this step, oktopk.c computes a new
 * threshold. */
enum { GCB_PIECES_SPOILT = 1, GCB_PIECES_ESTIMATES = 2 };

#define GCB_PIECES_HEAD 4 /* bytes before the pieces */

/* The first member of a collective's state. The caller zeroes it before gcb_pieces_init. */
struct gcb_pieces {
    struct gcb_collective_base base; /* `encoder`: made for the method and the whole tensor */
    struct gcb_collective_env env;
    struct gcb_sparse *sparse; /* the codec's state in base.encoder */
    struct gcb_wbuf out;       /* what this worker sends in a round */
    size_t *parts;             /* number of bytes in `out` for each worker */

    /* the current step */
    struct gcb_list selected; /* selected elements of this worker's tensor */
    struct gcb_list offered;  /* `selected`, borrowed; empty if the worker's weight is 0 */
    struct gcb_list result;   /* after the last round: the weighted sum */
    /* After the last round: the part of this worker's tensor that the result contains, in any
     * order. Not used if the worker's weight is 0: then everything that it selected counts as
     * arrived. */
    struct gcb_list own;
    struct gcb_list arrived, next;  /* scratch of gcb_pieces_add */
    struct gcb_message_parts sizes; /* sizes of all messages that this worker sent in the step */
};

/* Returns 0, or an error of gcb_coder_create. gcb_pieces_fini is due in either case. */
int gcb_pieces_init(struct gcb_pieces *p, const struct gcb_collective_env *env,
                    struct gcb_diag *diag);
void gcb_pieces_fini(struct gcb_pieces *p);

/* Begins a step: selects elements of in->x, unless in->raw. */
int gcb_pieces_begin(struct gcb_pieces *p, const struct gcb_contribution *in,
                     struct gcb_diag *diag);

/* Empties p->out, to which the gcb_pieces_put functions append. */
void gcb_pieces_clear(struct gcb_pieces *p);
/* Appends the first bytes of a message. The flag SPOILT is added if the step is spoilt. */
int gcb_pieces_put_head(struct gcb_pieces *p, unsigned flags, struct gcb_diag *diag);
/* Appends a number (8 bytes). */
int gcb_pieces_put_count(struct gcb_pieces *p, uint64_t count, struct gcb_diag *diag);
/* Appends a piece with the elements of `l` at positions `first` to `end` - 1. If `sent` is not
 * NULL, also appends the elements to `sent` as a receiver will read them. */
int gcb_pieces_put(struct gcb_pieces *p, uint64_t first, uint64_t end, const struct gcb_list *l,
                   struct gcb_list *sent, struct gcb_diag *diag);

/* Lets `in` read a message, and reads its first bytes. Returns 1 if more follows. Returns 0 if the
 * sender says that the step is spoilt, and marks it as spoilt here too. Returns GCB_E_CORRUPT, or
 * GCB_E_MISMATCH if the sender has other flags or coders. `in` borrows `data`. */
int gcb_pieces_open(struct gcb_pieces *p, struct gcb_rbuf *in, const void *data, size_t length,
                    unsigned flags, struct gcb_diag *diag);
/* Reads a piece of positions `first` to `end` - 1 and appends the elements to `out`. Marks the step
 * as spoilt if an element is not finite. */
int gcb_pieces_get(struct gcb_pieces *p, uint64_t first, uint64_t end, struct gcb_rbuf *in,
                   struct gcb_list *out, struct gcb_diag *diag);
/* Reads a piece as gcb_pieces_get does, but adds the elements, times `weight`, to `sum`. */
int gcb_pieces_add(struct gcb_pieces *p, uint64_t first, uint64_t end, struct gcb_rbuf *in,
                   float weight, struct gcb_list *sum, struct gcb_diag *diag);
/* Checks that a message ends after its last piece. `in` may be NULL, for a message that is known to
 * be damaged. */
int gcb_pieces_end(const struct gcb_rbuf *in, struct gcb_diag *diag);

/* Marks the step as spoilt if the list has an infinity or NaN. */
void gcb_pieces_check_finite(struct gcb_pieces *p, const struct gcb_list *l);

static inline float gcb_pieces_weight(const struct gcb_pieces *p)
{
    return p->env.weights[p->env.worker];
}

static inline int gcb_pieces_nomem(struct gcb_diag *diag)
{
    return gcb_diag_nomem(diag, 0, "a list of elements");
}

/* Members of struct gcb_collective_ops. */
int gcb_pieces_conclude(void *state, float *update, float *own, struct gcb_diag *diag);
int gcb_pieces_settle(void *state, const struct gcb_addition *to, struct gcb_diag *diag);
int gcb_pieces_describe(void *state, struct gcb_message_parts *parts, struct gcb_diag *diag);
void gcb_pieces_add_selection(const void *state, float *sum);

#endif
