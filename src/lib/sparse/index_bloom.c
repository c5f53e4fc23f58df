#include "src/lib/sparse/stages.h"

#include <math.h>
#include <string.h>

/*
 * ---- bloom: a Bloom filter of the selected positions (DeepReduce, Xu et al. 2021) ----
 *
 * Each selected position sets some bits of the filter. The decoder finds all positions whose bits
 * are set: the positives. They are the selected ones and some others. The filter's policy (enum
 * gcb_bloom_policy) says which of them are kept. So the encoder changes its selection to what the
 * decoder will keep (gcb_bloom_choose), and the values follow.
 *
 * Bytes of a segment: the policy and the number of hashes (a byte), the number of bits (uint32),
 * the bits.
 */

#define HEAD 5
#define HASHES_MOST 31
#define CHOSEN 0x80000000u /* flag of a position; segments have at most 2^31 positions */

struct filter {
    uint32_t bits; /* 1 to the number of positions */
    unsigned hashes;
    enum gcb_bloom_policy policy;
    uint8_t *bit;
};

/* A hash of 64 bits (the finaliser of SplitMix64). */
static uint64_t hash_of(uint64_t x)
{
    x = (x + 1) * UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}

/* Place in the filter of the i-th bit that a position with this hash sets. */
static uint32_t bit_of(const struct filter *f, uint64_t hash, unsigned i)
{
    const uint32_t at = (uint32_t)hash + i * ((uint32_t)(hash >> 32) | 1u);

    return (uint32_t)((uint64_t)at * f->bits >> 32);
}

static bool is_positive(const struct filter *f, uint32_t position)
{
    const uint64_t hash = hash_of(position);

    for (unsigned i = 0; i < f->hashes; i++) {
        const uint32_t b = bit_of(f, hash, i);

        if (!(f->bit[b / 8] >> b % 8 & 1))
            return false;
    }
    return true;
}

/* State of a bit: one positive sets it; several positives set it; a chosen positive sets it. */
enum { ALONE = 1, SEVERAL, EXPLAINED };

/* Raises the count of each bit of a positive by one, but not above SEVERAL. */
static void count_bits(const struct filter *f, uint8_t *count, uint32_t position)
{
    const uint64_t hash = hash_of(position);

    for (unsigned i = 0; i < f->hashes; i++) {
        uint8_t *c = &count[bit_of(f, hash, i)];
        bool again = false;

        for (unsigned j = 0; j < i; j++)
            again |= bit_of(f, hash, j) == bit_of(f, hash, i);
        *c = again ? *c : *c == 0 ? ALONE : SEVERAL;
    }
}

/* Chooses a positive if one of its bits has a count up to `most`: then marks all of its bits and
 * returns true. */
static bool try_to_choose(const struct filter *f, uint8_t *count, uint32_t position, uint8_t most)
{
    const uint64_t hash = hash_of(position);
    bool explains = false;

    for (unsigned i = 0; i < f->hashes; i++)
        explains |= count[bit_of(f, hash, i)] <= most;
    for (unsigned i = 0; explains && i < f->hashes; i++)
        count[bit_of(f, hash, i)] = EXPLAINED;
    return explains;
}

/* Chooses up to `want` positives: first those that are the only ones to set some bit, then those
 * with a bit that no chosen positive sets. Marks them with CHOSEN and returns their number. */
static uint64_t choose_by_conflicts(const struct filter *f, uint32_t *found, uint64_t n,
                                    uint64_t want, uint8_t *count)
{
    uint64_t chosen = 0;

    memset(count, 0, f->bits);
    for (uint64_t i = 0; i < n; i++)
        count_bits(f, count, found[i]);
    for (uint8_t most = ALONE; most <= SEVERAL; most++)
        for (uint64_t i = 0; i < n && chosen < want; i++)
            if (!(found[i] & CHOSEN) && try_to_choose(f, count, found[i], most)) {
                found[i] |= CHOSEN;
                chosen++;
            }
    return chosen;
}

/* Keeps `want` of n positives by the filter's policy, or all n with positives=all or if n <= want.
 * Returns the number of kept positives. `count`: room for a byte for each bit. */
static uint64_t choose(const struct filter *f, uint32_t *found, uint64_t n, uint64_t want,
                       uint8_t *count)
{
    uint64_t chosen = 0, left = n, to = 0;

    if (f->policy == GCB_BLOOM_ALL || n <= want)
        return n;
    if (f->policy == GCB_BLOOM_CONFLICT)
        chosen = choose_by_conflicts(f, found, n, want, count);
    left -= chosen;
    /* fill up with the other positives at random, each with the same chance */
    for (uint64_t i = 0; i < n; i++) {
        const uint32_t position = found[i] & ~CHOSEN;

        if (!(found[i] & CHOSEN)) {
            const uint64_t draw = hash_of(position ^ want << 32) >> 32;

            if (draw * left-- >> 32 >= want - chosen)
                continue;
            chosen++;
        }
        found[to++] = position;
    }
    return to;
}

/* Lists the positions that a decoder keeps in a segment of n, of which `want` were selected.
 * Returns their number. `found` has room for n numbers, `count` for a byte for each bit. */
static uint64_t find(const struct filter *f, uint32_t *found, uint64_t n, uint64_t want,
                     uint8_t *count)
{
    uint64_t positives = 0;

    for (uint32_t position = 0; position < n; position++) {
        found[positives] = position;
        positives += is_positive(f, position);
    }
    return choose(f, found, positives, want, count);
}

/* ---- encoding ---- */

/* The number of bits of a filter for k of n positions, so that about half of the bits are set; at
 * most n. */
static uint32_t bits_for(unsigned hashes, uint64_t k, uint64_t n)
{
    const double bits = ceil((double)hashes * (double)k * 1.4426950408889634); /* 1 / ln 2 */

    return bits < (double)n ? (uint32_t)bits : (uint32_t)n;
}

/* Sets the policy, and the numbers of hashes and bits for k of n positions, so that about the share
 * `fpr` of all other positions, or less, is positive. The share is larger if `fpr` needs more than
 * HASHES_MOST hashes or n bits. */
static void size_filter(struct filter *f, const struct gcb_bloom_params *p, uint64_t k, uint64_t n)
{
    const double fpr = p->fpr > 0.0 ? p->fpr : 0.1 * (double)k / (double)n;
    double share = 1.0;

    for (f->hashes = 0; share > fpr && f->hashes < HASHES_MOST; share /= 2.0)
        f->hashes++;
    f->hashes += f->hashes == 0;
    f->bits = bits_for(f->hashes, k, n);
    f->policy = (enum gcb_bloom_policy)p->policy;
}

uint64_t gcb_bloom_choose(const struct gcb_bloom_params *p, uint8_t *message, uint32_t *found,
                          const uint32_t *pos, uint64_t kept, uint64_t n, uint8_t *count)
{
    struct filter f = {.bit = message + HEAD};

    size_filter(&f, p, kept, n);
    message[0] = (uint8_t)((unsigned)f.policy << 5 | f.hashes);
    gcb_store_u32(message + 1, f.bits);
    memset(f.bit, 0, (f.bits + UINT64_C(7)) / 8);
    for (uint64_t i = 0; i < kept; i++)
        for (unsigned h = 0; h < f.hashes; h++) {
            const uint32_t b = bit_of(&f, hash_of(pos[i]), h);

            f.bit[b / 8] |= (uint8_t)(1u << b % 8);
        }
    return find(&f, found, n, kept, count);
}

void gcb_bloom_put(struct gcb_wbuf *out, const uint8_t *message)
{
    const uint64_t bytes = HEAD + (gcb_load_u32(message + 1) + UINT64_C(7)) / 8;
    uint8_t *p = gcb_wbuf_take(out, bytes);

    if (p)
        memcpy(p, message, bytes);
}

static uint64_t bloom_bound(uint64_t n, uint64_t kept)
{
    return HEAD + (n + 7) / 8;
}

/* ---- decoding ---- */

static int bloom_open(struct gcb_index_cursor *c, struct gcb_rbuf *in)
{
    const uint8_t head = gcb_get_u8(in);
    struct filter f = {.bits = gcb_get_u32(in), .hashes = head & 31u, .policy = head >> 5};
    uint32_t *found = c->tables;

    if (in->failed || f.policy > GCB_BLOOM_CONFLICT || f.hashes == 0 || f.bits == 0 ||
        f.bits > c->n || (f.policy != GCB_BLOOM_ALL && f.bits != bits_for(f.hashes, c->kept, c->n)))
        return GCB_E_CORRUPT; /* if too few bits made all n positive, CONFLICT would take hours */
    c->body = gcb_rbuf_take(in, (f.bits + UINT64_C(7)) / 8);
    if (!c->body)
        return GCB_E_CORRUPT;
    f.bit = (uint8_t *)(uintptr_t)c->body;
    return find(&f, found, c->n, c->kept, (uint8_t *)(found + c->n)) == c->kept ? 0 : GCB_E_CORRUPT;
}

static int bloom_next(struct gcb_index_cursor *c, uint32_t *pos, size_t n)
{
    memcpy(pos, (uint32_t *)c->tables + c->done, n * sizeof(*pos));
    c->done += n;
    return 0;
}

const char *const gcb_bloom_policy_names[] = {"all", "random", "conflict", NULL};

const struct gcb_index gcb_index_bloom = {
    .position_bytes = GCB_BLOOM_ROOM,
    .bound = bloom_bound,
    .open = bloom_open,
    .next = bloom_next,
};
