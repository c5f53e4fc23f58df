#include "src/tool/search/choose.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "src/lib/base/text.h"
#include "src/lib/sparse/stages.h"

/* A fixed threshold suits only gradients of the same magnitude. So the cost of a composition with a
 * threshold is multiplied by this factor when compositions are compared. */
#define THRESHOLD_WEIGHT 1.02
#define CHUNK_LEAST 8
#define CHUNK_MOST 16384
#define CHUNK_USUAL 64 /* chunk size that replaces 0 when a change needs chunks */
#define BITS_USUAL 5   /* number of bits that replaces 0 when a change needs bits */

/* A composition: ids of the stages (src/lib/sparse/stages.h) and their parameters. */
struct composition {
    union {
        struct {
            int transform, select, values, index;
        };
        int stage[GCB_STAGE_NAMES]; /* the members above as an array */
    };
    uint64_t chunk; /* elements in a chunk; 0: whole messages, or tiles */
    unsigned bits;  /* bits of a range float or uniform value; 0 for other values */
    uint64_t tile;  /* value of a GCB_PARAM_TILE (src/lib/codec/param.h) */
};

const char *const gcb_stage_names[GCB_STAGE_NAMES] = {"transform", "select", "values", "index"};

/* The names of each stage's ids, and the id of the plain stage. */
static const struct {
    const char *const *names;
    int plain;
} stages[GCB_STAGE_NAMES] = {
    [GCB_STAGE_NAME_TRANSFORM] = {gcb_transform_names, GCB_TRANSFORM_NONE},
    [GCB_STAGE_NAME_SELECT] = {gcb_selector_names, GCB_SELECT_TOPK},
    [GCB_STAGE_NAME_VALUES] = {gcb_values_names, GCB_VALUES_FP32},
    [GCB_STAGE_NAME_INDEX] = {gcb_index_names, GCB_INDEX_U32},
};

/* A composition is written as one of these presets, and the parameters in which it differs from
 * `has`. */
static const struct preset {
    const char *name;
    struct composition has; /* -1: the parameter is always written */
} presets[] = {
    {"sparse", {{{GCB_TRANSFORM_NONE, GCB_SELECT_TOPK, -1, -1}}, 0, -1u, GCB_TILE_NONE}},
    {"topk-range",
     {{{GCB_TRANSFORM_NONE, GCB_SELECT_TOPK, GCB_VALUES_RANGE, GCB_INDEX_ADAPTIVE}},
      0,
      5,
      GCB_TILE_NONE}},
    {"dct-range",
     {{{GCB_TRANSFORM_DCT, GCB_SELECT_TOPK, GCB_VALUES_RANGE, GCB_INDEX_ADAPTIVE}},
      128,
      5,
      GCB_TILE_NONE}},
};

static bool has_bits(int values)
{
    return values == GCB_VALUES_RANGE || values == GCB_VALUES_UNIFORM;
}

static char *tile_text(char *out, uint64_t tile)
{
    return gcb_param_text(out, &(struct gcb_param){.type = GCB_PARAM_TILE}, (double)tile);
}

/* Makes the method of a composition: a preset, with the parameters that differ from the preset's.
 * Returns GCB_E_INVALID if the stages do not go together. */
static int to_method(struct gcb_method *out, const struct composition *c)
{
    const size_t with_range = c->transform == GCB_TRANSFORM_NONE ? 1 : 2;
    const struct preset *preset = &presets[c->values == GCB_VALUES_RANGE ? with_range : 0];
    const struct composition *has = &preset->has;
    char spec[200], text[GCB_PARAM_TEXT];

    snprintf(spec, sizeof(spec), "%s:", preset->name);
    for (int i = 0; i < GCB_STAGE_NAMES; i++)
        if (c->stage[i] != has->stage[i])
            gcb_append(spec, sizeof(spec), "%s=%s,", gcb_stage_names[i],
                       stages[i].names[c->stage[i]]);
    if (c->tile != GCB_TILE_NONE)
        gcb_append(spec, sizeof(spec), "tile=%s,", tile_text(text, c->tile));
    else if (c->chunk != has->chunk)
        gcb_append(spec, sizeof(spec), "chunk=%" PRIu64 ",", c->chunk);
    if (has_bits(c->values) && c->bits != has->bits)
        gcb_append(spec, sizeof(spec), "bits=%u,", c->bits);
    spec[strlen(spec) - 1] = '\0'; /* the last ',' or ':' */
    return gcb_method_parse(out, spec, NULL);
}

static uint64_t value_of(const struct gcb_method *m, const char *key)
{
    double value = 0.0;

    return gcb_method_value(m, key, &value) ? (uint64_t)value : 0;
}

static struct composition of_method(const struct gcb_method *m)
{
    struct composition c = {.chunk = value_of(m, "chunk"),
                            .bits = (unsigned)value_of(m, "bits"),
                            .tile = value_of(m, "tile")};

    for (int i = 0; i < GCB_STAGE_NAMES; i++)
        c.stage[i] = (int)value_of(m, gcb_stage_names[i]);
    return c;
}

bool gcb_compose_related(const struct gcb_method *a, const struct gcb_method *b)
{
    const struct composition x = of_method(a), y = of_method(b);

    return x.transform == y.transform && x.values == y.values && x.bits == y.bits;
}

/* True if two compositions differ at most in the index coder. */
static bool is_alike(const struct gcb_method *a, const struct gcb_method *b)
{
    const struct composition x = of_method(a), y = of_method(b);

    return gcb_compose_related(a, b) && x.select == y.select && x.chunk == y.chunk &&
           x.tile == y.tile;
}

/* ---- compositions to try ---- */

/* The tiles that are tried: the kernels of convolutions, 8x8, and 64x64 (gcb_tile_of). */
#define TILES 3
static const uint64_t tiles[TILES] = {GCB_TILE_KERNEL, 8 << 16 | 8, 64 << 16 | 64};

/* Adds a composition, unless it is not valid or the family has it. A tile, a chunk or bits that its
 * stages do not use are removed first. */
static void add_composition(struct gcb_descent *d, size_t family, struct composition c,
                            size_t parent)
{
    const size_t count = d->count;
    struct gcb_method method;

    if (c.transform == GCB_TRANSFORM_NONE)
        c.tile = GCB_TILE_NONE;
    if (c.tile != GCB_TILE_NONE ||
        (c.transform == GCB_TRANSFORM_NONE && c.select != GCB_SELECT_CHUNK))
        c.chunk = 0;
    if (!has_bits(c.values))
        c.bits = 0;
    if (to_method(&method, &c) != 0)
        return;
    gcb_descent_add(d, family, &method, NULL, parent);
    if (d->count > count && c.select == GCB_SELECT_THRESHOLD)
        d->searches[count].weight = THRESHOLD_WEIGHT;
}

/* Adds a composition that was made by a change of setting `from`. */
static void add_change(struct gcb_descent *d, struct composition c, size_t from)
{
    add_composition(d, d->nodes[from].family, c, from);
}

/* Adds each transform, in chunks of several sizes and in tiles, to a composition without a
 * transform. */
static void add_chunks(struct gcb_descent *d, size_t from, struct composition c)
{
    static const uint64_t chunks[] = {16, 64, 256, 1024, 4096};

    for (c.transform = 0; c.transform < GCB_TRANSFORMS; c.transform++)
        for (size_t k = 0; k < TILES; k++) {
            c.tile = tiles[k];
            add_change(d, c, from);
        }
    c.tile = GCB_TILE_NONE;
    for (int t = 0; t < GCB_TRANSFORMS; t++)
        for (size_t k = 0; k < sizeof(chunks) / sizeof(chunks[0]); k++) {
            c.transform = t;
            c.chunk = chunks[k];
            add_change(d, c, from);
        }
}

/* Adds the other transforms, and the same transform in other chunks or tiles. The other transforms
 * have the same tiles, or chunks of the same size (CHUNK_USUAL if there were none). Chunks are
 * doubled and halved; tiles are replaced by each of `tiles`. */
static void add_transforms(struct gcb_descent *d, size_t from, const struct composition c)
{
    struct composition other = c;

    other.chunk = c.chunk ? c.chunk : CHUNK_USUAL;
    for (size_t k = 0; c.tile != GCB_TILE_NONE && k < TILES; k++) {
        other.tile = tiles[k];
        add_change(d, other, from);
    }
    other.tile = c.tile;
    for (other.transform = 0; other.transform < GCB_TRANSFORMS; other.transform++)
        add_change(d, other, from);
    other.transform = c.transform;
    other.chunk = c.chunk * 2;
    if (c.chunk && c.chunk < CHUNK_MOST)
        add_change(d, other, from);
    other.chunk = c.chunk / 2;
    if (c.chunk > CHUNK_LEAST)
        add_change(d, other, from);
}

/* Adds the other value coders except `bins` and `fit`. Coders with bits get the same number of bits
 * (BITS_USUAL if there was none), one bit more and one bit less. */
static void add_values(struct gcb_descent *d, size_t from, const struct composition c)
{
    static const int kinds[] = {GCB_VALUES_FP32,    GCB_VALUES_FP16,      GCB_VALUES_RANGE,
                                GCB_VALUES_UNIFORM, GCB_VALUES_SIGN_MEAN, GCB_VALUES_MEANS};
    const unsigned bits = c.bits ? c.bits : BITS_USUAL;
    struct composition other = c;

    if (c.values == GCB_VALUES_MEAN) /* no other value coder needs a selection of one sign */
        other.select = GCB_SELECT_TOPK;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        other.values = kinds[i];
        other.bits = bits;
        add_change(d, other, from);
        for (other.bits = bits - 1; other.bits <= bits + 1 && has_bits(kinds[i]); other.bits += 2)
            add_change(d, other, from);
    }
    other = c;
    other.values = GCB_VALUES_MEAN;
    other.select = GCB_SELECT_ONE_SIDED;
    add_change(d, other, from);
}

/* Adds the other index coders. u32, varint and bloom are left out, because their messages are
 * longer than those of some coder below (docs/method.md). */
static void add_indices(struct gcb_descent *d, size_t from, struct composition c)
{
    static const int kinds[] = {GCB_INDEX_BITMAP, GCB_INDEX_GOLOMB, GCB_INDEX_ADAPTIVE,
                                GCB_INDEX_ELIASFANO, GCB_INDEX_BLOCK};

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        c.index = kinds[i];
        add_change(d, c, from);
    }
}

/* Adds top-k, a threshold, and top-k of each chunk. A threshold differs from top-k only if there
 * are several messages. docs/method.md names the selections that are not tried. */
static void add_selections(struct gcb_descent *d, size_t from, struct composition c)
{
    if (c.values == GCB_VALUES_MEAN) /* this coder needs the selection of one sign */
        return;
    c.select = GCB_SELECT_TOPK;
    add_change(d, c, from);
    c.select = GCB_SELECT_THRESHOLD;
    if (d->several)
        add_change(d, c, from);
    c.select = GCB_SELECT_CHUNK;
    c.chunk = c.chunk ? c.chunk : CHUNK_USUAL;
    add_change(d, c, from);
}

/* Adds the compositions that differ from setting `from` in a stage: gcb_descent_family.change. */
static void change_stages(struct gcb_descent *d, size_t from)
{
    const struct composition c = of_method(&d->searches[from].method);

    if (d->nodes[from].parent == SIZE_MAX) /* the first settings have no transform */
        add_chunks(d, from, c);
    else
        add_transforms(d, from, c);
    add_values(d, from, c);
    add_indices(d, from, c);
    add_selections(d, from, c);
}

void gcb_compose_begin(struct gcb_descent *d, size_t family, const struct gcb_match_goal *goal)
{
    static const unsigned bits[] = {5, 8, 12};
    struct composition first = {.values = GCB_VALUES_RANGE, .index = GCB_INDEX_ADAPTIVE};

    d->families[family] = (struct gcb_descent_family){
        .goal = goal, .wide = GCB_COMPOSE_BEST, .change = change_stages, .alike = is_alike};
    for (size_t i = 0; i < sizeof(bits) / sizeof(bits[0]); i++) {
        first.bits = bits[i];
        first.select = GCB_SELECT_TOPK;
        add_composition(d, family, first, SIZE_MAX);
        first.select = GCB_SELECT_THRESHOLD;
        if (d->several)
            add_composition(d, family, first, SIZE_MAX);
    }
}

/* ---- stages ---- */

bool gcb_compose_without(struct gcb_method *out, const struct gcb_method *from,
                         enum gcb_stage_name stage)
{
    struct composition c = of_method(from);

    if (c.stage[stage] == stages[stage].plain)
        return false;
    c.stage[stage] = stages[stage].plain;
    if (c.transform == GCB_TRANSFORM_NONE)
        c.tile = GCB_TILE_NONE;
    if (c.transform == GCB_TRANSFORM_NONE && c.select != GCB_SELECT_CHUNK)
        c.chunk = 0;
    return to_method(out, &c) == 0;
}

char *gcb_compose_stage(char *out, size_t size, const struct gcb_method *m,
                        enum gcb_stage_name stage)
{
    const struct composition c = of_method(m);
    char text[GCB_PARAM_TEXT];

    snprintf(out, size, "%s=%s", gcb_stage_names[stage], stages[stage].names[c.stage[stage]]);
    if (stage == GCB_STAGE_NAME_TRANSFORM && c.tile != GCB_TILE_NONE)
        gcb_append(out, size, ",tile=%s", tile_text(text, c.tile));
    else if (stage == GCB_STAGE_NAME_TRANSFORM && c.transform != GCB_TRANSFORM_NONE)
        gcb_append(out, size, ",chunk=%" PRIu64, c.chunk);
    else if (stage == GCB_STAGE_NAME_VALUES && has_bits(c.values))
        gcb_append(out, size, ",bits=%u", c.bits);
    return out;
}
