#include "src/tool/search/compose.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "src/lib/base/text.h"
#include "src/lib/sparse/stages.h"

/* A threshold suits only gradients of the size of these. So it has to take this much less than
 * top-k. */
#define THRESHOLD_EARNS 1.02
#define CHUNK_LEAST 8
#define CHUNK_MOST 16384
#define CHUNK_USUAL 64

/* A composition: ids of the stages (src/lib/sparse/stages.h). */
struct composition {
    int transform, select, values, index;
    uint64_t chunk;
    unsigned bits; /* of range and uniform, else 0 */
};

static bool has_bits(int values)
{
    return values == GCB_VALUES_RANGE || values == GCB_VALUES_UNIFORM;
}

/* Appends a key and its value, unless the preset has it. */
static void append(char spec[200], bool has, const char *key, const char *value)
{
    if (!has)
        gcb_append(spec, 200, "%c%s=%s", strchr(spec, ':') ? ',' : ':', key, value);
}

/* Makes the method, with the preset that has most of its stages: range floats of 5 bits and
 * adaptive positions, in chunks of 128 if there is a transform. */
static int to_method(struct gcb_method *out, const struct composition *c)
{
    const bool ranges = c->values == GCB_VALUES_RANGE;
    const bool dct = ranges && c->transform != GCB_TRANSFORM_NONE;
    char spec[200], number[24];

    snprintf(spec, sizeof(spec), "%s", dct ? "dct-range" : ranges ? "topk-range" : "sparse");
    append(spec, c->transform == (dct ? GCB_TRANSFORM_DCT : GCB_TRANSFORM_NONE), "transform",
           gcb_transform_names[c->transform]);
    snprintf(number, sizeof(number), "%" PRIu64, c->chunk);
    append(spec, c->chunk == (dct ? 128 : 0), "chunk", number);
    append(spec, c->select == GCB_SELECT_TOPK, "select", gcb_selector_names[c->select]);
    append(spec, ranges, "values", gcb_values_names[c->values]);
    snprintf(number, sizeof(number), "%u", c->bits);
    append(spec, !has_bits(c->values) || (ranges && c->bits == 5), "bits", number);
    append(spec, ranges && c->index == GCB_INDEX_ADAPTIVE, "index", gcb_index_names[c->index]);
    return gcb_method_parse(out, spec, NULL);
}

static uint64_t value_of(const struct gcb_method *m, const char *key)
{
    double value = 0.0;

    return gcb_method_value(m, key, &value) ? (uint64_t)value : 0;
}

static struct composition of_method(const struct gcb_method *m)
{
    return (struct composition){
        .transform = (int)value_of(m, "transform"),
        .chunk = value_of(m, "chunk"),
        .select = (int)value_of(m, "select"),
        .values = (int)value_of(m, "values"),
        .bits = (unsigned)value_of(m, "bits"),
        .index = (int)value_of(m, "index"),
    };
}

bool gcb_compose_related(const struct gcb_method *a, const struct gcb_method *b)
{
    const struct composition x = of_method(a), y = of_method(b);

    return x.transform == y.transform && x.values == y.values && x.bits == y.bits;
}

/* True if they agree in all but the index coder. */
static bool is_alike(const struct gcb_method *a, const struct gcb_method *b)
{
    const struct composition x = of_method(a), y = of_method(b);

    return gcb_compose_related(a, b) && x.select == y.select && x.chunk == y.chunk;
}

/* ---- candidates ---- */

/* Adds a composition that is new and possible. */
static void add(struct gcb_descent *d, size_t family, struct composition is, size_t parent)
{
    const size_t count = d->count;
    struct gcb_method method;

    if (is.transform == GCB_TRANSFORM_NONE && is.select != GCB_SELECT_CHUNK)
        is.chunk = 0;
    if (!has_bits(is.values))
        is.bits = 0;
    if (to_method(&method, &is) != 0)
        return;
    gcb_descent_add(d, family, &method, NULL, parent);
    if (d->count > count && is.select == GCB_SELECT_THRESHOLD)
        d->searches[count].weight = THRESHOLD_EARNS;
}

static void add_to(struct gcb_descent *d, struct composition is, size_t from)
{
    add(d, d->nodes[from].family, is, from);
}

/* Adds each transform with some chunks to a selection by itself. */
static void add_chunks(struct gcb_descent *d, size_t from, struct composition is)
{
    static const uint64_t chunks[] = {16, 64, 256, 1024, 4096};

    for (int t = 0; t < GCB_TRANSFORMS; t++)
        for (size_t k = 0; k < sizeof(chunks) / sizeof(chunks[0]); k++) {
            is.transform = t;
            is.chunk = chunks[k];
            add_to(d, is, from);
        }
}

static void add_transforms(struct gcb_descent *d, size_t from, const struct composition is)
{
    struct composition other = is;

    other.chunk = is.chunk ? is.chunk : CHUNK_USUAL;
    for (other.transform = 0; other.transform < GCB_TRANSFORMS; other.transform++)
        add_to(d, other, from);
    other.transform = is.transform;
    other.chunk = is.chunk * 2;
    if (is.chunk && is.chunk < CHUNK_MOST)
        add_to(d, other, from);
    other.chunk = is.chunk / 2;
    if (is.chunk > CHUNK_LEAST)
        add_to(d, other, from);
}

static void add_values(struct gcb_descent *d, size_t from, const struct composition is)
{
    static const int kinds[] = {GCB_VALUES_FP32,    GCB_VALUES_FP16,      GCB_VALUES_RANGE,
                                GCB_VALUES_UNIFORM, GCB_VALUES_SIGN_MEAN, GCB_VALUES_MEANS};
    const unsigned bits = is.bits ? is.bits : 5;
    struct composition other = is;

    if (is.values == GCB_VALUES_MEAN) /* the other coders need no selection of one sign */
        other.select = GCB_SELECT_TOPK;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        other.values = kinds[i];
        other.bits = bits;
        add_to(d, other, from);
        for (other.bits = bits - 1; other.bits <= bits + 1 && has_bits(kinds[i]); other.bits += 2)
            add_to(d, other, from);
    }
    other = is;
    other.values = GCB_VALUES_MEAN;
    other.select = GCB_SELECT_ONE_SIDED;
    add_to(d, other, from);
}

/* u32 and varint always take more bytes than one of these. */
static void add_indices(struct gcb_descent *d, size_t from, struct composition is)
{
    static const int kinds[] = {GCB_INDEX_BITMAP, GCB_INDEX_GOLOMB, GCB_INDEX_ADAPTIVE,
                                GCB_INDEX_ELIASFANO, GCB_INDEX_BLOCK};

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        is.index = kinds[i];
        add_to(d, is, from);
    }
}

/* The other selections approximate top-k, which is exact. */
static void add_selections(struct gcb_descent *d, size_t from, struct composition is)
{
    if (is.values == GCB_VALUES_MEAN)
        return;
    is.select = GCB_SELECT_TOPK;
    add_to(d, is, from);
    is.select = GCB_SELECT_THRESHOLD;
    if (d->several)
        add_to(d, is, from);
    is.select = GCB_SELECT_CHUNK;
    is.chunk = is.chunk ? is.chunk : CHUNK_USUAL;
    add_to(d, is, from);
}

static void change(struct gcb_descent *d, size_t from)
{
    const struct composition is = of_method(&d->searches[from].method);

    if (d->nodes[from].parent == SIZE_MAX)
        add_chunks(d, from, is);
    else
        add_transforms(d, from, is);
    add_values(d, from, is);
    add_indices(d, from, is);
    add_selections(d, from, is);
}

void gcb_compose_begin(struct gcb_descent *d, size_t family, const struct gcb_match_goal *goal)
{
    static const unsigned bits[] = {5, 8, 12};
    struct composition first = {.values = GCB_VALUES_RANGE, .index = GCB_INDEX_ADAPTIVE};

    d->families[family] = (struct gcb_descent_family){
        .goal = goal, .wide = GCB_COMPOSE_BEST, .change = change, .alike = is_alike};
    for (size_t i = 0; i < sizeof(bits) / sizeof(bits[0]); i++) {
        first.bits = bits[i];
        first.select = GCB_SELECT_TOPK;
        add(d, family, first, SIZE_MAX);
        first.select = GCB_SELECT_THRESHOLD;
        if (d->several)
            add(d, family, first, SIZE_MAX);
    }
}

/* ---- stages ---- */

const char *const gcb_stage_names[GCB_STAGE_NAMES] = {
    [GCB_STAGE_NAME_TRANSFORM] = "transform",
    [GCB_STAGE_NAME_SELECT] = "select",
    [GCB_STAGE_NAME_VALUES] = "values",
    [GCB_STAGE_NAME_INDEX] = "index",
};

bool gcb_compose_without(struct gcb_method *out, const struct gcb_method *from,
                         enum gcb_stage_name stage)
{
    const struct composition is = of_method(from);
    struct composition plain = is;

    if (stage == GCB_STAGE_NAME_TRANSFORM)
        plain.transform = GCB_TRANSFORM_NONE;
    if (stage == GCB_STAGE_NAME_SELECT)
        plain.select = GCB_SELECT_TOPK;
    if (stage == GCB_STAGE_NAME_VALUES)
        plain.values = GCB_VALUES_FP32;
    if (stage == GCB_STAGE_NAME_INDEX)
        plain.index = GCB_INDEX_U32;
    if (plain.transform == GCB_TRANSFORM_NONE && plain.select != GCB_SELECT_CHUNK)
        plain.chunk = 0;
    return (plain.transform != is.transform || plain.select != is.select ||
            plain.values != is.values || plain.index != is.index) &&
           to_method(out, &plain) == 0;
}

char *gcb_compose_stage(char *out, size_t size, const struct gcb_method *m,
                        enum gcb_stage_name stage)
{
    const struct composition is = of_method(m);

    if (stage == GCB_STAGE_NAME_TRANSFORM && is.transform != GCB_TRANSFORM_NONE)
        snprintf(out, size, "transform=%s,chunk=%" PRIu64, gcb_transform_names[is.transform],
                 is.chunk);
    else if (stage == GCB_STAGE_NAME_TRANSFORM)
        snprintf(out, size, "transform=none");
    else if (stage == GCB_STAGE_NAME_SELECT)
        snprintf(out, size, "select=%s", gcb_selector_names[is.select]);
    else if (stage == GCB_STAGE_NAME_VALUES && has_bits(is.values))
        snprintf(out, size, "values=%s,bits=%u", gcb_values_names[is.values], is.bits);
    else if (stage == GCB_STAGE_NAME_VALUES)
        snprintf(out, size, "values=%s", gcb_values_names[is.values]);
    else
        snprintf(out, size, "index=%s", gcb_index_names[is.index]);
    return out;
}
