#include "src/tool/replay/mean.h"

#include <math.h>
#include <string.h>

#include "src/tool/base/memory.h"
#include "src/tool/replay/replay_plan.h"

/* ---- choosing tensors ---- */

/* If the tensors have more elements than take_tensors may take (`most`), only the first rows of a
 * tensor with more than most / LARGE elements are taken. Other tensors are taken whole or not at
 * all. */
#define LARGE 16

/*
 * Draws tensors of at most `cut` elements, which together have `all` elements. `draws` elements are
 * chosen, evenly spaced among all, and each tensor with a chosen element is drawn. So a larger
 * tensor is drawn with a higher probability. Sets drawn[j] for each tensor of at most `cut`
 * elements, and returns the number of elements of the tensors that are drawn.
 */
static uint64_t draw(bool *drawn, const struct gcb_message_plan *m, size_t count, uint64_t cut,
                     uint64_t all, size_t draws)
{
    uint64_t before = 0, sum = 0;
    size_t next = 0;

    for (size_t j = 0; j < count; j++) {
        const uint64_t end = before + m[j].count;

        if (m[j].count > cut)
            continue;
        drawn[j] = false;
        for (; next < draws && ((double)next + 0.5) / (double)draws * (double)all < (double)end;
             next++)
            drawn[j] = true;
        sum += drawn[j] ? m[j].count : 0;
        before = end;
    }
    return sum;
}

/* Draws as many tensors as fit into `most` elements, by a search for the number of draws. The other
 * parameters are those of `draw`. */
static void draw_most(bool *drawn, const struct gcb_message_plan *m, size_t count, uint64_t cut,
                      uint64_t all, uint64_t most)
{
    size_t draws = 0;

    for (size_t step = (size_t)1 << 20; step > 0; step /= 2)
        if (draw(drawn, m, count, cut, all, draws + step) <= most)
            draws += step;
    draw(drawn, m, count, cut, all, draws);
}

uint64_t gcb_gradients_row(const struct gcb_tensor *tensor)
{
    return tensor->rank > 1 && tensor->dims[0] > 0 ? tensor->count / tensor->dims[0] : 1;
}

/* Returns `share` of a tensor's elements, rounded down to whole rows. Less than a row is not
 * rounded, and at least 1 is returned. */
static uint64_t count_first_rows(const struct gcb_tensor *tensor, double share)
{
    const uint64_t part = (uint64_t)(share * (double)tensor->count);
    const uint64_t row = gcb_gradients_row(tensor);
    const uint64_t whole = part > row ? part - part % row : part;

    return whole ? whole : 1;
}

/* Chooses tensors with at most `most` elements together, and sets their counts and offsets. `m` are
 * the `count` messages of one worker in one step. */
static int take_tensors(struct gcb_gradients *g, struct gcb_source *source,
                        const struct gcb_message_plan *m, size_t count, uint64_t most,
                        struct gcb_diag *diag)
{
    bool *drawn = gcb_must_zero(count, sizeof(*drawn));
    uint64_t cut = UINT64_MAX, large = 0;
    double share = 1.0;

    g->tensors = gcb_must_zero(count, sizeof(*g->tensors));

    g->all_tensors = count;
    for (size_t j = 0; j < count; j++)
        g->all += m[j].count;
    if (g->all > most) {
        cut = most / LARGE;
        share = (double)most / (double)g->all;
    }
    for (size_t j = 0; j < count; j++)
        large += m[j].count > cut ? m[j].count : 0;
    draw_most(drawn, m, count, cut, g->all - large, most - (uint64_t)(share * (double)large));
    for (size_t j = 0; j < count; j++) {
        const struct gcb_tensor *tensor = gcb_source_tensor(source, m[j].pieces[0].tensor);
        const uint64_t n = m[j].count > cut ? count_first_rows(tensor, share) : m[j].count;

        if ((m[j].count <= cut && !drawn[j]) || n == 0 || (g->count && g->count + n > most))
            continue;
        g->tensors[g->tensor_count++] = (struct gcb_gradients_tensor){tensor, n, g->count};
        g->count += n;
    }
    gcb_free(drawn);
    return g->count ? 0 : gcb_invalid(diag, "the dump has no elements");
}

/* ---- reading ---- */

/* Reads the tensors of a worker in a step into `out`. `room` is scratch of find_room elements. */
static int read_worker(const struct gcb_gradients *g, struct gcb_source *source,
                       const struct gcb_replay_plan *plan, size_t step, unsigned worker, float *out,
                       float *room, struct gcb_diag *diag)
{
    size_t k = 0;
    int err = 0;

    for (size_t j = 0; !err && k < g->tensor_count; j++) {
        const struct gcb_gradients_tensor *t = &g->tensors[k];
        const size_t first = plan->layout->messages[j].pieces[0].tensor;
        size_t i;

        if (gcb_source_tensor(source, first) != t->tensor)
            continue;
        i = gcb_replay_message_at(plan, step, worker, j)->pieces[0].tensor;
        if (t->count == t->tensor->count) {
            err = gcb_source_read(source, i, out + t->offset, diag);
        } else if (gcb_source_has_parts(source, i)) {
            err = gcb_source_read_part(source, i, 0, t->count, out + t->offset, diag);
        } else {
            err = gcb_source_read(source, i, room, diag);
            if (!err)
                memcpy(out + t->offset, room, t->count * sizeof(*out));
        }
        k++;
    }
    return err;
}

/* Returns the elements of the largest tensor of which only a part is kept, because that tensor may
 * have to be read whole. Returns at least 1. */
static uint64_t find_room(const struct gcb_gradients *g)
{
    uint64_t most = 1;

    for (size_t k = 0; k < g->tensor_count; k++)
        if (g->tensors[k].count < g->tensors[k].tensor->count && g->tensors[k].tensor->count > most)
            most = g->tensors[k].tensor->count;
    return most;
}

/* Computes the mean of a step's workers, whose gradients are `x`. Adds the squared norm of the mean
 * to *mean_sq, and the mean of the workers' squared norms to *worker_sq. */
static void average(const struct gcb_gradients *g, const float *x, float *mean,
                    const struct gcb_kernels *kernels, double *mean_sq, double *worker_sq)
{
    const float weight = 1.0f / (float)g->workers;

    memset(mean, 0, g->count * sizeof(*mean));
    for (unsigned w = 0; w < g->workers; w++, x += g->count) {
        for (uint64_t i = 0; i < g->count; i++)
            mean[i] += weight * x[i];
        *worker_sq += gcb_reduce_blocks(kernels->reduce.sum_sq, x, g->count) / g->workers;
    }
    *mean_sq += gcb_reduce_blocks(kernels->reduce.sum_sq, mean, g->count);
}

#define LOOKS 32 /* fewest steps over which noise and signal are measured, if the dump has them */

/* Reads the steps that are kept, and measures signal and noise on them and on other steps. */
static int read_all(struct gcb_gradients *g, struct gcb_source *source,
                    const struct gcb_replay_plan *plan, const struct gcb_kernels *kernels,
                    struct gcb_diag *diag)
{
    const double n = g->workers;
    const size_t few = plan->step_count < LOOKS ? plan->step_count : LOOKS;
    const size_t looks = g->steps > few ? g->steps : few; /* steps that are read */
    float *room = gcb_alloc_array(find_room(g), sizeof(*room));
    double mean_sq = 0.0, worker_sq = 0.0;
    int err = 0;

    /* the last slot is for the steps of which only the norms are wanted */
    g->data = gcb_alloc_array((g->steps + 1) * g->workers * g->count, sizeof(*g->data));
    g->means = gcb_alloc_array((g->steps + 1) * g->count, sizeof(*g->means));
    if (!room || !g->data || !g->means)
        err = gcb_diag_nomem(diag, (g->steps + 1) * (g->workers + 1) * g->count * sizeof(float),
                             "gradients; give fewer --step or --worker");
    for (size_t i = 0, kept = 0; !err && i < looks; i++) {
        const size_t step = i * plan->step_count / looks;
        const bool keep = kept < g->steps && kept * looks <= i * g->steps; /* evenly spread */
        const size_t slot = keep ? kept++ : g->steps;
        float *x = g->data + slot * g->workers * g->count;

        for (unsigned w = 0; !err && w < g->workers; w++)
            err = read_worker(g, source, plan, step, w, x + w * g->count, room, diag);
        if (err)
            break;
        g->nonfinite += gcb_nonfinite_zero(x, g->workers * g->count);
        average(g, x, g->means + slot * g->count, kernels, &mean_sq, &worker_sq);
    }
    gcb_free(room);
    /* worker_sq is about signal + noise, and mean_sq about signal + noise / n */
    g->noise = n > 1.0 ? fmax(0.0, (worker_sq - mean_sq) * n / (n - 1.0)) : 0.0;
    g->signal = fmax(0.0, worker_sq - g->noise);
    return err;
}

int gcb_gradients_read(struct gcb_gradients *out, struct gcb_source *source,
                       const struct gcb_layout *layout, const struct gcb_gradients_config *config,
                       const struct gcb_kernels *kernels, struct gcb_diag *diag)
{
    const struct gcb_replay_order order = {.allow_gaps = true};
    struct gcb_replay_plan plan;
    uint64_t most = config->most ? config->most : UINT64_MAX;
    int err;

    *out = (struct gcb_gradients){.steps = config->steps};
    err = gcb_replay_plan_init(&plan, source, layout, &order, NULL, diag);
    if (err)
        goto out;
    out->workers = plan.recorded_workers;
    if (config->workers && config->workers < out->workers)
        out->workers = config->workers;
    if (!out->steps || out->steps > plan.step_count)
        out->steps = plan.step_count;
    if (config->most_together && config->most_together / (out->workers * out->steps) < most)
        most = config->most_together / (out->workers * out->steps);
    err = take_tensors(out, source, layout->messages, plan.messages, most ? most : 1, diag);
    if (!err)
        err = read_all(out, source, &plan, kernels, diag);
out:
    gcb_free(plan.recorded);
    if (err)
        gcb_gradients_fini(out);
    return err;
}

void gcb_gradients_fini(struct gcb_gradients *g)
{
    gcb_free(g->tensors);
    gcb_free(g->data);
    gcb_free(g->means);
    memset(g, 0, sizeof(*g));
}

const float *gcb_gradients_at(const struct gcb_gradients *g, size_t step, unsigned worker)
{
    return g->data + (step * g->workers + worker % g->workers) * g->count;
}
