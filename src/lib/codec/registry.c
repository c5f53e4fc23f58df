#include "src/lib/codec/foreign.h"

static const struct gcb_codec *const codecs[] = {
#define CODEC(name) &gcb_codec_##name,
#include "src/lib/codec/codecs.def"
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
    return gcb_foreign_by_wire_id(wire_id);
}
