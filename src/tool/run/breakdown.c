#include "src/tool/run/breakdown.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/tool/base/memory.h"
#include "src/tool/measure/survey.h"

void gcb_groups_init(struct gcb_groups *g, enum gcb_per per, size_t methods)
{
    *g = (struct gcb_groups){.per = per, .methods = methods};
}

/* The distribution of a tensor's input values, or of the values that a method decoded. A member is
 * NULL if it is not wanted, or nothing was added yet. */
struct gcb_shape {
    struct gcb_histogram *histogram;
    struct gcb_histogram *errors; /* input minus decoded; NULL also for the input */
    struct gcb_spectrum *spectrum;
};

static void release(struct gcb_group *group, size_t methods)
{
    for (size_t i = 0; group->shapes && i <= methods; i++) {
        gcb_free(group->shapes[i].histogram);
        gcb_free(group->shapes[i].errors);
        gcb_free(group->shapes[i].spectrum);
    }
    gcb_free(group->shapes);
    gcb_free(group->name);
    gcb_free(group->tallies);
}

void gcb_groups_fini(struct gcb_groups *g)
{
    for (size_t i = 0; i < g->count; i++)
        release(&g->items[i], g->methods);
    gcb_free(g->items);
    memset(g, 0, sizeof(*g));
}

/* True if the trial's message belongs to the group. */
static bool belongs(const struct gcb_groups *g, const struct gcb_group *group,
                    const struct gcb_run_trial *t)
{
    switch (g->per) {
    case GCB_PER_TENSOR:
        return strcmp(group->name, t->name) == 0;
    case GCB_PER_STEP:
        return group->step == t->plan->step;
    case GCB_PER_WORKER:
        return group->worker == t->plan->worker;
    default:
        return group->step == t->plan->step && group->worker == t->plan->worker &&
               strcmp(group->name, t->name) == 0;
    }
}

/* Returns the index of the trial's group, or g->count if there is none. The search begins at the
 * group of the last trial: methods run on a message one after the other, and each step has the
 * tensors in the same order. */
static size_t find_group(const struct gcb_groups *g, const struct gcb_run_trial *t)
{
    for (size_t i = 0; i < g->count; i++) {
        const size_t at = (g->next + i) % g->count;

        if (belongs(g, &g->items[at], t))
            return at;
        if (g->per == GCB_PER_MESSAGE) /* only the last group can be the message's */
            break;
    }
    return g->count;
}

/* Adds an empty group for the trial's message. */
static void append_group(struct gcb_groups *g, const struct gcb_run_trial *t)
{
    struct gcb_group group = {.step = t->plan->step, .worker = t->plan->worker};

    gcb_must_grow(&g->items, &g->cap, g->count, sizeof(*g->items));
    group.name = gcb_must_strdup(t->name);
    group.tallies = gcb_must_zero(g->methods, sizeof(*group.tallies));
    g->items[g->count++] = group;
}

void gcb_groups_add(struct gcb_groups *g, const struct gcb_run_trial *trial)
{
    const size_t at = find_group(g, trial);

    if (at == g->count)
        append_group(g, trial);
    gcb_tally_merge(&g->items[at].tallies[trial->method], &trial->tally);
    g->next = at;
}

/* True if figure a comes before figure b. Larger figures come first, NaNs last. */
static bool before(double a, double b)
{
    return a > b || (isnan(b) && !isnan(a));
}

static int by_key_and_place(const void *a, const void *b)
{
    const struct gcb_group *x = a, *y = b;

    if (before(x->key, y->key))
        return -1;
    if (before(y->key, x->key))
        return 1;
    return (x->place > y->place) - (x->place < y->place);
}

/* Sorts groups by their keys, the largest first. Groups with equal keys keep their order. */
static void sort_by_key(struct gcb_groups *g)
{
    for (size_t i = 0; i < g->count; i++)
        g->items[i].place = i;
    if (g->count)
        qsort(g->items, g->count, sizeof(*g->items), by_key_and_place);
}

void gcb_groups_sort(struct gcb_groups *g, enum gcb_field figure)
{
    for (size_t i = 0; i < g->count; i++)
        g->items[i].key = gcb_tally_figure(&g->items[i].tallies[0], figure);
    sort_by_key(g);
}

void gcb_totals_order(size_t *order, const struct gcb_run_result *result, enum gcb_field figure)
{
    for (size_t i = 0; i < result->method_count; i++) {
        const double key = gcb_tally_figure(&result->totals[i].tally, figure);
        size_t at = i;

        while (at > 0 &&
               before(key, gcb_tally_figure(&result->totals[order[at - 1]].tally, figure))) {
            order[at] = order[at - 1];
            at--;
        }
        order[at] = i;
    }
}

/* Measures the error of the tensor at `piece` of a message. The tensor has `count` elements. `f`
 * starts zeroed. */
static int measure_loss(struct gcb_fidelity *f, const struct gcb_run_trial *t,
                        const struct gcb_piece *piece, uint64_t count,
                        const struct gcb_trial_config *config, struct gcb_diag *diag)
{
    if (t->plan->piece_count == 1) {
        *f = t->tally.fidelity;
        return 0;
    }
    if (t->original)
        return gcb_original_compare(t->original, f, piece->offset, count, diag);
    gcb_fidelity_add(f, t->input + piece->offset, t->decoded + piece->offset, count,
                     config->compute.kernels, config->compute.queue);
    return 0;
}

int gcb_losses_add(struct gcb_groups *losses, const struct gcb_source *source,
                   const struct gcb_run_trial *trial, const struct gcb_trial_config *config,
                   struct gcb_diag *diag)
{
    int err = 0;

    for (size_t i = 0; !err && i < trial->plan->piece_count; i++) {
        const struct gcb_piece *piece = &trial->plan->pieces[i];
        const struct gcb_tensor *tensor = gcb_source_tensor(source, piece->tensor);
        struct gcb_run_trial part = {
            .plan = trial->plan, .name = tensor->path, .method = trial->method};

        err = measure_loss(&part.tally.fidelity, trial, piece, tensor->count, config, diag);
        if (!err)
            gcb_groups_add(losses, &part);
    }
    return err;
}

size_t gcb_losses_top(struct gcb_groups *losses, size_t method, struct gcb_loss *out, size_t count)
{
    double total = 0.0;
    size_t used = 0;

    for (size_t i = 0; i < losses->count; i++) {
        losses->items[i].key = losses->items[i].tallies[method].fidelity.dd;
        total += losses->items[i].key;
    }
    sort_by_key(losses);
    for (; isfinite(total) && used < count && used < losses->count; used++) {
        const struct gcb_group *g = &losses->items[used];

        if (g->key <= 0.0)
            break;
        out[used] = (struct gcb_loss){g->name, g->key / total};
    }
    return used;
}

struct gcb_shapes {
    struct gcb_shapes_config config;
    struct gcb_groups groups;      /* a group for each tensor or bucket */
    struct gcb_spectrum_plan plan; /* for the size of the last transform */
    struct gcb_room difference;    /* floats: input minus decoded */
};

struct gcb_shapes *gcb_shapes_create(const struct gcb_shapes_config *config)
{
    struct gcb_shapes *s = gcb_must_zero(1, sizeof(*s));

    s->config = *config;
    gcb_groups_init(&s->groups, GCB_PER_TENSOR, config->methods);
    return s;
}

void gcb_shapes_destroy(struct gcb_shapes *s)
{
    if (!s)
        return;
    gcb_groups_fini(&s->groups);
    gcb_spectrum_plan_fini(&s->plan);
    gcb_room_fini(&s->difference);
    gcb_free(s);
}

/* Returns the array `shapes` of the trial's group, which is created if needed. */
static struct gcb_shape *find_shapes(struct gcb_shapes *s, const struct gcb_run_trial *trial)
{
    struct gcb_group *group;

    gcb_groups_add(&s->groups, trial);
    group = &s->groups.items[s->groups.next];
    if (!group->shapes)
        group->shapes = gcb_must_zero(s->config.methods + 1, sizeof(*group->shapes));
    return group->shapes;
}

/* Adds x to a spectrum, which is created if *out is NULL. Leaves out x if its size is not that of
 * the spectrum. */
static int add_spectrum(struct gcb_shapes *s, struct gcb_spectrum **out, const struct gcb_view *x,
                        struct gcb_diag *diag)
{
    int err;

    if (!*out) {
        *out = gcb_must_array(sizeof(**out), 1);
        gcb_spectrum_init(*out, x->count);
    }
    if ((*out)->count != x->count)
        return 0;
    err = gcb_spectrum_plan_for(&s->plan, x->count, s->config.kernels, s->config.queue, diag);
    if (!err)
        gcb_spectrum_add(*out, &s->plan, x);
    return err;
}

/* Adds x to a histogram, which is created if *out is NULL. */
static void add_histogram(struct gcb_histogram **out, const struct gcb_view *x)
{
    if (!*out)
        *out = gcb_must_zero(1, sizeof(**out));
    gcb_histogram_add(*out, x);
}

/* Adds x, an input or what was decoded from it, to the histogram and the spectrum. `finite`: the
 * input has no infinities and no NaNs. */
static int add_shape(struct gcb_shapes *s, struct gcb_shape *shape, const struct gcb_view *x,
                     bool finite, struct gcb_diag *diag)
{
    if (s->config.histogram)
        add_histogram(&shape->histogram, x);
    if (!s->config.spectrum || !finite || !x->count)
        return 0;
    return add_spectrum(s, &shape->spectrum, x, diag);
}

/* Adds input minus decoded to the histogram of errors. */
static int add_errors(struct gcb_shapes *s, struct gcb_shape *shape, const struct gcb_view *input,
                      const struct gcb_view *decoded, struct gcb_diag *diag)
{
    const int err = gcb_room_reserve(&s->difference, input->count * sizeof(float), "errors", diag);
    float *const difference = (float *)(void *)s->difference.block;

    for (uint64_t i = 0; !err && i < input->count; i++)
        difference[i] = input->data[i] - decoded->data[i];
    if (!err)
        add_histogram(&shape->errors, &(struct gcb_view){difference, input->count});
    return err;
}

int gcb_shapes_add(struct gcb_shapes *s, const struct gcb_run_trial *trial, struct gcb_diag *diag)
{
    const struct gcb_view input = {trial->input, trial->plan->count};
    const struct gcb_view decoded = {trial->decoded, trial->plan->count};
    const bool finite = trial->tally.fidelity.nonfinite == 0;
    struct gcb_shape *shapes = find_shapes(s, trial);
    int err = 0;

    if (trial->method == 0)
        err = add_shape(s, &shapes[0], &input, finite, diag);
    if (!err)
        err = add_shape(s, &shapes[1 + trial->method], &decoded, finite, diag);
    if (!err && s->config.histogram)
        err = add_errors(s, &shapes[1 + trial->method], &input, &decoded, diag);
    return err;
}

int gcb_shapes_rows(const struct gcb_shapes *s, const struct gcb_method *methods,
                    int (*put)(void *ctx, struct gcb_row *row, struct gcb_diag *diag), void *ctx,
                    struct gcb_diag *diag)
{
    int err = 0;

    for (size_t k = 0; k < s->groups.count; k++)
        for (size_t i = 0; !err && i <= s->config.methods; i++) {
            const struct gcb_shape *shape = &s->groups.items[k].shapes[i];
            struct gcb_shape_rows to = {
                .tensor = s->groups.items[k].name,
                .of = i ? "decoded" : "input",
                .method = i ? &methods[i - 1] : NULL,
                .put = put,
                .ctx = ctx,
            };

            err = gcb_shape_rows_put(&to, shape->histogram, shape->spectrum, diag);
            to.of = "error";
            if (!err && shape->errors)
                err = gcb_shape_rows_put(&to, shape->errors, NULL, diag);
        }
    return err;
}
