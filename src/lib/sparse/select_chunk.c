#include "src/lib/sparse/select.h"

/*
 * Keeps the same share of each chunk. In a chunk of L positions it keeps the clamp(rint(density L),
 * 1, L) largest magnitudes; among equal magnitudes, those with the lower index. Each chunk is read
 * once from memory and then stays in the first-level cache.
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

/* Appends the selection of the chunk x[from .. from + n), which may lie across segments. */
static void append_chunk(struct gcb_selection *s, const float *x, uint64_t from, uint64_t n)
{
    uint64_t segment_kept = 0;
    struct gcb_selection part = {
        .positions = n,
        .segment = n,
        .segments = 1,
        .segment_kept = &segment_kept,
        .pos = s->pos + s->kept,
        .value = s->value + s->kept,
        .ranked = s->ranked,
        .sample = s->sample,
        .kernels = s->kernels,
        .queue = &(struct gcb_queue){.threads = 1},
    };

    gcb_select_exact(&part, x + from, gcb_kept_of(s->p.density, n));
    for (uint64_t i = 0; i < part.kept; i++) {
        const uint64_t position = from + part.pos[i], g = position / s->segment;

        part.pos[i] = (uint32_t)(position - g * s->segment);
        s->segment_kept[g]++;
    }
    s->kept += part.kept;
}

static void select_chunk(struct gcb_selection *s, const float *order, uint64_t k)
{
    const uint64_t chunk = chunk_length(&s->p, s->positions);

    if (chunk == s->positions) {
        gcb_select_exact(s, order, k);
        return;
    }
    s->kept = 0;
    for (uint64_t g = 0; g < s->segments; g++)
        s->segment_kept[g] = 0;
    for (uint64_t from = 0, n; from < s->positions; from += n) {
        n = s->positions - from < chunk ? s->positions - from : chunk;
        append_chunk(s, order, from, n);
    }
}

const struct gcb_selector gcb_selector_chunk = {
    .exact = true,
    .keeps_largest = true,
    .max_kept = chunk_max_kept,
    .select = select_chunk,
};
