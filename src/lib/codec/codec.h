#ifndef SRC_LIB_CODEC_CODEC_H
#define SRC_LIB_CODEC_CODEC_H

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
 * What a compressor is. One const descriptor per codec, at the bottom of its file, and one row in
 * src/lib/codec/registry.c. docs/adding-a-codec.md walks through one.
 */

enum gcb_caps {
    GCB_CAP_LOSSLESS = 1u << 0,     /* decode(encode(x)) == x */
    GCB_CAP_UNBIASED = 1u << 1,     /* the mean over seeds is x */
    GCB_CAP_LINEAR = 1u << 2,       /* messages of several workers could be summed undecoded */
    GCB_CAP_STATEFUL = 1u << 3,     /* encode depends on earlier calls */
    GCB_CAP_RANDOMISED = 1u << 4,   /* draws by the seed, apart for every worker */
    GCB_CAP_LIBRARY_MATH = 1u << 5, /* bytes may differ between FFT libraries, plans, devices */
};

enum gcb_role { GCB_ROLE_HIDDEN, GCB_ROLE_OUTPUT };

/* What a coder is bound to. Borrowed pointers stay valid as long as the coder. */
struct gcb_codec_env {
    uint64_t count;        /* elements */
    const uint64_t *shape; /* rank of them; a matrix method needs it. NULL when flattened */
    unsigned rank;
    enum gcb_role role;
    uint64_t seed;
    const char *path; /* of the tensor; part of the key of random draws */
    bool decoding;    /* take the scratch of decode, not that of encode */
    bool feedback; /* an encoder on a device: it may be given residuals (src/lib/codec/device.h) */
    uint64_t segment; /* positions a segment holds: 2^31; tests make it small */
    enum gcb_fft_rigor fft_rigor;
    const struct gcb_kernels *kernels;
    const struct gcb_queue *queue;
    const struct gcb_probe *probe; /* told of the stages of encode; may be NULL */
};

/* When and where a tensor came from: part of the key of random draws. */
struct gcb_step {
    uint64_t step;
    uint32_t worker;
};

/* What a message is made of, from its payload; bytes are of the payload alone. */
struct gcb_parts {
    uint64_t scale_bytes, value_bytes, index_bytes; /* add up to the payload */
    uint64_t kept;        /* sparsifiers: positions (bins) sent; else all elements */
    uint64_t positions;   /* of how many: elements, or bins of a transform */
    double entropy0_bits; /* order-0 entropy of the symbols sent, over the whole message */
};

struct gcb_codec_ops {
    size_t state_size; /* zeroed, then parameters stored, then init */
    int (*init)(void *state, const struct gcb_codec_env *env, struct gcb_diag *diag);
    void (*fini)(void *state);                  /* accepts an all-zero state; NULL: nothing to do */
    uint64_t (*max_payload)(const void *state); /* bytes, for the element count of env */
    /* in->count == env->count, all finite. Never allocates. GCB_E_SEND_RAW: the method cannot represent this
     * tensor, so the coder sends it raw; what was written to `out` is dropped. */
    int (*encode)(void *state, const struct gcb_step *at, const struct gcb_view *in,
                  struct gcb_wbuf *out);
    /* `in` is the payload, all of which must be consumed; survives any bytes: GCB_E_CORRUPT. */
    int (*decode)(void *state, struct gcb_rbuf *in, const struct gcb_mview *out);
    /* untimed; on a decoding state; the payload has been decoded before without error */
    int (*describe)(void *state, struct gcb_rbuf *in, struct gcb_parts *parts);
    /* elements the last encode clamped; NULL: none ever are */
    uint64_t (*clamped)(const void *state);
    /* largest magnitude the last encode coded; NAN: it had no need to look. NULL: never does */
    double (*largest)(const void *state);
    /* bits per element as the paper counts them, for this state's parameters and count; NAN: unknown */
    double (*nominal_bits)(const void *state);
    /* density asked for, in (0, 1], or NAN if none was; NULL where nothing is dropped */
    double (*density)(const void *state);
};

/* A published method that is a codec with certain parameters. */
struct gcb_preset {
    const char *name;
    const char *summary;
    const char *source;    /* paper and section */
    const char *defaults;  /* "key=value,..." over the codec's own */
    const char *memory;    /* the same of gcb_memory_table; NULL: none */
    const char *guarantee; /* what the method promises, in words */
    /* where its paper counts otherwise; NULL: as the codec */
    double (*nominal_bits)(const void *state);
};

struct gcb_codec {
    const char *name;
    const char *summary;
    const char *source;    /* paper and section */
    const char *guarantee; /* what the method promises, in words */
    uint8_t wire_id;       /* never reused */
    bool cpu_only;         /* no device module has this codec, and device tests leave it out */
    unsigned caps;         /* of enum gcb_caps */
    /* Instead of caps, if they depend on parameters (values by row); NULL: they do not. */
    unsigned (*caps_of)(const double *value);
    /* The row of src/tool/verify/error_rules.c that says how far each decoded element may be from the original; NULL:
     * elements are not rounded one by one. */
    const char *error_rule;
    const struct gcb_param *params; /* NULL: none */
    /* combinations of values (by row) that make no sense, before any tensor is seen; may be NULL */
    int (*check)(const double *value, struct gcb_diag *diag);
    const struct gcb_codec_ops *ops;
    const struct gcb_preset *presets; /* ends with a row without a name; NULL: none */
};

/* src/lib/codec/registry.c: the codecs in the order they are listed; NULL past the end. */
const struct gcb_codec *gcb_codec_at(size_t i);
const struct gcb_codec *gcb_codec_by_wire_id(uint8_t wire_id);

/*
 * The Philox stream of a draw: XXH3-64 of (path, step, worker, purpose). Workers draw apart; a purpose
 * names each use within a codec.
 */
uint64_t gcb_draw_stream(const struct gcb_codec_env *env, const struct gcb_step *at,
                         uint32_t purpose);

/* The streams of a stochastic rounding (kernels/dither): of bytes, purpose 1, and of the 24 bits more where a byte does
 * not decide, purpose 2. */
struct gcb_rounding_draw {
    uint64_t coarse, fine;
};
struct gcb_rounding_draw gcb_rounding_draw(const struct gcb_codec_env *env,
                                           const struct gcb_step *at);

#define GCB_TILE 4096 /* elements codecs work on at a time: fits the first-level cache */

/* Order-0 entropy, in bits over all symbols, of `count` symbol counts. */
double gcb_entropy0(const uint64_t *histogram, size_t count);

#endif
