#ifndef SRC_LIB_EXCHANGE_COLLECTIVE_H
#define SRC_LIB_EXCHANGE_COLLECTIVE_H

#include "src/lib/coder/coder.h"
#include "src/lib/memory/memory.h"

/*
 * The interface of a collective: how the workers' tensors become one sum. Each collective has one
 * const table at the end of its file, and one row in src/lib/codec/collectives.def.
 */

/* The setting for which a collective's state is made. All pointers stay valid as long as the
 * state. */
struct gcb_collective_env {
    struct gcb_method method;
    struct gcb_coder_config coder; /* for coders of the whole tensor; env.decoding is false */
    unsigned workers;
    uint32_t worker;      /* this worker, from 0 to workers - 1 */
    const float *weights; /* weights of all workers */
    float total;          /* sum of the weights */
    /* If true, the caller does not want the update, only the part of its own tensor that arrived.
     * So `receive` may ignore bytes that only the update needs. */
    bool no_update;
};

/* A worker's tensor in one step. The array x stays valid and unchanged until the step ends, unless
 * `sum_into` names it as the array of the update. */
struct gcb_contribution {
    struct gcb_step at;
    const float *x; /* env.coder.env.count floats */
    bool raw; /* x has an infinity or NaN: all workers must get an update with infinities or NaNs */
    bool unchecked; /* nobody has looked for infinities and NaNs yet; `raw` is false */
};

/* The first member of a collective's state. */
struct gcb_collective_base {
    /* The encoder whose clamped count, largest magnitude and density describe the step; NULL: there
     * is none. The exchange destroys the encoder after `fini`. */
    struct gcb_coder *encoder;
    /* From init on: true if the sum over all workers of weight times `own` (see `conclude`) is the
     * update, up to rounding. */
    bool conserves;
    /* True if the update is known to have infinities or NaNs. False when `begin` is called; may
     * become true until the step ends. */
    bool spoilt;
};

/* Functions that return int return 0 or an error, unless their comment says otherwise. */
struct gcb_collective_ops {
    bool checks; /* `begin` looks for infinities and NaNs itself, which spares a pass over x */
    /* Number of rounds in most steps. 0: it depends on the number of workers or, in an all-reduce,
     * on the codec (gcb_exchange_rounds). */
    unsigned rounds;
    size_t state_size;
    /* Fills a zeroed state of `state_size` bytes. Returns any error of gcb_coder_create. fini is
     * called in either case. */
    int (*init)(void *state, const struct gcb_collective_env *env, struct gcb_diag *diag);
    void (*fini)(void *state); /* accepts an all-zero state */
    /* Begins a step. Also ends the step before, if that was not concluded. */
    int (*begin)(void *state, const struct gcb_contribution *in, struct gcb_diag *diag);
    /* Before the first round: names the array of the update. The collective may use this array as
     * its accumulator. `update` may be the tensor of this step. A NULL function: the collective
     * reads the tensor until the end, so the update needs an array of its own. */
    void (*sum_into)(void *state, float *update);
    /* Fills `out`, which is zeroed, with what this worker sends in a round. Returns 1, 0 after the
     * last round, or an error. All workers have the same rounds. */
    int (*send)(void *state, unsigned round, struct gcb_round *out, struct gcb_diag *diag);
    /* Takes what arrived in a round, as gcb_exchange_receive does: what worker `from` sent or, with
     * GCB_ROUND_REDUCE, the combined values. The bytes may be hostile. */
    int (*receive)(void *state, unsigned round, uint32_t from, const void *data, size_t length,
                   struct gcb_diag *diag);
    /*
     * After the last round: writes the weighted sum to `update`. Writes the part of this worker's
     * tensor that the update contains, without the weight, to `own`. A NULL array is not wanted.
     * The caller may also ask for the two arrays in two calls.
     */
    int (*conclude)(void *state, float *update, float *own, struct gcb_diag *diag);
    /* After the last round: adds the part of this worker's tensor that arrived, as gcb_coder_add
     * does. A NULL function: the caller uses `conclude`. */
    int (*settle)(void *state, const struct gcb_addition *to, struct gcb_diag *diag);
    /* After the last round: fills *parts with the sizes of the parts of all bytes that this worker
     * made in the step. Describing is never timed, so this function may be slow. */
    int (*describe)(void *state, struct gcb_message_parts *parts, struct gcb_diag *diag);
    /* Save and restore what the state keeps from step to step, apart from the encoder. NULL: the
     * state keeps nothing. */
    const struct gcb_kept_ops *kept_ops;
    /* After the last round: adds the squared norm of the sums that this worker encoded again to
     * *sum, and the squared norm of the error of this encoding to *lost. A NULL function: the
     * collective encodes no sum. */
    void (*second_error)(void *state, double *lost, double *sum);
    /* After the last round: adds the elements that this worker selected of its tensor, times its
     * weight, to `sum` (env.coder.env.count floats). A NULL function: the collective drops nothing
     * of what workers select. */
    void (*add_selection)(const void *state, float *sum);
};

#define COLLECTIVE(id, name, ...) extern const struct gcb_collective_ops gcb_collective_##name;
#include "src/lib/codec/collectives.def"

#endif
