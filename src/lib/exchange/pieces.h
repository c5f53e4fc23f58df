#ifndef SRC_LIB_EXCHANGE_PIECES_H
#define SRC_LIB_EXCHANGE_PIECES_H

#include "src/lib/exchange/collective.h"
#include "src/lib/sparse/list.h"

/*
 * What the collectives for sparse messages share (oktopk.c, spardl.c). A worker selects elements of
 * its tensor. Lists of elements then travel as pieces (src/lib/sparse/list.h), are added up on
 * their way, and arrive at all workers as one list, the result.
 *
 * A message, that is what one worker sends another in a round, begins with four bytes: flags, the
 * ids of the value coder and of the index coder, and the bits of a value. If a worker knows of an
 * infinity or NaN, its messages consist of these bytes, with a flag set: then all updates are NaNs.
 */

enum { GCB_PIECES_SPOILT = 1, GCB_PIECES_ESTIMATES = 2 /* oktopk.c */ };

#define GCB_PIECES_HEAD 4

/* The first member of a collective's state. Zero before gcb_pieces_init. */
struct gcb_pieces {
    struct gcb_collective_env env;
    struct gcb_coder *coder;   /* selects */
    struct gcb_sparse *sparse; /* its codec */
    struct gcb_wbuf out;       /* what this worker sends in a round */
    size_t *parts;             /* bytes in `out` for each worker */

    /* the current step */
    struct gcb_list selected; /* elements of this worker's tensor */
    struct gcb_list offered;  /* the same, borrowed; none if the worker's weight is 0 */
    struct gcb_list result;   /* the weighted sum; after the last round */
    /* The part of this worker's tensor that the result contains, in any order; after the last
     * round. Not used if the worker's weight is 0: then everything that it selected counts as
     * arrived. */
    struct gcb_list own;
    struct gcb_list arrived, next;  /* scratch */
    bool spoilt;                    /* some worker has an infinity or NaN */
    struct gcb_message_parts sizes; /* of all messages */
};

/* Returns 0, or an error of gcb_coder_create. After a failure gcb_pieces_fini is due. */
int gcb_pieces_init(struct gcb_pieces *p, const struct gcb_collective_env *env,
                    struct gcb_diag *diag);
void gcb_pieces_fini(struct gcb_pieces *p);

/* Begins a step: selects, unless in->raw. */
int gcb_pieces_begin(struct gcb_pieces *p, const struct gcb_contribution *in,
                     struct gcb_diag *diag);

/* Empties `out`, to which the functions below append. */
void gcb_pieces_clear(struct gcb_pieces *p);
int gcb_pieces_put_head(struct gcb_pieces *p, unsigned flags, struct gcb_diag *diag);
int gcb_pieces_put_count(struct gcb_pieces *p, uint64_t count, struct gcb_diag *diag);
/* Appends the elements of `l` at positions from `first` to `end` - 1. If `sent` is not NULL, reads
 * them back and appends them to it, as a receiver will get them. */
int gcb_pieces_put(struct gcb_pieces *p, uint64_t first, uint64_t end, const struct gcb_list *l,
                   struct gcb_list *sent, struct gcb_diag *diag);

/* Begins to read a message. Returns 1 if pieces follow; 0 if the sender knows of an infinity or
 * NaN, which spoils the step. GCB_E_CORRUPT; GCB_E_MISMATCH: other flags or coders. */
int gcb_pieces_open(struct gcb_pieces *p, struct gcb_rbuf *in, const void *data, size_t length,
                    unsigned flags, struct gcb_diag *diag);
/* Appends a piece to `out`. An infinity or NaN spoils the step. */
int gcb_pieces_get(struct gcb_pieces *p, uint64_t first, uint64_t end, struct gcb_rbuf *in,
                   struct gcb_list *out, struct gcb_diag *diag);
/* Reads a piece and adds it, times a weight, to a sum. */
int gcb_pieces_add(struct gcb_pieces *p, uint64_t first, uint64_t end, struct gcb_rbuf *in,
                   float weight, struct gcb_list *sum, struct gcb_diag *diag);
/* After the last piece of a message: nothing may be left. */
int gcb_pieces_end(const struct gcb_rbuf *in, struct gcb_diag *diag);

/* Infinities or NaNs spoil the step. */
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
struct gcb_coder *gcb_pieces_encoder(void *state);
bool gcb_pieces_spoilt(const void *state);
bool gcb_pieces_conserves(const void *state);
void gcb_pieces_add_selection(const void *state, float *sum);

#endif
