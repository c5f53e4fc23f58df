#include "src/tool/read/source.h"

#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"
#include "src/tool/read/source_private.h"

void gcb_source_close(struct gcb_source *source)
{
    if (!source)
        return;
    for (size_t i = 0; i < source->file_count; i++)
        gcb_file_child_close(source->files[i].child);
    gcb_free(source->files);
    gcb_free(source->tensors);
    gcb_free(source->met);
    gcb_free(source->synthetic);
    gcb_strings_fini(&source->strings);
    gcb_source_close(source->mask);
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

const char *gcb_source_what(const struct gcb_source *source)
{
    return source->what;
}

/* ---- reading tensors, with mask and shuffle ---- */

/* Finds a file by the pointer to its name. Starts with the file that was read last. */
static struct gcb_source_file *find_file(struct gcb_source *source, const char *name)
{
    size_t i = source->last_file;

    while (source->files[i].found.path != name)
        i = (i + 1) % source->file_count;
    source->last_file = i;
    return &source->files[i];
}

static const struct gcb_tensor *mask_of(const struct gcb_source *mask, const struct gcb_tensor *t)
{
    for (size_t i = 0; i < mask->count; i++)
        if (strcmp(mask->tensors[i].path, t->path) == 0)
            return &mask->tensors[i];
    return NULL;
}

int gcb_source_mask(struct gcb_source *source, struct gcb_source *mask, struct gcb_diag *diag)
{
    source->mask = mask;
    for (size_t i = 0; i < source->count; i++)
        if (mask_of(mask, &source->tensors[i]))
            return 0;
    return gcb_invalid(diag, "--mask has no tensor of the input: their paths must be equal");
}

/* Takes the first tensor of the mask with the path of t. If an element of it is 0, sets the same
 * element of `out`, which holds t, to 0. Without such a tensor, `out` stays as it is. */
static int apply_mask(struct gcb_source *mask, const struct gcb_tensor *t, float *out,
                      struct gcb_diag *diag)
{
    const struct gcb_tensor *own = mask_of(mask, t);
    float *kept;
    int err;

    if (!own)
        return 0;
    if (own->count != t->count)
        return gcb_invalid(diag, "--mask has another number of elements for %s",
                           gcb_show(t->path).text);
    kept = gcb_alloc_array(t->count, sizeof(*kept));
    err = kept ? gcb_source_read(mask, (size_t)(own - mask->tensors), kept, diag)
               : gcb_diag_nomem(diag, t->count * sizeof(*kept), "a mask");
    for (uint64_t k = 0; !err && k < t->count; k++)
        out[k] = kept[k] == 0.0f ? 0.0f : out[k];
    gcb_free(kept);
    return err;
}

int gcb_source_read(struct gcb_source *source, size_t i, float *out, struct gcb_diag *diag)
{
    const struct gcb_tensor *t = &source->tensors[i];
    struct gcb_source_file *file;
    int err;

    if (source->synthetic) {
        gcb_synthetic_fill(&source->synthetic[i], out, t->count, source->seed, i);
        return 0;
    }
    file = find_file(source, t->file);
    err = gcb_source_use(source, file, NULL, diag);
    if (!err)
        err = gcb_file_child_read(file->child, source->tensors, source->count, i, out, diag);
    if (!err && source->mask)
        err = apply_mask(source->mask, t, out, diag);
    if (!err)
        gcb_shuffle(out, t, source->shuffle, source->shuffle_seed);
    return err;
}

void gcb_source_shuffle(struct gcb_source *source, enum gcb_shuffle how, uint64_t seed)
{
    source->shuffle = how;
    source->shuffle_seed = seed;
}

bool gcb_source_has_parts(const struct gcb_source *source, size_t i)
{
    return source->tensors[i].offset != 0 && !source->mask && source->shuffle == GCB_SHUFFLE_NONE;
}

int gcb_source_read_part(struct gcb_source *source, size_t i, uint64_t from, uint64_t count,
                         float *out, struct gcb_diag *diag)
{
    const struct gcb_tensor *t = &source->tensors[i];
    struct gcb_source_file *file = find_file(source, t->file);
    const int err = gcb_source_use(source, file, NULL, diag);

    return err ? err : gcb_file_child_read_part(file->child, t, from, count, out, diag);
}
