#include "src/lib/sparse/prefix.h"

#include <string.h>

#include "src/lib/base/status.h"

int gcb_prefix_table(uint16_t *table, const uint8_t *length, const uint16_t *value)
{
    uint16_t code[GCB_PREFIX_SYMBOLS];
    uint8_t bits[GCB_PREFIX_SYMBOLS];

    if (!gcb_prefix_is_complete(length))
        return GCB_E_CORRUPT;
    gcb_prefix_codes(code, bits, length);
    for (unsigned s = 0; s < GCB_PREFIX_SYMBOLS; s++)
        for (unsigned at = code[s]; length[s] && at < GCB_PREFIX_ENTRIES; at += 1u << bits[s])
            table[at] = (uint16_t)(value[s] + bits[s]);
    return 0;
}

void gcb_prefix_put(struct gcb_bitw *w, const uint8_t *length)
{
    const unsigned last = gcb_prefix_last(length);
    unsigned before = GCB_PREFIX_FIRST;

    gcb_bitw_put(w, last, 6);
    for (unsigned s = 0; s <= last; s++) {
        const unsigned step = gcb_prefix_step_of(length[s], before);

        gcb_bitw_put(w, (1u << step) - 1, step + 1);
        if (step == GCB_PREFIX_GIVEN)
            gcb_bitw_put(w, length[s], 4);
        before = length[s] ? length[s] : before;
    }
}

/* Reads the length of a symbol. `before`: length of the last symbol that occurred. */
static unsigned get_length(struct gcb_bitr *r, unsigned before)
{
    const unsigned step = (unsigned)gcb_bitr_ones(r, GCB_PREFIX_GIVEN);

    return gcb_prefix_length_of(step, before,
                                step == GCB_PREFIX_GIVEN ? (unsigned)gcb_bitr_get(r, 4) : 0);
}

int gcb_prefix_get(struct gcb_bitr *r, uint8_t *length)
{
    const unsigned last = (unsigned)gcb_bitr_get(r, 6);
    unsigned before = GCB_PREFIX_FIRST;

    if (last >= GCB_PREFIX_SYMBOLS)
        return GCB_E_CORRUPT;
    memset(length, 0, GCB_PREFIX_SYMBOLS);
    for (unsigned s = 0; s <= last; s++) {
        const unsigned bits = get_length(r, before);

        if (r->failed || bits > GCB_PREFIX_BITS)
            return GCB_E_CORRUPT;
        length[s] = (uint8_t)bits;
        before = bits ? bits : before;
    }
    return length[last] ? 0 : GCB_E_CORRUPT;
}
