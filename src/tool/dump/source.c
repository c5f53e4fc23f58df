#include "src/tool/dump/source.h"

#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"
#include "src/tool/dump/source_private.h"

enum { STRING_BLOCK = 64 << 10 };

const char *gcb_strings_add(struct gcb_strings *s, const char *text, size_t n)
{
    const size_t block = n + 1 > STRING_BLOCK ? n + 1 : STRING_BLOCK;
    char *at;

    if (s->left < n + 1) {
        if (gcb_grow(&s->blocks, &s->cap, s->count, sizeof(*s->blocks)) != 0)
            return NULL;
        s->blocks[s->count] = gcb_alloc(block);
        if (!s->blocks[s->count])
            return NULL;
        s->count++;
        s->left = block;
    }
    at = s->blocks[s->count - 1] + (block - s->left);
    s->left -= n + 1;
    memcpy(at, text, n);
    at[n] = '\0';
    return at;
}

void gcb_source_close(struct gcb_source *source)
{
    if (!source)
        return;
    for (size_t i = 0; i < GCB_SOURCE_FILES; i++)
        gcb_h5child_close(source->files[i].child);
    gcb_free(source->tensors);
    gcb_free(source->met);
    gcb_free(source->values);
    gcb_free(source->notes);
    gcb_free(source->synthetic);
    for (size_t i = 0; i < source->strings.count; i++)
        gcb_free(source->strings.blocks[i]);
    gcb_free(source->strings.blocks);
    gcb_free(source);
}

size_t gcb_source_count(const struct gcb_source *source)
{
    return source->count;
}

const struct gcb_tensor *gcb_source_tensor(const struct gcb_source *source, size_t i)
{
    return &source->tensors[i];
}

bool gcb_source_met(const struct gcb_source *source, size_t i)
{
    return source->met[i];
}

bool gcb_source_matches(const struct gcb_source *source, const char *glob)
{
    for (size_t i = 0; i < source->count; i++)
        if (gcb_glob(glob, source->tensors[i].path))
            return true;
    return false;
}

size_t gcb_source_skipped(const struct gcb_source *source)
{
    return source->skipped;
}

bool gcb_source_step_value(const struct gcb_source *source, uint64_t step, const char *name,
                           double *value)
{
    for (size_t i = 0; i < source->value_count; i++)
        if (source->values[i].step == step && strcmp(source->values[i].name, name) == 0) {
            *value = source->values[i].value;
            return true;
        }
    return false;
}

const char *gcb_source_note(const struct gcb_source *source, const char *name)
{
    for (size_t i = 0; i < source->note_count; i++)
        if (strcmp(source->notes[i].name, name) == 0)
            return source->notes[i].text;
    return NULL;
}

/* ---- reading ---- */

static void close_file(struct gcb_source_file *f)
{
    gcb_h5child_close(f->child);
    *f = (struct gcb_source_file){0};
}

int gcb_source_use(struct gcb_h5child **out, struct gcb_source *source, const char *name,
                   const struct gcb_h5lister *lister, struct gcb_diag *diag)
{
    struct gcb_source_file *f = source->files;
    struct gcb_h5file found;
    int err;

    for (size_t i = 0; i < GCB_SOURCE_FILES && f->name != name; i++)
        if (source->files[i].name == name || source->files[i].used < f->used)
            f = &source->files[i];
    f->used = ++source->uses;
    *out = f->child;
    if (f->name == name)
        return 0;
    close_file(f);
    err = gcb_h5file_find(&found, name, &source->limits, diag);
    if (!err)
        err = gcb_h5child_open(&f->child, &found, name, lister, diag);
    if (err)
        return err;
    f->name = name;
    f->used = source->uses;
    *out = f->child;
    return 0;
}

/* What a child needs to know to read tensor i, if it is in the file `name`. */
struct in_file {
    const struct gcb_source *source;
    const char *name;
};

static bool get_item(const void *ctx, size_t i, struct gcb_h5item *item)
{
    const struct in_file *in = ctx;
    const struct gcb_tensor *t = &in->source->tensors[i];

    if (i >= in->source->count || t->file != in->name)
        return false;
    item->path = t->dataset;
    item->bytes = false;
    item->dtype = t->dtype;
    item->rank = t->rank;
    item->dims = t->dims;
    item->count = t->count;
    return true;
}

int gcb_source_read(struct gcb_source *source, size_t i, float *out, struct gcb_diag *diag)
{
    const struct gcb_tensor *t = &source->tensors[i];
    const struct in_file in = {source, t->file};
    const struct gcb_h5items items = {&in, get_item};
    struct gcb_h5child *child;
    int err;

    if (source->synthetic) {
        gcb_synthetic_fill(&source->synthetic[i], out, t->count, source->seed, i);
        return 0;
    }
    err = gcb_source_use(&child, source, t->file, NULL, diag);
    return err ? err : gcb_h5child_read(child, &items, i, out, diag);
}
