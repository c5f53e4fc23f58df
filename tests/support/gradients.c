#include "tests/support/gradients.h"

#include <stdio.h>
#include <stdlib.h>

#include "src/tool/read/source.h"

/* End of the group of tensors that begins at `first`. *n: their elements together. */
static size_t group_end(const struct gcb_source *s, size_t first, uint64_t *n)
{
    const struct gcb_tensor *a = gcb_source_tensor(s, first);
    size_t end = first;

    for (*n = 0; end < gcb_source_count(s); end++) {
        const struct gcb_tensor *t = gcb_source_tensor(s, end);

        if (t->step != a->step || t->worker != a->worker)
            break;
        *n += t->count;
    }
    return end;
}

static int read_group(struct gcb_source *s, size_t first, size_t end, float *x, uint64_t *offset,
                      struct gcb_diag *diag)
{
    int err = 0;

    offset[0] = 0;
    for (size_t i = first; i < end && !err; i++) {
        err = gcb_source_read(s, i, x + offset[i - first], diag);
        offset[i - first + 1] = offset[i - first] + gcb_source_tensor(s, i)->count;
    }
    return err;
}

static int each_group(struct gcb_source *s, void (*use)(void *ctx, const struct gradient *g),
                      void *ctx, struct gcb_diag *diag)
{
    int err = 0;

    for (size_t first = 0, end; first < gcb_source_count(s) && !err; first = end) {
        const struct gcb_tensor *t = gcb_source_tensor(s, first);
        uint64_t n, *offset;
        float *x;

        end = group_end(s, first, &n);
        x = malloc((n + 1) * sizeof(*x));
        offset = malloc((end - first + 1) * sizeof(*offset));
        err = x && offset ? read_group(s, first, end, x, offset, diag) : GCB_E_NOMEM;
        if (!err)
            use(ctx, &(struct gradient){t->step, t->worker, x, n, end - first, offset});
        free(x);
        free(offset);
    }
    return err;
}

int gradients_each(const char *file, void (*use)(void *ctx, const struct gradient *g), void *ctx)
{
    const struct gcb_source_config config = {.files = &file, .file_count = 1};
    struct gcb_source *source = NULL;
    struct gcb_diag diag = {0};
    int err = gcb_source_open(&source, &config, &diag);

    if (!err)
        err = each_group(source, use, ctx, &diag);
    if (err)
        fprintf(stderr, "%s\n", diag.text);
    gcb_source_close(source);
    return err;
}
