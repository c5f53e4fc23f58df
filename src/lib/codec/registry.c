#include "src/lib/codec/codec.h"

static const struct gcb_codec *const codecs[] = {
    &gcb_codec_identity, &gcb_codec_fp16,     &gcb_codec_bf16,        &gcb_codec_range,
    &gcb_codec_qsgd,     &gcb_codec_terngrad, &gcb_codec_natural,     &gcb_codec_signsgd,
    &gcb_codec_randomk,  &gcb_codec_powersgd, &gcb_codec_countsketch, &gcb_codec_sparse,
};

const struct gcb_codec *gcb_codec_at(size_t i)
{
    return i < sizeof(codecs) / sizeof(codecs[0]) ? codecs[i] : NULL;
}

const struct gcb_codec *gcb_codec_by_wire_id(uint8_t wire_id)
{
    const struct gcb_codec *codec;

    for (size_t i = 0; (codec = gcb_codec_at(i)); i++)
        if (codec->wire_id == wire_id)
            return codec;
    return NULL;
}
