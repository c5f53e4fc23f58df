#include "src/lib/sparse/chunks.h"
#include "src/lib/sparse/select.h"

/*
 * Keeps the same share of each chunk: of L positions, the clamp(rint(density L), 1, L) with the
 * largest magnitudes; among equal magnitudes, those with the lower index. Each chunk is read once
 * from memory; a chunk of usual length then stays in the first-level cache.
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

uint64_t gcb_select_of_chunk(const struct gcb_selection *s, uint64_t at, uint64_t room,
                             const float *x, uint64_t n, uint32_t *hint)
{
    const uint64_t k = gcb_kept_of(s->p.density, n);
    uint64_t segment_kept = 0;
    struct gcb_selection part = {
        .positions = n,
        .segment = n,
        .segments = 1,
        .segment_kept = &segment_kept,
        .pos = s->pos + at,
        .value = s->value + at,
        .ranked = s->ranked + room,
        .sample = s->sample,
        .hint = *hint,
        .kernels = s->kernels,
        .queue = &(struct gcb_queue){.threads = 1},
    };
    uint32_t least = GCB_INF_BITS;

    gcb_select_exact(&part, x, k);
    for (uint64_t i = 0; i < part.kept; i++) {
        const uint32_t m = gcb_magnitude(part.value[i]);

        least = m < least ? m : least;
    }
    *hint = least > HINT_BELOW ? least - HINT_BELOW : 0;
    return part.kept;
}

/* Appends the selection of the chunk x[from .. from + n), which may lie across segments. */
static void append_chunk(struct gcb_selection *s, const float *x, uint64_t from, uint64_t n,
                         uint32_t *hint)
{
    const uint64_t kept = gcb_select_of_chunk(s, s->kept, 0, x + from, n, hint);
    uint32_t *pos = s->pos + s->kept;
    uint64_t g = from / s->segment;

    for (uint64_t i = 0; i < kept; i++) {
        const uint64_t position = from + pos[i];

        while (position >= (g + 1) * s->segment)
            g++;
        pos[i] = (uint32_t)(position - g * s->segment);
        s->segment_kept[g]++;
    }
    s->kept += kept;
}

static void select_chunk(struct gcb_selection *s, const float *order, uint64_t k)
{
    const uint64_t chunk = chunk_length(&s->p, s->positions);
    uint32_t hint = 0;

    if (chunk == s->positions) {
        gcb_select_exact(s, order, k);
        return;
    }
    s->kept = 0;
    for (uint64_t g = 0; g < s->segments; g++)
        s->segment_kept[g] = 0;
    for (uint64_t from = 0, n; from < s->positions; from += n) {
        n = s->positions - from < chunk ? s->positions - from : chunk;
        append_chunk(s, order, from, n, &hint);
    }
}

const struct gcb_selector gcb_selector_chunk = {
    .exact = true,
    .keeps_largest = true,
    .max_kept = chunk_max_kept,
    .select = select_chunk,
    .by_chunks = gcb_chunks_select_each,
};
