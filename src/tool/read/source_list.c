/* Lists one file: adds its datasets as tensors to the source. */
#include <inttypes.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"
#include "src/tool/read/hdf5_attr.h"
#include "src/tool/read/hdf5_type.h"
#include "src/tool/read/hdf5_walk.h"
#include "src/tool/read/place.h"
#include "src/tool/read/source_private.h"

enum {
    MAX_NOTES = 256, /* most root attributes that are kept of all files together */
    NOTE_BYTES = 4096,
};

/* The kinds of records. */
enum { R_TENSOR = 1, R_NUMBER, R_TEXT, R_REMARK, R_EXCLUDED };

/* ---- selection ---- */

/* If the user asks for the step "last", tensors of all steps are kept until the last step is known. */
static bool is_selected(const struct gcb_listing *l, const struct gcb_tensor *t)
{
    return (gcb_numbers_contain(&l->steps, t->step) || l->steps.last) &&
           gcb_numbers_contain(&l->workers, t->worker) &&
           gcb_selection_accepts(l->selection, t->path);
}

/* Fills names, step and worker of *t. The strings of *t are valid only during the walk's call. */
static enum gcb_doubt locate_tensor(struct gcb_tensor *t, const struct gcb_listing *l,
                                    const char *path, uint64_t linked)
{
    const struct gcb_place p = gcb_place_of(path, false, linked);
    const uint64_t worker = p.has_worker ? p.worker : l->rank;

    *t = (struct gcb_tensor){
        .path = p.below,
        .dataset = path,
        .file = l->file,
        .step = p.step,
        .worker = worker > UINT32_MAX ? UINT32_MAX : (uint32_t)worker,
        .has_step = p.has_step,
        .has_worker = p.has_worker,
        .index = -1,
    };
    return p.doubt;
}

/* Refuses a worker's number that is too large. Only for a tensor that is selected. */
static int check_worker(const struct gcb_listing *l, const char *path, uint64_t linked,
                        struct gcb_diag *diag)
{
    const struct gcb_place p = gcb_place_of(path, false, linked);

    if (!p.has_worker || p.worker <= UINT32_MAX)
        return 0;
    return gcb_h5file_fail(&l->found, path, GCB_E_CORRUPT, diag,
                           "the worker's number is above 4294967295");
}

/* Is the object at this path selected? If `below`, also: could any object below it be? */
static bool is_wanted(void *ctx, const char *path, bool below)
{
    const struct gcb_listing *l = ctx;
    const struct gcb_place p = gcb_place_of(path, true, 0);
    struct gcb_tensor t;

    if ((p.has_step && !l->steps.last && !gcb_numbers_contain(&l->steps, p.step)) ||
        (p.has_worker && !gcb_numbers_contain(&l->workers, p.worker)))
        return false;
    locate_tensor(&t, l, path, 0);
    if (gcb_selection_excludes(l->selection, t.path))
        return false; /* the user names this object, so nothing below it is wanted */
    return is_selected(l, &t) || (below && gcb_selection_reaches(l->selection, p.below));
}

/* ---- walking a file, in the child ---- */

/* Counts something that the user should know. The first time, an example is sent at once; at the end, how many more. */
static int send_remark(struct gcb_listing *l, enum gcb_remark kind, const char *path,
                       struct gcb_diag *diag)
{
    if (l->remarks[kind]++)
        return 0;
    gcb_put_u8(&l->port->record, R_REMARK);
    gcb_put_u8(&l->port->record, (uint8_t)kind);
    gcb_put_u64(&l->port->record, 1);
    gcb_h5text_put(&l->port->record, path);
    return gcb_h5port_put(l->port, diag);
}

/* Sends the path of something other than a tensor that --exclude names, so that no pattern seems to match nothing. */
static int note_excluded(struct gcb_listing *l, const char *path, struct gcb_diag *diag)
{
    struct gcb_tensor t;

    locate_tensor(&t, l, path, 0);
    if (!gcb_selection_excludes(l->selection, t.path))
        return 0;
    gcb_put_u8(&l->port->record, R_EXCLUDED);
    gcb_h5text_put(&l->port->record, t.path);
    return gcb_h5port_put(l->port, diag);
}

static int on_left_out(void *ctx, enum gcb_h5left why, const char *path, struct gcb_diag *diag)
{
    static const enum gcb_remark kinds[GCB_H5_LEFT] = {
        [GCB_H5_NOT_FOLLOWED] = GCB_REMARK_LINKS,
        [GCB_H5_TOO_DEEP] = GCB_REMARK_DEEP,
        [GCB_H5_UNREADABLE] = GCB_REMARK_UNREADABLE,
    };

    const int err = note_excluded(ctx, path, diag);

    if (err || (why != GCB_H5_UNREADABLE && !is_wanted(ctx, path, true)))
        return err;
    return send_remark(ctx, kinds[why], path, diag);
}

/* netCDF-4 stores a dimension that has no values as a dataset of floats that is never written. */
static bool is_dimension(const struct gcb_h5dataset *d)
{
    static const char words[] = "This is a netCDF dimension but not a netCDF variable";
    char text[128];

    return gcb_h5attr_text(d->id, "CLASS", text, sizeof(text)) &&
           strcmp(text, "DIMENSION_SCALE") == 0 &&
           gcb_h5attr_text(d->id, "NAME", text, sizeof(text)) &&
           strncmp(text, words, sizeof(words) - 1) == 0;
}

/* Why a dataset is no tensor. */
static enum gcb_remark kind_of(const struct gcb_h5dataset *d)
{
    if (d->kind == H5T_FLOAT)
        return GCB_REMARK_FLOATS;
    if (!gcb_h5type_plain(d))
        return GCB_REMARK_OTHERS;
    return d->type_size == 2 ? GCB_REMARK_WORDS : GCB_REMARK_BYTES;
}

/* Adds index, shape and position in the file of a selected tensor to the record. */
static int put_description(struct gcb_wbuf *record, struct gcb_h5dataset *d,
                           const struct gcb_h5element *e, const struct gcb_h5file *file,
                           const char *path, struct gcb_diag *diag)
{
    struct gcb_h5item item = {0};
    int64_t index = -1;
    int err = gcb_h5dataset_vet(d, file, path, diag);

    if (err)
        return err;
    if (!gcb_h5attr_integer(d->id, "index", &index) || index < 0)
        index = -1;
    gcb_put_u8(record, (uint8_t)e->dtype);
    gcb_put_u8(record, (uint8_t)e->format);
    gcb_put_u64(record, d->object);
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
    const bool dimension = is_dimension(d);
    struct gcb_h5element e;
    struct gcb_tensor t;
    bool selected;
    int err = 0;

    locate_tensor(&t, l, path, d->linked);
    selected = is_selected(l, &t);
    if (dimension || !gcb_h5type_of(&e, d, l->reading))
        return selected ? send_remark(l, dimension ? GCB_REMARK_DIMENSIONS : kind_of(d), path, diag)
                        : note_excluded(l, path, diag);
    gcb_put_u8(record, R_TENSOR);
    gcb_h5text_put(record, path);
    gcb_put_u64(record, d->linked);
    if (selected)
        err = put_description(record, d, &e, l->port->file, path, diag);
    if (!err)
        err = gcb_h5port_put(l->port, diag);
    return err || !d->unwritten ? err : send_remark(l, GCB_REMARK_UNWRITTEN, path, diag);
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

static int on_group(void *ctx, hid_t id, const char *path, struct gcb_diag *diag)
{
    struct collector c = {.listing = ctx, .path = path, .texts = path[1] == '\0', .diag = diag};
    uint64_t step;
    bool epoch;

    if (c.texts || gcb_place_is_step(path, &step, &epoch))
        gcb_h5attr_each(id, put_attribute, &c);
    return c.err;
}

static int walk_file(void *ctx, struct gcb_h5port *port, struct gcb_diag *diag)
{
    const struct gcb_h5visitor visitor = {.ctx = ctx,
                                          .group = on_group,
                                          .dataset = on_dataset,
                                          .wanted = is_wanted,
                                          .left_out = on_left_out};
    struct gcb_listing *l = ctx;
    int err;

    l->port = port;
    memset(l->remarks, 0, sizeof(l->remarks));
    err = gcb_h5walk(port->file, &visitor, diag);
    for (int i = 0; i < GCB_REMARKS && !err; i++) {
        if (l->remarks[i] < 2)
            continue;
        gcb_put_u8(&port->record, R_REMARK);
        gcb_put_u8(&port->record, (uint8_t)i);
        gcb_put_u64(&port->record, l->remarks[i] - 1);
        gcb_h5text_put(&port->record, "");
        err = gcb_h5port_put(port, diag);
    }
    return err;
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

/* Fills type, index, shape and position in the file of *t. */
static int take_description(struct gcb_tensor *t, const struct gcb_listing *l,
                            struct gcb_rbuf *record, struct gcb_diag *diag)
{
    const uint8_t dtype = gcb_get_u8(record), format = gcb_get_u8(record);
    struct gcb_h5item item;
    uint64_t count = 1; /* product of the dimensions */
    bool empty;

    if (dtype > GCB_F64 || format >= GCB_H5_FORMATS ||
        (format != GCB_H5_OWN && gcb_h5format_dtype((enum gcb_h5format)format) != dtype))
        return fail_record(l, diag);
    t->dtype = (enum gcb_dtype)dtype;
    t->format = (enum gcb_h5format)format;
    t->object = gcb_get_u64(record);
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

/* Drops the numbers of a group epoch_N that is not a step. */
static void drop_pending(struct gcb_listing *l)
{
    l->source->value_count -= l->pending;
    l->pending = 0;
}

static int take_tensor(struct gcb_listing *l, struct gcb_rbuf *record, struct gcb_diag *diag)
{
    static const enum gcb_remark doubts[] = {
        [GCB_DOUBT_NUMBER] = GCB_REMARK_NUMBERS,
        [GCB_DOUBT_NO_STEP] = GCB_REMARK_NO_STEP,
        [GCB_DOUBT_NO_WORKER] = GCB_REMARK_NO_WORKER,
    };
    struct gcb_source *s = l->source;
    const char *path = gcb_h5text_take(record, GCB_H5_PATH + 1);
    const uint64_t linked = gcb_get_u64(record);
    struct gcb_tensor t;
    enum gcb_doubt doubt;
    int err;

    if (!path || path[0] != '/')
        return fail_record(l, diag);
    doubt = locate_tensor(&t, l, path, linked);
    if (l->pending && gcb_place_of(path, false, linked).epoch &&
        t.step == s->values[s->value_count - 1].step)
        l->pending = 0;
    drop_pending(l);
    l->seen++;
    if (t.step > l->last_step)
        l->last_step = t.step;
    gcb_numbers_meet(&l->steps, t.step);
    gcb_numbers_meet(&l->workers, t.worker);
    gcb_selection_meet(l->selection, t.path, s->met);
    if (!is_selected(l, &t))
        return 0;
    err = check_worker(l, path, linked, diag);
    if (!err)
        err = take_description(&t, l, record, diag);
    if (!err)
        err = add_tensor(s, &t, diag);
    if (!err && doubt)
        gcb_source_add_remark(s, doubts[doubt], 1, l->file, s->tensors[s->count - 1].dataset);
    return err;
}

static int take_remark(struct gcb_listing *l, struct gcb_rbuf *record, struct gcb_diag *diag)
{
    struct gcb_source *s = l->source;
    const uint8_t kind = gcb_get_u8(record);
    const uint64_t count = gcb_get_u64(record);
    const char *path = gcb_h5text_take(record, GCB_H5_PATH + 1);

    if (!path || kind >= GCB_REMARKS)
        return fail_record(l, diag);
    if (*path)
        path = gcb_strings_add(&s->strings, path, strlen(path));
    if (!path)
        return gcb_diag_nomem(diag, GCB_H5_PATH, "a path");
    gcb_source_add_remark(s, (enum gcb_remark)kind, count, l->file, path);
    return 0;
}

static int take_excluded(struct gcb_listing *l, struct gcb_rbuf *record, struct gcb_diag *diag)
{
    const char *path = gcb_h5text_take(record, GCB_H5_PATH + 1);

    if (!path)
        return fail_record(l, diag);
    gcb_selection_meet(l->selection, path, l->source->met);
    return 0;
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

/* Adds a number of the group of a step. That of an epoch is pending until a tensor shows that the
 * epoch is the step. */
static int take_number(struct gcb_listing *l, uint64_t step, bool epoch, const char *name,
                       double number)
{
    struct gcb_source *s = l->source;
    int err;

    if (!epoch || (l->pending && s->values[s->value_count - 1].step != step))
        drop_pending(l);
    err = add_value(s, step, name, number);
    if (!err && epoch)
        l->pending++;
    return err;
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
    bool epoch;
    int err = 0;

    if (!path || !name || (is_text && !text) || path[0] != '/')
        return fail_record(l, diag);
    memcpy(&number, &bits, sizeof(number));
    if (path[1] == '\0')
        err = add_note(l->source, name, text ? text : gcb_real_text(decimal, number));
    else if (!is_text && gcb_place_is_step(path, &step, &epoch))
        err = take_number(l, step, epoch, name, number);
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
    if (kind == R_REMARK)
        return take_remark(l, record, diag);
    return kind == R_EXCLUDED ? take_excluded(l, record, diag) : fail_record(l, diag);
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
    l->rank = gcb_place_rank(path);
    if (gcb_grow(&s->files, &s->file_cap, s->file_count, sizeof(*s->files)) != 0)
        return gcb_diag_nomem(diag, s->file_count * sizeof(*s->files), "the list of files");
    err = gcb_h5file_find(&l->found, l->file, &s->limits, diag);
    if (err)
        return err;
    file = &s->files[s->file_count++];
    *file = (struct gcb_source_file){.name = l->file, .found = l->found};
    err = gcb_source_use(s, file, &lister, diag);
    drop_pending(l);
    return err;
}
