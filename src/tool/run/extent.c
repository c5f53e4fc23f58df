#include "src/tool/run/extent.h"

#include <stdlib.h>
#include <string.h>

#include "src/lib/base/alloc.h"

static int by_path(const void *a, const void *b)
{
    return strcmp((*(const struct gcb_tensor *const *)a)->path,
                  (*(const struct gcb_tensor *const *)b)->path);
}

static int by_worker(const void *a, const void *b)
{
    const uint32_t x = (*(const struct gcb_tensor *const *)a)->worker;
    const uint32_t y = (*(const struct gcb_tensor *const *)b)->worker;

    return (x > y) - (x < y);
}

static int by_step(const void *a, const void *b)
{
    const uint64_t x = (*(const struct gcb_tensor *const *)a)->step;
    const uint64_t y = (*(const struct gcb_tensor *const *)b)->step;

    return (x > y) - (x < y);
}

static uint64_t distinct(const struct gcb_tensor **list, size_t count,
                         int (*compare)(const void *, const void *))
{
    uint64_t n = count ? 1 : 0;

    qsort(list, count, sizeof(*list), compare);
    for (size_t i = 1; i < count; i++)
        n += compare(&list[i - 1], &list[i]) != 0;
    return n;
}

int gcb_extent_of(struct gcb_extent *out, const struct gcb_source *source, struct gcb_diag *diag)
{
    const size_t count = gcb_source_count(source);
    const struct gcb_tensor **list = gcb_alloc_array(count + 1, sizeof(*list));

    if (!list)
        return gcb_diag_nomem(diag, count * sizeof(*list), "a list of tensors");
    memset(out, 0, sizeof(*out));
    for (size_t i = 0; i < count; i++) {
        const struct gcb_tensor *t = list[i] = gcb_source_tensor(source, i);

        if (i == 0)
            out->dtype = t->dtype;
        out->mixed_dtypes |= t->dtype != out->dtype;
        out->elements += t->count;
        out->bytes += t->count * gcb_dtype_size(t->dtype);
    }
    out->steps = distinct(list, count, by_step);
    out->workers = distinct(list, count, by_worker);
    out->tensors = distinct(list, count, by_path);
    out->full = out->steps * out->workers * out->tensors == count;
    gcb_free(list);
    return 0;
}
