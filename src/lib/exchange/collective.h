#ifndef SRC_LIB_EXCHANGE_COLLECTIVE_H
#define SRC_LIB_EXCHANGE_COLLECTIVE_H

#include "src/lib/coder/coder.h"
#include "src/lib/memory/memory.h"

/*
 * The interface of a collective: how the workers' tensors become one sum. Each collective has one
 * const table at the end of its file, and one row in src/lib/codec/collectives.def.
 */

/* What a collective's state is bound to. All pointers are valid as long as the state. */
struct gcb_collective_env {
    struct gcb_method method;
    struct gcb_coder_config coder; /* for coders of the whole tensor; env.decoding is false */
    unsigned workers;
    uint32_t worker;
    const float *weights; /* of all workers */
    float total;          /* sum of the weights */
    /* The caller does not want the update, only what arrived of its own tensor: receive may ignore
     * bytes that are only needed for the update. */
    bool no_update;
};

/* A worker's tensor in one step. It stays valid and unchanged until the step ends. */
struct gcb_contribution {
    struct gcb_step at;
    const float *x; /* env.coder.env.count floats */
    bool raw; /* x has an infinity or NaN: all workers must get an update with infinities or NaNs */
    bool unchecked; /* nobody has looked for infinities and NaNs yet; `raw` is false */
};

struct gcb_collective_ops {
    bool checks; /* begin takes unchecked tensors, which spares a pass over them */
    /* Rounds of most steps; 0: it depends on the number of workers. NULL: one round. */
    unsigned (*rounds)(const struct gcb_method *method);
    /* Makes a state. May fail in any way that gcb_coder_create may. */
    int (*create)(void **state, const struct gcb_collective_env *env, struct gcb_diag *diag);
    void (*destroy)(void *state);
    /* Takes another method, of the same memory and collective. Returns false, and changes nothing,
     * if the state must be made anew. NULL: it must. */
    bool (*change)(void *state, const struct gcb_method *method);
    /* Begins a step. May end a step that was not concluded. */
    int (*begin)(void *state, const struct gcb_contribution *in, struct gcb_diag *diag);
    /* Before the first round: names the array of the update, which then is the accumulator. It may
     * be the tensor of this step. NULL: the collective reads the tensor until the end. */
    void (*sum_into)(void *state, float *update);
    /* Fills what to send in a round and returns 1, or returns 0 after the last round. All workers
     * have the same rounds. `out` is zeroed before. */
    int (*send)(void *state, unsigned round, struct gcb_round *out, struct gcb_diag *diag);
    /* Takes what arrived: see gcb_exchange_receive. The bytes may be hostile. */
    int (*receive)(void *state, unsigned round, uint32_t from, const void *data, size_t length,
                   struct gcb_diag *diag);
    /*
     * After the last round: writes the weighted sum to `update`, and to `own` what of this worker's
     * tensor it contains, not weighted. Either may be NULL: not wanted. May be called twice, first
     * for one, then for the other.
     */
    int (*conclude)(void *state, float *update, float *own, struct gcb_diag *diag);
    /* After the last round: adds what arrived of this worker's tensor, as gcb_coder_add does. NULL:
     * the caller uses conclude. */
    int (*settle)(void *state, const struct gcb_addition *to, struct gcb_diag *diag);
    /* After the last round, not timed: the parts of all bytes that this worker made in the step. */
    int (*describe)(void *state, struct gcb_message_parts *parts, struct gcb_diag *diag);
    /* The encoder whose clamped count, largest magnitude and density describe the step, or NULL. */
    struct gcb_coder *(*encoder)(void *state);
    /* What the state keeps from step to step, besides that encoder. NULL: nothing. */
    const struct gcb_kept_ops *kept_ops;
    /* After the last round: did some worker give infinities or NaNs, so that the update has them?
     * NULL: never, or unknown. */
    bool (*spoilt)(const void *state);
    /* True if the sum over all workers of weight times own is the update, up to rounding. */
    bool (*conserves)(const void *state);
    /* After the last round: adds to *sum the squared norm of the sums that this worker encoded
     * again, and to *lost that of what this encoding lost. All workers together encode the weighted
     * sum of what arrived. NULL: no sum is encoded again. */
    void (*second_error)(const void *state, double *lost, double *sum);
    /* After the last round: adds what this worker selected of its tensor, times its weight, to
     * `sum`. The update may have less, because the selection is thinned on its way. NULL: it is
     * not. */
    void (*add_selection)(const void *state, float *sum);
};

#define COLLECTIVE(id, name, ...) extern const struct gcb_collective_ops gcb_collective_##name;
#include "src/lib/codec/collectives.def"

#endif
