#include "src/lib/device/module/draw.h"

#include "src/lib/codec/packed.h"

void gcb_device_fill_draw(const struct gcb_codec_env *env, const struct gcb_step *at,
                          struct gcb_device_item *item)
{
    if (at) {
        const struct gcb_rounding_draw draw = gcb_rounding_draw(env, at);

        item->coarse = draw.coarse;
        item->fine = draw.fine;
    }
}
