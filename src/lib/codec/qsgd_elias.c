#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/codec/qsgd.h"

static uint64_t block_count(const struct gcb_qsgd *s)
{
    return (s->env.count + GCB_TILE - 1) / GCB_TILE;
}

static size_t block_length(const struct gcb_qsgd *s, uint64_t b)
{
    const uint64_t left = s->env.count - b * GCB_TILE;

    return left < GCB_TILE ? left : GCB_TILE;
}

int gcb_qsgd_elias_init(struct gcb_qsgd *s)
{
    const uint32_t most = s->l.s + 1 > GCB_TILE + 1 ? s->l.s + 1 : GCB_TILE + 1;

    s->codes = gcb_alloc_array((uint64_t)most + 1, sizeof(*s->codes));
    s->table = gcb_alloc(sizeof(*s->table));
    if (!s->codes || !s->table)
        return GCB_E_NOMEM;
    for (uint32_t n = 1; n <= most; n++)
        s->codes[n] = gcb_elias_encode(n);
    gcb_elias_table_init(s->table);
    return 0;
}

/*
 * Dense: the longest level and a sign, for each element. Sparse: a gap of g takes at most 2 g bits, so a
 * non-zero costs at most 2 bits more than its level and sign for each element it covers; the last gap
 * of a block at most 28.
 */
uint64_t gcb_qsgd_elias_bound(uint64_t count, uint32_t levels)
{
    const uint64_t element = gcb_elias_encode(levels + 1).length + 3;
    const uint64_t block = (GCB_TILE * element + 28 + 7) / 8;
    const uint64_t rest = (count % GCB_TILE * element + 28 + 7) / 8;

    return (count + GCB_TILE - 1) / GCB_TILE * sizeof(uint16_t) + count / GCB_TILE * block + rest +
           GCB_BITS_SLACK;
}

static void put_dense(const struct gcb_qsgd *s, struct gcb_bitw *w, const uint16_t *code, size_t n)
{
    const uint32_t mask = (1u << s->l.sign_bit) - 1;

    for (size_t i = 0; i < n; i++) {
        const uint32_t level = code[i] & mask, sign = code[i] >> s->l.sign_bit;
        const struct gcb_elias_code c = s->codes[level + 1];

        gcb_bitw_put(w, c.bits | (uint64_t)sign << c.length, c.length + (level != 0));
    }
}

static void put_sparse(const struct gcb_qsgd *s, struct gcb_bitw *w, const uint16_t *code, size_t n)
{
    const uint32_t mask = (1u << s->l.sign_bit) - 1;
    size_t next = 0; /* a gap of 1 leads here */

    for (size_t i = 0; i < n; i++) {
        const uint32_t level = code[i] & mask, sign = code[i] >> s->l.sign_bit;
        struct gcb_elias_code gap, c;

        if (level == 0)
            continue;
        gap = s->codes[i - next + 1];
        c = s->codes[level];
        gcb_bitw_put(w, gap.bits | (uint64_t)sign << gap.length, gap.length + 1);
        gcb_bitw_put(w, c.bits, c.length);
        next = i + 1;
    }
    if (next < n)
        gcb_bitw_put(w, s->codes[n - next + 1].bits, s->codes[n - next + 1].length);
}

int gcb_qsgd_elias_encode(const struct gcb_qsgd *s, const struct gcb_rounding_draw *draw,
                          const float *x, uint8_t *norms, struct gcb_wbuf *out)
{
    const uint64_t blocks = block_count(s);
    uint8_t *directory = gcb_wbuf_take(out, blocks * sizeof(uint16_t));
    uint8_t *area =
        gcb_wbuf_take(out, gcb_qsgd_elias_bound(s->env.count, s->l.s) - blocks * sizeof(uint16_t));
    struct gcb_bitw w = {.p = area};
    uint16_t code[GCB_TILE];

    if (!directory || !area)
        return GCB_E_NOSPACE;
    gcb_qsgd_norms(s, x, norms, 0, s->l.buckets);
    for (uint64_t b = 0; b < blocks; b++) {
        const uint8_t *start = w.p;
        const size_t n = block_length(s, b);
        uint16_t length;

        gcb_qsgd_quantise(s, draw, x, norms, b * GCB_TILE, n, code);
        if (s->p.coding == GCB_QSGD_DENSE)
            put_dense(s, &w, code, n);
        else
            put_sparse(s, &w, code, n);
        length = (uint16_t)(gcb_bitw_finish(&w) - start);
        memcpy(directory + b * sizeof(length), &length, sizeof(length));
    }
    out->len = (size_t)(w.p - out->data);
    return 0;
}

static void get_dense(const struct gcb_qsgd *s, struct gcb_bitr *r, uint16_t *code, size_t n)
{
    for (size_t i = 0; i < n && !r->failed; i++) {
        const uint32_t number = gcb_elias_decode(r, s->table, s->l.s + 1);

        code[i] = number > 1 ? (uint16_t)(number - 1) : 0;
        if (number > 1)
            code[i] |= (uint16_t)(gcb_bitr_get(r, 1) << s->l.sign_bit);
    }
}

static void get_sparse(const struct gcb_qsgd *s, struct gcb_bitr *r, uint16_t *code, size_t n)
{
    size_t next = 0;

    memset(code, 0, n * sizeof(*code));
    while (next < n && !r->failed) {
        const uint32_t gap = gcb_elias_decode(r, s->table, (uint32_t)(n - next + 1));
        const size_t i = next + gap - 1;
        uint32_t sign;

        if (r->failed || i >= n)
            return;
        sign = (uint32_t)gcb_bitr_get(r, 1);
        code[i] = (uint16_t)(gcb_elias_decode(r, s->table, s->l.s) | sign << s->l.sign_bit);
        next = i + 1;
    }
}

/* Opens block b, whose length the directory gives; 0 or GCB_E_CORRUPT. */
static int get_block(const struct gcb_qsgd *s, const uint8_t *directory, struct gcb_rbuf *in,
                     uint64_t b, uint16_t *code)
{
    struct gcb_bitr r = {.p = NULL};
    uint16_t length;

    memcpy(&length, directory + b * sizeof(length), sizeof(length));
    r.p = gcb_rbuf_take(in, length);
    if (!r.p)
        return GCB_E_CORRUPT;
    r.end = r.p + length;
    if (s->p.coding == GCB_QSGD_DENSE)
        get_dense(s, &r, code, block_length(s, b));
    else
        get_sparse(s, &r, code, block_length(s, b));
    /* every byte belongs to the code, and the padding is zero */
    if (r.failed || r.p != r.end || r.fill > 7 || r.acc)
        return GCB_E_CORRUPT;
    return 0;
}

int gcb_qsgd_elias_decode(const struct gcb_qsgd *s, const uint8_t *norms, struct gcb_rbuf *in,
                          float *x)
{
    const uint64_t blocks = block_count(s);
    const uint8_t *directory = gcb_rbuf_take(in, blocks * sizeof(uint16_t));
    uint16_t code[GCB_TILE];

    if (!directory)
        return GCB_E_CORRUPT;
    for (uint64_t b = 0; b < blocks; b++) {
        if (get_block(s, directory, in, b, code))
            return GCB_E_CORRUPT;
        gcb_qsgd_rebuild(s, code, norms, b * GCB_TILE, block_length(s, b), x);
    }
    return 0;
}

int gcb_qsgd_elias_entropy(const struct gcb_qsgd *s, struct gcb_rbuf *in, double *bits)
{
    const uint64_t blocks = block_count(s), symbols = UINT64_C(2) << s->l.sign_bit;
    const uint8_t *directory = gcb_rbuf_take(in, blocks * sizeof(uint16_t));
    uint64_t *histogram = gcb_alloc_zero(symbols, sizeof(*histogram));
    uint16_t code[GCB_TILE];
    int err = !histogram ? GCB_E_NOMEM : directory ? 0 : GCB_E_CORRUPT;

    for (uint64_t b = 0; b < blocks && !err; b++) {
        err = get_block(s, directory, in, b, code);
        for (size_t i = 0; !err && i < block_length(s, b); i++)
            histogram[code[i]]++;
    }
    if (!err)
        *bits = gcb_entropy0(histogram, symbols);
    gcb_free(histogram);
    return err;
}
