#ifndef SRC_LIB_CODEC_CODEC_H
#define SRC_LIB_CODEC_CODEC_H

#include <math.h>
#include <stdbool.h>

#include "kernels/fft/fft.h"
#include "kernels/kernels.h"
#include "src/lib/base/diag.h"
#include "src/lib/base/queue.h"
#include "src/lib/codec/param.h"
#include "src/lib/codec/probe.h"
#include "src/lib/tensor/tensor.h"
#include "src/lib/wire/buf.h"

/*
 * The interface of a codec. Each codec of this library has one const descriptor, near the end of
 * its file, and one row in src/lib/codec/codecs.def. docs/adding-a-codec.md shows how to write a
 * codec.
 */

enum gcb_caps {
    GCB_CAP_LOSSLESS = 1u << 0, /* decode(encode(x)) == x */
    GCB_CAP_UNBIASED = 1u << 1, /* the mean of decode(encode(x)) over seeds is x */
    /* an all-reduce gives the sum of the decoded messages, up to rounding (gcb_reduce_ops) */
    GCB_CAP_LINEAR = 1u << 2,
    GCB_CAP_STATEFUL = 1u << 3,   /* encode depends on earlier calls */
    GCB_CAP_RANDOMISED = 1u << 4, /* random draws, which differ between workers, change messages */
    /* the bytes of a message may differ between CPUs, numbers of threads, and FFT or BLAS libraries
     * and their plans */
    GCB_CAP_LIBRARY_MATH = 1u << 5,
    /* the error may exceed the norm of x, and not only because of random draws */
    GCB_CAP_NO_CONTRACTION = 1u << 6,
    /* the bytes of a message may differ between a device and the CPU, because the device uses a
     * library */
    GCB_CAP_DEVICE_MATH = 1u << 7,
    /* not of this library (src/lib/codec/foreign.h) */
    GCB_CAP_FOREIGN = 1u << 8,
};

/* How workers exchange their messages or values (src/lib/exchange/exchange.h). */
enum gcb_collective {
#define COLLECTIVE(id, ...) GCB_COLLECTIVE_##id,
#include "src/lib/codec/collectives.def"
    GCB_COLLECTIVES
};
#define GCB_COLLECTIVE_BIT(collective) (1u << (collective))
/* Collectives of methods whose messages have every element and not only its sign. allgather and
 * allreduce are not listed here (see `collectives` in struct gcb_codec). */
#define GCB_COLLECTIVES_DENSE \
    (GCB_COLLECTIVE_BIT(GCB_COLLECTIVE_TWOSHOT) | GCB_COLLECTIVE_BIT(GCB_COLLECTIVE_RING) | \
     GCB_COLLECTIVE_BIT(GCB_COLLECTIVE_TREE) | GCB_COLLECTIVE_BIT(GCB_COLLECTIVE_HIERARCHICAL))

/* What the workers send each other. */
enum gcb_sends {
    GCB_SENDS_MESSAGES, /* whole messages, to all workers; each worker adds up all messages */
    GCB_SENDS_VALUES,   /* values, combined element by element: struct gcb_reduce_ops */
    /* A message for each share of the tensor, to the worker that owns the share. The owner adds up
     * the messages, encodes the sum and sends it to all workers. With collective=hierarchical,
     * first within each node, then between nodes. */
    GCB_SENDS_SHARES,
    /* Sums of several workers, each encoded as a message: a worker decodes a sum, adds its own
     * tensor and encodes again. The last message goes to all workers. */
    GCB_SENDS_HOPS,
    GCB_SENDS_SUMS, /* sums of several workers' sparse elements; the data decides how many bytes */
};

struct gcb_collective_facts {
    enum gcb_sends sends;
    bool every;   /* every method can use it */
    bool sparse;  /* sparse methods without a transform, with values of both signs, can use it */
    bool ordered; /* the order of the workers changes the update by more than rounding */
    bool named;   /* payoff considers it only if the user names it or has replayed it */
};
extern const struct gcb_collective_facts gcb_collectives[GCB_COLLECTIVES];

/* The layer that a tensor belongs to. RedSync does not quantise the output layer. */
enum gcb_role { GCB_ROLE_HIDDEN, GCB_ROLE_OUTPUT };

/* The tensor and the setting for which a coder is made. A state borrows the pointers. A coder
 * copies what they point to, except the probe, which must stay valid as long as the coder. */
struct gcb_codec_env {
    uint8_t wire_id;       /* wire id of the codec; the coder sets it */
    uint64_t count;        /* number of elements */
    const uint64_t *shape; /* `rank` dimensions; NULL: unknown, or several tensors are joined */
    unsigned rank;
    /* If several tensors are flattened into one: the rank of the first, its dimensions, the rank of
     * the second, and so on; `joined_length` numbers. NULL: unknown, or a single tensor. */
    const uint64_t *joined;
    size_t joined_length;
    enum gcb_role role;
    uint64_t seed;
    const char *path;  /* the tensor's name, on which random draws depend */
    bool decoding;     /* the state is for decode, not for encode */
    bool from_message; /* the parameters come from a message, which may be hostile */
    bool feedback;     /* an encoder on a device will get residuals (src/lib/codec/device.h) */
    unsigned workers;  /* number of workers, if struct gcb_reduce_ops will be called; otherwise 0 */
    uint64_t segment;  /* positions in a segment of the sparse codec; 0: the coder uses 2^31 */
    enum gcb_fft_engine fft_engine;
    const struct gcb_kernels *kernels;
    const struct gcb_queue *queue;
    const struct gcb_probe *probe; /* called after each stage of the sparse codec; may be NULL */
};

/* What each worker contributes to one round of an all-reduce. */
struct gcb_reduce_round {
    enum gcb_reduction reduction; /* how values are combined */
    uint64_t count;               /* number of values */
};

/*
 * The beginning of every state, for the CPU and for a device. Before init, the coder sets env, sets
 * nominal_bits and density to NAN, and all else to 0. init sets max_payload, and changes other
 * fields if its codec needs that. The last three fields are results.
 */
struct gcb_codec_base {
    struct gcb_codec_env env;
    uint64_t max_payload; /* most bytes of a payload */
    bool length_varies;   /* a payload may be shorter than max_payload */
    bool may_send_raw;    /* encode may return GCB_E_SEND_RAW */
    /* encode itself finds infinities and NaNs (see `nonfinite`). Otherwise the coder looks for them
     * before encode, which costs a pass over the tensor, except with GCB_NONFINITE_TRUSTED. */
    bool sees_nonfinite;
    double nominal_bits; /* bits per element as the paper counts them; NAN: unknown */
    double density;      /* requested density, in (0, 1]; NAN: the parameters do not set one */
    /* The rounds of an all-reduce, if env.workers is not 0. They depend only on parameters, count,
     * shape and workers; with `begin` (struct gcb_reduce_ops) also on what all workers know. */
    unsigned rounds;
    struct gcb_reduce_round round[3];
    /* Only with sees_nonfinite. Before encode, the coder sets this field to true if the tensor may
     * have an infinity or NaN; if it is false, encode need not look for them. encode sets the field
     * to true if the tensor has an infinity or NaN, otherwise to false. If it is true afterwards,
     * the coder drops the message, except with GCB_NONFINITE_TRUSTED. */
    bool nonfinite;
    uint64_t clamped; /* number of elements that the last encode clamped */
    /* Why the last encode, read or describe failed. NULL: the status says it. */
    const char *words;
};

/* Copies of what an environment points to, except the probe, for an object that outlives its
 * caller's environment. The caller zeroes the struct before the first use. */
struct gcb_codec_env_copy {
    struct gcb_kernels kernels;
    struct gcb_queue queue;
    char *path;
    uint64_t *shape, *joined;
};
/* Makes the copies and lets `env` point to them. If `kernels`, `queue` or `path` is NULL, `env`
 * gets the fastest kernels for this machine, one thread, or "". Returns 0 or GCB_E_NOMEM. Call
 * gcb_codec_env_drop in either case. */
int gcb_codec_env_keep(struct gcb_codec_env *env, struct gcb_codec_env_copy *copy,
                       struct gcb_diag *diag);
/* Frees the copies. The struct may be all zero. */
void gcb_codec_env_drop(struct gcb_codec_env_copy *copy);

/* The training step and the worker from which a tensor comes. Random draws depend on both. */
struct gcb_step {
    uint64_t step;
    uint32_t worker;
};

/* What a payload consists of. */
struct gcb_parts {
    uint64_t scale_bytes, value_bytes, index_bytes; /* their sum is the payload's length */
    uint64_t kept;        /* positions that were sent; a dense codec sends all */
    uint64_t positions;   /* all positions: elements, or bins of a transform */
    double entropy0_bits; /* total order-0 entropy of the symbols that were sent, in bits */
};

/* The squared error of a decoded tensor, by its cause. Each finite element counts in one sum. */
struct gcb_error_split {
    double dead_zone; /* the element became zero */
    double scale;     /* the element is beyond the format's largest value times its block's scale */
    double grid;      /* all others: the element was rounded to a value of the format */
};

/* The arrays to which a message is added. */
struct gcb_addition {
    /* acc[i] += weight * decoded element i; the product and the sum are rounded to float32 */
    float *acc;
    float weight;
    /* if not NULL: mask[i] becomes 0 if decoded element i is not 0 (gcb_addition_mark); may be
     * acc */
    float *mask;
    /* acc[i] becomes 0 too, after the addition; needs a mask */
    bool clears;
    /* acc is an array of coefficients (`canvas` in struct gcb_codec_ops) that already holds other
     * messages; a message that cannot be added to them is refused with GCB_E_MISMATCH */
    bool joins;
};

/* Marks decoded element i as sent, after it was added. to->mask must not be NULL. */
static inline void gcb_addition_mark(const struct gcb_addition *to, uint64_t i, float decoded)
{
    if (decoded == 0.0f)
        return;
    to->mask[i] = 0.0f;
    if (to->clears)
        to->acc[i] = 0.0f;
}

/* Number of values that `save` and `restore` (struct gcb_codec_ops) pass. */
#define GCB_KEPT 3

/* Saves and restores what an encoder or a collective keeps from step to step, if that is more than
 * GCB_KEPT numbers. */
struct gcb_kept_ops {
    /* Number of bytes; depends only on parameters and environment. */
    uint64_t (*bytes)(const void *state);
    void (*write)(const void *state, struct gcb_wbuf *out); /* writes `bytes` bytes */
    /* Restores the state from `bytes` bytes, which may be hostile. If `in` is NULL, the state
     * becomes like a new one. Returns 0, or GCB_E_MISMATCH if no state can have written these
     * bytes. A failed read leaves an encoder's state unchanged, but may leave a collective's state
     * half restored: the caller must drop it. */
    int (*read)(void *state, struct gcb_rbuf *in);
};

struct gcb_codec_ops {
    /* Bytes of a state. A state begins with struct gcb_codec_base. The coder zeroes the state, sets
     * the base, stores the parameters, then calls init. */
    size_t state_size;
    /* Allocates scratch and makes plans. `env` is the base's. Returns 0 or an error; fini is called
     * in either case. */
    int (*init)(void *state, const struct gcb_codec_env *env, struct gcb_diag *diag);
    void (*fini)(void *state); /* accepts an all-zero state; NULL: nothing to do */
    bool clamps;               /* encode may clamp elements, and counts them in base.clamped */
    bool drops;                /* messages leave positions out: see base.density */
    /* Appends the payload of `in`, which has env->count elements. If an element is not finite, any
     * payload is fine: either encode reports it (base.sees_nonfinite), or the caller has said that
     * there is none. Allocates nothing itself, but FFTW and OpenBLAS may. Returns 0, GCB_E_NOSPACE,
     * GCB_E_NOMEM if FFTW would find no memory, or GCB_E_SEND_RAW if the method cannot represent
     * this tensor. After GCB_E_SEND_RAW the coder drops what was appended and sends the tensor raw.
     * A foreign method may also return other errors, as may its `read` and `describe`. */
    int (*encode)(void *state, const struct gcb_step *at, const struct gcb_view *in,
                  struct gcb_wbuf *out);
    /*
     * Reads a whole payload, which may be hostile. If `to` is NULL, decodes to `out` (env->count
     * floats). Otherwise adds to the arrays of `to`, after the whole payload has been checked.
     * Returns 0 or:
     *   GCB_E_CORRUPT      the payload is invalid
     *   GCB_E_MISMATCH     to->joins, and the payload does not fit the messages in to->acc
     *   GCB_E_NOMEM        no memory for what the payload needs: tables for its tiles, FFTW's
     *                      scratch, or scratch that the first addition allocates
     *   GCB_E_UNSUPPORTED  the payload cannot be added; the caller must decode it and add the
     *                      elements
     */
    int (*read)(void *state, struct gcb_rbuf *in, float *out, const struct gcb_addition *to);
    bool marks; /* `read` accepts an addition with a mask; otherwise callers never pass a mask */
    /* Called after new parameters were stored in a state: a decoder gets those of another message,
     * an encoder those of the user. Derives everything that depends on parameters again. Returns 0,
     * or GCB_E_MISMATCH if the state must be made anew for these parameters; then everything
     * derived is unchanged. NULL: the state must always be made anew. */
    int (*rebind)(void *state);
    /* Returns the decoder's array of coefficients, of *floats floats. The caller passes it to
     * `read` as the accumulator, so that messages are added before the inverse transform. Returns
     * NULL if these parameters have no transform. NULL: the codec has no transforms. */
    float *(*canvas)(void *state, uint64_t *floats);
    /* Turns the array of coefficients into elements (`out`) and overwrites the array. Returns 0 or
     * GCB_E_NOMEM. */
    int (*inverse)(void *state, float *out);
    /* Save and restore what an encoder keeps from step to step: GCB_KEPT numbers, all 0 in a new
     * encoder. `restore` returns 0, or GCB_E_MISMATCH for numbers that the encoder cannot have.
     * NULL: nothing is kept. */
    void (*save)(const void *state, uint64_t *kept);
    int (*restore)(void *state, const uint64_t *kept);
    const struct gcb_kept_ops *kept_ops; /* NULL: an encoder keeps nothing else */
    /* Fills `parts`, which the caller has zeroed, for a payload that `read` accepts. The state is a
     * decoder's. Describing is never timed, so it may be slow. Returns 0, GCB_E_CORRUPT or
     * GCB_E_NOMEM. */
    int (*describe)(void *state, struct gcb_rbuf *in, struct gcb_parts *parts);
    /* Adds to `sums` the squared differences between x and y, which `read` has decoded from the
     * payload. Leaves out elements of x that are not finite. Never timed. Returns 0 or
     * GCB_E_CORRUPT. NULL: the codec's error is not split. */
    int (*split)(void *state, struct gcb_rbuf *in, const float *x, const float *y,
                 struct gcb_error_split *sums);
};

/* What a worker knows about a step of an all-reduce. */
struct gcb_reduce_at {
    struct gcb_step step;
    unsigned workers;
    float weight; /* of this worker's tensor in the sum */
    float total;  /* sum of all workers' weights */
};

/*
 * How messages are combined without decoding. The state is an encoder's whose env->workers is not
 * 0. In each round all workers contribute the same number of values, and all get the same combined
 * values.
 */
struct gcb_reduce_ops {
    unsigned rounds; /* base.rounds of each state; 0: they depend on the tensor or the step */
    /* Sets base.rounds and base.round for a step. `absorb` may set entries of base.round for later
     * rounds. NULL: all steps have the same rounds. */
    void (*begin)(void *state, const struct gcb_reduce_at *at);
    /* Writes the values that this worker contributes to a round for at->weight times x:
     * base.round[round].count values. x has env->count floats, all finite. The caller runs the
     * rounds in order and calls absorb between two rounds. Allocates nothing itself, but OpenBLAS
     * may. Returns 0, or GCB_E_SEND_RAW if the method cannot represent x. Then all workers get
     * infinities or NaNs, unless `adds_whole`. */
    int (*contribute)(void *state, const struct gcb_reduce_at *at, unsigned round, const float *x,
                      void *values);
    /* Takes the combined values of each round except the last. Any integers and any finite floats
     * are safe. NULL: there is only one round. */
    void (*absorb)(void *state, unsigned round, const void *combined);
    /*
     * Takes the combined values of the last round. Any integers and any finite floats are safe.
     * Writes the weighted sum of the tensors, as far as the method keeps it, to `update`. Writes
     * the part of x that the update contains, without the weight, to `own`. Both have env->count
     * floats; a NULL array is not wanted.
     */
    void (*conclude)(void *state, const struct gcb_reduce_at *at, const float *x,
                     const void *combined, float *update, float *own);
    /* The sum of weight * own over all workers is the update, up to rounding, unless the weights
     * add up to 0. */
    bool conserves;
    /* If the method cannot represent a worker's tensor, all workers add up their tensors in
     * float32, in one more round. All rounds are GCB_SUM_F32. No value is larger than
     * GCB_SUMMAND_MOST, except in rounds that add up whole tensors. */
    bool adds_whole;
};

/* The largest magnitude of a value with `adds_whole`. There are at most 2^20 workers, so no sum of
 * these values overflows, whatever the order of the additions. */
#define GCB_SUMMAND_MOST 0x1p100f

/* A codec with certain parameters, under a name: a published method, or a composition (`found`). */
struct gcb_preset {
    const char *name;
    const char *summary;
    const char *source;   /* paper and section */
    const char *defaults; /* "key=value,...": values that replace the codec's defaults */
    const char *memory; /* "key=value,..." for the tables of the memory and the exchange; or NULL */
    enum gcb_collective collective; /* the default; GCB_COLLECTIVE_ALLGATHER: the codec's default */
    const char *guarantee;          /* what the method promises, in words */
    /* Bits per element as the preset's paper counts them. NULL: base.nominal_bits. */
    double (*nominal_bits)(const void *state);
    bool cpu_only; /* no device module has its stages */
    bool found;    /* not published: a composition that `sweep --match` has found */
};

struct gcb_codec {
    const char *name;
    const char *text;  /* a foreign method's parameters, which only it reads; NULL or "": none */
    const char *timed; /* what the method's times include: GCB_FIELD_TIMED; NULL: only the call */
    const char *summary;
    const char *source;    /* paper and section */
    const char *guarantee; /* what the method promises, in words */
    uint8_t wire_id;       /* the codec in message headers; gcbench never reuses an id */
    bool baseline;         /* other methods are compared with it; answers never recommend it */
    bool cpu_only;         /* no device module has this codec, and device tests leave it out */
    unsigned caps;         /* enum gcb_caps */
    /* In the functions, value[i] is the value of the parameter in row i of `params`. */

    /* The capabilities, if they depend on parameters. NULL: always `caps`. */
    unsigned (*caps_of)(const double *value);
    /* The row of src/tool/run/error_rules.c that says how far each decoded element may be from the
     * original. NULL: there is no row, or error_rule_of returns it. */
    const char *error_rule;
    /* Returns the error rule, if it depends on parameters. NULL: always `error_rule`. */
    const char *(*error_rule_of)(const double *value);
    /* True if messages of `count` elements leave elements out, so that a memory can tell which
     * elements were sent. False if the bins of a transform are sent. NULL: never. */
    bool (*selects)(const double *value, uint64_t count);
    const struct gcb_param *params; /* NULL: no parameters */
    /* Refuses values in their ranges that make no sense for any tensor, alone or together: returns
     * 0 or GCB_E_INVALID. NULL: all are accepted. */
    int (*check)(const double *value, struct gcb_diag *diag);
    const struct gcb_codec_ops *ops;
    const struct gcb_reduce_ops *reduce; /* NULL: no all-reduce */
    enum gcb_collective collective;      /* the default */
    /* The collectives that the method can use, as GCB_COLLECTIVE_BITs. Left out are those that
     * every method can use, and allreduce, which `reduce` implies. */
    unsigned collectives;
    /* Returns the collectives that the method can use, if they depend on parameters. They include
     * allreduce if it is possible: `reduce` does not imply it here. NULL: always `collectives`. */
    unsigned (*collectives_of)(const double *value);
    const struct gcb_preset *presets; /* a row without a name ends them; NULL: no presets */
};

/* The descriptors of the codecs. */
#define CODEC(name) extern const struct gcb_codec gcb_codec_##name;
#include "src/lib/codec/codecs.def"

/* src/lib/codec/registry.c: returns codec number i in the order of listings, without foreign
 * methods; NULL after the last codec. */
const struct gcb_codec *gcb_codec_at(size_t i);
/* Returns the codec with this wire id, also that of a foreign method, or NULL. */
const struct gcb_codec *gcb_codec_by_wire_id(uint8_t wire_id);

/*
 * Returns the number of the Philox stream of a random draw: XXH3-64 of (step, worker, purpose) with
 * XXH3-64 of the path as its seed. `purpose` is enum gcb_draw_purpose (kernels/philox/philox.h).
 * Workers that must draw the same numbers pass the same worker.
 */
uint64_t gcb_draw_stream(const struct gcb_codec_env *env, const struct gcb_step *at,
                         uint32_t purpose);

/* The streams of a stochastic rounding (kernels/dither). `coarse` gives a byte for each element;
 * `fine` gives 24 more bits if the byte does not decide. */
struct gcb_rounding_draw {
    uint64_t coarse, fine;
};
struct gcb_rounding_draw gcb_rounding_draw(const struct gcb_codec_env *env,
                                           const struct gcb_step *at);

#define GCB_TILE 4096 /* elements that codecs work on at a time; they fit the first-level cache */

/* Number of elements of the tile that begins at element i; i < count. */
static inline size_t gcb_tile_length(uint64_t count, uint64_t i)
{
    return count - i < GCB_TILE ? (size_t)(count - i) : GCB_TILE;
}

/* Total order-0 entropy of all symbols, in bits. histogram[i] is how often symbol i occurs, for i <
 * count. */
double gcb_entropy0(const uint64_t *histogram, size_t count);

#endif
