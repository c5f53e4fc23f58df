#include "src/tool/measure/compaction.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/base/hd.h"
#include "src/lib/base/text.h"
#include "src/lib/codec/param.h"
#include "src/lib/lowrank/blas.h"
#include "src/lib/sparse/select.h"
#include "src/tool/base/memory.h"

const char *const gcb_tensor_group_names[GCB_TENSOR_GROUPS] = {"convolution", "matrix", "embedding",
                                                               "head", "vector"};
const double gcb_compaction_densities[GCB_COMPACTION_DENSITIES] = {0.01, 0.03, 0.1, 0.3};

#define TILE (64 << 16 | 64) /* gcb_tile_of(64, 64) */

static const struct basis {
    int transform;
    uint64_t tile;
    const char *tile_name;
} bases[GCB_BASES] = {
    {GCB_TRANSFORM_NONE, GCB_TILE_NONE, NULL},
    {GCB_TRANSFORM_DCT, GCB_TILE_KERNEL, "kernel"},
    {GCB_TRANSFORM_MEAN, GCB_TILE_KERNEL, "kernel"},
    {GCB_TRANSFORM_RANDOM, GCB_TILE_KERNEL, "kernel"},
    {GCB_TRANSFORM_DCT, TILE, "64x64"},
    {GCB_TRANSFORM_MEAN, TILE, "64x64"},
    {GCB_TRANSFORM_RANDOM, TILE, "64x64"},
    {GCB_TRANSFORM_DCT, 1 << 16 | 64, "1x64"},
    {GCB_COMPACTION_SVD, GCB_TILE_NONE, NULL}, /* stays the last: add_message counts on it */
};

/* ---- groups of tensors ---- */

static enum gcb_tensor_group group_of(const struct gcb_tensor *t)
{
    static const char *const names[] = {
        "*emb*", "*wte*",        "*wpe*", "encoder.weight", /* embeddings; the rest are heads */
        "*head", "*head.weight", "fc",    "fc.weight",      "decoder.weight", "*classifier.weight"};
    unsigned sides = 0;
    uint64_t kernel = 1;

    for (unsigned i = 0; i < t->rank; i++) {
        sides += t->dims[i] > 1;
        kernel *= i > 1 ? t->dims[i] : 1;
    }
    if (sides < 2)
        return GCB_GROUP_VECTOR;
    if (kernel > 1)
        return GCB_GROUP_CONVOLUTION;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (gcb_glob(names[i], t->path))
            return i < 4 ? GCB_GROUP_EMBEDDING : GCB_GROUP_HEAD;
    return GCB_GROUP_MATRIX;
}

/* ---- the figures of a group ---- */

/* The tensors of a group in a step and worker, one after the other. */
struct work {
    struct gcb_codec_env env; /* `count`: elements of all tensors; `joined`: their shapes */
    struct gcb_compaction *out;
    const struct gcb_tensor **tensor;
    size_t tensors;
    float *x, *shuffled;
    uint8_t *touched; /* for each row: an element was not zero */
};

/* Adds the energy in the largest coefficients, for each density. */
static void add_largest(const struct work *w, const float *x, double *kept)
{
    for (size_t d = 0; d < GCB_COMPACTION_DENSITIES; d++) {
        const uint64_t k = gcb_kept_of(gcb_compaction_densities[d], w->env.count);
        uint64_t above;
        const uint32_t kth = gcb_select_kth(w->env.kernels, x, w->env.count, k, &above);
        double sum = (double)(k - above) * (double)gcb_float_of(kth) * (double)gcb_float_of(kth);

        for (uint64_t i = 0; i < w->env.count; i++)
            sum += gcb_magnitude(x[i]) > kth ? (double)x[i] * (double)x[i] : 0.0;
        kept[d] += sum;
    }
}

/* Adds the energy in the largest coefficients of a transform. */
static int add_transform(const struct work *w, const struct basis *b, double *kept,
                         struct gcb_diag *diag)
{
    struct gcb_transform_state t = {.env = w->env, .length = w->env.count, .tile = b->tile};
    int err;

    if (b->transform == GCB_TRANSFORM_NONE) {
        add_largest(w, w->shuffled, kept);
        return 0;
    }
    t.id = (enum gcb_transform_id)b->transform;
    err = gcb_transform_tiles.init(&t, &w->env, diag);
    if (!err)
        add_largest(w, gcb_transform_tiles.forward(&t, w->shuffled), kept);
    gcb_transform_tiles.fini(&t);
    return err;
}

/* A singular value's energy, and the number of elements of its two vectors. */
struct singular {
    double energy, cost;
};

/* Sorts by the energy per element of the vectors, largest first. */
static int by_energy_per_cost(const void *a, const void *b)
{
    const struct singular *x = a, *y = b;
    const double p = x->energy * y->cost, q = y->energy * x->cost;

    return (p < q) - (p > q);
}

static uint64_t shorter_side(const struct gcb_tensor *t)
{
    const uint64_t rows = t->dims[0], cols = t->count / rows;

    return rows < cols ? rows : cols;
}

/* For each density, adds the energy of the singular values with the most energy per element of
 * their vectors. The last of these values counts in part. */
static int add_singular(const struct work *w, double *kept, struct gcb_diag *diag)
{
    const float *x = w->x;
    size_t count = 0, most = 0;
    struct singular *all;
    double *squares;
    int err;

    for (size_t i = 0; i < w->tensors; i++)
        most += shorter_side(w->tensor[i]);
    all = gcb_alloc_array(most, sizeof(*all));
    squares = gcb_alloc_array(most, sizeof(*squares));
    err = all && squares ? 0 : GCB_E_NOMEM;
    gcb_blas_begin();
    for (size_t i = 0; !err && i < w->tensors; x += w->tensor[i++]->count) {
        const uint64_t rows = w->tensor[i]->dims[0], cols = w->tensor[i]->count / rows;

        err = gcb_blas_singular_squares(squares, x, rows, cols);
        for (uint64_t j = 0; !err && j < shorter_side(w->tensor[i]); j++)
            all[count++] = (struct singular){squares[j], (double)(rows + cols)};
    }
    gcb_blas_end();
    if (err) {
        gcb_free(all);
        gcb_free(squares);
        return gcb_diag_set(diag, err,
                            "no memory, no LAPACK, or too large a matrix for singular values");
    }
    qsort(all, count, sizeof(*all), by_energy_per_cost);
    for (size_t d = 0; d < GCB_COMPACTION_DENSITIES; d++) {
        double left = gcb_compaction_densities[d] * (double)w->env.count;

        for (size_t i = 0; i < count && left > 0.0; left -= all[i++].cost)
            kept[d] += all[i].energy * fmin(1.0, left / all[i].cost);
    }
    gcb_free(all);
    gcb_free(squares);
    return 0;
}

/* True if add_message measures the transform and tiles of `b` with the shuffle `how`: the group has
 * such tiles, and `how` is no shuffle, or a control for this transform and group. False for the
 * decomposition. */
static bool fits(const struct basis *b, enum gcb_tensor_group group, int how)
{
    if ((b->tile == GCB_TILE_KERNEL && group != GCB_GROUP_CONVOLUTION) ||
        (b->tile == TILE && group == GCB_GROUP_VECTOR))
        return false;
    if (how == GCB_SHUFFLE_NONE)
        return b->transform != GCB_COMPACTION_SVD;
    return (b->transform == GCB_TRANSFORM_DCT || b->transform == GCB_TRANSFORM_MEAN) &&
           (how == GCB_SHUFFLE_ELEMENTS ||
            (how == GCB_SHUFFLE_ROWCOL && group != GCB_GROUP_VECTOR) ||
            (how == GCB_SHUFFLE_CHANNELS && group == GCB_GROUP_CONVOLUTION));
}

/* Sets infinities and NaNs to 0. If an element is huge, makes all elements small enough for the
 * sums of a transform. The shares of energy within this step and worker stay the same. In sums over
 * several steps or workers, the energy of this step and worker then hardly counts. */
static void tame_elements(struct work *w)
{
    float largest = 0.0f;

    for (uint64_t i = 0; i < w->env.count; i++) {
        w->x[i] = isfinite(w->x[i]) ? w->x[i] : 0.0f;
        largest = fmaxf(largest, fabsf(w->x[i]));
    }
    for (uint64_t i = 0; largest > 0x1p60f && i < w->env.count; i++)
        w->x[i] *= 0x1p-70f;
}

/* Tames the elements, adds up their energy, counts the rows, and marks the rows that have an
 * element which is not zero. */
static void visit_elements(struct work *w)
{
    float *x = w->x;
    uint64_t row = 0;

    tame_elements(w);

    for (size_t i = 0; i < w->tensors; i++) {
        const struct gcb_tensor *t = w->tensor[i];
        const uint64_t rows = t->rank > 1 ? t->dims[0] : 1;

        for (uint64_t j = 0; j < t->count; j++, x++) {
            w->out->energy += (double)*x * (double)*x;
            w->touched[row + j / (t->count / rows)] |= *x != 0.0f;
        }
        row += rows;
    }
    w->out->rows = row > w->out->rows ? row : w->out->rows;
}

/* Adds the figures of one step and worker, whose tensors are in w->x. */
static int add_message(struct work *w, struct gcb_diag *diag)
{
    struct gcb_compaction *out = w->out;
    int err = 0;

    visit_elements(w);
    out->tensors += w->tensors;
    out->elements += w->env.count;
    for (int how = 0; !err && how < GCB_SHUFFLES; how++) {
        float *x = w->shuffled;

        memcpy(x, w->x, w->env.count * sizeof(*x));
        for (size_t i = 0; i < w->tensors; x += w->tensor[i++]->count)
            gcb_shuffle(x, w->tensor[i], (enum gcb_shuffle)how, 0);
        for (size_t b = 0; !err && b < GCB_BASES; b++)
            if (fits(&bases[b], out->group, how))
                err = add_transform(w, &bases[b], out->kept[b][how], diag);
    }
    return err || out->group == GCB_GROUP_VECTOR
               ? err
               : add_singular(w, out->kept[GCB_BASES - 1][GCB_SHUFFLE_NONE], diag);
}

/* Reads the w->tensors tensors of a step and worker, and adds their figures. number[i] is the index
 * of tensor i in the source. */
static int take_message(struct work *w, struct gcb_source *source, const size_t *number,
                        struct gcb_diag *diag)
{
    uint64_t *shapes = gcb_must_array(w->tensors * (1 + GCB_MAX_RANK), sizeof(*shapes)),
             *to = shapes;
    uint64_t at = 0;
    int err;

    w->env.count = 0;
    for (size_t i = 0; i < w->tensors; i++) {
        const struct gcb_tensor *t = w->tensor[i] = gcb_source_tensor(source, number[i]);

        w->env.count += t->count;
        *to++ = t->rank;
        memcpy(to, t->dims, t->rank * sizeof(*to));
        to += t->rank;
    }
    w->env.joined = shapes;
    w->env.joined_length = (size_t)(to - shapes);
    w->x = gcb_alloc_array(w->env.count, 2 * sizeof(float));
    w->shuffled = w->x + w->env.count;
    err =
        w->x ? 0 : gcb_diag_nomem(diag, 2 * w->env.count * sizeof(float), "the tensors of a group");
    for (size_t i = 0; !err && i < w->tensors; at += w->tensor[i++]->count)
        err = gcb_source_read(source, number[i], w->x + at, diag);
    if (!err)
        err = add_message(w, diag);
    gcb_free(w->x);
    gcb_free(shapes);
    return err;
}

int gcb_compaction_measure(struct gcb_compaction *out, struct gcb_source *source,
                           const struct gcb_kernels *kernels, const struct gcb_queue *queue,
                           struct gcb_diag *diag)
{
    const size_t count = gcb_source_count(source);
    struct work w = {.env = {.path = "", .kernels = kernels, .queue = queue}, .out = out};
    size_t *number = gcb_must_array(count, sizeof(*number));
    uint64_t rows = count;
    int err = 0;

    for (size_t i = 0; i < count; i++)
        rows += gcb_source_tensor(source, i)->rank ? gcb_source_tensor(source, i)->dims[0] : 0;
    w.touched = gcb_must_zero(rows, 1);
    w.tensor = gcb_must_array(count, sizeof(*w.tensor));
    for (size_t i = 0; !err && i < count; i++) {
        const struct gcb_tensor *t = gcb_source_tensor(source, i);
        const struct gcb_tensor *next = i + 1 < count ? gcb_source_tensor(source, i + 1) : NULL;

        if (t->count && group_of(t) == out->group)
            number[w.tensors++] = i;
        if (w.tensors == 0 || (next && next->step == t->step && next->worker == t->worker))
            continue;
        err = take_message(&w, source, number, diag);
        w.tensors = 0;
    }
    for (uint64_t r = 0; r < out->rows; r++)
        out->untouched += !w.touched[r];
    gcb_free(w.touched);
    gcb_free(w.tensor);
    gcb_free(number);
    return err;
}

/* ---- verdicts ---- */

double gcb_compaction_best(const struct gcb_compaction *c, int transform, bool shuffled)
{
    double best = 0.0;

    for (size_t b = 0; b < GCB_BASES; b++)
        for (int how = 0; how <= GCB_SHUFFLE_ROWCOL && bases[b].transform == transform; how++)
            if ((how == GCB_SHUFFLE_NONE) != shuffled)
                best = fmax(best, c->kept[b][how][GCB_COMPACTION_VERDICT]);
    return best > 0.0 ? fmin(1.0, best / c->energy) : NAN;
}

const char *gcb_compaction_verdict(const struct gcb_compaction *c)
{
    const double none = gcb_compaction_best(c, GCB_TRANSFORM_NONE, false);
    const double mean = gcb_compaction_best(c, GCB_TRANSFORM_MEAN, false);
    const double ordered = fmax(mean, gcb_compaction_best(c, GCB_TRANSFORM_DCT, false));
    const double shuffled = fmax(gcb_compaction_best(c, GCB_TRANSFORM_DCT, true),
                                 gcb_compaction_best(c, GCB_TRANSFORM_MEAN, true));
    const double control =
        fmax(fmax(none, shuffled), gcb_compaction_best(c, GCB_TRANSFORM_RANDOM, false));
    const double lost = 1.0 - fmax(control, ordered);

    /* The factors are those of docs/method.md. A figure that the group lacks is NAN, and all
     * comparisons with NAN are false. */
    if (1.0 - gcb_compaction_best(c, GCB_COMPACTION_SVD, false) <= 0.55 * lost)
        return "low rank";
    if (!(1.0 - ordered <= 0.9 * (1.0 - control)))
        return "nothing";
    return mean - none >= 0.8 * (ordered - none) ? "mean only" : "order matters";
}

/* ---- rows ---- */

int gcb_compaction_rows(const struct gcb_compaction *c,
                        int (*put)(void *ctx, struct gcb_row *row, struct gcb_diag *diag),
                        void *ctx, struct gcb_diag *diag)
{
    int err = 0;

    for (size_t i = 0; !err && i < sizeof(c->kept) / sizeof(double); i++) {
        const size_t d = i % GCB_COMPACTION_DENSITIES, at = i / GCB_COMPACTION_DENSITIES;
        const size_t how = at % GCB_SHUFFLES;
        const struct basis *b = &bases[at / GCB_SHUFFLES];
        const double kept = c->kept[at / GCB_SHUFFLES][how][d];
        struct gcb_row row;

        if (!(kept > 0.0))
            continue;
        gcb_row_init(&row, GCB_RECORD_COMPACTION);
        gcb_row_text(&row, GCB_FIELD_GROUP, gcb_tensor_group_names[c->group]);
        gcb_row_u64(&row, GCB_FIELD_DATASETS, c->tensors);
        gcb_row_u64(&row, GCB_FIELD_ELEMENTS, c->elements);
        gcb_row_u64(&row, GCB_FIELD_ROWS, c->rows);
        gcb_row_u64(&row, GCB_FIELD_UNTOUCHED_ROWS, c->untouched);
        gcb_row_text(&row, GCB_FIELD_TRANSFORM,
                     b->transform == GCB_COMPACTION_SVD ? "svd"
                                                        : gcb_transform_names[b->transform]);
        gcb_row_text(&row, GCB_FIELD_TILE, b->tile_name);
        gcb_row_text(&row, GCB_FIELD_SHUFFLE, how ? gcb_shuffles[how] : NULL);
        gcb_row_real(&row, GCB_FIELD_DENSITY, gcb_compaction_densities[d]);
        gcb_row_real(&row, GCB_FIELD_ENERGY_SHARE, fmin(1.0, kept / c->energy));
        gcb_row_text(&row, GCB_FIELD_FINDING, gcb_compaction_verdict(c));
        err = put(ctx, &row, diag);
    }
    return err;
}
