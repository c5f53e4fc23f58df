#include "src/tool/search/compose.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"
#include "src/lib/sparse/stages.h"

#define ROUNDS 12 /* a guard: searches on real gradients end after 3 to 6 */
/* A threshold suits only gradients of the size of these. So it has to take this much less than top-k. */
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

struct node {
    struct composition is;
    size_t parent; /* the node whose search gives the start; SIZE_MAX: none */
    bool changed;  /* its neighbours were added */
    double merit;  /* more is better; -INFINITY: does not meet the goal */
};

struct composer {
    const struct gcb_match_goal *goal;
    bool several; /* messages, so that a threshold differs from top-k */
    struct node *nodes;
    struct gcb_match_search *searches; /* of the same nodes */
    size_t count, cap, search_cap;
    struct gcb_diag *diag;
};

static bool has_bits(int values)
{
    return values == GCB_VALUES_RANGE || values == GCB_VALUES_UNIFORM;
}

/* Do they have the same transform (in chunks of any size) and the same values? */
static bool is_related(const struct composition *a, const struct composition *b)
{
    return a->transform == b->transform && a->values == b->values && a->bits == b->bits;
}

/* Do they agree in all but the index coder? */
static bool is_alike(const struct composition *a, const struct composition *b)
{
    return is_related(a, b) && a->select == b->select && a->chunk == b->chunk;
}

static bool is_same(const struct composition *a, const struct composition *b)
{
    return is_alike(a, b) && a->index == b->index;
}

/* Appends a key and its value, unless the preset has it. */
static void append(char spec[200], bool has, const char *key, const char *value)
{
    if (!has)
        gcb_append(spec, 200, "%c%s=%s", strchr(spec, ':') ? ',' : ':', key, value);
}

/* Makes the method, with the preset that has most of its stages: range floats of 5 bits and adaptive positions, in chunks of
 * 128 if there is a transform. */
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

/* ---- candidates ---- */

/* Adds a composition that is new and possible. */
static int add(struct composer *c, struct composition is, size_t parent)
{
    struct gcb_method method;
    struct gcb_match_search *s;
    int err;

    if (is.transform == GCB_TRANSFORM_NONE && is.select != GCB_SELECT_CHUNK)
        is.chunk = 0;
    if (!has_bits(is.values))
        is.bits = 0;
    for (size_t i = 0; i < c->count; i++)
        if (is_same(&c->nodes[i].is, &is))
            return 0;
    if (to_method(&method, &is) != 0)
        return 0;
    if (gcb_grow(&c->nodes, &c->cap, c->count, sizeof(*c->nodes)) ||
        gcb_grow(&c->searches, &c->search_cap, c->count, sizeof(*c->searches)))
        return gcb_diag_nomem(c->diag, 0, "compositions");
    s = &c->searches[c->count];
    err = gcb_match_search_init(s, &method, c->goal, NULL, c->diag);
    if (err)
        return err;
    c->nodes[c->count++] = (struct node){.is = is, .parent = parent, .merit = -(double)INFINITY};
    if (parent != SIZE_MAX)
        gcb_match_search_near(s, &c->searches[parent]);
    return 0;
}

/* Adds each transform with some chunks. Their searches start where those of the selections by themselves ended: `alone` is
 * the node of top-k, and a threshold follows it. */
static int add_seeds(struct composer *c, size_t alone, unsigned bits)
{
    static const uint64_t chunks[] = {16, 64, 256, 1024, 4096};
    static const int selects[] = {GCB_SELECT_TOPK, GCB_SELECT_THRESHOLD};
    int err = 0;

    for (size_t s = 0; !err && s < (c->several ? 2 : 1); s++)
        for (int t = 0; !err && t < GCB_TRANSFORMS; t++)
            for (size_t k = 0; !err && k < sizeof(chunks) / sizeof(chunks[0]); k++)
                err = add(c,
                          (struct composition){
                              .transform = t,
                              .chunk = chunks[k],
                              .select = selects[s],
                              .values = GCB_VALUES_RANGE,
                              .bits = bits,
                              .index = GCB_INDEX_ADAPTIVE,
                          },
                          alone + s);
    return err;
}

static int add_transforms(struct composer *c, size_t from)
{
    const struct composition is = c->nodes[from].is;
    struct composition other = is;
    int err = 0;

    if (!other.chunk)
        other.chunk = CHUNK_USUAL;
    for (int t = 0; !err && t < GCB_TRANSFORMS; t++) {
        other.transform = t;
        err = add(c, other, from);
    }
    other = is;
    if (!err && is.chunk && is.chunk < CHUNK_MOST) {
        other.chunk = is.chunk * 2;
        err = add(c, other, from);
    }
    if (!err && is.chunk > CHUNK_LEAST) {
        other.chunk = is.chunk / 2;
        err = add(c, other, from);
    }
    return err;
}

static int add_values(struct composer *c, size_t from)
{
    static const int kinds[] = {GCB_VALUES_FP32,    GCB_VALUES_FP16,      GCB_VALUES_RANGE,
                                GCB_VALUES_UNIFORM, GCB_VALUES_SIGN_MEAN, GCB_VALUES_MEANS};
    const struct composition is = c->nodes[from].is;
    struct composition other = is;
    int err = 0;

    if (is.values == GCB_VALUES_MEAN) /* the other coders need no selection of one sign */
        other.select = GCB_SELECT_TOPK;
    for (size_t i = 0; !err && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        other.values = kinds[i];
        other.bits = is.bits ? is.bits : 5;
        err = add(c, other, from);
        for (int step = -1; !err && step <= 1 && has_bits(kinds[i]); step += 2) {
            other.bits = (is.bits ? is.bits : 5) + (unsigned)step;
            err = add(c, other, from);
        }
    }
    other = is;
    other.values = GCB_VALUES_MEAN;
    other.select = GCB_SELECT_ONE_SIDED;
    return err ? err : add(c, other, from);
}

/* u32 and varint always take more bytes than one of these. */
static int add_indices(struct composer *c, size_t from)
{
    static const int kinds[] = {GCB_INDEX_BITMAP, GCB_INDEX_GOLOMB, GCB_INDEX_ADAPTIVE,
                                GCB_INDEX_ELIASFANO, GCB_INDEX_BLOCK};
    struct composition other = c->nodes[from].is;
    int err = 0;

    for (size_t i = 0; !err && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        other.index = kinds[i];
        err = add(c, other, from);
    }
    return err;
}

/* The other selections approximate top-k, which is exact. */
static int add_selections(struct composer *c, size_t from)
{
    struct composition other = c->nodes[from].is;
    int err = 0;

    if (other.values == GCB_VALUES_MEAN)
        return 0;
    other.select = GCB_SELECT_TOPK;
    err = add(c, other, from);
    other.select = GCB_SELECT_THRESHOLD;
    if (!err && c->several)
        err = add(c, other, from);
    other.select = GCB_SELECT_CHUNK;
    other.chunk = other.chunk ? other.chunk : CHUNK_USUAL;
    return err ? err : add(c, other, from);
}

static int add_neighbours(struct composer *c, size_t from)
{
    int err = add_transforms(c, from);

    c->nodes[from].changed = true;
    if (!err)
        err = add_values(c, from);
    if (!err)
        err = add_indices(c, from);
    return err ? err : add_selections(c, from);
}

/* ---- the search ---- */

/* Sets the merits of the nodes from `first` on: the bytes of a message, or its error, whichever the goal leaves open. */
static void judge(struct composer *c, size_t first)
{
    for (size_t i = first; i < c->count; i++) {
        const struct gcb_match_search *s = &c->searches[i];
        double *merit = &c->nodes[i].merit;

        if (!gcb_match_reached(s, &s->tally))
            continue;
        *merit = gcb_match_merit(s->goal, &s->tally);
        if (c->nodes[i].is.select == GCB_SELECT_THRESHOLD)
            *merit *= *merit > 0.0 ? 1.0 / THRESHOLD_EARNS : THRESHOLD_EARNS;
    }
}

/* Appends to the `n` nodes in `best` the best others, each unlike all before it, up to `most`. Returns how many there are. */
static size_t rank_unlike(const struct composer *c, size_t *best, size_t n, size_t most,
                          bool (*like)(const struct composition *, const struct composition *))
{
    while (n < most) {
        size_t found = SIZE_MAX;

        for (size_t i = 0; i < c->count; i++) {
            bool out = c->nodes[i].merit == -(double)INFINITY;

            for (size_t k = 0; k < n; k++)
                out |= like(&c->nodes[best[k]].is, &c->nodes[i].is);
            if (!out && (found == SIZE_MAX || c->nodes[i].merit > c->nodes[found].merit))
                found = i;
        }
        if (found == SIZE_MAX)
            break;
        best[n++] = found;
    }
    return n;
}

/* Finds the best nodes, of which no two agree in all but the index coder. Returns how many. */
static size_t rank(const struct composer *c, size_t best[GCB_COMPOSE_BEST])
{
    return rank_unlike(c, best, 0, GCB_COMPOSE_BEST, is_alike);
}

/* Runs the searches of the nodes from `first` on. */
static int run(struct composer *c, size_t first, const struct gcb_run_config *config,
               const struct gcb_run_observer *observer, bool *interrupted)
{
    const int err = first < c->count ? gcb_match_run(c->searches + first, c->count - first, config,
                                                     observer, interrupted, c->diag)
                                     : 0;

    if (!err)
        judge(c, first);
    return err;
}

static void report(struct gcb_compose_result *out, struct composer *c)
{
    size_t best[GCB_COMPOSE_KEPT];

    out->count = rank_unlike(c, best, rank(c, best), GCB_COMPOSE_KEPT, is_related);
    for (size_t i = 0; i < out->count; i++)
        out->best[i] = c->searches[best[i]];
    out->tried = c->count;
    for (size_t i = 0; i < c->count; i++)
        out->evaluations += c->searches[i].line.seen_count;
    out->all = c->searches;
    c->searches = NULL;
}

/* Searches the first compositions, with range floats of 5 bits. If none meets the target, more bits may. */
static int run_seeds(struct composer *c, const struct gcb_run_config *config,
                     const struct gcb_run_observer *observer, bool *interrupted)
{
    static const unsigned bits[] = {5, 8, 12};
    size_t best[GCB_COMPOSE_BEST];
    int err = 0;

    for (size_t i = 0; !err && !*interrupted && i < sizeof(bits) / sizeof(bits[0]); i++) {
        struct composition first = {
            .values = GCB_VALUES_RANGE, .bits = bits[i], .index = GCB_INDEX_ADAPTIVE};
        const size_t alone = c->count;
        size_t from;

        err = add(c, first, SIZE_MAX);
        first.select = GCB_SELECT_THRESHOLD;
        if (!err && c->several)
            err = add(c, first, SIZE_MAX);
        if (!err)
            err = run(c, alone, config, observer, interrupted);
        from = c->count;
        if (!err && !*interrupted)
            err = add_seeds(c, alone, bits[i]);
        if (!err && !*interrupted)
            err = run(c, from, config, observer, interrupted);
        if (rank(c, best) > 0)
            break;
    }
    return err;
}

int gcb_compose_run(struct gcb_compose_result *out, const struct gcb_match_goal *goal,
                    const struct gcb_run_config *config, const struct gcb_run_observer *observer,
                    bool *interrupted, struct gcb_diag *diag)
{
    struct composer c = {.goal = goal, .several = config->layout->count > 1, .diag = diag};
    size_t best[GCB_COMPOSE_BEST];
    int err;

    memset(out, 0, sizeof(*out));
    err = run_seeds(&c, config, observer, interrupted);
    for (size_t round = 1; !err && !*interrupted && round < ROUNDS; round++) {
        const size_t n = rank(&c, best), from = c.count;

        for (size_t i = 0; !err && i < n; i++)
            if (!c.nodes[best[i]].changed)
                err = add_neighbours(&c, best[i]);
        if (from == c.count)
            break;
        if (!err)
            err = run(&c, from, config, observer, interrupted);
    }
    if (!err)
        report(out, &c);
    gcb_free(c.nodes);
    gcb_free(c.searches);
    return err;
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
    return !is_same(&plain, &is) && to_method(out, &plain) == 0;
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
