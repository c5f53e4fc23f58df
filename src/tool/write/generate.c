#include "src/tool/write/dump.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "src/lib/base/alloc.h"

#define COMMON UINT64_MAX /* worker number for the draws that all workers share */

enum purpose { PURPOSE_VALUES, PURPOSE_CHOICE };

struct job {
    struct gcb_h5out *dump;
    const struct gcb_generate *config;
    struct gcb_shape_row rows[GCB_LAYOUT_ROWS]; /* the tensors of each step and worker */
    size_t count;                               /* number of rows */
    /* each of these arrays has room for the largest tensor */
    float *values; /* values of the current tensor */
    float *common; /* values that the workers share; NULL without correlation */
    float *choice; /* not 0 where a worker takes the common value; NULL without correlation */
    struct gcb_diag *diag;
};

/* Returns the number of the random stream for one tensor of one worker in one step. */
static uint64_t stream_number(uint64_t step, uint64_t worker, size_t tensor, enum purpose purpose)
{
    const uint64_t key[4] = {step, worker, tensor, (uint64_t)purpose};

    return XXH3_64bits(key, sizeof(key));
}

/* Replaces each of n values by a weighted sum of the common value and itself. */
static void mix_common(struct job *j, uint64_t n)
{
    const float shared = (float)sqrt(j->config->correlation);
    const float own = (float)sqrt(1.0 - j->config->correlation);

    for (uint64_t i = 0; i < n; i++)
        j->values[i] = shared * j->common[i] + own * j->values[i];
}

/* Replaces each of n values by the common value with probability sqrt(correlation). Random stream
 * number choice_stream decides which values are replaced. */
static void choose_common(struct job *j, uint64_t n, uint64_t choice_stream)
{
    /* each element of this sparse tensor is nonzero with probability sqrt(correlation) */
    const struct gcb_synthetic coin = {.dist = GCB_DIST_SPARSE,
                                       .zeros = 1.0 - sqrt(j->config->correlation)};

    gcb_synthetic_fill(&coin, j->choice, n, j->config->seed, choice_stream);
    for (uint64_t i = 0; i < n; i++)
        if (j->choice[i] != 0.0f)
            j->values[i] = j->common[i];
}

/* Fills j->values with the values of a tensor. */
static void fill_tensor(struct job *j, uint64_t step, uint64_t worker, size_t tensor)
{
    const struct gcb_generate *c = j->config;
    const uint64_t n = gcb_shape_elements(&j->rows[tensor]);

    gcb_synthetic_fill(&c->dist, j->values, n, c->seed,
                       stream_number(step, worker, tensor, PURPOSE_VALUES));
    if (!j->common)
        return;
    gcb_synthetic_fill(&c->dist, j->common, n, c->seed,
                       stream_number(step, COMMON, tensor, PURPOSE_VALUES));
    if (c->dist.dist == GCB_DIST_NORMAL || c->dist.dist == GCB_DIST_AR)
        mix_common(j, n);
    else
        choose_common(j, n, stream_number(step, worker, tensor, PURPOSE_CHOICE));
}

/* Writes all tensors of a worker in a step. */
static int write_worker(struct job *j, uint64_t step, uint64_t worker)
{
    char path[160];
    int err = 0;

    for (size_t i = 0; !err && i < j->count; i++) {
        struct gcb_tensor tensor = {.dataset = path,
                                    .dtype = j->config->dtype,
                                    .rank = j->rows[i].rank,
                                    .index = (int64_t)i};

        memcpy(tensor.dims, j->rows[i].dims, sizeof(j->rows[i].dims));
        snprintf(path, sizeof(path), "/step_%06" PRIu64 "/worker_%" PRIu64 "/%s", step, worker,
                 j->rows[i].name);
        fill_tensor(j, step, worker, i);
        err = gcb_dump_put(j->dump, &tensor, j->values, j->diag);
    }
    return err;
}

/* Allocates j->values and, with a correlation, j->common and j->choice. The caller frees them, even
 * after a failure. */
static int allocate(struct job *j)
{
    const bool correlated = j->config->correlation > 0.0;
    uint64_t largest = 0;

    for (size_t i = 0; i < j->count; i++) {
        const uint64_t n = gcb_shape_elements(&j->rows[i]);

        largest = n > largest ? n : largest;
    }
    j->values = gcb_alloc_array(largest, sizeof(float));
    if (correlated) {
        j->common = gcb_alloc_array(largest, sizeof(float));
        j->choice = gcb_alloc_array(largest, sizeof(float));
    }
    if (!j->values || (correlated && (!j->common || !j->choice)))
        return gcb_diag_nomem(j->diag, largest * sizeof(float) * (correlated ? 3 : 1), "gradients");
    return 0;
}

/* Sets j->rows and j->count by the layout's name. Returns GCB_E_INVALID for an unknown name. */
static int find_layout(struct job *j)
{
    const char *name = j->config->layout ? j->config->layout : "flat";

    if (strcmp(name, "flat") == 0) {
        j->rows[0] =
            (struct gcb_shape_row){.name = "flat", .rank = 1, .dims = {j->config->elements}};
        j->count = 1;
        return 0;
    }
    j->count = gcb_network_layout(j->rows, name);
    return j->count ? 0 : gcb_network_unknown(name, "flat, ", j->diag);
}

int gcb_generate_write(struct gcb_h5out *dump, const struct gcb_generate *config,
                       struct gcb_diag *diag)
{
    struct job j = {.dump = dump, .config = config, .diag = diag};
    int err = find_layout(&j);

    if (err)
        return err;
    err = allocate(&j);
    for (uint64_t step = 0; !err && step < config->steps; step++)
        for (uint64_t worker = 0; !err && worker < config->workers; worker++)
            err = write_worker(&j, step, worker);
    gcb_free(j.values);
    gcb_free(j.common);
    gcb_free(j.choice);
    return err;
}
