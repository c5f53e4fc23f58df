#include "src/lib/codec/elias.h"

#include <string.h>

uint32_t gcb_elias_decode_long(struct gcb_bitr *r, uint32_t limit)
{
    uint32_t n = 1;

    while (gcb_bitr_get(r, 1)) {
        const unsigned more = n;

        if (more > 31) /* no number of 32 bits has a code like this */
            r->failed = true;
        if (r->failed)
            break;
        n = 1u << more | gcb_elias_reversed((uint32_t)gcb_bitr_get(r, more), more);
        if (n > limit)
            break;
    }
    if (n > limit)
        r->failed = true;
    return r->failed ? 0 : n;
}

void gcb_elias_table_init(struct gcb_elias_table *t)
{
    memset(t, 0, sizeof(*t));
    for (uint32_t n = 1; n < 1u << GCB_ELIAS_PEEK; n++) {
        const struct gcb_elias_code code = gcb_elias_encode(n);

        if (code.length > GCB_ELIAS_PEEK)
            break;
        for (uint32_t rest = 0; rest < 1u << (GCB_ELIAS_PEEK - code.length); rest++) {
            t->entry[code.bits | rest << code.length].value = (uint16_t)n;
            t->entry[code.bits | rest << code.length].length = (uint16_t)code.length;
        }
    }
}
