#include "src/tool/run/nonfinite.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "kernels/base/hd.h"
#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"

#define NAMED 3 /* tensors that the text names */

uint64_t gcb_nonfinite_count(const float *x, uint64_t n, const struct gcb_kernels *kernels)
{
    uint64_t count = 0;

    if (n == 0 || kernels->reduce.max_bits(x, n) < GCB_INF_BITS)
        return 0;
    for (uint64_t i = 0; i < n; i++)
        count += gcb_magnitude(x[i]) >= GCB_INF_BITS;
    return count;
}

void gcb_nonfinite_zero(float *x, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        if (gcb_magnitude(x[i]) >= GCB_INF_BITS)
            x[i] = 0.0f;
}

/* The source lists tensors by step, so a new step is larger than the last. */
static int add_step(struct gcb_nonfinite_scan *scan, uint64_t step, struct gcb_diag *diag)
{
    if (scan->step_count && scan->steps[scan->step_count - 1] == step)
        return 0;
    if (gcb_grow(&scan->steps, &scan->step_cap, scan->step_count, sizeof(*scan->steps)))
        return gcb_diag_nomem(diag, 0, "a list of steps");
    scan->steps[scan->step_count++] = step;
    return 0;
}

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
                       const struct gcb_nonfinite_watch *watch, struct gcb_diag *diag)
{
    memset(out, 0, sizeof(*out));
    for (size_t i = 0; i < gcb_source_count(source); i++) {
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
            err = add_step(out, t->step, diag);
        }
        if (err)
            return err;
        if (watch && watch->progress && !watch->progress(watch->ctx, t->count))
            break;
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
