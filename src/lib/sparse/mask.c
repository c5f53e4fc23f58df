#include <string.h>

#include "kernels/base/hd.h"
#include "src/lib/base/alloc.h"
#include "src/lib/codec/packed.h"
#include "src/lib/codec/shared_scale.h"
#include "src/lib/sparse/select.h"
#include "src/lib/sparse/sparse.h"
#include "src/lib/sparse/transform.h"

/*
 * select=mask: all workers keep the same elements, so that an all-reduce adds their values without
 * positions. They agree on the elements in the first step, and when a period of `every` steps
 * begins. Such a step has one more round, before the values:
 *
 *   agree=union   Each worker votes for its k largest elements, but not for zeros (a worker of
 *                 weight 0 for none). All elements with a vote are kept. Votes are added as
 *                 integers, one for each element.
 *   agree=leader  One worker, in turn, sends the positions of its k largest elements, 16 bits at a
 *                 time. The others send zeros, so the sums are the positions.
 *   agree=moment  Like union, but a worker votes by the moving average of its tensors (residuals
 *                 included).
 *   agree=sketch  The tensor is cut into rows of `chunk` elements. Each worker sends four sums of
 *                 each row, with random signs that all workers share. The rows whose sums have
 *                 the largest norm are kept.
 *
 * With quant=ternary, values are -1, 0 or 1 times a scale that all workers share, as in TernGrad: a
 * round finds the scale, and the last round adds integers.
 *
 * A new mask or average is kept only at the end of its step. If a step fails, no worker gets that
 * far, and the next step agrees again.
 */
struct gcb_mask {
    /* the quantiser of the kept values, for quant=ternary; votes have 16 bits if q.shared.wide */
    struct gcb_quantiser q;
    uint64_t words;           /* number of words in a mask; a word has 64 bits */
    uint64_t *mask, *next;    /* a bit for each element; `next`: the mask on which a step agrees */
    uint64_t kept, next_kept; /* elements in `mask` and in `next` */
    uint64_t period;          /* number of the mask's period, from 1; 0: there is no mask */
    float *room;              /* scratch, a float for each element */
    float *moment;            /* agree=moment: the moving average; else NULL */

    /* the current step */
    bool agrees;
    bool averages; /* the moving average does not have the step's tensor yet */
    uint64_t now;  /* number of the step's period, from 1: step / every + 1 */
};

#define AVERAGE 0.9f /* share of earlier steps in the moving average */
#define SUMS 4       /* number of sums of a row (agree=sketch) */

int gcb_mask_init(struct gcb_sparse *s, struct gcb_diag *diag)
{
    const uint64_t count = s->base.env.count;
    struct gcb_mask *m = s->mask = gcb_alloc_zero(1, sizeof(*m));
    int err;

    if (!m)
        return gcb_diag_nomem(diag, sizeof(*m), "a mask");
    if (s->agree == GCB_AGREE_LEADER && count > UINT32_MAX)
        return gcb_invalid(diag, "agree=leader takes at most 4294967295 elements");
    m->q.base.env = s->base.env;
    err = gcb_shared_scale_init(&m->q, 1, count ? count : 1, diag);
    if (err)
        return err;
    m->words = (count + 63) / 64;
    m->mask = gcb_alloc_zero(m->words, sizeof(*m->mask));
    m->next = gcb_alloc_zero(m->words, sizeof(*m->next));
    m->room = gcb_alloc_array(count, sizeof(*m->room));
    if (s->agree == GCB_AGREE_MOMENT)
        m->moment = gcb_alloc_zero(count, sizeof(*m->moment));
    if (!m->mask || !m->next || !m->room || (s->agree == GCB_AGREE_MOMENT && !m->moment))
        return gcb_diag_nomem(diag, 2 * count * sizeof(float), "a mask");
    s->base.rounds = 1;
    s->base.round[0] = (struct gcb_reduce_round){GCB_SUM_F32, s->k};
    return 0;
}

void gcb_mask_fini(struct gcb_mask *m)
{
    if (!m)
        return;
    gcb_shared_scale_fini(&m->q.shared);
    gcb_free(m->mask);
    gcb_free(m->next);
    gcb_free(m->room);
    gcb_free(m->moment);
    gcb_free(m);
}

/* ---- what is kept from step to step ---- */

static uint64_t mask_bytes(const void *state)
{
    const struct gcb_sparse *s = state;
    const struct gcb_mask *m = s->mask;

    if (!m)
        return 0;
    return (1 + m->words) * sizeof(uint64_t) +
           (m->moment ? s->base.env.count * sizeof(*m->moment) : 0);
}

static void mask_write(const void *state, struct gcb_wbuf *out)
{
    const struct gcb_sparse *s = state;
    const struct gcb_mask *m = s->mask;

    if (!m)
        return;
    gcb_put_u64(out, m->period);
    for (uint64_t w = 0; w < m->words; w++)
        gcb_put_u64(out, m->mask[w]);
    for (uint64_t i = 0; m->moment && i < s->base.env.count; i++)
        gcb_put_f32(out, m->moment[i]);
}

static uint64_t count_bits(const uint64_t *mask, uint64_t words)
{
    uint64_t n = 0;

    for (uint64_t w = 0; w < words; w++)
        n += (uint64_t)__builtin_popcountll(mask[w]);
    return n;
}

static int mask_read(void *state, struct gcb_rbuf *in)
{
    const struct gcb_sparse *s = state;
    const uint64_t count = s->base.env.count;
    struct gcb_mask *m = s->mask;
    const uint64_t period = m && in ? gcb_get_u64(in) : 0;
    uint32_t largest = 0;

    if (!m)
        return 0;
    for (uint64_t w = 0; w < m->words; w++)
        m->next[w] = in ? gcb_get_u64(in) : 0;
    for (uint64_t i = 0; m->moment && i < count; i++) {
        m->room[i] = in ? gcb_get_f32(in) : 0.0f;
        largest = gcb_magnitude(m->room[i]) > largest ? gcb_magnitude(m->room[i]) : largest;
    }
    if ((in && in->failed) || largest >= GCB_INF_BITS ||
        (count % 64 && m->next[m->words - 1] >> count % 64))
        return GCB_E_MISMATCH;
    m->period = period;
    if (count)
        memcpy(m->mask, m->next, m->words * sizeof(*m->mask));
    m->kept = count_bits(m->mask, m->words);
    if (m->moment && count)
        memcpy(m->moment, m->room, count * sizeof(*m->moment));
    return 0;
}

const struct gcb_kept_ops gcb_mask_kept_ops = {
    .bytes = mask_bytes,
    .write = mask_write,
    .read = mask_read,
};

/* ---- rounds ---- */

static uint64_t row_length(const struct gcb_sparse *s)
{
    const uint64_t count = s->base.env.count ? s->base.env.count : 1;

    return s->chunk && s->chunk < count ? s->chunk : count;
}

static uint64_t row_count(const struct gcb_sparse *s)
{
    return (s->base.env.count + row_length(s) - 1) / row_length(s);
}

/* Appends the rounds of the values. If a mask keeps no element of a tensor that is not empty, one
 * zero is sent (with quant=ternary, the scale): a worker whose tensor is not finite sends NaN
 * instead, so all workers learn of it. */
static void set_value_rounds(struct gcb_sparse *s, uint64_t kept)
{
    struct gcb_mask *m = s->mask;
    struct gcb_reduce_round *round = s->base.round + m->agrees;

    m->q.base.env.count = kept;
    s->base.rounds = m->agrees + 1;
    if (s->selection.p.quant == GCB_QUANT_TERNARY) {
        *round++ = (struct gcb_reduce_round){GCB_MAX_F32, 1};
        *round = (struct gcb_reduce_round){m->q.shared.wide ? GCB_SUM_I16 : GCB_SUM_I8, kept};
        s->base.rounds++;
    } else {
        *round = (struct gcb_reduce_round){GCB_SUM_F32, kept ? kept : s->base.env.count > 0};
    }
}

static void mask_begin(void *state, const struct gcb_reduce_at *at)
{
    struct gcb_sparse *s = state;
    struct gcb_mask *m = s->mask;
    struct gcb_reduce_round *round = s->base.round;

    m->now = at->step.step / s->every + 1;
    m->agrees = m->now != m->period;
    m->averages = m->moment;
    set_value_rounds(s, m->kept);
    if (!m->agrees)
        return;
    if (s->agree == GCB_AGREE_SKETCH)
        *round = (struct gcb_reduce_round){GCB_SUM_F32, SUMS * row_count(s)};
    else if (s->agree == GCB_AGREE_LEADER)
        *round = (struct gcb_reduce_round){GCB_SUM_I16, 2 * s->k};
    else
        *round = (struct gcb_reduce_round){m->q.shared.wide ? GCB_SUM_I16 : GCB_SUM_I8,
                                           s->base.env.count};
}

/* ---- agreeing ---- */

/* Writes the selection: a vote for each selected element that is not zero, or with agree=leader the
 * positions, 16 bits at a time. The caller has zeroed `values`. */
static void put_selection(struct gcb_sparse *s, void *values)
{
    const struct gcb_selection *sel = &s->selection;
    const bool leads = s->agree == GCB_AGREE_LEADER;
    int16_t *words = values;
    int8_t *bytes = values;
    uint64_t i = 0;

    for (uint64_t g = 0; g < s->segments; g++)
        for (uint64_t end = i + sel->segment_kept[g]; i < end; i++) {
            const uint64_t position = g * sel->segment + sel->pos[i];

            if (leads) {
                words[2 * i] = (int16_t)(position & 0xffff);
                words[2 * i + 1] = (int16_t)(position >> 16);
            } else if (s->mask->q.shared.wide) {
                words[position] = sel->value[i] != 0.0f;
            } else {
                bytes[position] = sel->value[i] != 0.0f;
            }
        }
}

/* Writes the sums of all rows, times this worker's weight. Bit t of an element's random byte is set
 * if the element is subtracted from sum t. */
static void sketch(const struct gcb_sparse *s, const struct gcb_reduce_at *at, const float *x,
                   float *values)
{
    const uint64_t count = s->base.env.count, length = row_length(s);
    const uint64_t key = gcb_hadamard_key(&s->base.env, at->step.step);
    uint8_t *byte = (uint8_t *)s->mask->room;

    s->base.env.kernels->philox.bytes(byte, count, key, 0, 0);
    for (uint64_t first = 0; first < count; first += length) {
        double sum[SUMS] = {0};

        for (uint64_t i = first; i < count && i < first + length; i++)
            for (unsigned t = 0; t < SUMS; t++)
                sum[t] += byte[i] >> t & 1 ? -(double)x[i] : (double)x[i];
        for (unsigned t = 0; t < SUMS; t++)
            *values++ = (float)((double)at->weight * sum[t]);
    }
}

/* Writes the moving average with x to `out`, which may be the average itself. A step that agrees
 * may compute it twice: in `propose`, and at its end, when the scratch has other values. */
static void average(const struct gcb_sparse *s, const float *x, float *out)
{
    for (uint64_t i = 0; i < s->base.env.count; i++)
        out[i] = AVERAGE * s->mask->moment[i] + (1.0f - AVERAGE) * x[i];
}

/* Writes what this worker sends in the first round of a step that agrees. A worker of weight 0 does
 * not vote. As leader it still sends positions, because nobody else does. Returns 0 or
 * GCB_E_SEND_RAW. */
static int propose(struct gcb_sparse *s, const struct gcb_reduce_at *at, const float *x,
                   void *values)
{
    const struct gcb_reduce_round *round = s->base.round;

    if (s->base.env.count == 0)
        return 0;
    if (s->agree == GCB_AGREE_SKETCH) {
        sketch(s, at, x, values);
        return 0;
    }
    memset(values, 0, round->count * gcb_reduction_size(round->reduction));
    if (s->agree == GCB_AGREE_LEADER ? at->step.worker != (s->mask->now - 1) % at->workers
                                     : at->weight == 0.0f)
        return 0;
    if (s->mask->moment)
        average(s, x, s->mask->room);
    if (!gcb_sparse_select_from(s, &at->step, s->mask->moment ? s->mask->room : x))
        return GCB_E_SEND_RAW;
    put_selection(s, values);
    return 0;
}

static void keep(struct gcb_mask *m, uint64_t i)
{
    m->next[i / 64] |= UINT64_C(1) << i % 64;
}

/* Keeps the rows with the largest norms of sums; among equal norms, the first. */
static void take_rows(struct gcb_sparse *s, const float *sums)
{
    const uint64_t rows = row_count(s), length = row_length(s), count = s->base.env.count;
    const uint64_t k = gcb_kept_of(s->selection.p.density, rows);
    struct gcb_mask *m = s->mask;
    uint64_t above, ties;
    uint32_t least;

    for (uint64_t r = 0; r < rows; r++) {
        double square = 0.0;

        for (unsigned t = 0; t < SUMS; t++)
            square += (double)sums[SUMS * r + t] * (double)sums[SUMS * r + t];
        m->room[r] = (float)(sqrt(square) / SUMS); /* finite: at most half the largest sum */
    }
    least = gcb_select_kth(s->base.env.kernels, m->room, rows, k, &above);
    ties = k - above;
    for (uint64_t r = 0; r < rows; r++) {
        const uint32_t norm = gcb_magnitude(m->room[r]);

        if (norm < least || (norm == least && ties == 0))
            continue;
        ties -= norm == least;
        for (uint64_t i = r * length; i < count && i < (r + 1) * length; i++)
            keep(m, i);
    }
}

/* Makes the next mask from what the workers sent in the first round, which `combined` adds up.
 * Leaves out a leader's positions that are too large (a hostile leader). */
static void take_agreement(struct gcb_sparse *s, const void *combined)
{
    const uint64_t count = s->base.env.count;
    const int16_t *words = combined;
    const int8_t *bytes = combined;
    struct gcb_mask *m = s->mask;

    if (count == 0)
        return;
    memset(m->next, 0, m->words * sizeof(*m->next));
    if (s->agree == GCB_AGREE_SKETCH)
        take_rows(s, combined);
    for (uint64_t i = 0; s->agree == GCB_AGREE_LEADER && i < s->k; i++) {
        const uint32_t position = (uint16_t)words[2 * i] | (uint32_t)(uint16_t)words[2 * i + 1]
                                                               << 16;

        if (position < count)
            keep(m, position);
    }
    for (uint64_t i = 0; s->agree <= GCB_AGREE_MOMENT && i < count; i++)
        if (m->q.shared.wide ? words[i] > 0 : bytes[i] > 0)
            keep(m, i);
    m->next_kept = count_bits(m->next, m->words);
    set_value_rounds(s, m->next_kept);
}

/* ---- values ---- */

/* The mask of the current step. */
static const uint64_t *current_mask(const struct gcb_mask *m)
{
    return m->agrees ? m->next : m->mask;
}

static void gather(const struct gcb_mask *m, const float *x, float weight, float *out)
{
    const uint64_t *mask = current_mask(m);

    for (uint64_t w = 0; w < m->words; w++)
        for (uint64_t left = mask[w]; left; left &= left - 1)
            *out++ = weight * x[64 * w + (unsigned)__builtin_ctzll(left)];
}

static void scatter(const struct gcb_sparse *s, const float *values, float *out)
{
    const uint64_t *mask = current_mask(s->mask);

    gcb_set_zero(out, s->base.env.count);
    for (uint64_t w = 0; w < s->mask->words; w++)
        for (uint64_t left = mask[w]; left; left &= left - 1)
            out[64 * w + (unsigned)__builtin_ctzll(left)] = *values++;
}

/* Rounds the gathered values to levels of the shared scale. */
static void put_levels(struct gcb_mask *m, const struct gcb_reduce_at *at)
{
    const struct gcb_codec_env *env = &m->q.base.env;
    const struct gcb_rounding_draw draw = gcb_rounding_draw(env, &at->step);
    struct gcb_dither d = {
        .seed = env->seed, .coarse = draw.coarse, .fine = draw.fine, .levels = 1};
    uint8_t byte[GCB_TILE];
    uint16_t code[GCB_TILE];

    if (env->count > 0 && m->q.shared.scale[0] > 0.0f)
        gcb_dither_scale(&d, m->q.shared.scale[0]);
    for (uint64_t i = 0, n; i < env->count; i += n) {
        n = gcb_tile_length(env->count, i);
        env->kernels->philox.bytes(byte, n, d.seed, i, d.coarse);
        env->kernels->dither.trits(code, m->room + i, n, byte, i, &d);
        for (uint64_t j = 0; j < n; j++)
            gcb_shared_scale_put(&m->q.shared, i + j, (int)code[j] - 1);
    }
}

/* ---- members of gcb_mask_reduce, besides mask_begin ---- */

static int mask_contribute(void *state, const struct gcb_reduce_at *at, unsigned round,
                           const float *x, void *values)
{
    struct gcb_sparse *s = state;
    struct gcb_mask *m = s->mask;
    float largest;

    if (round == 0 && m->agrees)
        return propose(s, at, x, values);
    if (s->selection.p.quant != GCB_QUANT_TERNARY) {
        if (m->q.base.env.count == 0 && s->base.env.count)
            memset(values, 0, sizeof(float));
        gather(m, x, at->weight, values);
        return 0;
    }
    gather(m, x, at->weight, m->room);
    if (round + 1 == s->base.rounds) {
        put_levels(m, at);
        gcb_shared_scale_send(&m->q, values);
        return 0;
    }
    largest = gcb_float_of(s->base.env.kernels->reduce.max_bits(m->room, m->q.base.env.count));
    memcpy(values, &largest, sizeof(largest));
    return 0;
}

static void mask_absorb(void *state, unsigned round, const void *combined)
{
    struct gcb_sparse *s = state;

    if (round == 0 && s->mask->agrees)
        take_agreement(s, combined);
    else
        gcb_shared_scale_absorb(s->mask, round, combined);
}

static void mask_conclude(void *state, const struct gcb_reduce_at *at, const float *x,
                          const void *combined, float *update, float *own)
{
    struct gcb_sparse *s = state;
    struct gcb_mask *m = s->mask;
    uint64_t *const mask = m->mask;
    const bool ternary = s->selection.p.quant == GCB_QUANT_TERNARY;

    if (update) {
        if (ternary)
            gcb_shared_scale_conclude(m, at, x, combined, m->room, NULL);
        scatter(s, ternary ? m->room : combined, update);
    }
    if (own) {
        if (ternary)
            gcb_shared_scale_conclude(m, at, x, combined, NULL, m->room);
        else
            gather(m, x, 1.0f, m->room);
        scatter(s, m->room, own);
    }
    if (m->averages)
        average(s, x, m->moment);
    m->averages = false;
    if (!m->agrees)
        return;
    m->mask = m->next;
    m->next = mask;
    m->kept = m->next_kept;
    m->period = m->now;
    m->agrees = false;
}

const struct gcb_reduce_ops gcb_mask_reduce = {
    .begin = mask_begin,
    .contribute = mask_contribute,
    .absorb = mask_absorb,
    .conclude = mask_conclude,
    .conserves = true,
};
