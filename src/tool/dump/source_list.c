/* Lists one file: adds its datasets as tensors to the source. */
#include <inttypes.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"
#include "src/tool/dump/source_private.h"
#include "src/tool/hdf5/h5attr.h"
#include "src/tool/hdf5/h5type.h"
#include "src/tool/hdf5/h5walk.h"

enum {
    MAX_NOTES = 256, /* most root attributes that are kept of all files together */
    NOTE_BYTES = 4096,
};

/* The kinds of records. */
enum { R_TENSOR = 1, R_NUMBER, R_TEXT, R_SKIPPED };

/* ---- paths ---- */

/*
 * The step and worker of a path. Only the outermost step* and worker* groups count, because names inside a worker are
 * names of parameters.
 */
struct place {
    bool has_step, has_worker;
    uint64_t step, worker;
    const char *below; /* the rest of the path, after both groups */
};

/* Reads the number in a name of n bytes. For "step_000100" and "step100", `word` is "step" and the number is 100. */
static bool parse_numbered(const char *name, size_t n, const char *word, uint64_t *out)
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

/* Splits a path. `group` says whether its last component is a group or a dataset. */
static struct place split_path(const char *path, bool group)
{
    struct place p = {.below = path + 1};

    for (const char *name = path + 1, *end;; name = end + 1) {
        end = strchrnul(name, '/');
        if (*end == '\0' && !group)
            break;
        if (!p.has_step && parse_numbered(name, (size_t)(end - name), "step", &p.step)) {
            p.has_step = true;
            p.below = *end ? end + 1 : end;
        } else if (!p.has_worker &&
                   parse_numbered(name, (size_t)(end - name), "worker", &p.worker)) {
            p.has_worker = true;
            p.below = *end ? end + 1 : end;
        }
        if (*end == '\0')
            break;
    }
    return p;
}

/* Returns the N of the last "rankN" or "rank_N" in a file's name (without its folders), or 0. */
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

/* If the user asks for the step "last", tensors of all steps are kept until the last step is known. */
static bool is_selected(struct gcb_listing *l, const struct gcb_tensor *t)
{
    const bool step = gcb_numbers_accepts(&l->steps, t->step) || l->steps.last;
    const bool worker = gcb_numbers_accepts(&l->workers, t->worker);

    return step && worker && gcb_selection_accepts(l->selection, t->path);
}

/* Fills names, step and worker of *t. The strings of *t are valid only during the walk's call. */
static int locate_tensor(struct gcb_tensor *t, const struct gcb_listing *l, const char *path,
                         struct gcb_diag *diag)
{
    const struct place p = split_path(path, false);

    if (p.has_worker && p.worker > UINT32_MAX)
        return gcb_h5file_fail(&l->found, path, GCB_E_CORRUPT, diag,
                               "the worker's number is above 4294967295");
    *t = (struct gcb_tensor){
        .path = p.below,
        .dataset = path,
        .file = l->file,
        .step = p.step,
        .worker = p.has_worker ? (uint32_t)p.worker : l->rank,
        .index = -1,
    };
    return 0;
}

/* ---- walking a file, in the child ---- */

/* Adds index, shape and position in the file of a selected tensor to the record. */
static int put_description(struct gcb_wbuf *record, struct gcb_h5dataset *d,
                           const struct gcb_h5file *file, const char *path, struct gcb_diag *diag)
{
    struct gcb_h5item item = {0};
    int64_t index = -1;
    int err = gcb_h5dataset_vet(d, file, path, diag);

    if (err)
        return err;
    if (!gcb_h5attr_integer(d->id, "index", &index) || index < 0)
        index = -1;
    gcb_put_u64(record, (uint64_t)index);
    gcb_put_u64(record, d->count);
    gcb_put_u32(record, d->rank);
    for (unsigned i = 0; i < d->rank; i++)
        gcb_put_u64(record, d->dims[i]);
    gcb_h5item_locate(&item, d);
    gcb_put_u32(record, item.stored);
    gcb_put_u64(record, item.offset);
    return 0;
}

static int on_dataset(void *ctx, struct gcb_h5dataset *d, const char *path, struct gcb_diag *diag)
{
    struct gcb_listing *l = ctx;
    struct gcb_wbuf *record = &l->port->record;
    struct gcb_tensor t = {0};
    enum gcb_dtype dtype;
    int err;

    if (!gcb_h5type_of(&dtype, d)) {
        l->skipped++;
        return 0;
    }
    err = locate_tensor(&t, l, path, diag);
    if (err)
        return err;
    gcb_put_u8(record, R_TENSOR);
    gcb_h5text_put(record, path);
    gcb_put_u8(record, (uint8_t)dtype);
    if (is_selected(l, &t))
        err = put_description(record, d, l->port->file, path, diag);
    return err ? err : gcb_h5port_put(l->port, diag);
}

/* Sends the attributes of a group as records. */
struct collector {
    struct gcb_listing *listing;
    const char *path; /* path of the group */
    bool texts;       /* send texts too, not only numbers */
    struct gcb_diag *diag;
    int err;
};

static void put_attribute(void *ctx, hid_t object, const char *name)
{
    struct collector *c = ctx;
    struct gcb_h5port *port = c->listing->port;
    char text[NOTE_BYTES];
    double number;

    if (c->err || strlen(name) > GCB_H5_NAME)
        return;
    if (gcb_h5attr_number(object, name, &number)) {
        uint64_t bits;

        memcpy(&bits, &number, sizeof(bits));
        gcb_put_u8(&port->record, R_NUMBER);
        gcb_put_u64(&port->record, bits);
    } else if (c->texts && gcb_h5attr_text(object, name, text, sizeof(text))) {
        gcb_put_u8(&port->record, R_TEXT);
        gcb_h5text_put(&port->record, text);
    } else {
        return;
    }
    gcb_h5text_put(&port->record, c->path);
    gcb_h5text_put(&port->record, name);
    c->err = gcb_h5port_put(port, c->diag);
}

/* Is this the path of a step group? Sets *step to its number. */
static bool is_step(const char *path, uint64_t *step)
{
    const struct place p = split_path(path, true);
    const char *name = strrchr(path, '/') + 1;

    *step = p.step;
    return p.has_step && *p.below == '\0' && parse_numbered(name, strlen(name), "step", step);
}

static int on_group(void *ctx, hid_t id, const char *path, struct gcb_diag *diag)
{
    struct collector c = {.listing = ctx, .path = path, .texts = path[1] == '\0', .diag = diag};
    uint64_t step;

    if (c.texts || is_step(path, &step))
        gcb_h5attr_each(id, put_attribute, &c);
    return c.err;
}

static int walk_file(void *ctx, struct gcb_h5port *port, struct gcb_diag *diag)
{
    const struct gcb_h5visitor visitor = {.ctx = ctx, .group = on_group, .dataset = on_dataset};
    struct gcb_listing *l = ctx;
    int err;

    l->port = port;
    l->skipped = 0;
    err = gcb_h5walk(port->file, &visitor, diag);
    if (err)
        return err;
    gcb_put_u8(&port->record, R_SKIPPED);
    gcb_put_u64(&port->record, l->skipped);
    return gcb_h5port_put(port, diag);
}

/* ---- in the parent: taking the child's records ---- */

static int fail_record(const struct gcb_listing *l, struct gcb_diag *diag)
{
    return gcb_h5file_fail(&l->found, NULL, GCB_E_CORRUPT, diag,
                           "damaged: its list of tensors contradicts itself");
}

/* Tensors are held as float32, which can take more memory than the stored type. */
static int check_widened(const struct gcb_h5file *file, const struct gcb_tensor *t,
                         struct gcb_diag *diag)
{
    if (t->count <= file->limits.max_bytes / sizeof(float))
        return 0;
    return gcb_h5file_fail(file, t->dataset, GCB_E_NOMEM, diag,
                           "%" PRIu64 " elements take more than --max-bytes %" PRIu64 " as float32",
                           t->count, file->limits.max_bytes);
}

/* Fills index, shape and position in the file of *t. */
static int take_description(struct gcb_tensor *t, const struct gcb_listing *l,
                            struct gcb_rbuf *record, struct gcb_diag *diag)
{
    struct gcb_h5item item;
    uint64_t count = 1; /* product of the dimensions */
    bool empty;

    t->index = (int64_t)gcb_get_u64(record);
    t->count = gcb_get_u64(record);
    t->rank = gcb_get_u32(record);
    if (record->failed || t->rank > GCB_MAX_RANK || t->index < -1)
        return fail_record(l, diag);
    empty = t->rank == 0 && t->count == 0; /* a null dataspace */
    for (unsigned i = 0; i < t->rank; i++) {
        t->dims[i] = gcb_get_u64(record);
        empty |= t->dims[i] == 0;
    }
    for (unsigned i = 0; i < t->rank && !empty; i++)
        if (__builtin_mul_overflow(count, t->dims[i], &count))
            return fail_record(l, diag);
    t->stored = gcb_get_u32(record);
    t->offset = gcb_get_u64(record);
    gcb_source_item(&item, t);
    if (t->count != (empty ? 0 : count) || !gcb_h5item_plausible(&item, &l->found))
        return fail_record(l, diag);
    return check_widened(&l->found, t, diag);
}

/* Appends the tensor, with copies of its strings. */
static int add_tensor(struct gcb_source *s, struct gcb_tensor *t, struct gcb_diag *diag)
{
    const char *dataset = gcb_strings_add(&s->strings, t->dataset, strlen(t->dataset));

    if (!dataset || gcb_grow(&s->tensors, &s->cap, s->count, sizeof(*t)) != 0)
        return gcb_diag_nomem(diag, s->count * sizeof(*t), "the list of tensors");
    t->path = dataset + (t->path - t->dataset);
    t->dataset = dataset;
    s->tensors[s->count++] = *t;
    return 0;
}

static int take_tensor(struct gcb_listing *l, struct gcb_rbuf *record, struct gcb_diag *diag)
{
    struct gcb_source *s = l->source;
    const char *path = gcb_h5text_take(record, GCB_H5_PATH + 1);
    const uint8_t dtype = gcb_get_u8(record);
    struct gcb_tensor t = {0};
    int err;

    if (!path || path[0] != '/' || dtype > GCB_F64)
        return fail_record(l, diag);
    err = locate_tensor(&t, l, path, diag);
    if (err)
        return err;
    l->seen++;
    if (t.step > l->last_step)
        l->last_step = t.step;
    gcb_selection_meet(l->selection, t.path, s->met);
    if (!is_selected(l, &t))
        return 0;
    t.dtype = (enum gcb_dtype)dtype;
    err = take_description(&t, l, record, diag);
    return err ? err : add_tensor(s, &t, diag);
}

static int add_value(struct gcb_source *s, uint64_t step, const char *name, double number)
{
    const struct gcb_step_value v = {
        .step = step, .name = gcb_strings_add(&s->strings, name, strlen(name)), .value = number};

    if (!v.name || gcb_grow(&s->values, &s->value_cap, s->value_count, sizeof(v)) != 0)
        return GCB_E_NOMEM;
    s->values[s->value_count++] = v;
    return 0;
}

/* Notes are texts. A number is kept as text too, so that callers read the number `momentum` and the text `model`
 * alike. */
static int add_note(struct gcb_source *s, const char *name, const char *text)
{
    struct gcb_note note;

    if (s->note_count >= MAX_NOTES || gcb_source_note(s, name))
        return 0;
    note.name = gcb_strings_add(&s->strings, name, strlen(name));
    note.text = gcb_strings_add(&s->strings, text, strlen(text));
    if (!note.name || !note.text ||
        gcb_grow(&s->notes, &s->note_cap, s->note_count, sizeof(note)) != 0)
        return GCB_E_NOMEM;
    s->notes[s->note_count++] = note;
    return 0;
}

static int take_attribute(struct gcb_listing *l, bool is_text, struct gcb_rbuf *record,
                          struct gcb_diag *diag)
{
    const uint64_t bits = is_text ? 0 : gcb_get_u64(record);
    const char *text = is_text ? gcb_h5text_take(record, NOTE_BYTES) : NULL;
    const char *path = gcb_h5text_take(record, GCB_H5_PATH + 1);
    const char *name = gcb_h5text_take(record, GCB_H5_NAME + 1);
    char decimal[32];
    uint64_t step;
    double number;
    int err = 0;

    if (!path || !name || (is_text && !text) || path[0] != '/')
        return fail_record(l, diag);
    memcpy(&number, &bits, sizeof(number));
    if (path[1] == '\0')
        err = add_note(l->source, name, text ? text : gcb_real_text(decimal, number));
    else if (!is_text && is_step(path, &step))
        err = add_value(l->source, step, name, number);
    return err ? gcb_diag_nomem(diag, NOTE_BYTES, "the attributes of a group") : 0;
}

static int take_record(void *ctx, struct gcb_rbuf *record, struct gcb_diag *diag)
{
    struct gcb_listing *l = ctx;
    const uint8_t kind = gcb_get_u8(record);

    if (kind == R_TENSOR)
        return take_tensor(l, record, diag);
    if (kind == R_NUMBER || kind == R_TEXT)
        return take_attribute(l, kind == R_TEXT, record, diag);
    if (kind != R_SKIPPED)
        return fail_record(l, diag);
    l->source->skipped += gcb_get_u64(record);
    return 0;
}

int gcb_listing_add(struct gcb_listing *l, const char *path, struct gcb_diag *diag)
{
    const struct gcb_h5lister lister = {.ctx = l, .list = walk_file, .take = take_record};
    struct gcb_source *s = l->source;
    struct gcb_source_file *file;
    int err;

    l->file = gcb_strings_add(&l->source->strings, path, strlen(path));
    if (!l->file)
        return gcb_diag_nomem(diag, strlen(path), "a file's name");
    l->rank = rank_of_file(path);
    if (gcb_grow(&s->files, &s->file_cap, s->file_count, sizeof(*s->files)) != 0)
        return gcb_diag_nomem(diag, s->file_count * sizeof(*s->files), "the list of files");
    err = gcb_h5file_find(&l->found, l->file, &s->limits, diag);
    if (err)
        return err;
    file = &s->files[s->file_count++];
    *file = (struct gcb_source_file){.name = l->file, .found = l->found};
    return gcb_source_use(s, file, &lister, diag);
}
