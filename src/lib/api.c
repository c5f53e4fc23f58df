#include "src/lib/codec/coder.h"

/*
 * Functions of src/gcbench.h that are not defined elsewhere in the library: they fill defaults, check arguments and call
 * the internal functions.
 */

const char *gcb_version(void)
{
    return GCB_VERSION_TEXT;
}

/* Fills defaults. GCB_E_INVALID: an option is out of range. */
static int configure(struct gcb_coder_config *config, struct gcb_queue *queue,
                     const struct gcb_options *options, struct gcb_diag *diag)
{
    static const struct gcb_options defaults;
    const struct gcb_options *o = options ? options : &defaults;

    if ((unsigned)o->source >= GCB_DTYPE_COUNT)
        return gcb_diag_set(diag, GCB_E_INVALID, "unknown source type %d", (int)o->source);
    if (o->threads < 0 || o->threads > GCB_THREADS_MOST)
        return gcb_diag_set(diag, GCB_E_INVALID, "threads is %d, but must be 0 to %d", o->threads,
                            GCB_THREADS_MOST);
    queue->threads = o->threads ? o->threads : 1;
    *config = (struct gcb_coder_config){
        .env = {.seed = o->seed ? o->seed : 1, .path = o->path, .queue = queue},
        .nonfinite = o->nonfinite,
        .source = o->source,
        .checksum = o->checksum != 0,
        .max_elements = o->max_elements ? o->max_elements : UINT64_C(1) << 34,
    };
    return 0;
}

int gcb_encoder_open(struct gcb_coder **out, const char *spec, uint64_t n,
                     const struct gcb_options *options, struct gcb_diag *diag)
{
    struct gcb_coder_config config;
    struct gcb_queue queue;
    struct gcb_method method;
    int err = configure(&config, &queue, options, diag);

    if (!err)
        err = gcb_method_parse(&method, spec, diag);
    if (err)
        return err;
    config.env.count = n;
    return gcb_coder_create(out, &method, &config, diag);
}

int gcb_decoder_open(struct gcb_coder **out, const void *message, size_t length,
                     const struct gcb_options *options, struct gcb_diag *diag)
{
    struct gcb_coder_config config;
    struct gcb_queue queue;

    const int err = configure(&config, &queue, options, diag);

    return err ? err : gcb_coder_create_decoder(out, message, length, &config, diag);
}

void gcb_coder_close(struct gcb_coder *coder)
{
    gcb_coder_destroy(coder);
}

int gcb_encode(struct gcb_coder *coder, uint64_t step, uint32_t worker, const float *x, void *out,
               size_t cap, size_t *length, struct gcb_diag *diag)
{
    const struct gcb_step at = {.step = step, .worker = worker};
    const struct gcb_view in = {.data = x, .count = gcb_coder_elements(coder)};
    struct gcb_wbuf w = {.data = out, .cap = cap};
    const int err = gcb_coder_encode(coder, &at, &in, &w, diag);

    if (err)
        return err;
    gcb_message_seal(w.data, w.len, 0);
    *length = w.len;
    return 0;
}

int gcb_decode(struct gcb_coder *coder, const void *message, size_t length, float *x,
               struct gcb_diag *diag)
{
    const struct gcb_mview out = {.data = x, .count = gcb_coder_elements(coder)};
    const int err = gcb_message_check(message, length, 0, diag);

    return err ? err : gcb_coder_decode(coder, message, length, &out, diag);
}

int gcb_message_info(struct gcb_message_info *info, const void *message, size_t length,
                     struct gcb_diag *diag)
{
    struct gcb_frame frame;
    struct gcb_rbuf payload;
    const int err = gcb_frame_parse(&frame, &payload, message, length, diag);

    if (err)
        return err;
    *info = (struct gcb_message_info){
        .elements = frame.count,
        .payload_bytes = frame.payload_bytes,
        .header_bytes = (uint32_t)(length - frame.payload_bytes),
        .source = frame.source,
        .stored = (frame.flags & GCB_WIRE_STORED) != 0,
        .has_checksum = (frame.flags & GCB_WIRE_CHECKSUM) != 0,
        .codec = frame.codec,
    };
    return 0;
}
