#include "src/lib/sparse/sparse.h"

#include <math.h>
#include <string.h>

#include "kernels/base/hd.h"
#include "src/lib/base/alloc.h"
#include "src/lib/sparse/blocks.h"
#include "src/lib/sparse/select.h"
#include "src/lib/sparse/transform.h"

/* ---- state ---- */

static void bind_selection(struct gcb_sparse *s)
{
    struct gcb_selection_params *p = &s->selection.p;

    p->density = 1.0 - s->theta;
    p->chunk = s->chunk;
    if (s->transform_ops->width == 2 && s->chunk)
        p->chunk = s->chunk / 2 + 1; /* bins of a chunk's real FFT */
    s->k = gcb_kept_of(p->density, s->t.positions);
    s->max_kept =
        s->selector_ops->max_kept ? s->selector_ops->max_kept(p, s->t.positions, s->k) : s->k;
    if (s->selector_ops == &gcb_selector_chunk && s->t.tiling && !s->base.env.decoding)
        s->max_kept = gcb_select_kept_of_tiles(&s->t, p->density);
    if (s->index == GCB_INDEX_BLOOM && s->bloom.policy == GCB_BLOOM_ALL)
        s->max_kept = s->t.positions;
    gcb_values_set_count(&s->v, s->k * s->transform_ops->width);
}

bool gcb_sparse_pads(uint64_t chunk)
{
    return chunk == 0 || gcb_fft_is_own(chunk);
}

static const struct gcb_transform *transform_of(const struct gcb_sparse *s)
{
    return s->tile == GCB_TILE_NONE ? gcb_transforms[s->transform] : &gcb_transform_tiles;
}

/* Sets tile=none without a transform, chunk=0 with tiles, and pad=none if the transform does not
 * pad. Sets pad=none if no zeros would be appended, so that a message says pad=smooth only if there
 * are zeros. Also sets pad=none if gcb_sparse_pads is false, unless a message gave the parameters:
 * a decoder keeps what the message says. */
static void reset_unused(struct gcb_sparse *s, const struct gcb_codec_env *env)
{
    if (s->transform == GCB_TRANSFORM_NONE)
        s->tile = GCB_TILE_NONE;
    if (s->tile != GCB_TILE_NONE)
        s->chunk = 0;
    if (s->tile != GCB_TILE_NONE || !gcb_transforms[s->transform]->pads ||
        gcb_fft_zeros(env->count, s->chunk) == 0 ||
        (!env->from_message && !gcb_sparse_pads(s->chunk)))
        s->pad = GCB_TRANSFORM_PAD_NONE;
}

/* The number of elements that are transformed, with the appended zeros. */
static uint64_t transformed_length(const struct gcb_sparse *s, uint64_t count)
{
    return s->pad == GCB_TRANSFORM_PAD_SMOOTH ? count + gcb_fft_zeros(count, s->chunk) : count;
}

uint64_t gcb_sparse_bound(const struct gcb_sparse *s, uint64_t positions, uint64_t kept)
{
    const uint64_t n = kept * s->transform_ops->width;
    uint64_t bytes = s->values_ops->scale_bytes + (s->values_ops->bits == GCB_CODER_BITS_RANK
                                                       ? (n * gcb_rank_bits(n) + 7) / 8
                                                       : gcb_values_bytes(s->values_ops, &s->v, n));

    for (uint64_t g = 0; g < gcb_sparse_segments(s, positions); g++) {
        const uint64_t length = gcb_sparse_segment_length(s, positions, g);

        bytes += sizeof(uint32_t) + s->index_ops->bound(length, kept < length ? kept : length);
    }
    return bytes;
}

static void set_base(struct gcb_sparse *s)
{
    struct gcb_codec_base *base = &s->base;
    const bool whole = s->selector_ops == &gcb_selector_redsync &&
                       gcb_redsync_path(&s->selection.p, base->env.count) == GCB_REDSYNC_ALL;

    if (!base->env.decoding)
        base->max_payload =
            gcb_sparse_side_bytes(s) + gcb_sparse_bound(s, s->t.positions, s->max_kept);
    /* a segment that keeps nothing has no bitmap, so with several segments the length varies */
    base->length_varies =
        !(s->selector_ops->exact || whole) || !s->index_ops->fixed || s->segments > 1;
    base->may_send_raw = s->transform_ops->order; /* a transform may overflow */
    /* A selection collects infinities and NaNs. But rounding to float16 hides infinities: it makes
     * them finite. */
    base->sees_nonfinite = s->input != GCB_TRANSFORM_FP16;
    base->density = s->selector_ops->by_magnitude ? (double)NAN : 1.0 - s->theta;
    /* As most papers count: only the kept values. A transform has about as many real numbers as its
     * input, so the density is also the share of numbers kept. */
    base->nominal_bits = base->density * gcb_values_bits(s->values_ops, &s->v);
}

void gcb_sparse_bind(struct gcb_sparse *s)
{
    const struct gcb_codec_env *env = &s->base.env;

    if (gcb_redsync_quantises(&s->selection.p, env)) {
        s->select = GCB_SELECT_ALTERNATE;
        s->values = GCB_VALUES_MEAN;
    }
    reset_unused(s, env);
    s->transform_ops = transform_of(s);
    s->selector_ops = gcb_selectors[s->select];
    s->values_ops = &gcb_value_coders[s->values];
    s->index_ops = gcb_indices[s->index];
    s->t.chunk = s->chunk;
    s->t.tile = s->tile;
    s->t.id = (enum gcb_transform_id)s->transform;
    s->t.length = transformed_length(s, env->count);
    s->t.positions = s->transform_ops->positions
                         ? s->transform_ops->positions(s->t.length, s->chunk)
                         : s->t.length;
    s->v.kernels = env->kernels;
    s->t.env = *env;
    bind_selection(s);
    s->segments = gcb_sparse_segments(s, s->t.positions);
    set_base(s);
}

static int make_tables(struct gcb_sparse *s, struct gcb_diag *diag)
{
    const size_t bytes = gcb_sparse_table_bytes(s, s->index_ops);

    if (bytes == 0)
        return 0;
    s->tables = gcb_alloc(bytes);
    s->table_bytes = bytes;
    return s->tables ? 0 : gcb_diag_nomem(diag, bytes, "tables of codes");
}

static int sparse_init(void *state, const struct gcb_codec_env *env, struct gcb_diag *diag)
{
    struct gcb_sparse *s = state;
    int err = 0;

    gcb_sparse_bind(s);
    if (s->transform_ops->init)
        err = s->transform_ops->init(&s->t, env, diag);
    bind_selection(s);
    set_base(s); /* init has set the transform's tiles and side bytes */
    if (!err && s->t.group)
        err = gcb_blocks_init(&s->t, s->transform_ops->width, diag);
    if (!err && (env->decoding || s->index_ops->position_bytes))
        err = make_tables(s, diag);
    if (err || env->decoding)
        return err;
    if (s->values == GCB_VALUES_FIT) {
        const uint64_t most = s->t.positions * s->transform_ops->width;

        if (most > UINT32_MAX)
            return gcb_invalid(diag, "values=fit takes at most 4294967295 values");
        s->v.fit = gcb_fit_create(most);
        if (!s->v.fit)
            return gcb_diag_nomem(diag, most * 2 * sizeof(uint64_t), "sorted values");
    }
    if (s->input == GCB_TRANSFORM_FP16)
        err = gcb_transform_round_init(&s->t, diag);
    if (err)
        return err;
    err = gcb_selection_init(&s->selection, s->t.positions, env, diag);
    return err || s->select != GCB_SELECT_MASK || !env->workers ? err : gcb_mask_init(s, diag);
}

static void sparse_fini(void *state)
{
    struct gcb_sparse *s = state;

    if (s->transform_ops && s->transform_ops->fini)
        s->transform_ops->fini(&s->t);
    gcb_selection_fini(&s->selection);
    gcb_free(s->t.rounded);
    gcb_free(s->tables);
    gcb_fit_destroy(s->v.fit);
    gcb_free(s->listed);
    gcb_mask_fini(s->mask);
}

/* The parameters of selection, values and index may change, except the chunk of a selection. The
 * transform, its chunk, tile, padded length and input may not change, because init has allocated
 * arrays for them. For the same reason, an encoder cannot change to or from values=fit, and
 * index=bloom needs its tables. The arrays of the selection have room for all positions, so any
 * density fits. */
static int sparse_rebind(void *state)
{
    struct gcb_sparse *s = state;
    const struct gcb_codec_env *env = &s->base.env;

    reset_unused(s, env);
    if (s->transform_ops != transform_of(s) || s->t.chunk != s->chunk || s->t.tile != s->tile ||
        (s->tile != GCB_TILE_NONE && s->t.id != (enum gcb_transform_id)s->transform) ||
        s->t.length != transformed_length(s, env->count) ||
        (!env->decoding && (s->input == GCB_TRANSFORM_FP16) != (s->t.rounded != NULL)) ||
        (!env->decoding && (s->values == GCB_VALUES_FIT) != (s->v.fit != NULL)) ||
        (gcb_indices[s->index]->position_bytes &&
         s->table_bytes < gcb_sparse_table_bytes(s, gcb_indices[s->index])))
        return GCB_E_MISMATCH;
    gcb_sparse_bind(s);
    return 0;
}

/* ---- encoding ---- */

/* Returns the kept coefficients, scaled, in an array that has only them. Without a transform they
 * are the selected values. */
static const float *gather(struct gcb_sparse *s)
{
    const struct gcb_transform *transform = s->transform_ops;
    struct gcb_selection *sel = &s->selection;
    float *x = transform->width == 2 ? s->t.coef : sel->value;
    uint64_t done = 0;

    for (uint64_t g = 0; transform->scale && g < s->segments; g++) {
        const uint64_t base = g * sel->segment, kept = sel->segment_kept[g];
        const uint32_t *pos = sel->pos + done;
        float *to = x + done * transform->width;

        if (transform->width == 2 && !sel->pair)
            s->t.env.kernels->select.gather2(to, x + 2 * base, pos, kept);
        transform->scale(&s->t, to, pos, kept, base);
        done += kept;
    }
    return x;
}

int gcb_sparse_put_values(struct gcb_sparse *s, const float *x, uint64_t n, struct gcb_wbuf *out)
{
    const struct gcb_value_coder *ops = s->values_ops;
    struct gcb_values_state *v = &s->v;
    uint8_t *body;

    gcb_values_set_count(v, n);
    gcb_values_begin(v);
    for (uint64_t i = 0; ops->measure && i < n; i += GCB_TILE)
        ops->measure(v, x + i, gcb_tile_length(n, i));
    if (ops->put_scale)
        ops->put_scale(v, out);
    body = gcb_wbuf_take(out, gcb_values_bytes(ops, v, n));
    if (!body)
        return GCB_E_NOSPACE;
    for (uint64_t i = 0; i < n; i += GCB_TILE) {
        const size_t m = gcb_tile_length(n, i);

        s->base.nonfinite |= v->kernels->reduce.max_bits(x + i, m) >= GCB_INF_BITS;
        if (ops->put)
            ops->put(v, body + gcb_values_bytes(ops, v, i), x + i, m);
    }
    s->base.clamped = v->clamped + s->t.saturated;
    return 0;
}

/* index=bloom: what s->tables has: the list of found positions, the counts, and the encoded filters
 * of all segments. */
struct bloom_room {
    uint32_t *found;
    uint8_t *count, *messages;
};

static struct bloom_room bloom_room(const struct gcb_sparse *s)
{
    uint8_t *const p = s->tables;

    return (struct bloom_room){s->tables, p + 4 * s->t.positions, p + 5 * s->t.positions};
}

static uint8_t *bloom_message(const struct gcb_sparse *s, uint64_t g)
{
    return bloom_room(s).messages + (GCB_BLOOM_ROOM - 5) * g * s->selection.segment;
}

/* index=bloom: encodes the filter of each segment, which put_positions appends, and changes the
 * selection to the positions that a decoder will keep. */
static void choose_positives(struct gcb_sparse *s)
{
    struct gcb_selection *sel = &s->selection;
    const struct bloom_room room = bloom_room(s);
    uint64_t from = 0, to = 0;

    for (uint64_t g = 0; g < s->segments; g++) {
        const uint64_t kept = sel->segment_kept[g];
        const float *order = sel->from.order + g * sel->segment;

        sel->segment_kept[g] =
            kept ? gcb_bloom_choose(&s->bloom, bloom_message(s, g), room.found + to,
                                    sel->pos + from, kept,
                                    gcb_sparse_segment_length(s, s->t.positions, g), room.count)
                 : 0;
        from += kept;
        for (const uint64_t end = to + sel->segment_kept[g]; to < end; to++)
            sel->value[to] = order[room.found[to]];
    }
    if (to > 0)
        memcpy(sel->pos, room.found, to * sizeof(*sel->pos));
    sel->kept = to;
}

static void put_positions(const struct gcb_sparse *s, struct gcb_wbuf *out)
{
    const uint32_t *pos = s->selection.pos;

    for (uint64_t g = 0; g < s->segments; g++) {
        const uint64_t kept = s->selection.segment_kept[g];

        if (kept && s->index == GCB_INDEX_BLOOM)
            gcb_bloom_put(out, bloom_message(s, g));
        else if (kept)
            s->index_ops->encode(out, pos, kept, gcb_sparse_segment_length(s, s->t.positions, g));
        pos += kept;
    }
}

bool gcb_sparse_select_from(struct gcb_sparse *s, const struct gcb_step *at, const float *x)
{
    struct gcb_selection *sel = &s->selection;
    const bool by_chunks = s->t.room && s->segments == 1 && s->index != GCB_INDEX_BLOOM;

    sel->at = *at;
    sel->from = (struct gcb_source){.x = x, .t = &s->t, .ops = s->transform_ops};
    sel->nonfinite = false;
    if (s->transform_ops->begin)
        s->transform_ops->begin(&s->t, at);
    return (by_chunks || gcb_blocks_all(sel)) && s->selector_ops->select(sel, s->k);
}

static int sparse_encode(void *state, const struct gcb_step *at, const struct gcb_view *in,
                         struct gcb_wbuf *out)
{
    struct gcb_sparse *s = state;
    const struct gcb_transform *transform = s->transform_ops;
    const struct gcb_probe *probe = s->t.env.probe;
    const float *x = in->data;
    int err;

    s->base.nonfinite = false;
    if (transform->has_room && !transform->has_room(&s->t))
        return GCB_E_NOMEM;
    if (s->t.rounded)
        x = gcb_transform_round(&s->t, x);
    if (!gcb_sparse_select_from(s, at, x)) {
        /* the transform overflowed, or its input is not finite */
        s->base.nonfinite = s->t.env.kernels->reduce.max_bits(in->data, in->count) >= GCB_INF_BITS;
        return GCB_E_SEND_RAW;
    }
    s->base.nonfinite = s->selection.nonfinite;
    if (s->index == GCB_INDEX_BLOOM)
        choose_positives(s);
    gcb_probe_mark(probe, GCB_STAGE_SELECT);
    for (uint64_t g = 0; g < s->segments; g++)
        gcb_put_u32(out, (uint32_t)s->selection.segment_kept[g]);
    if (transform->put_side)
        transform->put_side(&s->t, out);
    s->v.clamped = 0;
    err = gcb_sparse_put_values(s, gather(s), s->selection.kept * transform->width, out);
    if (err)
        return err;
    gcb_probe_mark(probe, GCB_STAGE_QUANTISE);
    put_positions(s, out);
    gcb_probe_mark(probe, GCB_STAGE_INDEX);
    return out->failed ? GCB_E_NOSPACE : 0;
}

/*
 * ---- checkpoints: the threshold that redsync uses again ----
 *
 * The three numbers are: the step that found the threshold; 1 << 32 | worker, or 0 without a
 * threshold; the threshold.
 */

static void sparse_save(const void *state, uint64_t *kept)
{
    const struct gcb_selection *s = &((const struct gcb_sparse *)state)->selection;

    kept[0] = s->found_at.step;
    kept[1] = (uint64_t)s->found << 32 | s->found_at.worker;
    kept[2] = s->found_threshold;
}

static int sparse_restore(void *state, const uint64_t *kept)
{
    struct gcb_sparse *s = state;
    const bool found = kept[1] >> 32;
    const bool as_new = !kept[0] && !kept[1] && !kept[2];

    if (kept[1] >> 33 || kept[2] > UINT32_MAX)
        return GCB_E_MISMATCH;
    if (!as_new && !(found && s->selector_ops->stateful))
        return GCB_E_MISMATCH;
    s->selection.found = found;
    s->selection.found_at = (struct gcb_step){.step = kept[0], .worker = (uint32_t)kept[1]};
    s->selection.found_threshold = (uint32_t)kept[2];
    return 0;
}

static const struct gcb_codec_ops sparse_ops = {
    .state_size = sizeof(struct gcb_sparse),
    .init = sparse_init,
    .fini = sparse_fini,
    .clamps = true,
    .drops = true,
    .encode = sparse_encode,
    .read = gcb_sparse_read,
    .marks = true,
    .rebind = sparse_rebind,
    .canvas = gcb_sparse_canvas,
    .inverse = gcb_sparse_inverse,
    .describe = gcb_sparse_describe,
    .save = sparse_save,
    .restore = sparse_restore,
    .kept_ops = &gcb_mask_kept_ops,
};

const struct gcb_codec gcb_codec_sparse = {
    .name = "sparse",
    .summary = "any combination of transform, selection, values and index coder",
    .source = "combines the stages of the methods below",
    .guarantee =
        "contraction: ||x - x'||^2 <= (1 - k/n) ||x||^2 for k of n kept and values not quantised",
    .wire_id = 16,
    .caps_of = gcb_sparse_caps,
    .selects = gcb_sparse_selects,
    .params = gcb_sparse_params,
    .check = gcb_sparse_check,
    .ops = &sparse_ops,
    .reduce = &gcb_mask_reduce,
    .collectives_of = gcb_sparse_collectives,
    .presets = gcb_sparse_presets,
};
