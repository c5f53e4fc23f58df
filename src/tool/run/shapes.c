#include "src/tool/run/shapes.h"

#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/tool/measure/shape_rows.h"

/* The shape of a tensor's inputs, or of the tensors that a method decoded. */
struct shape {
    struct gcb_histogram *histogram; /* NULL: not wanted */
    struct gcb_histogram *errors;    /* of input minus decoded; NULL: not wanted, or an input */
    struct gcb_spectrum *spectrum;   /* NULL: not wanted, or nothing was added yet */
};

struct entry {
    char *name;
    struct shape *shapes; /* shapes of the input, then of each method */
};

struct gcb_shapes {
    struct gcb_shapes_config config;
    struct entry *entries;
    size_t count, cap, next;       /* next: where the next search begins */
    struct gcb_spectrum_plan plan; /* plan for the last size */
    float *difference;             /* input minus decoded */
    uint64_t difference_cap;
};

int gcb_shapes_create(struct gcb_shapes **out, const struct gcb_shapes_config *config,
                      struct gcb_diag *diag)
{
    struct gcb_shapes *s = gcb_alloc_zero(1, sizeof(*s));

    if (!s)
        return gcb_diag_nomem(diag, sizeof(*s), "histograms");
    s->config = *config;
    *out = s;
    return 0;
}

static void release(struct entry *e, size_t shapes)
{
    for (size_t i = 0; e->shapes && i < shapes; i++) {
        gcb_free(e->shapes[i].histogram);
        gcb_free(e->shapes[i].errors);
        gcb_free(e->shapes[i].spectrum);
    }
    gcb_free(e->shapes);
    gcb_free(e->name);
}

void gcb_shapes_destroy(struct gcb_shapes *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->count; i++)
        release(&s->entries[i], s->config.methods + 1);
    gcb_spectrum_plan_fini(&s->plan);
    gcb_free(s->difference);
    gcb_free(s->entries);
    gcb_free(s);
}

static int append(struct gcb_shapes *s, const char *name)
{
    struct entry e = {.name = gcb_strdup(name)};

    e.shapes = gcb_alloc_zero(s->config.methods + 1, sizeof(*e.shapes));
    if (!e.name || !e.shapes || gcb_grow(&s->entries, &s->cap, s->count, sizeof(*s->entries))) {
        release(&e, s->config.methods + 1);
        return GCB_E_NOMEM;
    }
    s->entries[s->count++] = e;
    return 0;
}

/* Returns the index of a name's entry, or s->count if it has none. Names come in the same order at each step, so the
 * search begins at the last. */
static size_t find(const struct gcb_shapes *s, const char *name)
{
    for (size_t i = 0; i < s->count; i++) {
        const size_t at = (s->next + i) % s->count;

        if (strcmp(s->entries[at].name, name) == 0)
            return at;
    }
    return s->count;
}

static int add_spectrum(struct gcb_shapes *s, struct gcb_spectrum **out, const struct gcb_view *x,
                        struct gcb_diag *diag)
{
    int err;

    if (!*out) {
        *out = gcb_alloc(sizeof(**out));
        if (!*out)
            return gcb_diag_nomem(diag, sizeof(**out), "a spectrum");
        gcb_spectrum_init(*out, x->count);
    }
    if ((*out)->count != x->count)
        return 0;
    err = gcb_spectrum_plan_for(&s->plan, x->count, s->config.queue, diag);
    if (!err)
        gcb_spectrum_add(*out, &s->plan, x);
    return err;
}

/* Adds x to a histogram, which is created if *out is NULL. */
static int add_histogram(struct gcb_histogram **out, const struct gcb_view *x,
                         struct gcb_diag *diag)
{
    if (!*out)
        *out = gcb_alloc_zero(1, sizeof(**out));
    if (!*out)
        return gcb_diag_nomem(diag, sizeof(**out), "a histogram");
    gcb_histogram_add(*out, x);
    return 0;
}

static int add_shape(struct gcb_shapes *s, struct shape *shape, const struct gcb_view *x,
                     bool finite, struct gcb_diag *diag)
{
    const int err = s->config.histogram ? add_histogram(&shape->histogram, x, diag) : 0;

    if (err || !s->config.spectrum || !finite || !x->count)
        return err;
    return add_spectrum(s, &shape->spectrum, x, diag);
}

static int add_errors(struct gcb_shapes *s, struct shape *shape, const struct gcb_view *input,
                      const struct gcb_view *decoded, struct gcb_diag *diag)
{
    const struct gcb_view difference = {s->difference, input->count};

    for (uint64_t i = 0; i < input->count; i++)
        s->difference[i] = input->data[i] - decoded->data[i];
    return add_histogram(&shape->errors, &difference, diag);
}

/* Makes room for `count` differences. */
static int reserve(struct gcb_shapes *s, uint64_t count, struct gcb_diag *diag)
{
    if (!s->config.histogram || (s->difference && count <= s->difference_cap))
        return 0;
    gcb_free(s->difference);
    s->difference = gcb_alloc_array(count, sizeof(*s->difference));
    s->difference_cap = s->difference ? count : 0;
    return s->difference ? 0 : gcb_diag_nomem(diag, count * sizeof(float), "errors");
}

int gcb_shapes_add(struct gcb_shapes *s, const struct gcb_run_trial *trial, struct gcb_diag *diag)
{
    const struct gcb_view input = {trial->input, trial->plan->count};
    const struct gcb_view decoded = {trial->decoded, trial->plan->count};
    const bool finite = trial->tally.fidelity.nonfinite == 0;
    const size_t at = find(s, trial->name);
    struct shape *shapes;
    int err = 0;

    if (at == s->count && append(s, trial->name))
        return gcb_diag_nomem(diag, 0, "histograms");
    s->next = at;
    shapes = s->entries[at].shapes;
    if (trial->method == 0)
        err = add_shape(s, &shapes[0], &input, finite, diag);
    if (!err)
        err = add_shape(s, &shapes[trial->method + 1], &decoded, finite, diag);
    if (err || !s->config.histogram)
        return err;
    err = reserve(s, input.count, diag);
    return err ? err : add_errors(s, &shapes[trial->method + 1], &input, &decoded, diag);
}

int gcb_shapes_rows(const struct gcb_shapes *s, const struct gcb_method *methods,
                    const struct gcb_shapes_sink *sink, struct gcb_diag *diag)
{
    int err = 0;

    for (size_t e = 0; e < s->count; e++)
        for (size_t i = 0; !err && i <= s->config.methods; i++) {
            const struct shape *shape = &s->entries[e].shapes[i];
            struct gcb_shape_rows to = {
                .tensor = s->entries[e].name,
                .of = i ? "decoded" : "input",
                .method = i ? &methods[i - 1] : NULL,
                .put = sink->put,
                .ctx = sink->ctx,
            };

            err = gcb_shape_rows_put(&to, shape->histogram, shape->spectrum, diag);
            to.of = "error";
            if (!err && shape->errors)
                err = gcb_shape_rows_put(&to, shape->errors, NULL, diag);
        }
    return err;
}
