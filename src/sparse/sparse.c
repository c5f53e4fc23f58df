#include <math.h>
#include <string.h>

#include "src/base/alloc.h"
#include "src/codec/codecs.h"
#include "src/sparse/presets.h"
#include "src/sparse/stages.h"

/*
 * The sparse codec: keeps the k largest of a tensor's elements, or of its transform's bins, and sends their
 * values and positions (src/sparse/stages.h has the stages).
 *
 * Payload: for each segment, how many positions are kept (uint32); the scale of the values, if any; the
 * values, in the order of positions; the positions of each segment that has any.
 */
struct sparse {
    double theta;
    int transform, select, values, index; /* ids of the stages */
    uint64_t chunk;
    struct gcb_transform_state t;
    struct gcb_selection selection;
    struct gcb_values_state v;
    const struct gcb_transform *transform_ops;
    const struct gcb_values *values_ops;
    const struct gcb_index *index_ops;
    uint64_t count, k, segment, segments;
};

#define TILE_FLOATS (2 * GCB_TILE)

static void sparse_fini(void *state)
{
    struct sparse *s = state;

    if (s->transform_ops)
        s->transform_ops->fini(&s->t);
    gcb_selection_fini(&s->selection);
}

static int sparse_init(void *state, const struct gcb_codec_env *env, struct gcb_diag *diag)
{
    struct sparse *s = state;
    int err;

    s->transform_ops = gcb_transform_at(s->transform);
    s->values_ops = gcb_values_at(s->values);
    s->index_ops = gcb_index_at(s->index);
    s->count = env->count;
    s->segment = env->segment;
    s->t.count = env->count;
    s->t.chunk = s->chunk;
    s->t.positions = s->transform_ops->positions(env->count, s->chunk);
    s->t.kernels = s->v.kernels = env->kernels;
    s->t.queue = env->queue;
    s->k = gcb_kept_of(1.0 - s->theta, s->t.positions);
    s->segments = (s->t.positions + env->segment - 1) / env->segment;
    err = s->transform_ops->init(&s->t, env, diag);
    if (err || env->decoding)
        return err;
    return gcb_selection_init(&s->selection, s->t.positions, env, diag);
}

static uint64_t segment_length(const struct sparse *s, uint64_t g)
{
    const uint64_t left = s->t.positions - g * s->segment;

    return left < s->segment ? left : s->segment;
}

static uint64_t sparse_bound(const void *state)
{
    const struct sparse *s = state;
    uint64_t bytes = s->segments * sizeof(uint32_t) + s->values_ops->scale_bytes;

    bytes += s->values_ops->bytes(&s->v, s->k * s->transform_ops->width);
    for (uint64_t g = 0; g < s->segments; g++) {
        const uint64_t n = segment_length(s, g);

        bytes += s->index_ops->bound(n, s->k < n ? s->k : n);
    }
    return bytes;
}

/* ---- values: the kept coefficients, tile by tile ---- */

struct tiles {
    struct sparse *s;
    const float *coef;
    void (*take)(struct sparse *s, const float *x, size_t n, uint64_t at, void *ctx);
    void *ctx;
};

static void gather_tile(const struct sparse *s, float *tile, const float *coef, const uint32_t *pos,
                        size_t n, uint64_t base)
{
    const struct gcb_select_fns *f = &s->t.kernels->select;

    (s->transform_ops->width == 2 ? f->gather2
                                  : f->gather)(tile, coef + base * s->transform_ops->width, pos, n);
    if (s->transform_ops->scale)
        s->transform_ops->scale(&s->t, tile, pos, n, base);
}

/*
 * Values go out in tiles of GCB_TILE positions counted over all segments, so that every tile but the last
 * is full and ends at a byte. A tile may begin in one segment and end in another.
 */
static void each_tile(const struct tiles *t)
{
    const struct gcb_selection *sel = &t->s->selection;
    const unsigned width = t->s->transform_ops->width;
    uint64_t done = 0, g = 0, left = sel->segments ? sel->segment_kept[0] : 0;
    float tile[TILE_FLOATS];

    while (done < sel->kept) {
        const size_t want = sel->kept - done < GCB_TILE ? sel->kept - done : GCB_TILE;
        size_t have = 0;

        while (have < want) {
            size_t n;

            while (left == 0)
                left = sel->segment_kept[++g];
            n = left < want - have ? (size_t)left : want - have;
            gather_tile(t->s, tile + have * width, t->coef, sel->pos + done + have, n,
                        g * sel->segment);
            have += n;
            left -= n;
        }
        t->take(t->s, tile, want * width, done * width, t->ctx);
        done += want;
    }
}

static void measure_tile(struct sparse *s, const float *x, size_t n, uint64_t at, void *ctx)
{
    (void)at;
    (void)ctx;
    s->values_ops->measure(&s->v, x, n);
}

static void put_tile(struct sparse *s, const float *x, size_t n, uint64_t at, void *ctx)
{
    s->values_ops->put(&s->v, (uint8_t *)ctx + s->values_ops->bytes(&s->v, at), x, n);
}

static int put_values(struct sparse *s, const float *coef, struct gcb_wbuf *out)
{
    const uint64_t n = s->selection.kept * s->transform_ops->width;
    uint8_t *body;

    memset(&s->v.stats, 0, sizeof(s->v.stats));
    s->v.clamped = 0;
    if (s->values_ops->measure)
        each_tile(&(struct tiles){.s = s, .coef = coef, .take = measure_tile});
    if (s->values_ops->put_scale)
        s->values_ops->put_scale(&s->v, out);
    body = gcb_wbuf_take(out, s->values_ops->bytes(&s->v, n));
    if (!body)
        return GCB_E_NOSPACE;
    each_tile(&(struct tiles){.s = s, .coef = coef, .take = put_tile, .ctx = body});
    return 0;
}

static void put_positions(const struct sparse *s, struct gcb_wbuf *out)
{
    const uint32_t *pos = s->selection.pos;

    for (uint64_t g = 0; g < s->segments; g++) {
        const uint64_t kept = s->selection.segment_kept[g];

        if (kept)
            s->index_ops->encode(out, pos, kept, segment_length(s, g));
        pos += kept;
    }
}

static int sparse_encode(void *state, const struct gcb_step *at, const struct gcb_view *in,
                         struct gcb_wbuf *out)
{
    struct sparse *s = state;
    const float *coef = s->transform_ops->forward(&s->t, in->data);
    const float *order = s->transform_ops->order(&s->t, coef);
    int err;

    (void)at;
    if (in->count && !order)
        return GCB_E_NONFINITE; /* the transform overflowed */
    gcb_selector_at(s->select)->select(&s->selection, order, s->k);
    for (uint64_t g = 0; g < s->segments; g++)
        gcb_put_u32(out, (uint32_t)s->selection.segment_kept[g]);
    err = put_values(s, coef, out);
    if (err)
        return err;
    put_positions(s, out);
    return out->failed ? GCB_E_NOSPACE : 0;
}

/* ---- decoding ---- */

/* The head of a payload: how many positions there are, and where the values stand. */
struct payload {
    const uint8_t *kept; /* a uint32 per segment */
    uint64_t total;
    const uint8_t *values;
};

static int open_payload(struct sparse *s, struct gcb_rbuf *in, struct payload *p)
{
    p->kept = gcb_rbuf_take(in, s->segments * sizeof(uint32_t));
    p->total = 0;
    for (uint64_t g = 0; p->kept && g < s->segments; g++) {
        const uint64_t kept = gcb_load_u32(p->kept + g * sizeof(uint32_t));

        if (kept > segment_length(s, g))
            return GCB_E_CORRUPT;
        p->total += kept;
    }
    if (!p->kept || s->values_ops->get_scale(&s->v, in))
        return GCB_E_CORRUPT;
    p->values = gcb_rbuf_take(in, s->values_ops->bytes(&s->v, p->total * s->transform_ops->width));
    return p->values ? 0 : GCB_E_CORRUPT;
}

/* Zeros the canvas up to where the tile ends and puts its values in. */
static void scatter_tile(const struct sparse *s, float *canvas, const float *x, const uint32_t *pos,
                         size_t n, uint64_t from)
{
    const unsigned width = s->transform_ops->width;
    const uint64_t to = (uint64_t)pos[n - 1] + 1;

    memset(canvas + from * width, 0, (to - from) * width * sizeof(float));
    if (width == 1) {
        for (size_t j = 0; j < n; j++)
            canvas[pos[j]] = x[j];
        return;
    }
    for (size_t j = 0; j < n; j++)
        memcpy(canvas + 2 * (size_t)pos[j], x + 2 * j, 2 * sizeof(float));
}

/* Values are cut into tiles over all segments, positions within each: `values` counts floats given. */
static void get_values(const struct sparse *s, const struct payload *p, float *x, uint64_t at,
                       size_t n)
{
    const size_t skip = at % 8; /* start at a whole byte of any width */
    float wide[TILE_FLOATS + 8];

    if (skip == 0) {
        s->values_ops->get(&s->v, x, p->values + s->values_ops->bytes(&s->v, at), n);
        return;
    }
    s->values_ops->get(&s->v, wide, p->values + s->values_ops->bytes(&s->v, at - skip), n + skip);
    memcpy(x, wide + skip, n * sizeof(float));
}

static int decode_segment(struct sparse *s, const struct payload *p, struct gcb_rbuf *in,
                          uint64_t g, uint64_t before, float *canvas)
{
    const unsigned width = s->transform_ops->width;
    struct gcb_index_cursor c = {
        .n = segment_length(s, g),
        .kept = gcb_load_u32(p->kept + g * sizeof(uint32_t)),
    };
    uint64_t from = 0;
    uint32_t pos[GCB_TILE];
    float x[TILE_FLOATS];

    if (c.kept && s->index_ops->open(&c, in))
        return GCB_E_CORRUPT;
    for (uint64_t done = 0; done < c.kept;) {
        const size_t n = c.kept - done < GCB_TILE ? c.kept - done : GCB_TILE;

        if (s->index_ops->next(&c, pos, n))
            return GCB_E_CORRUPT;
        get_values(s, p, x, (before + done) * width, n * width);
        if (s->transform_ops->scale)
            s->transform_ops->scale(&s->t, x, pos, n, g * s->segment);
        scatter_tile(s, canvas, x, pos, n, from);
        from = (uint64_t)pos[n - 1] + 1;
        done += n;
    }
    memset(canvas + from * width, 0, (c.n - from) * width * sizeof(float));
    return 0;
}

static int sparse_decode(void *state, struct gcb_rbuf *in, const struct gcb_mview *out)
{
    struct sparse *s = state;
    float *canvas = s->transform_ops->canvas(&s->t, out->data);
    struct payload p;
    uint64_t before = 0;

    if (open_payload(s, in, &p))
        return GCB_E_CORRUPT;
    for (uint64_t g = 0; g < s->segments; g++) {
        if (decode_segment(s, &p, in, g, before, canvas + g * s->segment * s->transform_ops->width))
            return GCB_E_CORRUPT;
        before += gcb_load_u32(p.kept + g * sizeof(uint32_t));
    }
    if (s->transform_ops->inverse)
        s->transform_ops->inverse(&s->t, out->data);
    return 0;
}

/* Order-0 entropy of the kept flags: n H(k/n). */
static double flags_entropy(uint64_t kept, uint64_t n)
{
    const uint64_t histogram[2] = {kept, n - kept};

    return gcb_entropy0(histogram, 2);
}

static int sparse_describe(void *state, struct gcb_rbuf *in, struct gcb_parts *parts)
{
    struct sparse *s = state;
    const size_t bytes = gcb_rbuf_left(in);
    struct payload p;
    uint64_t n;
    int err = open_payload(s, in, &p);

    if (err)
        return err;
    n = p.total * s->transform_ops->width;
    parts->scale_bytes = s->values_ops->scale_bytes;
    parts->value_bytes = s->values_ops->bytes(&s->v, n);
    parts->index_bytes = bytes - parts->scale_bytes - parts->value_bytes;
    parts->kept = p.total;
    parts->positions = s->t.positions;
    err = s->values_ops->entropy(&s->v, &parts->entropy0_bits, p.values, n);
    parts->entropy0_bits += flags_entropy(p.total, s->t.positions);
    return err;
}

static uint64_t sparse_clamped(const void *state)
{
    const struct sparse *s = state;

    return s->v.clamped;
}

static double sparse_density(const void *state)
{
    const struct sparse *s = state;

    return 1.0 - s->theta;
}

/* As the papers count: the kept values alone, a real transform having as many numbers as its input. */
static double sparse_nominal_bits(const void *state)
{
    const struct sparse *s = state;

    return (1.0 - s->theta) * s->values_ops->nominal_bits(&s->v);
}

enum row { ROW_THETA, ROW_TRANSFORM, ROW_CHUNK, ROW_SELECT, ROW_VALUES, ROW_BITS, ROW_MANTISSA };

static int sparse_check(const double *value, struct gcb_diag *diag)
{
    return gcb_range_check((unsigned)value[ROW_BITS], (unsigned)value[ROW_MANTISSA], diag);
}

static const struct gcb_param sparse_params[] = {
    [ROW_THETA] = {.name = "theta",
                   .help = "share of positions dropped",
                   .type = GCB_PARAM_REAL,
                   .offset = offsetof(struct sparse, theta),
                   .def = 0.85,
                   .min = 0,
                   .max = 1,
                   .flags = GCB_PARAM_LABEL | GCB_PARAM_OPEN_MAX,
                   .complement = {"density", "p"}},
    [ROW_TRANSFORM] = {.name = "transform",
                       .help = "what the tensor goes through first",
                       .type = GCB_PARAM_CHOICE,
                       .offset = offsetof(struct sparse, transform),
                       .flags = GCB_PARAM_WIRE,
                       .choices = gcb_transform_names},
    [ROW_CHUNK] = {.name = "chunk",
                   .help = "elements of a transform; 0: the whole message",
                   .type = GCB_PARAM_SIZE,
                   .offset = offsetof(struct sparse, chunk),
                   .def = 0,
                   .min = 0,
                   .max = 4294967295.0,
                   .flags = GCB_PARAM_WIRE,
                   .needs = "transform=fft"},
    [ROW_SELECT] = {.name = "select",
                    .help = "how positions are chosen",
                    .type = GCB_PARAM_CHOICE,
                    .offset = offsetof(struct sparse, select),
                    .choices = gcb_selector_names},
    [ROW_VALUES] = {.name = "values",
                    .help = "how kept values are sent",
                    .type = GCB_PARAM_CHOICE,
                    .offset = offsetof(struct sparse, values),
                    .flags = GCB_PARAM_WIRE,
                    .choices = gcb_values_names},
    [ROW_BITS] = {.name = "bits",
                  .help = "bits of a range float",
                  .type = GCB_PARAM_INT,
                  .offset = offsetof(struct sparse, v.range.bits),
                  .def = 10,
                  .min = 2,
                  .max = 16,
                  .flags = GCB_PARAM_WIRE | GCB_PARAM_LABEL,
                  .needs = "values=range"},
    [ROW_MANTISSA] = {.name = "mantissa",
                      .help = "its mantissa bits; 0: the best for the kept values",
                      .type = GCB_PARAM_INT,
                      .offset = offsetof(struct sparse, v.range.mantissa),
                      .def = 0,
                      .min = 0,
                      .max = 15,
                      .needs = "values=range"},
    {.name = "max",
     .help = "its largest value, beyond which values clamp; 0: from the kept values",
     .type = GCB_PARAM_REAL,
     .offset = offsetof(struct sparse, v.range.max),
     .def = 0,
     .min = 0,
     .max = 3.4028234663852886e38,
     .needs = "values=range"},
    {.name = "rounding",
     .help = "how a value becomes a range float; the paper truncates",
     .type = GCB_PARAM_CHOICE,
     .offset = offsetof(struct sparse, v.range.rounding),
     .choices = gcb_range_rounding_names,
     .needs = "values=range"},
    {.name = "index",
     .help = "how kept positions are sent",
     .type = GCB_PARAM_CHOICE,
     .offset = offsetof(struct sparse, index),
     .flags = GCB_PARAM_WIRE,
     .choices = gcb_index_names},
    {.name = NULL},
};

static const struct gcb_codec_ops sparse_ops = {
    .state_size = sizeof(struct sparse),
    .init = sparse_init,
    .fini = sparse_fini,
    .bound = sparse_bound,
    .encode = sparse_encode,
    .decode = sparse_decode,
    .describe = sparse_describe,
    .clamped = sparse_clamped,
    .nominal_bits = sparse_nominal_bits,
    .density = sparse_density,
};

const struct gcb_codec gcb_codec_sparse = {
    .name = "sparse",
    .summary = "any transform, selection, values and index coder together",
    .source = "the stages of the methods below",
    .bound = "contraction: ||x - x'||^2 <= (1 - k/n) ||x||^2 with unquantised values",
    .wire_id = 16,
    .caps = GCB_CAP_LIBRARY_MATH,
    .params = sparse_params,
    .check = sparse_check,
    .ops = &sparse_ops,
    .presets = gcb_sparse_presets,
};
