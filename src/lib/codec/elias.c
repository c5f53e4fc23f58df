#include "src/lib/codec/elias.h"

#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/codec/codec.h" /* GCB_TILE */

uint32_t gcb_elias_decode_long(struct gcb_bitr *r, uint32_t limit)
{
    uint32_t n = 1;

    while (gcb_bitr_get(r, 1)) {
        const unsigned more = n; /* the next number has n more bits after its leading 1 */

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

/* The bits of a code in a dense block, its sign included. */
static struct gcb_elias_code signed_code(const struct gcb_elias *e, uint32_t code)
{
    const uint32_t level = code & ((1u << e->sign_bit) - 1);
    struct gcb_elias_code c = e->codes[level + 1];

    c.bits |= code >> e->sign_bit << c.length;
    c.length += level != 0;
    return c;
}

/* Sets all entries whose lowest run.length bits are `bits` to this run. Then does the same for the
 * runs that are one code longer. */
static void extend_runs(const struct gcb_elias *e, struct gcb_elias_run run, uint32_t bits)
{
    const uint32_t most = 1u << (GCB_ELIAS_RUN - run.length);

    for (uint32_t rest = 0; rest < most; rest++)
        e->runs[bits | rest << run.length] = run;
    if (run.count == GCB_ELIAS_CODES)
        return;
    for (uint32_t code = 0; code < 2u << e->sign_bit; code++) {
        const struct gcb_elias_code c = e->signed_codes[code];
        struct gcb_elias_run longer = run;

        if (c.length == 0 || run.length + c.length > GCB_ELIAS_RUN)
            continue;
        longer.code[longer.count++] = (uint16_t)code;
        longer.length = (uint8_t)(run.length + c.length);
        extend_runs(e, longer, bits | c.bits << run.length);
    }
}

#define LONGEST_SIGNED 14 /* four of these codes fit gcb_bitw_put */

/* Makes the tables of dense blocks, unless blocks are sparse or a code is too long. Codes that do
 * not occur, such as a negative 0, have the length 0. Returns 0 or GCB_E_NOMEM. */
static int make_runs(struct gcb_elias *e)
{
    if (e->sparse || e->codes[e->levels + 1].length + 1 > LONGEST_SIGNED)
        return 0;
    e->signed_codes = gcb_alloc_zero(UINT64_C(2) << e->sign_bit, sizeof(*e->signed_codes));
    e->runs = gcb_alloc_array(1 << GCB_ELIAS_RUN, sizeof(*e->runs));
    if (!e->signed_codes || !e->runs)
        return GCB_E_NOMEM;
    for (uint32_t level = 0; level <= e->levels; level++) {
        const uint32_t negative = 1u << e->sign_bit | level;

        e->signed_codes[level] = signed_code(e, level);
        if (level)
            e->signed_codes[negative] = signed_code(e, negative);
    }
    extend_runs(e, (struct gcb_elias_run){.count = 0}, 0);
    return 0;
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
    return make_runs(e);
}

void gcb_elias_fini(struct gcb_elias *e)
{
    gcb_free(e->codes);
    gcb_free(e->table);
    gcb_free(e->signed_codes);
    gcb_free(e->runs);
}

#define LAST_GAP_BITS 28 /* upper bound for the bits of a last gap, which is at most GCB_TILE + 1 */

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
    size_t i = 0;

    for (; e->signed_codes && i + 4 <= n; i += 4) {
        const struct gcb_elias_code a = e->signed_codes[code[i]];
        const struct gcb_elias_code b = e->signed_codes[code[i + 1]];
        const struct gcb_elias_code c = e->signed_codes[code[i + 2]];
        const struct gcb_elias_code d = e->signed_codes[code[i + 3]];
        const unsigned half = a.length + b.length;
        const uint64_t low = a.bits | b.bits << a.length, high = c.bits | d.bits << c.length;

        gcb_bitw_put(w, low | high << half, half + c.length + d.length);
    }
    for (; i < n; i++) {
        const struct gcb_elias_code c = signed_code(e, code[i]);

        gcb_bitw_put(w, c.bits, c.length);
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

static uint16_t get_one(const struct gcb_elias *e, struct gcb_bitr *r)
{
    const uint32_t number = gcb_elias_decode(r, e->table, e->levels + 1);

    if (number <= 1)
        return 0;
    return (uint16_t)((number - 1) | gcb_bitr_get(r, 1) << e->sign_bit);
}

#define RUNS 5 /* number of runs that fit the 56 bits of a refill in any case */

static void get_dense(const struct gcb_elias *e, struct gcb_bitr *r, uint16_t *code, size_t n)
{
    const size_t most = RUNS * GCB_ELIAS_CODES;
    size_t i = 0;

    while (e->runs && i + most <= n && r->end - r->p >= 8 && !r->failed) {
        unsigned count = 1;

        gcb_bitr_refill(r);
        for (unsigned k = 0; k < RUNS && count; k++) {
            const struct gcb_elias_run *run = &e->runs[r->acc & ((1u << GCB_ELIAS_RUN) - 1)];

            memcpy(code + i, run->code, sizeof(run->code));
            count = run->count;
            i += count;
            r->acc >>= run->length;
            r->fill -= run->length;
        }
        if (count == 0)
            code[i++] = get_one(e, r);
    }
    for (; i < n && !r->failed; i++)
        code[i] = get_one(e, r);
}

static void get_sparse(const struct gcb_elias *e, struct gcb_bitr *r, uint16_t *code, size_t n)
{
    size_t next = 0;

    memset(code, 0, n * sizeof(*code));
    while (next < n && !r->failed) {
        const uint32_t gap = gcb_elias_decode(r, e->table, (uint32_t)(n - next + 1));
        const size_t i = next + gap - 1;
        uint32_t sign;

        if (r->failed || i >= n) /* the last gap leads to the position after the block */
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
