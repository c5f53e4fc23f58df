#include "tests/tool/replay/gradient_source.h"

#include <math.h>

size_t gcb_source_count(const struct gcb_source *s)
{
    return s->steps * s->workers * s->tensors;
}

const struct gcb_tensor *gcb_source_tensor(const struct gcb_source *s, size_t i)
{
    return &s->items[i];
}

int gcb_source_read(struct gcb_source *s, size_t i, float *out, struct gcb_diag *diag)
{
    s->whole_reads++;
    memcpy(out, s->data[i], s->items[i].count * sizeof(*out));
    return 0;
}

bool gcb_source_has_parts(const struct gcb_source *s, size_t i)
{
    return s->parts;
}

int gcb_source_read_part(struct gcb_source *s, size_t i, uint64_t from, uint64_t count, float *out,
                         struct gcb_diag *diag)
{
    assert_true(s->parts && from + count <= s->items[i].count);
    s->part_reads++;
    memcpy(out, s->data[i] + from, count * sizeof(*out));
    return 0;
}

/* ---- values ---- */

static double next_uniform(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return ((double)(*state >> 11) + 0.5) * 0x1p-53;
}

static double next_normal(uint64_t *state)
{
    const double radius = sqrt(-2.0 * log(next_uniform(state)));

    return radius * cos(6.283185307179586 * next_uniform(state));
}

void gradient_source_make(struct gcb_source *s, size_t steps, unsigned workers,
                          const uint64_t *counts, size_t tensors, double shared, double noise)
{
    static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    uint64_t state = 1;

    memset(s, 0, sizeof(*s));
    s->steps = steps;
    s->workers = workers;
    s->tensors = tensors;
    s->parts = true;
    memcpy(s->counts, counts, tensors * sizeof(*counts));
    s->items = test_calloc(gcb_source_count(s), sizeof(*s->items));
    s->data = test_calloc(gcb_source_count(s), sizeof(*s->data));
    for (size_t t = 0; t < steps; t++)
        for (size_t j = 0; j < tensors; j++) {
            const uint64_t n = counts[j];

            for (unsigned w = 0; w < workers; w++) {
                const size_t i = (t * workers + w) * tensors + j;

                s->items[i] =
                    (struct gcb_tensor){.path = names[j % 8],
                                        .dataset = names[j % 8],
                                        .file = "memory",
                                        .step = 10 + t,
                                        .worker = w,
                                        .rank = 2,
                                        .dims = {n ? n / (n % 10 ? 1 : 10) : 0, n % 10 ? 1 : 10},
                                        .count = n,
                                        .index = -1};
                s->data[i] = test_malloc((n + 1) * sizeof(float));
            }
            for (uint64_t k = 0; k < n; k++) {
                const double common = shared * next_normal(&state);

                for (unsigned w = 0; w < workers; w++)
                    gradient_source_at(s, t, w, j)[k] =
                        (float)(common + noise * next_normal(&state));
            }
        }
}

void gradient_source_free(struct gcb_source *s)
{
    for (size_t i = 0; i < gcb_source_count(s); i++)
        test_free(s->data[i]);
    test_free(s->data);
    test_free(s->items);
    memset(s, 0, sizeof(*s));
}

float *gradient_source_at(struct gcb_source *s, size_t step, unsigned worker, size_t tensor)
{
    return s->data[(step * s->workers + worker) * s->tensors + tensor];
}

int gradient_read(struct gradient_reader *r, struct gcb_gradients *g, struct gcb_source *s,
                  const struct gcb_gradients_config *config)
{
    const struct gcb_layout_config scope = {.scope = GCB_SCOPE_TENSOR};

    memset(r, 0, sizeof(*r));
    gcb_kernels_init(&r->kernels, gcb_cpu_detect());
    r->queue.threads = 1;
    gcb_layout_init(&r->layout, s, &scope);
    return gcb_gradients_read(g, s, &r->layout, config, &r->kernels, &r->diag);
}

void gradient_reader_free(struct gradient_reader *r)
{
    gcb_layout_fini(&r->layout);
}

const char *gcb_source_what(const struct gcb_source *s)
{
    return NULL;
}
