#include "src/lib/api/options.h"
#include "src/lib/base/alloc.h"

struct gcb_decoder {
    struct gcb_coder *coder;
};

/* Opens a decoder for a method or, if `method` is NULL, for the method of a message's frame. */
static int open_decoder(struct gcb_decoder **out, const struct gcb_method *method,
                        const struct gcb_frame *frame, const struct gcb_coder_config *config,
                        struct gcb_diag *diag)
{
    struct gcb_decoder *d = gcb_alloc_zero(1, sizeof(*d));
    int err;

    if (!d)
        return gcb_diag_nomem(diag, sizeof(*d), "a decoder");
    err = method ? gcb_coder_create(&d->coder, method, config, diag)
                 : gcb_coder_create_like(&d->coder, frame, config, diag);
    if (err)
        gcb_decoder_close(d);
    else
        *out = d;
    return err;
}

int gcb_decoder_open(struct gcb_decoder **out, const char *spec, uint64_t n,
                     const struct gcb_options *options, struct gcb_diag *diag)
{
    struct gcb_settings s;
    const int err = gcb_settings_open(&s, out, "the place for the decoder", spec, n, options, diag);

    if (err)
        return err;
    s.config.env.decoding = true;
    return open_decoder(out, &s.method, NULL, &s.config, diag);
}

int gcb_decoder_open_like(struct gcb_decoder **out, const void *message, size_t length,
                          const struct gcb_options *options, struct gcb_diag *diag)
{
    struct gcb_settings s;
    struct gcb_frame frame;
    const int err = gcb_settings_open_like(&s, out, "the place for the decoder", &frame, message,
                                           length, options, diag);

    return err ? err : open_decoder(out, NULL, &frame, &s.config, diag);
}

void gcb_decoder_close(struct gcb_decoder *decoder)
{
    if (!decoder)
        return;
    gcb_coder_destroy(decoder->coder);
    gcb_free(decoder);
}

uint64_t gcb_decoder_elements(const struct gcb_decoder *decoder)
{
    return decoder ? gcb_coder_elements(decoder->coder) : 0;
}

int gcb_decode(struct gcb_decoder *decoder, const void *message, size_t length, float *x,
               struct gcb_diag *diag)
{
    const struct gcb_mview out = {.data = x, .count = gcb_decoder_elements(decoder)};
    struct gcb_frame frame;
    struct gcb_rbuf payload;
    int err = gcb_need(decoder, "the decoder", diag);

    if (!err && out.count)
        err = gcb_need(x, "the tensor", diag);
    if (!err)
        err = gcb_frame_parse(&frame, &payload, message, length, diag);
    if (!err) /* only now, because a newer version may have another checksum */
        err = gcb_message_check(message, length, 0, diag);
    return err ? err : gcb_coder_decode(decoder->coder, message, length, &out, diag);
}

int gcb_message_info(struct gcb_message_info *info, const void *message, size_t length,
                     struct gcb_diag *diag)
{
    struct gcb_message_info known;
    struct gcb_frame frame;
    struct gcb_rbuf payload;
    int err = gcb_struct_check(info, "gcb_message_info", diag);

    if (!err)
        err = gcb_frame_parse(&frame, &payload, message, length, diag);
    if (err)
        return err;
    known = (struct gcb_message_info){
        .size = info->size,
        .elements = frame.count,
        .payload_bytes = frame.payload_bytes,
        .header_bytes = (uint32_t)(length - frame.payload_bytes),
        .source = frame.source,
        .stored = (frame.flags & GCB_WIRE_STORED) != 0,
        .has_checksum = (frame.flags & GCB_WIRE_CHECKSUM) != 0,
        .codec = frame.codec,
    };
    gcb_struct_fill(info, info->size, &known, sizeof(known));
    return 0;
}
