#include "src/tool/dump/generate.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"

#define COMMON UINT64_MAX /* the part that all workers share */

enum purpose { PURPOSE_VALUES, PURPOSE_CHOICE };

struct job {
    struct gcb_dump *dump;
    const struct gcb_generate *config;
    const struct gcb_shape_row *rows;
    size_t count;
    float *values, *common, *choice; /* the last two only with a correlation */
    struct gcb_diag *diag;
};

static uint64_t row_elements(const struct gcb_shape_row *row)
{
    uint64_t n = 1;

    for (unsigned i = 0; i < row->rank; i++)
        n *= row->dims[i];
    return n;
}

/* The stream of draws for one tensor of one worker in one step. */
static uint64_t stream(uint64_t step, uint64_t worker, size_t tensor, enum purpose purpose)
{
    const uint64_t key[4] = {step, worker, tensor, (uint64_t)purpose};

    return XXH3_64bits(key, sizeof(key));
}

static void mix(struct job *j, uint64_t n)
{
    const float shared = (float)sqrt(j->config->correlation);
    const float own = (float)sqrt(1.0 - j->config->correlation);

    for (uint64_t i = 0; i < n; i++)
        j->values[i] = shared * j->common[i] + own * j->values[i];
}

static void choose(struct job *j, uint64_t n, uint64_t choice_stream)
{
    /* a sparse fill is not zero with the probability wanted */
    const struct gcb_synthetic coin = {.dist = GCB_DIST_SPARSE,
                                       .zeros = 1.0 - sqrt(j->config->correlation)};

    gcb_synthetic_fill(&coin, j->choice, n, j->config->seed, choice_stream);
    for (uint64_t i = 0; i < n; i++)
        if (j->choice[i] != 0.0f)
            j->values[i] = j->common[i];
}

static void fill(struct job *j, uint64_t step, uint64_t worker, size_t tensor)
{
    const struct gcb_generate *c = j->config;
    const uint64_t n = row_elements(&j->rows[tensor]);

    gcb_synthetic_fill(&c->dist, j->values, n, c->seed,
                       stream(step, worker, tensor, PURPOSE_VALUES));
    if (!j->common)
        return;
    gcb_synthetic_fill(&c->dist, j->common, n, c->seed,
                       stream(step, COMMON, tensor, PURPOSE_VALUES));
    if (c->dist.dist == GCB_DIST_NORMAL || c->dist.dist == GCB_DIST_AR)
        mix(j, n);
    else
        choose(j, n, stream(step, worker, tensor, PURPOSE_CHOICE));
}

static int write_worker(struct job *j, uint64_t step, uint64_t worker)
{
    char path[160];
    int err = 0;

    for (size_t i = 0; !err && i < j->count; i++) {
        const struct gcb_dump_tensor tensor = {.dataset = path,
                                               .dtype = j->config->dtype,
                                               .rank = j->rows[i].rank,
                                               .dims = j->rows[i].dims,
                                               .index = (int64_t)i};

        snprintf(path, sizeof(path), "/step_%06" PRIu64 "/worker_%" PRIu64 "/%s", step, worker,
                 j->rows[i].name);
        fill(j, step, worker, i);
        err = gcb_dump_put(j->dump, &tensor, j->values, j->diag);
    }
    return err;
}

static int take_memory(struct job *j)
{
    const bool correlated = j->config->correlation > 0.0;
    uint64_t most = 0;

    for (size_t i = 0; i < j->count; i++) {
        const uint64_t n = row_elements(&j->rows[i]);

        most = n > most ? n : most;
    }
    j->values = gcb_alloc_array(most, sizeof(float));
    if (correlated) {
        j->common = gcb_alloc_array(most, sizeof(float));
        j->choice = gcb_alloc_array(most, sizeof(float));
    }
    if (!j->values || (correlated && (!j->common || !j->choice)))
        return gcb_diag_nomem(j->diag, most * sizeof(float) * (correlated ? 3 : 1), "gradients");
    return 0;
}

static int find_layout(struct job *j, struct gcb_shape_row *flat)
{
    const char *name = j->config->layout ? j->config->layout : "flat";
    char shown[64];

    j->rows = flat;
    j->count = 1;
    if (strcmp(name, "flat") == 0)
        return 0;
    j->rows = gcb_synthetic_layout(name, &j->count);
    if (j->rows)
        return 0;
    return gcb_diag_set(j->diag, GCB_E_INVALID, "unknown layout '%s'; flat, resnet50 or gpt2",
                        gcb_escape(shown, sizeof(shown), name));
}

int gcb_generate_write(struct gcb_dump *dump, const struct gcb_generate *config,
                       struct gcb_diag *diag)
{
    struct gcb_shape_row flat = {.name = "flat", .rank = 1, .dims = {config->elements}};
    struct job j = {.dump = dump, .config = config, .diag = diag};
    int err = find_layout(&j, &flat);

    if (err)
        return err;
    err = take_memory(&j);
    for (uint64_t step = 0; !err && step < config->steps; step++)
        for (uint64_t worker = 0; !err && worker < config->workers; worker++)
            err = write_worker(&j, step, worker);
    gcb_free(j.values);
    gcb_free(j.common);
    gcb_free(j.choice);
    return err;
}
