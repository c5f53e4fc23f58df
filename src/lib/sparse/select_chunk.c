#include <string.h>

#include "kernels/base/hd.h"
#include "src/lib/sparse/select.h"
#include "src/lib/sparse/transform.h"

/*
 * Keeps the same share of each chunk, or of each tile: of L positions, it keeps those with the k
 * largest magnitudes, k = clamp(rint(density * L), 1, L); among equal magnitudes, those with the
 * lower index. Each chunk is read once from memory; a chunk of usual length then stays in the
 * first-level cache.
 */

static uint64_t chunk_length(const struct gcb_selection_params *p, uint64_t positions)
{
    return p->chunk == 0 || p->chunk > positions ? positions : p->chunk;
}

static uint64_t chunk_max_kept(const struct gcb_selection_params *p, uint64_t positions, uint64_t k)
{
    const uint64_t chunk = chunk_length(p, positions);

    if (positions == 0)
        return 0;
    return positions / chunk * gcb_kept_of(p->density, chunk) +
           gcb_kept_of(p->density, positions % chunk);
}

/* The next chunk's hint is the least kept magnitude minus this number, as bit patterns. That is 4/5
 * to 7/8 of the magnitude. */
#define HINT_BELOW 0x200000u

/*
 * Selects from a block and appends to the share. The least kept magnitude of a chunk is a hint for
 * the next chunk, so that chunks of one scale are selected from faster. A gcb_block_fn.
 */
static void select_block(void *ctx, struct gcb_share *share, const struct gcb_block *block)
{
    struct gcb_selection *s = ctx;
    const uint64_t to = share->first + share->found;
    uint64_t segment_kept, g = block->first / s->segment;
    uint32_t least = GCB_INF_BITS;
    struct gcb_selection part = {
        .from = {.order = block->order},
        .positions = block->n,
        .segment = block->n,
        .segments = 1,
        .segment_kept = &segment_kept,
        .pos = s->pos + to,
        .value = s->value + to,
        .ranked = s->ranked + share->first,
        .sample = s->ranked + share->first, /* never in use with `ranked` */
        .hint = share->hint,
        .kernels = s->kernels,
        .queue = &(struct gcb_queue){.threads = 1},
    };

    gcb_select_exact(&part, gcb_kept_of(s->p.density, block->n));
    for (uint64_t i = 0, from = 0; i < part.kept; i++) {
        const uint64_t position = block->first + part.pos[i];
        const uint32_t m = gcb_magnitude(part.value[i]);

        for (; position >= (g + 1) * s->segment; g++, from = i)
            gcb_blocks_count(s, g, i - from);
        part.pos[i] = (uint32_t)(position - g * s->segment);
        least = m < least ? m : least;
        if (i + 1 == part.kept)
            gcb_blocks_count(s, g, part.kept - from);
    }
    share->found += part.kept;
    share->hint = least > HINT_BELOW ? least - HINT_BELOW : 0;
}

/* ---- tiles ---- */

uint64_t gcb_select_kept_of_tiles(const struct gcb_transform_state *t, double density)
{
    struct gcb_tiles_part p = {0};
    uint64_t kept = 0;

    while (gcb_tiles_next(t, &p))
        kept += p.tiles * gcb_kept_of(density, p.area);
    return kept;
}

/* For each tile of a part, finds the least magnitude that is kept, and how many of the magnitudes
 * that equal it are kept. The two numbers of tile k are at s->ranked[2 k], as bit patterns. There
 * is room: a tile has two positions at least. */
static void rank_tiles(struct gcb_selection *s, const struct gcb_tiles_part *p)
{
    const uint64_t kept = gcb_kept_of(s->p.density, p->area);

    for (uint64_t k = 0; k < p->tiles; k++) {
        uint64_t above;
        uint32_t least;

        for (unsigned i = 0; i < p->area; i++)
            s->sample[i] = s->from.order[p->first + i * p->tiles + k];
        least = gcb_select_kth(s->kernels, s->sample, p->area, kept, &above);
        s->ranked[2 * k] = gcb_float_of(least);
        s->ranked[2 * k + 1] = gcb_float_of((uint32_t)(kept - above));
    }
}

/* True if this value of tile k is kept. Counts down the values that equal the least one. */
static bool keeps(struct gcb_selection *s, uint64_t k, float value)
{
    const uint32_t least = gcb_bits_of(s->ranked[2 * k]), equal = gcb_bits_of(s->ranked[2 * k + 1]);

    if (gcb_magnitude(value) != least)
        return gcb_magnitude(value) > least;
    s->ranked[2 * k + 1] = gcb_float_of(equal ? equal - 1 : 0);
    return equal;
}

/* A tile's coefficients do not follow each other, so each tile is ranked first, and then all
 * positions are visited in order. */
static void select_tiles(struct gcb_selection *s)
{
    struct gcb_tiles_part p = {0};

    s->kept = s->largest = 0;
    memset(s->segment_kept, 0, s->segments * sizeof(*s->segment_kept));
    while (gcb_tiles_next(s->from.t, &p)) {
        if (p.area > 1)
            rank_tiles(s, &p);
        for (uint64_t i = 0; i < p.tiles * p.area; i++) {
            const uint64_t position = p.first + i;
            const float value = s->from.order[position];

            if (p.area > 1 && !keeps(s, i % p.tiles, value))
                continue;
            s->pos[s->kept] = (uint32_t)(position % s->segment);
            s->value[s->kept++] = value;
            s->segment_kept[position / s->segment]++;
            s->largest = gcb_magnitude(value) > s->largest ? gcb_magnitude(value) : s->largest;
        }
    }
}

static bool select_chunk(struct gcb_selection *s, uint64_t k)
{
    const uint64_t chunk = chunk_length(&s->p, s->positions);

    if (s->from.t->tiling) {
        select_tiles(s);
        return true;
    }
    if (s->from.ops->width == 2 && !gcb_blocks_all(s)) /* the scale of powers depends on all bins */
        return false;
    if (chunk == s->positions)
        return gcb_select_exact(s, k);
    return gcb_blocks_visit(s, chunk, select_block, s);
}

const struct gcb_selector gcb_selector_chunk = {
    .exact = true,
    .max_kept = chunk_max_kept,
    .select = select_chunk,
};
