#ifndef SRC_LIB_EXCHANGE_EXCHANGE_H
#define SRC_LIB_EXCHANGE_EXCHANGE_H

#include "src/lib/exchange/collective.h"

/*
 * One worker's part in an exchange (struct gcb_exchange in src/gcbench.h, which has the functions
 * of a step). It joins the worker's memory and a collective, and checks that the caller keeps the
 * order of rounds.
 */
struct gcb_exchange_config {
    struct gcb_coder_config coder; /* kernels, queue, path and shape are copied */
    unsigned workers;
    uint32_t worker;
    const float *weights; /* copied; NULL: each is 1 / workers */
    /* gcb_exchange_finish and gcb_exchange_conclude get update NULL; see
     * gcb_exchange_learn_update */
    bool no_update;
};

int gcb_exchange_create(struct gcb_exchange **out, const struct gcb_method *method,
                        const struct gcb_exchange_config *config, struct gcb_diag *diag);

/* Changes parameters of the method between two steps, but not its memory or collective. What the
 * memory keeps stays. What the codec keeps (gcb_coder_save) stays if it fits the new parameters.
 * After a failure the exchange is as before. */
int gcb_exchange_change(struct gcb_exchange *e, const struct gcb_method *method,
                        struct gcb_diag *diag);

/* Rounds of most steps of this method; 0: it depends on the number of workers. */
unsigned gcb_exchange_rounds(const struct gcb_method *method);

/* After gcb_exchange_begin: what the memory made of the tensor, and what is sent; NULL if this step
 * sends nothing. */
const float *gcb_exchange_input(const struct gcb_exchange *e);

/* The worker's memory, for its residual. */
struct gcb_memory *gcb_exchange_memory(struct gcb_exchange *e);

/*
 * gcb_exchange_finish in two calls. The first writes the update, and to `own` what of
 * gcb_exchange_input arrived; in a step that sends nothing both are 0. Either may be NULL: not
 * wanted. In the second the memory learns what arrived: that is `own`, or NULL if the exchange must
 * work it out. The memory then overwrites gcb_exchange_input.
 */
int gcb_exchange_conclude(struct gcb_exchange *e, float *update, float *own, struct gcb_diag *diag);
int gcb_exchange_learn(struct gcb_exchange *e, const float *own, struct gcb_diag *diag);

/*
 * A memory may need the update of each step (memory=gmc). gcb_exchange_conclude hands it over if it
 * writes one. If the caller wanted none, it must give the update (count floats) that another
 * worker's exchange wrote, before the next step: otherwise gcb_exchange_begin fails with
 * GCB_E_INVALID. Other memories ignore the update, so a caller that runs all workers with no_update
 * except one may always call this for the others.
 */
void gcb_exchange_learn_update(struct gcb_exchange *e, const float *update);

/* After gcb_exchange_conclude, until the next step: see struct gcb_collective_ops. In a step that
 * sends nothing the parts are 0. */
int gcb_exchange_describe(struct gcb_exchange *e, struct gcb_message_parts *parts,
                          struct gcb_diag *diag);
struct gcb_coder *gcb_exchange_encoder(struct gcb_exchange *e);
bool gcb_exchange_conserves(const struct gcb_exchange *e);
/* Adds this worker's part of two squared norms: of the workers' weighted sum (*sum), and of what
 * the second encoding of collective=twoshot lost of it (*lost). Over all workers, sqrt(*lost /
 * *sum) is the relative second error. Returns false, and adds nothing, if the collective encodes
 * only once. */
bool gcb_exchange_second_error(const struct gcb_exchange *e, double *lost, double *sum);
/*
 * Adds what this worker selected of its tensor, times its weight, to sum[] (count floats). After
 * all workers did so, sum - update is what a sparse all-reduce dropped on the way. Returns false,
 * and adds nothing, if the collective drops nothing.
 */
bool gcb_exchange_add_selection(const struct gcb_exchange *e, float *sum);

#endif
