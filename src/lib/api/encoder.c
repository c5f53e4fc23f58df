#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "kernels/base/hd.h"
#include "src/lib/api/options.h"
#include "src/lib/base/alloc.h"
#include "src/lib/codec/packed.h"
#include "src/lib/memory/checkpoint.h"

struct gcb_encoder {
    struct gcb_coder *coder;
    enum gcb_nonfinite nonfinite;
    struct gcb_memory *memory;
    struct gcb_coder *own; /* decodes this encoder's messages for the memory; NULL: memory=none */
    bool has_norm;         /* the caller has given `norm` for the next tensor */
    double norm;
    uint64_t count; /* elements of a tensor */
    struct gcb_codec_env_copy kept;
    enum gcb_dtype input;
    float *wide; /* scratch for the tensor as float32; NULL if the input is float32 */
};

/* ---- opening, closing and sizes ---- */

/* Makes the memory and, if it keeps anything, a decoder of the encoder's messages. */
static int init_memory(struct gcb_encoder *e, const struct gcb_settings *s, struct gcb_diag *diag)
{
    struct gcb_coder_config config = s->config;
    struct gcb_memory_params params;
    int err;

    gcb_method_memory_for(&params, &s->method, e->count);
    config.env.decoding = true;
    err = params.kind == GCB_MEMORY_NONE ? 0 : gcb_coder_create(&e->own, &s->method, &config, diag);
    if (err)
        return err;
    return gcb_memory_create(&e->memory, &params, e->count, s->options.workers, &e->kept.queue,
                             &e->kept.kernels, diag);
}

static int init(struct gcb_encoder *e, struct gcb_settings *s, struct gcb_diag *diag)
{
    int err = gcb_codec_env_keep(&s->config.env, &e->kept, diag);

    if (err)
        return err;
    e->nonfinite = s->options.nonfinite;
    e->count = s->config.env.count;
    e->input = s->options.input;
    if (e->input != GCB_F32) {
        e->wide = gcb_alloc_array(e->count, sizeof(float));
        if (!e->wide)
            return gcb_diag_nomem(diag, e->count * sizeof(float), "a tensor in float32");
    }
    err = gcb_coder_create(&e->coder, &s->method, &s->config, diag);
    return err ? err : init_memory(e, s, diag);
}

/* Refuses methods that need an exchange. The receivers of an encoder's messages add them up, as in
 * an all-gather, and the encoder does not learn the sum. */
static int check_alone(const struct gcb_method *method, struct gcb_diag *diag)
{
    struct gcb_memory_params memory;

    gcb_method_memory(&memory, method);
    if (memory.kind == GCB_MEMORY_GMC || memory.kind == GCB_MEMORY_EF21)
        return gcb_invalid(diag,
                           "an encoder cannot use memory=%s, which needs the sum of all "
                           "workers' tensors; open an exchange",
                           gcb_memory_table[0].choices[memory.kind]);
    if (!gcb_method_gives_collective(method) ||
        gcb_method_collective(method) == GCB_COLLECTIVE_ALLGATHER)
        return 0;
    return gcb_invalid(diag, "an encoder cannot use collective=%s; open an exchange",
                       gcb_collective_names[gcb_method_collective(method)]);
}

int gcb_encoder_open(struct gcb_encoder **out, const char *spec, uint64_t n,
                     const struct gcb_options *options, struct gcb_diag *diag)
{
    struct gcb_settings s;
    struct gcb_encoder *e;
    int err = gcb_settings_open(&s, out, "the place for the encoder", spec, n, options, diag);

    if (!err)
        err = check_alone(&s.method, diag);
    if (err)
        return err;
    e = gcb_alloc_zero(1, sizeof(*e));
    err = e ? init(e, &s, diag) : gcb_diag_nomem(diag, sizeof(*e), "an encoder");
    if (err)
        gcb_encoder_close(e);
    else
        *out = e;
    return err;
}

void gcb_encoder_close(struct gcb_encoder *e)
{
    if (!e)
        return;
    gcb_coder_destroy(e->coder);
    gcb_coder_destroy(e->own);
    gcb_memory_destroy(e->memory);
    gcb_free(e->wide);
    gcb_codec_env_drop(&e->kept);
    gcb_free(e);
}

size_t gcb_encoder_bound(const struct gcb_encoder *e)
{
    return e ? gcb_coder_bound(e->coder) : 0;
}

static void memory_params(const struct gcb_encoder *e, struct gcb_memory_params *params)
{
    gcb_method_memory(params, gcb_coder_method(e->coder));
}

size_t gcb_encoder_length(const struct gcb_encoder *e)
{
    struct gcb_memory_params p;

    if (!e)
        return 0;
    memory_params(e, &p);
    return p.kind == GCB_MEMORY_DELAY && p.delay > 1 ? 0 : gcb_coder_length(e->coder);
}

/* ---- encoding ---- */

/* Returns the tensor in float32: x itself, or its elements converted into e->wide. */
static const float *widen(struct gcb_encoder *e, const void *x)
{
    if (e->input == GCB_F32)
        return x;
    gcb_widen(e->wide, x, e->count, e->input, &e->kept.kernels, &e->kept.queue);
    return e->wide;
}

int gcb_encoder_set_norm(struct gcb_encoder *e, double norm, struct gcb_diag *diag)
{
    if (gcb_need(e, "the encoder", diag))
        return GCB_E_INVALID;
    if (norm < 0.0)
        return gcb_invalid(diag, "the norm %g is negative", norm);
    e->has_norm = true;
    e->norm = norm;
    return 0;
}

/* True if the caller has given a norm for the next tensor, and the method uses it. The method may
 * have changed since. */
static bool uses_norm(const struct gcb_encoder *e)
{
    struct gcb_memory_params p;

    memory_params(e, &p);
    return e->has_norm && p.kind == GCB_MEMORY_DGC && p.clip != 0.0;
}

/* Handles a tensor that cannot enter the memory: with GCB_NONFINITE_RAW, encodes it as a raw
 * message; otherwise fails and says why. The memory stays as it is. */
static int encode_nonfinite(struct gcb_encoder *e, const struct gcb_view *in, struct gcb_wbuf *out,
                            struct gcb_diag *diag)
{
    if (e->nonfinite == GCB_NONFINITE_RAW)
        return gcb_coder_encode_raw(e->coder, in, out, diag);
    if (uses_norm(e) && !isfinite(e->norm))
        return gcb_diag_set(diag, GCB_E_NONFINITE, "the norm of the worker's tensors is %g",
                            e->norm);
    if (e->kept.kernels.reduce.max_bits(in->data, in->count) >= GCB_INF_BITS)
        return gcb_diag_set(diag, GCB_E_NONFINITE, "the tensor contains an infinity or NaN");
    return gcb_diag_set(diag, GCB_E_NONFINITE,
                        "the sum of the tensor and the encoder's memory overflows float32");
}

/* True if the tensor can enter the memory. Gives the memory the caller's norm. Checks the tensor
 * even with GCB_NONFINITE_TRUSTED, because an infinity would stay in the memory. */
static bool stays_finite(struct gcb_encoder *e, const struct gcb_view *in)
{
    if (uses_norm(e)) {
        if (!isfinite(e->norm))
            return false;
        gcb_memory_set_norm(e->memory, e->norm);
    }
    return gcb_memory_stays_finite(e->memory, in->data);
}

/* Tells the memory what the receiver will decode. */
static int take_sent(struct gcb_encoder *e, const struct gcb_wbuf *message, struct gcb_diag *diag)
{
    const struct gcb_addition sent = gcb_memory_addition(e->memory);
    const int err = gcb_coder_add(e->own, message->data, message->len, &sent, diag);

    if (!err)
        gcb_memory_update(e->memory, NULL);
    return err;
}

/* All errors are found before the memory changes, except that later the FFT library or e->own may
 * run out of memory, or a foreign method may fail (src/lib/codec/foreign.h). */
static int encode_with_memory(struct gcb_encoder *e, const struct gcb_step *at,
                              const struct gcb_view *in, struct gcb_wbuf *out,
                              struct gcb_diag *diag)
{
    const size_t bound = gcb_coder_bound(e->coder);
    struct gcb_view p = {.count = e->count};
    int err;

    if (out->cap < bound)
        return gcb_diag_set(diag, GCB_E_NOSPACE,
                            "an encoder with a memory needs room for %zu bytes "
                            "(gcb_encoder_bound), not %zu",
                            bound, out->cap);
    if (!stays_finite(e, in))
        return encode_nonfinite(e, in, out, diag);
    p.data = gcb_memory_compensate(e->memory, in->data);
    e->has_norm = false;
    if (!p.data)
        return 0;
    err = gcb_coder_encode_finite(e->coder, at, &p, out, diag);
    return err ? err : take_sent(e, out, diag);
}

int gcb_encode(struct gcb_encoder *e, uint64_t step, uint32_t worker, const void *x, void *out,
               size_t cap, size_t *length, struct gcb_diag *diag)
{
    const struct gcb_step at = {.step = step, .worker = worker};
    struct gcb_wbuf w = {.data = out, .cap = cap};
    int err = gcb_need_both(e, "the encoder", length, "the place for the length", diag);
    struct gcb_view in;

    if (!err && e->count)
        err = gcb_need(x, "the tensor", diag);
    if (!err && cap)
        err = gcb_need(out, "the place for the message", diag);
    if (err)
        return err;
    in = (struct gcb_view){.data = widen(e, x), .count = e->count};
    err = e->own ? encode_with_memory(e, &at, &in, &w, diag)
                 : gcb_coder_encode(e->coder, &at, &in, &w, diag);
    if (err)
        return err;
    e->has_norm = false;
    gcb_message_seal(w.data, w.len, 0);
    *length = w.len;
    return 0;
}

/* ---- saving, restoring and changing an encoder ---- */

static struct gcb_checkpoint checkpoint_of(const struct gcb_encoder *e)
{
    return (struct gcb_checkpoint){.memory = e->memory, .encoder = e->coder};
}

size_t gcb_encoder_kept_bytes(const struct gcb_encoder *e)
{
    return e ? gcb_checkpoint_bytes(checkpoint_of(e)) : 0;
}

int gcb_encoder_save(const struct gcb_encoder *e, struct gcb_memory_state *state,
                     struct gcb_diag *diag)
{
    const int err = gcb_need(e, "the encoder", diag);

    return err ? err : gcb_checkpoint_save(checkpoint_of(e), state, diag);
}

int gcb_encoder_restore(struct gcb_encoder *e, const struct gcb_memory_view *saved,
                        struct gcb_diag *diag)
{
    const int err = gcb_need(e, "the encoder", diag);

    return err ? err : gcb_checkpoint_restore(checkpoint_of(e), saved, diag);
}

/* Makes coders for the changed method. After an error the encoder is unchanged. */
static int remake(struct gcb_encoder *e, const struct gcb_method *method, struct gcb_diag *diag)
{
    struct gcb_coder *coder = NULL, *own = NULL;
    int err = gcb_coder_remake(&coder, e->coder, method, diag);

    if (!err && e->own && !gcb_coder_accepts(e->own, gcb_coder_frame(coder)))
        err = gcb_coder_remake(&own, e->own, method, diag);
    if (err) {
        gcb_coder_destroy(coder);
        return err;
    }
    gcb_coder_destroy(e->coder);
    e->coder = coder;
    if (own) {
        gcb_coder_destroy(e->own);
        e->own = own;
    }
    return 0;
}

int gcb_encoder_set(struct gcb_encoder *e, const char *key, const char *value,
                    struct gcb_diag *diag)
{
    struct gcb_method method;
    struct gcb_memory_params params;
    int err = gcb_need(e, "the encoder", diag);

    if (!err)
        err = gcb_need_both(key, "the key", value, "the value", diag);
    if (err)
        return err;
    method = *gcb_coder_method(e->coder);
    if (strcmp(key, "memory") == 0)
        return gcb_invalid(diag,
                           "the memory of an open encoder cannot change; open another encoder");
    err = gcb_method_change(&method, key, value, diag);
    if (!err)
        err = check_alone(&method, diag);
    if (err)
        return err;
    if (!gcb_coder_rebind(e->coder, &method)) /* e->own adopts the next message's parameters */
        err = remake(e, &method, diag);
    if (err)
        return err;
    gcb_method_memory_for(&params, &method, e->count);
    gcb_memory_set_params(e->memory, &params);
    return 0;
}
