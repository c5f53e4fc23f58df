#include "src/tool/run/input.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "kernels/base/hd.h"
#include "src/lib/base/text.h"
#include "src/tool/base/memory.h"

static enum gcb_role role_of(const struct gcb_output_layers *layers, const char *path)
{
    for (size_t i = 0; i < layers->count; i++)
        if (gcb_glob(layers->globs[i], path))
            return GCB_ROLE_OUTPUT;
    return GCB_ROLE_HIDDEN;
}

void gcb_compute_env(struct gcb_codec_env *env, const struct gcb_compute *compute)
{
    env->kernels = compute->kernels;
    env->queue = compute->queue;
    env->seed = compute->seed;
    env->fft_engine = compute->fft_engine;
}

void gcb_plan_env(struct gcb_codec_env *env, const struct gcb_compute *compute,
                  const struct gcb_source *source, const struct gcb_message_plan *plan,
                  const struct gcb_output_layers *layers)
{
    const struct gcb_tensor *first = gcb_source_tensor(source, plan->pieces[0].tensor);
    const bool alone = plan->piece_count == 1;

    gcb_compute_env(env, compute);
    env->count = plan->count;
    env->shape = alone && !plan->data ? first->dims : NULL;
    env->rank = env->shape ? first->rank : 0;
    env->joined = plan->joined;
    env->joined_length = plan->joined_length;
    env->role = alone ? role_of(layers, first->path) : GCB_ROLE_HIDDEN;
    env->path = gcb_plan_name(plan, source);
}

const char *gcb_plan_name(const struct gcb_message_plan *plan, const struct gcb_source *source)
{
    return plan->name[0] ? plan->name : gcb_source_tensor(source, plan->pieces[0].tensor)->path;
}

int gcb_plan_explain(int err, const char *method, const struct gcb_message_plan *plan,
                     const struct gcb_source *source, struct gcb_diag *diag)
{
    const struct gcb_diag cause = diag ? *diag : (struct gcb_diag){0};

    return gcb_diag_set(diag, err, "%s, step %" PRIu64 " worker %" PRIu32 " %s: %.240s", method,
                        plan->step, plan->worker, gcb_show(gcb_plan_name(plan, source)).text,
                        cause.text);
}

static int by_number(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* Returns the number of different keys. Sorts them. */
static uint64_t count_different(uint64_t *keys, size_t count)
{
    uint64_t n = count ? 1 : 0;

    qsort(keys, count, sizeof(*keys), by_number);
    for (size_t i = 1; i < count; i++)
        n += keys[i - 1] != keys[i];
    return n;
}

void gcb_extent_of(struct gcb_extent *out, const struct gcb_source *source)
{
    const size_t count = gcb_source_count(source);
    uint64_t *const steps = gcb_must_array(3 * count + 1, sizeof(*steps));
    uint64_t *const workers = steps + count, *const tensors = workers + count;

    memset(out, 0, sizeof(*out));
    out->what = gcb_source_what(source);
    for (size_t i = 0; i < count; i++) {
        const struct gcb_tensor *t = gcb_source_tensor(source, i);

        if (i == 0)
            out->dtype = t->dtype;
        out->mixed_dtypes |= t->dtype != out->dtype;
        out->elements += t->count;
        out->bytes += t->count * gcb_dtype_size(t->dtype);
        steps[i] = t->step;
        workers[i] = t->worker;
        tensors[i] = XXH3_64bits(t->path, strlen(t->path));
    }
    out->steps = count_different(steps, count);
    out->workers = count_different(workers, count);
    out->tensors = count_different(tensors, count);
    out->full = out->steps * out->workers * out->tensors == count;
    gcb_free(steps);
}

uint64_t gcb_nonfinite_count(const float *x, uint64_t n, const struct gcb_kernels *kernels)
{
    uint64_t count = 0;

    if (n == 0 || kernels->reduce.max_bits(x, n) < GCB_INF_BITS)
        return 0;
    for (uint64_t i = 0; i < n; i++)
        count += gcb_magnitude(x[i]) >= GCB_INF_BITS;
    return count;
}

uint64_t gcb_nonfinite_zero(float *x, uint64_t n)
{
    uint64_t count = 0;

    for (uint64_t i = 0; i < n; i++)
        if (gcb_magnitude(x[i]) >= GCB_INF_BITS) {
            x[i] = 0.0f;
            count++;
        }
    return count;
}

/* Adds a step to the list, unless it is the last step of the list. The source lists tensors by
 * step, so a new step is larger than all steps of the list. */
static void add_step(struct gcb_nonfinite_scan *scan, uint64_t step)
{
    if (scan->step_count && scan->steps[scan->step_count - 1] == step)
        return;
    gcb_must_grow(&scan->steps, &scan->step_cap, scan->step_count, sizeof(*scan->steps));
    scan->steps[scan->step_count++] = step;
}

#define NAMED 3 /* most tensors that the text names */

/* Adds a tensor to the text, or dots in place of all tensors after the first few. */
static void name_tensor(struct gcb_nonfinite_scan *scan, const struct gcb_tensor *t, uint64_t count)
{
    const size_t used = strlen(scan->text);
    char path[64];

    if (scan->tensors <= NAMED)
        snprintf(scan->text + used, sizeof(scan->text) - used,
                 "%sstep %" PRIu64 " worker %" PRIu32 " %s (%" PRIu64 " of %" PRIu64 ")",
                 used ? ", " : "", t->step, t->worker, gcb_escape(path, sizeof(path), t->path),
                 count, t->count);
    else if (scan->tensors == NAMED + 1)
        snprintf(scan->text + used, sizeof(scan->text) - used, ", ...");
}

int gcb_nonfinite_scan(struct gcb_nonfinite_scan *out, struct gcb_source *source, const bool *only,
                       float *buffer, const struct gcb_kernels *kernels,
                       const struct gcb_watch *watch, struct gcb_diag *diag)
{
    const size_t tensors = gcb_source_count(source);
    double all = 0.0, done = 0.0; /* elements to scan, and elements scanned */

    memset(out, 0, sizeof(*out));
    for (size_t i = 0; i < tensors; i++)
        all += only && !only[i] ? 0.0 : (double)gcb_source_tensor(source, i)->count;
    for (size_t i = 0; i < tensors && !out->stopped; i++) {
        const struct gcb_tensor *t = gcb_source_tensor(source, i);
        uint64_t count;
        int err;

        if (only && !only[i])
            continue;
        err = gcb_source_read(source, i, buffer, diag);
        if (err)
            return err;
        count = gcb_nonfinite_count(buffer, t->count, kernels);
        if (count) {
            out->tensors++;
            name_tensor(out, t, count);
            add_step(out, t->step);
        }
        done += (double)t->count;
        gcb_watch_show(watch, all > 0.0 ? done / all : 1.0);
        out->stopped = gcb_watch_stopped(watch);
    }
    return 0;
}

int gcb_nonfinite_refuse(const struct gcb_nonfinite_scan *scan, struct gcb_diag *diag)
{
    if (scan->tensors == 0)
        return 0;
    return gcb_diag_set(diag, GCB_E_NONFINITE,
                        "%" PRIu64 " %s infinities or NaNs: %s; see --nonfinite", scan->tensors,
                        scan->tensors == 1 ? "tensor holds" : "tensors hold", scan->text);
}

void gcb_nonfinite_scan_fini(struct gcb_nonfinite_scan *scan)
{
    gcb_free(scan->steps);
    memset(scan, 0, sizeof(*scan));
}

bool gcb_nonfinite_has_step(const struct gcb_nonfinite_scan *scan, uint64_t step)
{
    for (size_t i = 0; i < scan->step_count; i++)
        if (scan->steps[i] == step)
            return true;
    return false;
}
