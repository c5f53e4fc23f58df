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
 * The interface of a codec. Each codec has one const descriptor, at the end of its file, and one
 * row in src/lib/codec/codecs.def. docs/adding-a-codec.md shows how to write one.
 */

enum gcb_caps {
    GCB_CAP_LOSSLESS = 1u << 0, /* decode(encode(x)) == x */
    GCB_CAP_UNBIASED = 1u << 1, /* the mean over seeds is x */
    /* an all-reduce gives the sum of the decoded messages (gcb_reduce_ops) */
    GCB_CAP_LINEAR = 1u << 2,
    GCB_CAP_STATEFUL = 1u << 3,   /* encode depends on earlier calls */
    GCB_CAP_RANDOMISED = 1u << 4, /* the seed and the worker determine random draws */
    /* bytes may differ between CPUs, threads, and FFT or BLAS libraries and their plans */
    GCB_CAP_LIBRARY_MATH = 1u << 5,
    GCB_CAP_NO_CONTRACTION = 1u << 6, /* not RANDOMISED, but the error may exceed the norm of x */
    /* bytes may differ between a device and the CPU, because the device uses a library */
    GCB_CAP_DEVICE_MATH = 1u << 7,
};

/* How workers exchange what a method makes of their tensors (src/lib/exchange/exchange.h). */
enum gcb_collective {
#define COLLECTIVE(id, ...) GCB_COLLECTIVE_##id,
#include "src/lib/codec/collectives.def"
    GCB_COLLECTIVES
};
#define GCB_COLLECTIVE_BIT(collective) (1u << (collective))

/* What the workers send each other. */
enum gcb_sends {
    GCB_SENDS_MESSAGES, /* whole messages, in a gather; each worker adds up those of all workers */
    GCB_SENDS_VALUES,   /* values, combined element by element: struct gcb_reduce_ops */
    /* messages of shares of the tensor; each worker adds up its share and sends the sum to all,
     * encoded again */
    GCB_SENDS_SHARES,
    GCB_SENDS_SUMS, /* parts of sums; how many bytes they take must be measured */
};

struct gcb_collective_facts {
    enum gcb_sends sends;
    bool every;   /* every method can use it */
    bool sparse;  /* a sparse method can use it: without transform, with values of both signs */
    bool ordered; /* the order of the workers changes the update by more than rounding */
};
extern const struct gcb_collective_facts gcb_collectives[GCB_COLLECTIVES];

enum gcb_role { GCB_ROLE_HIDDEN, GCB_ROLE_OUTPUT };

/* What a coder is bound to. Pointers are borrowed and stay valid as long as the coder. */
struct gcb_codec_env {
    uint8_t wire_id;       /* wire id of the codec; the coder sets it */
    uint64_t count;        /* number of elements */
    const uint64_t *shape; /* `rank` dimensions; NULL if several tensors are flattened into one */
    unsigned rank;
    enum gcb_role role;
    uint64_t seed;
    const char *path;  /* the tensor's name; part of the key of random draws */
    bool decoding;     /* the state is for decode, not for encode */
    bool from_message; /* the parameters come from a message, which may be hostile */
    bool feedback;     /* an encoder on a device will get residuals (src/lib/codec/device.h) */
    /* 0, or the workers of an exchange in which struct gcb_reduce_ops will be called */
    unsigned workers;
    uint64_t segment; /* positions in a segment of the sparse codec: 2^31, or less in tests */
    enum gcb_fft_engine fft_engine;
    const struct gcb_kernels *kernels;
    const struct gcb_queue *queue;
    const struct gcb_probe *probe; /* called after each stage of encode and decode; may be NULL */
};

/* One round of an all-reduce. */
struct gcb_reduce_round {
    enum gcb_reduction reduction; /* how values are combined */
    uint64_t count;               /* number of values */
};

/*
 * What every state begins with, on the host and on a device. The coder sets it before init
 * (gcb_codec_base_init); init changes what its codec needs; encode sets the last three fields.
 * max_payload alone has no default.
 */
struct gcb_codec_base {
    struct gcb_codec_env env;
    uint64_t max_payload; /* most bytes of a payload */
    bool length_varies;   /* a payload may be shorter than max_payload */
    bool may_send_raw;    /* encode may return GCB_E_SEND_RAW */
    /* encode sees infinities and NaNs anyway, or in the same pass. Otherwise the coder looks before
     * encode, which takes a pass over the tensor. */
    bool sees_nonfinite;
    double nominal_bits; /* bits per element as the paper counts them; NAN: unknown */
    double density;      /* requested density, in (0, 1]; NAN: the parameters do not set one */
    /* in an all-reduce (env.workers is not 0): depends only on parameters, count, shape and
     * workers */
    unsigned rounds;
    struct gcb_reduce_round round[2];
    /* The coder sets it if the tensor may have an infinity or NaN, and encode sees them. encode
     * then sets it to whether the tensor has one; if so, the coder drops the message. If it is not
     * set before, encode need not look. */
    bool nonfinite;
    uint64_t clamped; /* number of elements that were clamped */
    double largest;   /* largest magnitude; NAN: the encoder did not need it */
};

/* For zeroed memory. */
static inline void gcb_codec_base_init(struct gcb_codec_base *base, const struct gcb_codec_env *env)
{
    base->env = *env;
    base->nominal_bits = base->density = base->largest = (double)NAN;
}

/* What a coder, an encoder, a sum or an exchange copies of its caller's environment. Zero before
 * the first use. */
struct gcb_codec_env_copy {
    struct gcb_kernels kernels;
    struct gcb_queue queue;
    char *path;
    uint64_t *shape;
};
/* Makes `env` point to copies. Defaults: the fastest kernels for this machine, one thread, the path
 * "". GCB_E_NOMEM; call gcb_codec_env_drop in any case. */
int gcb_codec_env_keep(struct gcb_codec_env *env, struct gcb_codec_env_copy *copy,
                       struct gcb_diag *diag);
void gcb_codec_env_drop(struct gcb_codec_env_copy *copy);

/* The training step and the worker that a tensor comes from: part of the key of random draws. */
struct gcb_step {
    uint64_t step;
    uint32_t worker;
};

/* What a payload consists of. */
struct gcb_parts {
    uint64_t scale_bytes, value_bytes, index_bytes; /* their sum is the payload */
    uint64_t kept;        /* positions that were sent; a dense codec sends all */
    uint64_t positions;   /* all positions: elements, or bins of a transform */
    double entropy0_bits; /* total order-0 entropy of the symbols that were sent, in bits */
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
    /* acc is a canvas that holds other messages: if this message does not fit them,
     * GCB_E_MISMATCH */
    bool joins;
};

/* After the addition of decoded element i, if to->mask is not NULL. */
static inline void gcb_addition_mark(const struct gcb_addition *to, uint64_t i, float decoded)
{
    if (decoded == 0.0f)
        return;
    to->mask[i] = 0.0f;
    if (to->clears)
        to->acc[i] = 0.0f;
}

#define GCB_KEPT 3

/* Saves and restores what a state keeps from step to step, if that is more than GCB_KEPT
 * numbers. */
struct gcb_kept_ops {
    uint64_t (*bytes)(const void *state); /* depends only on what the state was made for */
    void (*write)(const void *state, struct gcb_wbuf *out); /* writes `bytes` bytes */
    /* Reads `bytes` bytes, which may be hostile; `in` NULL: becomes like a new state.
     * GCB_E_MISMATCH: no state can have written them; nothing has changed. */
    int (*read)(void *state, struct gcb_rbuf *in);
};

struct gcb_codec_ops {
    /* Bytes. The coder zeroes them, sets the base, stores the parameters, then calls init. A state
     * begins with struct gcb_codec_base. */
    size_t state_size;
    /* `env` is the base's */
    int (*init)(void *state, const struct gcb_codec_env *env, struct gcb_diag *diag);
    void (*fini)(void *state); /* accepts an all-zero state; NULL: nothing to do */
    bool clamps;               /* encode may clamp elements, and counts them */
    bool drops;                /* messages leave positions out: see base.density */
    /* Requires that in->count == env->count and, unless base.sees_nonfinite, that all elements are
     * finite. Never allocates. Returns 0, or GCB_E_SEND_RAW if the method cannot represent this
     * tensor; the coder then drops what was written and sends the tensor raw. */
    int (*encode)(void *state, const struct gcb_step *at, const struct gcb_view *in,
                  struct gcb_wbuf *out);
    /* Reads all of the payload `in`: decodes it to `out` (env->count floats) or, if `to` is not
     * NULL, adds it; the whole payload is checked before anything is added. Any bytes are safe.
     * GCB_E_CORRUPT: the payload is invalid. GCB_E_NOMEM: for scratch, which the first addition
     * allocates. GCB_E_UNSUPPORTED: the payload cannot be added; the caller must decode it and add
     * the elements. */
    int (*read)(void *state, struct gcb_rbuf *in, float *out, const struct gcb_addition *to);
    bool marks; /* an addition may have a mask; otherwise read gets none with one */
    /* Called after a state got other parameters: a decoder's those of another message, an encoder's
     * those of the user. Derives again everything that depends on them. GCB_E_MISMATCH: the state
     * cannot take these parameters, and is unchanged. NULL: the state must be made anew. */
    int (*rebind)(void *state);
    /* The decoder's array of coefficients, to which `read` adds if the codec transforms; NULL if it
     * does not. Sets *floats to its length. `inverse` turns it into elements and overwrites it.
     * GCB_E_NOMEM. */
    float *(*canvas)(void *state, uint64_t *floats);
    int (*inverse)(void *state, float *out);
    /* What an encoder keeps from step to step, as GCB_KEPT numbers, all 0 in a new encoder.
     * Restoring returns GCB_E_MISMATCH for numbers that the encoder cannot have. NULL: nothing is
     * kept. */
    void (*save)(const void *state, uint64_t *kept);
    int (*restore)(void *state, const uint64_t *kept);
    const struct gcb_kept_ops *kept_ops; /* NULL: an encoder keeps nothing else */
    /* Not timed. The state is a decoder's, and read would return 0 for this payload. */
    int (*describe)(void *state, struct gcb_rbuf *in, struct gcb_parts *parts);
};

/* A worker's part in an all-reduce. */
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
    unsigned rounds; /* base.rounds of each state; 0: they depend on the tensor */
    /* Writes the values of a round for the tensor x (env->count floats, all finite): those of
     * at->weight times x. The rounds come in order, each after absorb of the round before. Never
     * allocates. Returns 0, or GCB_E_SEND_RAW if the method cannot represent x; then all workers
     * get infinities or NaNs, or see `adds_whole`. */
    int (*contribute)(void *state, const struct gcb_reduce_at *at, unsigned round, const float *x,
                      void *values);
    /* Takes the combined values of a round except the last. Safe as `combined` below. NULL: there
     * is only one round. */
    void (*absorb)(void *state, unsigned round, const void *combined);
    /*
     * After the last round, whose combined values are `combined`; any integers and any finite
     * floats are safe. Writes the weighted sum of the tensors, as far as the method keeps it, to
     * `update`, and the part of x that the update contains to `own`, without the weight. If
     * `conserves`, the sum over all workers of weight times own is the update, up to rounding.
     * Either may be NULL: not wanted.
     */
    void (*conclude)(void *state, const struct gcb_reduce_at *at, const float *x,
                     const void *combined, float *update, float *own);
    bool conserves;
    /* If a worker's method cannot represent its tensor, all workers add up the tensors in
     * float32, in one more round. All rounds are GCB_SUM_F32, and no value is larger than
     * GCB_SUMMAND_MOST. */
    bool adds_whole;
};

/* No sum of so large values overflows, whatever the order of the additions: there are at most 2^20
 * workers. */
#define GCB_SUMMAND_MOST 0x1p100f

/* A published method: a codec with certain parameters. */
struct gcb_preset {
    const char *name;
    const char *summary;
    const char *source;   /* paper and section */
    const char *defaults; /* "key=value,...": values that replace the codec's defaults */
    const char *memory;   /* such pairs for the parameters in gcb_memory_table; NULL: no memory */
    enum gcb_collective collective; /* the default; GCB_COLLECTIVE_ALLGATHER: the codec's default */
    const char *guarantee;          /* what the method promises, in words */
    /* set if the preset's paper counts bits in another way than the codec; NULL:
     * base.nominal_bits */
    double (*nominal_bits)(const void *state);
    bool found; /* not published: a composition that `sweep --match` has found */
};

struct gcb_codec {
    const char *name;
    const char *summary;
    const char *source;    /* paper and section */
    const char *guarantee; /* what the method promises, in words */
    uint8_t wire_id;       /* a number that is never reused */
    bool baseline;         /* others are compared with it, and answers never recommend it */
    bool cpu_only;         /* no device module has this codec, and device tests leave it out */
    unsigned caps;         /* enum gcb_caps */
    /* Used instead of `caps` if the capabilities depend on parameters; value[i] belongs to row i.
     * NULL: always `caps`. */
    unsigned (*caps_of)(const double *value);
    /* The row of src/tool/run/error_rules.c that says how far each decoded element may be from the
     * original; NULL: elements are not rounded one by one. `error_rule_of` is used instead if the
     * rule depends on parameters; value[i] belongs to row i. */
    const char *error_rule;
    const char *(*error_rule_of)(const double *value);
    /* Do messages of `count` elements leave elements out, so that a memory can tell which elements
     * were sent? Not if the bins of a transform are sent. NULL: no. value[i] belongs to row i. */
    bool (*selects)(const double *value, uint64_t count);
    const struct gcb_param *params; /* NULL: no parameters */
    /* refuses combinations of values that make no sense for any tensor; value[i] belongs to row i;
     * may be NULL */
    int (*check)(const double *value, struct gcb_diag *diag);
    const struct gcb_codec_ops *ops;
    const struct gcb_reduce_ops *reduce; /* NULL: no all-reduce */
    enum gcb_collective collective;      /* the default */
    /* The collectives that the method can use besides those for every method and, with `reduce`,
     * allreduce; as GCB_COLLECTIVE_BITs. If they depend on parameters, `collectives_of` gives all
     * except those for every method; value[i] belongs to row i. */
    unsigned collectives;
    unsigned (*collectives_of)(const double *value);
    const struct gcb_preset *presets; /* a row without a name ends them; NULL: no presets */
};

/* The descriptors of the codecs. */
#define CODEC(name) extern const struct gcb_codec gcb_codec_##name;
#include "src/lib/codec/codecs.def"

/* src/lib/codec/registry.c: codec number i in the order of listings; NULL after the last codec. */
const struct gcb_codec *gcb_codec_at(size_t i);
const struct gcb_codec *gcb_codec_by_wire_id(uint8_t wire_id);

/*
 * The number of the Philox stream of a random draw: XXH3-64 of (path, step, worker, purpose), so
 * that workers draw different numbers. `purpose`: enum gcb_draw_purpose (kernels/philox/philox.h).
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

/* Elements of the tile that begins at element i of `count` > i. */
static inline size_t gcb_tile_length(uint64_t count, uint64_t i)
{
    return count - i < GCB_TILE ? (size_t)(count - i) : GCB_TILE;
}

/* Total order-0 entropy of all symbols, in bits. histogram[i] symbols have the value i, for i <
 * count. */
double gcb_entropy0(const uint64_t *histogram, size_t count);

#endif
