#include <string.h>

#include "src/lib/sparse/index.h"

/* ---- u32: each position as it is ---- */

static uint64_t u32_bound(uint64_t n, uint64_t kept)
{
    return kept * sizeof(uint32_t);
}

static void u32_encode(struct gcb_wbuf *out, const uint32_t *pos, uint64_t kept, uint64_t n)
{
    uint8_t *p = gcb_wbuf_take(out, kept * sizeof(uint32_t));

    if (p && kept)
        memcpy(p, pos, kept * sizeof(uint32_t));
}

static int u32_open(struct gcb_index_cursor *c, struct gcb_rbuf *in)
{
    c->body = gcb_rbuf_take(in, c->kept * sizeof(uint32_t));
    return c->body ? 0 : GCB_E_CORRUPT;
}

static int u32_next(struct gcb_index_cursor *c, uint32_t *pos, size_t n)
{
    memcpy(pos, c->body + c->done * sizeof(uint32_t), n * sizeof(uint32_t));
    for (size_t i = 0; i < n; i++) {
        if (pos[i] < c->next || pos[i] >= c->n)
            return GCB_E_CORRUPT;
        c->next = (uint64_t)pos[i] + 1;
    }
    c->done += n;
    return 0;
}

const struct gcb_index gcb_index_u32 = {
    .fixed = true,
    .bound = u32_bound,
    .encode = u32_encode,
    .open = u32_open,
    .next = u32_next,
};

/* ---- bitmap: one bit per position, 1 where it is kept ---- */

static uint64_t bitmap_bound(uint64_t n, uint64_t kept)
{
    return (n + 7) / 8;
}

static void bitmap_encode(struct gcb_wbuf *out, const uint32_t *pos, uint64_t kept, uint64_t n)
{
    const uint64_t bytes = (n + 7) / 8;
    uint8_t *p = gcb_wbuf_take(out, bytes);
    uint64_t written = 0, i = 0;

    if (!p)
        return;
    while (written < bytes) {
        const uint64_t end = (written + 8) * 8;
        uint64_t word = 0;

        for (; i < kept && pos[i] < end; i++)
            word |= UINT64_C(1) << pos[i] % 64;
        memcpy(p + written, &word, bytes - written < 8 ? bytes - written : 8);
        written += 8;
    }
}

static int bitmap_open(struct gcb_index_cursor *c, struct gcb_rbuf *in)
{
    c->body = gcb_rbuf_take(in, (c->n + 7) / 8);
    c->end = c->body ? c->body + (c->n + 7) / 8 : NULL;
    return c->body ? 0 : GCB_E_CORRUPT;
}

/* Loads the next 64 flags, or those that are left. */
static void load_word(struct gcb_index_cursor *c)
{
    const size_t left = (size_t)(c->end - c->body);

    c->word = 0;
    memcpy(&c->word, c->body, left < 8 ? left : 8);
    c->body += left < 8 ? left : 8;
    c->word_base = c->next;
    c->next += 64;
}

/*
 * Lists the flags of whole words while `pos` has room for the flags of one more word and a pair.
 * Returns the number of listed positions. The loop takes two flags at a time and has no branch for
 * a single flag: sparse words have few flags, and such a branch would often be predicted wrongly.
 */
static size_t list_words(struct gcb_index_cursor *c, uint32_t *pos, size_t n)
{
    /* The count of trailing zeros is undefined for 0. With this flag the argument is never 0; it is
     * the last flag, so it is found only if there is no other. */
    const uint64_t top = UINT64_C(1) << 63;
    uint64_t word = c->word, base = c->word_base;
    const uint8_t *body = c->body;
    size_t i = 0;

    while (n - i >= 64 + 2 && c->end - body >= 8) {
        do {
            for (int k = 0; k < 2; k++) {
                pos[i] = (uint32_t)(base + (unsigned)__builtin_ctzll(word | top));
                i += word != 0;
                word &= word - 1;
            }
        } while (word);
        word = gcb_load_u64(body);
        body += 8;
        base = c->next;
        c->next += 64;
    }
    c->word = word;
    c->word_base = base;
    c->body = body;
    return i;
}

#define LEAST_LISTED 128 /* for fewer positions, list_words does not pay */

static int bitmap_next(struct gcb_index_cursor *c, uint32_t *pos, size_t n)
{
    size_t i = n >= LEAST_LISTED ? list_words(c, pos, n) : 0;

    for (; i < n; i++) {
        while (c->word == 0) {
            if (c->body == c->end)
                return GCB_E_CORRUPT;
            load_word(c);
        }
        pos[i] = (uint32_t)(c->word_base + (unsigned)__builtin_ctzll(c->word));
        c->word &= c->word - 1;
    }
    c->done += n;
    if (n && pos[n - 1] >= c->n) /* the last position is the largest */
        return GCB_E_CORRUPT;
    if (c->done < c->kept)
        return 0;
    while (c->word == 0 && c->body < c->end) /* there must be no flag after the last position */
        load_word(c);
    return c->word ? GCB_E_CORRUPT : 0;
}

const struct gcb_index gcb_index_bitmap = {
    .fixed = true,
    .bound = bitmap_bound,
    .encode = bitmap_encode,
    .open = bitmap_open,
    .next = bitmap_next,
};
