/* Listing: from the groups and datasets of a file to tensors, step values and notes. */
#include <inttypes.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"
#include "src/tool/dump/source_private.h"
#include "src/tool/hdf5/h5attr.h"
#include "src/tool/hdf5/h5walk.h"

enum {
    MAX_NOTES = 256, /* texts of root attributes, over all files */
    NOTE_BYTES = 4096,
};

/* What a file is asked while it is walked. */
struct lister {
    struct gcb_listing *listing;
    const char *name; /* of the file */
    uint32_t rank;    /* the worker of whatever has no other */
};

/* Where a path stands: the outermost groups named step* and worker* count, for what is inside a worker
 * are the parameters' own names. */
struct place {
    bool has_step, has_worker;
    uint64_t step, worker;
    const char *below; /* behind both */
};

/* "step_000100" or "step100" of `n` bytes for the word "step": the number, or false. */
static bool numbered(const char *name, size_t n, const char *word, uint64_t *out)
{
    const size_t letters = strlen(word);
    char digits[32];

    if (n <= letters || strncmp(name, word, letters) != 0)
        return false;
    name += letters;
    n -= letters;
    if (*name == '_') {
        name++;
        n--;
    }
    if (n == 0 || n >= sizeof(digits))
        return false;
    memcpy(digits, name, n);
    digits[n] = '\0';
    return gcb_parse_u64(digits, out);
}

/* Reads the groups of a path; its last component is a dataset unless `group`. */
static struct place place_of(const char *path, bool group)
{
    struct place p = {.below = path + 1};

    for (const char *name = path + 1, *end;; name = end + 1) {
        end = strchrnul(name, '/');
        if (*end == '\0' && !group)
            break;
        if (!p.has_step && numbered(name, (size_t)(end - name), "step", &p.step)) {
            p.has_step = true;
            p.below = *end ? end + 1 : end;
        } else if (!p.has_worker && numbered(name, (size_t)(end - name), "worker", &p.worker)) {
            p.has_worker = true;
            p.below = *end ? end + 1 : end;
        }
        if (*end == '\0')
            break;
    }
    return p;
}

/* The last "rankN" or "rank_N" of a file's own name, or 0. */
static uint32_t rank_of_file(const char *path)
{
    const char *name = strrchr(path, '/');
    uint32_t rank = 0;

    name = name ? name + 1 : path;
    while ((name = strstr(name, "rank"))) {
        uint64_t n = 0;
        size_t digits;

        name += strlen("rank");
        name += *name == '_' || *name == '-';
        digits = strspn(name, "0123456789");
        for (size_t i = 0; i < digits && n <= UINT32_MAX; i++)
            n = n * 10 + (uint64_t)(name[i] - '0');
        if (digits && n <= UINT32_MAX)
            rank = (uint32_t)n;
    }
    return rank;
}

/* IEEE formats of either byte order, and the top half of a float32. Others count as other data: HDF5 would
 * convert them bit by bit, and a message could not restore them. */
static bool format_of(enum gcb_dtype *out, const struct gcb_h5dataset *d)
{
    size_t sign, exp_at, exp_bits, man_at, man_bits;

    if (d->kind != H5T_FLOAT)
        return false;
    *out = d->type_size == 4 ? GCB_F32 : GCB_F64;
    if (d->type_size == 4)
        return H5Tequal(d->type, H5T_IEEE_F32LE) > 0 || H5Tequal(d->type, H5T_IEEE_F32BE) > 0;
    if (d->type_size == 8)
        return H5Tequal(d->type, H5T_IEEE_F64LE) > 0 || H5Tequal(d->type, H5T_IEEE_F64BE) > 0;
    if (d->type_size != 2 ||
        H5Tget_fields(d->type, &sign, &exp_at, &exp_bits, &man_at, &man_bits) < 0)
        return false;
    *out = exp_bits == 8 ? GCB_BF16 : GCB_F16;
    return H5Tget_precision(d->type) == 16 && H5Tget_offset(d->type) == 0 && sign == 15 &&
           man_at == 0 && exp_at == man_bits &&
           ((exp_bits == 5 && man_bits == 10 && H5Tget_ebias(d->type) == 15) ||
            (exp_bits == 8 && man_bits == 7 && H5Tget_ebias(d->type) == 127)) &&
           H5Tget_norm(d->type) == H5T_NORM_IMPLIED && H5Tget_order(d->type) <= H5T_ORDER_BE;
}

bool gcb_source_dtype(enum gcb_dtype *out, const struct gcb_h5dataset *dataset)
{
    char text[32];

    if (!format_of(out, dataset))
        return false;
    if (*out == GCB_F32 && gcb_h5attr_text(dataset->id, "source_dtype", text, sizeof(text)) &&
        strcmp(text, "bfloat16") == 0)
        *out = GCB_BF16;
    return true;
}

static bool selected(struct gcb_listing *l, const struct gcb_tensor *t)
{
    const bool step = gcb_numbers_accepts(&l->steps, t->step) || l->steps.last;
    const bool worker = gcb_numbers_accepts(&l->workers, t->worker);

    return step && worker && gcb_selection_accepts(l->selection, t->path);
}

/* Which step, worker and tensor a path means; the strings are the walk's for now. */
static int locate(struct gcb_tensor *t, const struct lister *k, const char *path,
                  struct gcb_diag *diag)
{
    const struct place p = place_of(path, false);

    if (p.has_worker && p.worker > UINT32_MAX)
        return gcb_h5file_fail(&k->listing->source->file, path, GCB_E_INVALID, diag,
                               "the worker's number is too large");
    *t = (struct gcb_tensor){.path = p.below, .dataset = path, .file = k->name, .index = -1};
    t->step = p.step;
    t->worker = p.has_worker ? (uint32_t)p.worker : k->rank;
    return 0;
}

/* A tensor is also held as float32, which may be wider than what is stored. */
static int check_widened(const struct gcb_h5file *file, const struct gcb_tensor *t,
                         struct gcb_diag *diag)
{
    if (t->count <= file->limits.max_bytes / sizeof(float))
        return 0;
    return gcb_h5file_fail(file, t->dataset, GCB_E_NOMEM, diag,
                           "%" PRIu64 " elements are as float32 more than --max-bytes %" PRIu64,
                           t->count, file->limits.max_bytes);
}

static int describe(struct gcb_tensor *t, struct gcb_h5dataset *d, const struct gcb_h5file *file,
                    struct gcb_diag *diag)
{
    int err = gcb_h5dataset_vet(d, file, t->dataset, diag);

    if (err)
        return err;
    t->rank = d->rank;
    memcpy(t->dims, d->dims, sizeof(t->dims));
    t->count = d->count;
    if (gcb_h5attr_integer(d->id, "index", &t->index) && t->index < 0)
        t->index = -1;
    return check_widened(file, t, diag);
}

/* Appends the tensor, with strings of the source's own. */
static int keep(struct gcb_source *s, struct gcb_tensor *t, struct gcb_diag *diag)
{
    const char *dataset = gcb_strings_add(&s->strings, t->dataset, strlen(t->dataset));

    if (!dataset || gcb_grow(&s->tensors, &s->cap, s->count, sizeof(*t)) != 0)
        return gcb_diag_nomem(diag, s->count * sizeof(*t), "the list of tensors");
    t->path = dataset + (t->path - t->dataset);
    t->dataset = dataset;
    s->tensors[s->count++] = *t;
    return 0;
}

static int on_dataset(void *ctx, struct gcb_h5dataset *d, const char *path, struct gcb_diag *diag)
{
    const struct lister *k = ctx;
    struct gcb_listing *l = k->listing;
    struct gcb_source *s = l->source;
    struct gcb_tensor t;
    enum gcb_dtype dtype;
    int err;

    if (!gcb_source_dtype(&dtype, d)) {
        s->skipped++;
        return 0;
    }
    err = locate(&t, k, path, diag);
    if (err)
        return err;
    l->seen++;
    if (t.step > l->last_step)
        l->last_step = t.step;
    gcb_selection_meet(l->selection, t.path, s->met);
    if (!selected(l, &t))
        return 0;
    t.dtype = dtype;
    err = describe(&t, d, &s->file, diag);
    return err ? err : keep(s, &t, diag);
}

/* Attributes of one group, on their way into the source. */
struct collector {
    struct gcb_source *source;
    uint64_t step;
    bool full; /* memory ran out */
};

static void take_value(void *ctx, hid_t object, const char *name)
{
    struct collector *c = ctx;
    struct gcb_source *s = c->source;
    struct gcb_step_value v = {.step = c->step};

    if (!gcb_h5attr_number(object, name, &v.value))
        return;
    v.name = gcb_strings_add(&s->strings, name, strlen(name));
    if (!v.name || gcb_grow(&s->values, &s->value_cap, s->value_count, sizeof(v)) != 0)
        c->full = true;
    else
        s->values[s->value_count++] = v;
}

/* Numbers become text, so that `momentum` can be asked for like `model`. */
static void take_note(void *ctx, hid_t object, const char *name)
{
    struct collector *c = ctx;
    struct gcb_source *s = c->source;
    char text[NOTE_BYTES];
    struct gcb_note note;
    double number;

    if (s->note_count >= MAX_NOTES || gcb_source_note(s, name))
        return;
    if (gcb_h5attr_number(object, name, &number))
        gcb_real_text(text, number);
    else if (!gcb_h5attr_text(object, name, text, sizeof(text)))
        return;
    note.name = gcb_strings_add(&s->strings, name, strlen(name));
    note.text = gcb_strings_add(&s->strings, text, strlen(text));
    if (!note.name || !note.text ||
        gcb_grow(&s->notes, &s->note_cap, s->note_count, sizeof(note)) != 0)
        c->full = true;
    else
        s->notes[s->note_count++] = note;
}

static int on_group(void *ctx, hid_t id, const char *path, struct gcb_diag *diag)
{
    const struct lister *k = ctx;
    const struct place p = place_of(path, true);
    const char *name = strrchr(path, '/') + 1;
    struct collector c = {.source = k->listing->source, .step = p.step};
    uint64_t n;

    if (*name == '\0')
        gcb_h5attr_each(id, take_note, &c);
    else if (p.has_step && *p.below == '\0' && numbered(name, strlen(name), "step", &n))
        gcb_h5attr_each(id, take_value, &c);
    return c.full ? gcb_diag_nomem(diag, NOTE_BYTES, "the attributes of a group") : 0;
}

int gcb_source_list(struct gcb_listing *listing, const char *name, struct gcb_diag *diag)
{
    struct lister k = {.listing = listing, .name = name, .rank = rank_of_file(name)};
    const struct gcb_h5visitor visitor = {&k, on_group, on_dataset};
    int err = gcb_source_use(listing->source, name, diag);

    return err ? err : gcb_h5walk(&listing->source->file, &visitor, diag);
}
