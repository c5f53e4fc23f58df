#include "src/tool/rows/sink.h"

#include <errno.h>
#include <string.h>

#include "src/lib/base/alloc.h"

struct gcb_sink {
    const struct gcb_sink_ops *ops; /* NULL: rows are dropped */
    struct gcb_columns columns;
    FILE *file;
    const char *name;
};

static const struct gcb_sink_ops *const formats[GCB_FORMAT_COUNT] = {
    [GCB_FORMAT_JSON] = &gcb_sink_json,
    [GCB_FORMAT_CSV] = &gcb_sink_csv,
    [GCB_FORMAT_TSV] = &gcb_sink_tsv,
};

/* What became of writing: the row's own status, or what the stream says. */
static int outcome(const struct gcb_sink *s, int err, struct gcb_diag *diag)
{
    if (err == GCB_E_NOMEM)
        return gcb_diag_nomem(diag, 0, "a row of results");
    if (!err) {
        errno = 0;
        if (fflush(s->file) == 0)
            return 0;
    }
    if (errno == EPIPE)
        return gcb_diag_set(diag, GCB_E_IO, "%s", "");
    return gcb_diag_set(diag, GCB_E_IO, "%s: cannot write: %s", s->name,
                        strerror(errno ? errno : EIO));
}

int gcb_sink_create(struct gcb_sink **out, enum gcb_format format, FILE *file, const char *name,
                    unsigned records, struct gcb_diag *diag)
{
    struct gcb_sink *s = gcb_alloc_zero(1, sizeof(*s));
    int err = 0;

    if (!s)
        return gcb_diag_nomem(diag, sizeof(*s), "a sink");
    *s = (struct gcb_sink){.ops = formats[format], .file = file, .name = name};
    s->columns.records = records;
    s->columns.count = gcb_field_columns(s->columns.fields, records);
    errno = 0;
    if (s->ops && s->ops->begin)
        err = outcome(s, s->ops->begin(file, &s->columns), diag);
    if (err) {
        gcb_sink_destroy(s);
        return err;
    }
    *out = s;
    return 0;
}

int gcb_sink_put(struct gcb_sink *s, const struct gcb_row *row, struct gcb_diag *diag)
{
    if (row->failed)
        return gcb_diag_nomem(diag, 0, "a row of results");
    if (!s->ops)
        return 0;
    errno = 0;
    return outcome(s, s->ops->put(s->file, row->json, &s->columns), diag);
}

void gcb_sink_destroy(struct gcb_sink *s)
{
    gcb_free(s);
}
