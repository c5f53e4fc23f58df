#include "src/lib/codec/elias.h"

#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/codec/codec.h" /* GCB_TILE */

uint32_t gcb_elias_decode_long(struct gcb_bitr *r, uint32_t limit)
{
    uint32_t n = 1;

    while (gcb_bitr_get(r, 1)) {
        const unsigned more = n;

        if (more > 31) /* no number of 32 bits has such a code */
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

int gcb_elias_init(struct gcb_elias *e)
{
    const uint32_t most = (e->levels > GCB_TILE ? e->levels : GCB_TILE) + 1;

    e->codes = gcb_alloc_array((uint64_t)most + 1, sizeof(*e->codes));
    e->table = gcb_alloc(sizeof(*e->table));
    if (!e->codes || !e->table)
        return GCB_E_NOMEM;
    for (uint32_t n = 1; n <= most; n++)
        e->codes[n] = gcb_elias_encode(n);
    gcb_elias_table_init(e->table);
    return 0;
}

void gcb_elias_fini(struct gcb_elias *e)
{
    gcb_free(e->codes);
    gcb_free(e->table);
}

#define LAST_GAP_BITS 28 /* most bits of the last gap of a block */

/*
 * Dense code: an element takes at most the bits of the largest level, and a sign bit. Sparse code:
 * a gap of g elements takes at most 2 g bits, so 2 more bits for each element are enough.
 */
uint64_t gcb_elias_bound(uint64_t count, uint32_t levels)
{
    const uint64_t element = gcb_elias_encode(levels + 1).length + 1 + 2;
    const uint64_t block = (GCB_TILE * element + LAST_GAP_BITS + 7) / 8;
    const uint64_t rest = (count % GCB_TILE * element + LAST_GAP_BITS + 7) / 8;

    return count / GCB_TILE * block + rest + GCB_BITS_SLACK;
}

static void put_dense(const struct gcb_elias *e, struct gcb_bitw *w, const uint16_t *code, size_t n)
{
    const uint32_t mask = (1u << e->sign_bit) - 1;

    for (size_t i = 0; i < n; i++) {
        const uint32_t level = code[i] & mask, sign = code[i] >> e->sign_bit;
        const struct gcb_elias_code c = e->codes[level + 1];

        gcb_bitw_put(w, c.bits | (uint64_t)sign << c.length, c.length + (level != 0));
    }
}

static void put_sparse(const struct gcb_elias *e, struct gcb_bitw *w, const uint16_t *code,
                       size_t n)
{
    const uint32_t mask = (1u << e->sign_bit) - 1;
    size_t next = 0; /* the position that a gap of 1 leads to */

    for (size_t i = 0; i < n; i++) {
        const uint32_t level = code[i] & mask, sign = code[i] >> e->sign_bit;
        struct gcb_elias_code gap, c;

        if (level == 0)
            continue;
        gap = e->codes[i - next + 1];
        c = e->codes[level];
        gcb_bitw_put(w, gap.bits | (uint64_t)sign << gap.length, gap.length + 1);
        gcb_bitw_put(w, c.bits, c.length);
        next = i + 1;
    }
    if (next < n)
        gcb_bitw_put(w, e->codes[n - next + 1].bits, e->codes[n - next + 1].length);
}

void gcb_elias_put(const struct gcb_elias *e, struct gcb_bitw *w, const uint16_t *code, size_t n)
{
    (e->sparse ? put_sparse : put_dense)(e, w, code, n);
    gcb_bitw_finish(w);
}

static void get_dense(const struct gcb_elias *e, struct gcb_bitr *r, uint16_t *code, size_t n)
{
    for (size_t i = 0; i < n && !r->failed; i++) {
        const uint32_t number = gcb_elias_decode(r, e->table, e->levels + 1);

        code[i] = number > 1 ? (uint16_t)(number - 1) : 0;
        if (number > 1)
            code[i] |= (uint16_t)(gcb_bitr_get(r, 1) << e->sign_bit);
    }
}

static void get_sparse(const struct gcb_elias *e, struct gcb_bitr *r, uint16_t *code, size_t n)
{
    size_t next = 0;

    memset(code, 0, n * sizeof(*code));
    while (next < n && !r->failed) {
        const uint32_t gap = gcb_elias_decode(r, e->table, (uint32_t)(n - next + 1));
        const size_t i = next + gap - 1;
        uint32_t sign;

        if (r->failed || i >= n)
            return;
        sign = (uint32_t)gcb_bitr_get(r, 1);
        code[i] = (uint16_t)(gcb_elias_decode(r, e->table, e->levels) | sign << e->sign_bit);
        next = i + 1;
    }
}

int gcb_elias_get(const struct gcb_elias *e, const uint8_t *p, size_t length, uint16_t *code,
                  size_t n)
{
    struct gcb_bitr r = {.p = p};

    if (!p)
        return GCB_E_CORRUPT;
    r.end = p + length;
    (e->sparse ? get_sparse : get_dense)(e, &r, code, n);
    return gcb_bitr_is_done(&r) ? 0 : GCB_E_CORRUPT;
}
