#ifndef SRC_LIB_EXCHANGE_EXCHANGE_H
#define SRC_LIB_EXCHANGE_EXCHANGE_H

#include "src/lib/exchange/collective.h"

/*
 * One worker's part in an exchange: src/gcbench.h declares struct gcb_exchange and the functions of
 * a step. An exchange joins the worker's memory and a collective. It checks that the caller runs
 * the rounds in order.
 */
struct gcb_exchange_config {
    struct gcb_coder_config coder; /* kernels, queue, path and shapes are copied */
    unsigned workers;
    uint32_t worker;      /* this worker, from 0 to workers - 1 */
    const float *weights; /* of all workers, copied; NULL: each is 1 / workers */
    /* The caller passes NULL as the update to gcb_exchange_finish and gcb_exchange_conclude; see
     * gcb_exchange_learn_update. */
    bool no_update;
};

/* Makes an exchange. The caller frees *out with gcb_exchange_close. Returns 0, GCB_E_INVALID if the
 * method cannot work with these workers or weights, or an error of gcb_coder_create. */
int gcb_exchange_create(struct gcb_exchange **out, const struct gcb_method *method,
                        const struct gcb_exchange_config *config, struct gcb_diag *diag);

/* Changes parameters of the method between two steps, but not its memory or collective. What the
 * memory keeps stays. What the codec keeps (gcb_coder_save) stays if it fits the new parameters.
 * All else that codec and collective keep (powersgd's Q, oktopk's regions) begins anew. Returns 0,
 * or an error of gcb_exchange_create; then the exchange is as before. */
int gcb_exchange_change(struct gcb_exchange *e, const struct gcb_method *method,
                        struct gcb_diag *diag);

/* Number of rounds in most steps of this method. 0: it depends on the number of workers, on the
 * tensor or on the step. */
unsigned gcb_exchange_rounds(const struct gcb_method *method);

/* After gcb_exchange_begin: returns the tensor that this worker sends (count floats), valid until
 * gcb_exchange_learn. It is what the memory has made of x, the tensor given to gcb_exchange_begin.
 * It may be x itself: without a memory, or if x or its sum with the memory is not finite. NULL:
 * this step sends nothing. */
const float *gcb_exchange_input(const struct gcb_exchange *e);

/* Returns the worker's memory, which belongs to the exchange. */
struct gcb_memory *gcb_exchange_memory(struct gcb_exchange *e);

/*
 * gcb_exchange_conclude and then gcb_exchange_learn do what gcb_exchange_finish does.
 *
 * conclude writes the weighted sum to `update` (with memory=ef21, the last update plus this sum),
 * and the part of gcb_exchange_input that arrived to `own`. Both have count floats; a NULL array is
 * not wanted. In a step that sends nothing both become 0.
 *
 * learn tells the memory what arrived: `own` as conclude wrote it. If `own` is NULL, the exchange
 * computes it. After learn, gcb_exchange_input is no longer valid.
 *
 * Both return 0 or an error. After GCB_E_NOMEM the call may be repeated.
 */
int gcb_exchange_conclude(struct gcb_exchange *e, float *update, float *own, struct gcb_diag *diag);
int gcb_exchange_learn(struct gcb_exchange *e, const float *own, struct gcb_diag *diag);

/*
 * Tells the memory the update of the last step (count floats). Only memory=gmc and memory=ef21 need
 * it, ef21 before gcb_exchange_learn; other memories ignore it. gcb_exchange_conclude calls this if
 * it writes an update. After a step without an update, the caller passes the update that another
 * worker's exchange wrote. Otherwise the next gcb_exchange_begin returns GCB_E_INVALID.
 */
void gcb_exchange_learn_update(struct gcb_exchange *e, const float *update);

/* The functions below may be called after gcb_exchange_conclude, until the next step. */

/* Fills `parts` with the sizes of what this worker made in the step: headers, scales, values and
 * positions; all 0 in a step that sends nothing. Returns 0 or an error of gcb_coder_describe. */
int gcb_exchange_describe(struct gcb_exchange *e, struct gcb_message_parts *parts,
                          struct gcb_diag *diag);
/* Returns the encoder whose clamped count, largest magnitude and density describe the step. It
 * belongs to the exchange. NULL with the collectives twoshot, hierarchical, ring and tree. */
struct gcb_coder *gcb_exchange_encoder(struct gcb_exchange *e);
/* True if the sum over all workers of weight times `own` (gcb_exchange_conclude) is the update, up
 * to rounding. With memory=ef21 the sum is the update minus the last step's update. */
bool gcb_exchange_conserves(const struct gcb_exchange *e);
/* For the collectives twoshot, hierarchical, ring and tree, which encode sums of workers again:
 * adds this worker's part of the squared norm of the workers' weighted sum to *sum, and this
 * worker's part of the squared norm of the errors of these encodings to *lost. If all workers add
 * their parts, sqrt(*lost / *sum) is the relative second error. Returns false, and adds nothing,
 * with other collectives. */
bool gcb_exchange_second_error(const struct gcb_exchange *e, double *lost, double *sum);
/*
 * Adds the elements that this worker selected of its tensor, times its weight, to sum[] (count
 * floats). When all workers have added theirs, sum - update is what a sparse all-reduce dropped on
 * the way. Returns false, and adds nothing, if the collective drops nothing.
 */
bool gcb_exchange_add_selection(const struct gcb_exchange *e, float *sum);

#endif
