#include "src/tool/write/container.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "src/lib/wire/message.h"
#include "src/tool/base/memory.h"
#include "src/tool/base/strings.h"
#include "src/tool/read/child.h"
#include "src/tool/read/hdf5.h"
#include "src/tool/write/dump_private.h"

/* ---- the format (docs/format.md, "The container") ---- */

/*
 * The root has the attributes gcbench_container ("1", the version), gcbench_messages (the number of
 * messages) and gcbench_xxh3 (the sum of share_of over all messages).
 */
static const char version_text[] = "1";
enum {
    DTYPE = 5, /* bytes of a type's name with its terminator */
    HEX = 17,  /* bytes of a hash as text with its terminator; reading needs 1 more (send_single) */
    TAIL = 16, /* bytes of the two numbers at the end of a layout's row: offset and index */
};

/* Returns the hash of a text, seeded with `salt`. */
static uint64_t mix(uint64_t salt, const char *text)
{
    return XXH3_64bits_withSeed(text, strlen(text), salt);
}

uint64_t gcb_container_salt(uint64_t salt, const char *path, enum gcb_dtype dtype,
                            const char *shape, int64_t index)
{
    char text[24];

    snprintf(text, sizeof(text), "%" PRId64, index);
    salt = mix(salt, path);
    salt = mix(salt, gcb_dtype_name(dtype));
    salt = mix(salt, shape);
    return mix(salt, text);
}

/* Returns what a message adds to gcbench_xxh3: the hash of its dataset's path, seeded with the
 * message's salt. */
static uint64_t share_of(uint64_t salt, const char *path)
{
    return mix(salt, path);
}

/* Writes a hash as 16 hexadecimal digits. */
static void hex_text(char out[HEX], uint64_t hash)
{
    snprintf(out, HEX, "%016" PRIx64, hash);
}

/* Adds a member to the type `row`: a text of at most `size` bytes with its terminator. */
static int insert_text(hid_t row, const char *name, size_t offset, size_t size)
{
    const hid_t type = H5Tcopy(H5T_C_S1);
    int err = GCB_E_INTERNAL;

    if (type >= 0 && H5Tset_size(type, size) >= 0 && H5Tset_cset(type, H5T_CSET_UTF8) >= 0 &&
        H5Tinsert(row, name, offset, type) >= 0)
        err = 0;
    if (type >= 0)
        H5Tclose(type);
    return err;
}

/*
 * Makes the HDF5 type of a row of a layout: the terminated texts "path" (path_size bytes), "dtype"
 * (5 bytes) and "shape" (shape_size bytes), the u64 "offset" and the i64 "index", packed in this
 * order. Returns a negative id on failure. The caller closes the type.
 */
static hid_t create_row_type(size_t path_size, size_t shape_size)
{
    const size_t dtype = path_size, shape = dtype + DTYPE;
    const size_t offset = shape + shape_size, index = offset + 8;
    const hid_t row = H5Tcreate(H5T_COMPOUND, index + 8);

    if (row < 0)
        return row;
    if (insert_text(row, "path", 0, path_size) == 0 &&
        insert_text(row, "dtype", dtype, DTYPE) == 0 &&
        insert_text(row, "shape", shape, shape_size) == 0 &&
        H5Tinsert(row, "offset", offset, H5T_STD_U64LE) >= 0 &&
        H5Tinsert(row, "index", index, H5T_STD_I64LE) >= 0)
        return row;
    H5Tclose(row);
    return -1;
}

/* ---- the writer ---- */

/* A tensor of a message, as `decompress` will restore it. */
struct entry {
    const struct gcb_tensor *tensor;
    uint64_t offset;              /* number of the message's elements before this tensor */
    char path[GCB_READ_PATH + 1]; /* path in the restored file */
    char shape[GCB_SHAPE_TEXT];   /* such as "3x4" */
};

static bool from_several_files(const struct gcb_source *source)
{
    const char *first = gcb_source_tensor(source, 0)->file;

    for (size_t i = 1; i < gcb_source_count(source); i++)
        if (strcmp(gcb_source_tensor(source, i)->file, first) != 0)
            return true;
    return false;
}

/* Fills *e for a piece of a message. Tensors from different files may have the same path. So if
 * there are several files, the path becomes /step_N/worker_N/PATH (docs/dataset.md). */
static int fill_entry(struct gcb_h5out *w, struct entry *e, const struct gcb_piece *piece,
                      struct gcb_diag *diag)
{
    const struct gcb_tensor *t = gcb_source_tensor(w->source, piece->tensor);
    int n;

    e->tensor = t;
    e->offset = piece->offset;
    gcb_shape_text(e->shape, t->rank, t->dims);
    if (w->several_files)
        n = snprintf(e->path, sizeof(e->path), "/step_%06" PRIu64 "/worker_%" PRIu32 "/%s", t->step,
                     t->worker, t->path + strspn(t->path, "/"));
    else
        n = snprintf(e->path, sizeof(e->path), "%s", t->dataset);
    if (n < 0 || (size_t)n >= sizeof(e->path))
        return gcb_invalid(diag, "%s: a tensor's path is longer than 4096 bytes", w->shown);
    return 0;
}

/* Adds an entry to a message's salt, and returns the new salt. */
static uint64_t add_to_salt(uint64_t salt, const struct entry *e)
{
    return gcb_container_salt(salt, e->path, e->tensor->dtype, e->shape, e->tensor->index);
}

/* Writes a message as the dataset `path`, after filling in its checksum, seeded with `salt`. Counts
 * the message for the root attributes. */
static int put_message(struct gcb_h5out *w, const char *path, uint8_t *message, size_t length,
                       uint64_t salt, struct gcb_diag *diag)
{
    const uint64_t dims[1] = {length};
    int err;

    gcb_message_seal(message, length, salt);
    err = gcb_h5out_set(w, path, H5T_STD_U8LE, 1, dims, diag);
    if (!err)
        err = gcb_h5out_append(w, message, length, diag);
    w->messages++;
    w->sum += share_of(salt, path);
    return err;
}

/* Writes a message of one tensor, with attributes that describe the tensor. */
static int put_single(struct gcb_h5out *w, const struct gcb_message_plan *plan, uint8_t *message,
                      size_t length, struct gcb_diag *diag)
{
    struct entry e;
    int err = fill_entry(w, &e, &plan->pieces[0], diag);

    if (!err)
        err = put_message(w, e.path, message, length, add_to_salt(0, &e), diag);
    if (!err)
        err = gcb_h5out_note(w, e.path, "shape", e.shape, diag);
    if (!err)
        err = gcb_h5out_note(w, e.path, "dtype", gcb_dtype_name(e.tensor->dtype), diag);
    if (!err && e.tensor->index >= 0)
        err = gcb_h5out_value(w, e.path, "index", H5T_STD_I64LE, H5T_NATIVE_INT64, &e.tensor->index,
                              diag);
    return err;
}

/* The layout of a message: a table of its tensors. Sizes are in bytes. */
struct table {
    uint8_t *rows;
    size_t count; /* number of rows */
    size_t path_size, shape_size, row_size;
    uint64_t salt; /* of the message */
};

static void fill_row(struct table *t, size_t i, const struct entry *e)
{
    uint8_t *row = t->rows + i * t->row_size;
    uint8_t *tail = row + t->row_size - TAIL;

    memcpy(row, e->path, strlen(e->path));
    memcpy(row + t->path_size, gcb_dtype_name(e->tensor->dtype), DTYPE - 1);
    memcpy(row + t->path_size + DTYPE, e->shape, strlen(e->shape));
    gcb_store_u64(tail, e->offset);
    gcb_store_u64(tail + 8, (uint64_t)e->tensor->index);
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* Fills the table of a message. The caller frees t->rows, even after a failure. The first loop
 * finds the sizes of the columns, and the second fills the rows. Both make each entry, because all
 * entries of a message would take much memory: 4 KiB each. */
static int fill_table(struct gcb_h5out *w, struct table *t, const struct gcb_message_plan *plan,
                      struct gcb_diag *diag)
{
    struct entry e;
    int err = 0;

    *t = (struct table){.count = plan->piece_count};
    for (size_t i = 0; i < t->count && !err; i++) {
        err = fill_entry(w, &e, &plan->pieces[i], diag);
        t->path_size = larger(t->path_size, strlen(e.path) + 1);
        t->shape_size = larger(t->shape_size, strlen(e.shape) + 1);
    }
    if (err)
        return err;
    t->row_size = t->path_size + DTYPE + t->shape_size + TAIL;
    t->rows = gcb_alloc_zero(t->count, t->row_size);
    if (!t->rows)
        return gcb_diag_nomem(diag, t->count * t->row_size, "a layout");
    for (size_t i = 0; i < t->count && !err; i++) {
        err = fill_entry(w, &e, &plan->pieces[i], diag);
        fill_row(t, i, &e);
        t->salt = add_to_salt(t->salt, &e);
    }
    return err;
}

/* Writes the table as the dataset `path`. */
static int put_table(struct gcb_h5out *w, const struct table *t, const char *path,
                     struct gcb_diag *diag)
{
    const hid_t type = create_row_type(t->path_size, t->shape_size);
    const uint64_t dims[1] = {t->count};
    int err;

    if (type < 0)
        return gcb_diag_set(diag, GCB_E_INTERNAL, "HDF5 cannot make a compound type");
    err = gcb_h5out_set(w, path, type, 1, dims, diag);
    H5Tclose(type);
    return err ? err : gcb_h5out_append(w, t->rows, t->count * t->row_size, diag);
}

/* Writes the message of a bucket or model, and its layout. */
static int put_joint(struct gcb_h5out *w, const struct gcb_message_plan *plan, uint8_t *message,
                     size_t length, struct gcb_diag *diag)
{
    char path[128], layout[160], hex[HEX];
    struct table t;
    int err = fill_table(w, &t, plan, diag);

    if (err)
        goto out;
    snprintf(path, sizeof(path), "/step_%06" PRIu64 "/worker_%" PRIu32 "/%s", plan->step,
             plan->worker, plan->name);
    snprintf(layout, sizeof(layout), "%s_layout", path);
    hex_text(hex, t.salt);
    err = put_message(w, path, message, length, t.salt, diag);
    if (!err)
        err = gcb_h5out_note(w, path, "layout_xxh3", hex, diag);
    if (!err)
        err = put_table(w, &t, layout, diag);
out:
    gcb_free(t.rows);
    return err;
}

/* Checks that a message can be read, has a checksum field and as many elements as its plan, and
 * that the plan names a tensor. */
static int check_message(const struct gcb_message_plan *plan, const uint8_t *message, size_t length,
                         struct gcb_diag *diag)
{
    struct gcb_frame frame;
    struct gcb_rbuf payload;
    int err = gcb_frame_parse(&frame, &payload, message, length, diag);

    if (err)
        return err;
    if (frame.count != plan->count || !(frame.flags & GCB_WIRE_CHECKSUM) || plan->piece_count == 0)
        return gcb_diag_set(diag, GCB_E_INTERNAL, "a message does not match its plan");
    return 0;
}

int gcb_container_put(struct gcb_h5out *w, const struct gcb_source *source,
                      const struct gcb_message_plan *plan, uint8_t *message, size_t length,
                      struct gcb_diag *diag)
{
    const int err = check_message(plan, message, length, diag);

    if (err)
        return err;
    if (w->source != source) {
        w->source = source;
        w->several_files = from_several_files(source);
    }
    return plan->name[0] ? put_joint(w, plan, message, length, diag)
                         : put_single(w, plan, message, length, diag);
}

int gcb_container_commit(struct gcb_h5out *w, struct gcb_diag *diag)
{
    char hex[HEX];
    int err;

    hex_text(hex, w->sum);
    err = gcb_h5out_note(w, "/", "gcbench_container", version_text, diag);
    if (!err)
        err = gcb_h5out_value(w, "/", "gcbench_messages", H5T_STD_U64LE, H5T_NATIVE_UINT64,
                              &w->messages, diag);
    if (!err)
        err = gcb_h5out_note(w, "/", "gcbench_xxh3", hex, diag);
    if (!err)
        err = gcb_h5out_commit(w, diag);
    return err;
}

/* ---- reading ---- */

/*
 * A child process lists the file (src/tool/read/child.h). The child sends a record for the root, a
 * record for each message and a record for each of its tensors. The parent trusts this list only
 * after the hashes in the file have confirmed it (check_list). It trusts a message only after the
 * message's checksum has confirmed it (gcb_container_read).
 */

struct message {
    struct gcb_container_message seen; /* what the caller sees, with the tensors received so far */
    uint64_t salt;                     /* of the tensors received so far */
    uint64_t rows;                     /* number of all tensors of the message */
    char hash[HEX + 1];                /* attribute layout_xxh3; "" if the message has none */
};

struct gcb_container {
    struct gcb_infile file; /* from gcb_infile_find; `child` opens the file */
    struct gcb_file_child *child;
    struct message *messages;
    size_t count, cap;
    struct gcb_tensor *sets; /* sets[i]: the dataset of messages[i] */
    size_t set_cap;
    struct gcb_strings strings; /* memory of the paths of messages and tensors */
    uint64_t rows_left;         /* most further tensors for which the file has enough bytes */
    uint64_t sum;               /* sum of share_of over the messages */
    uint64_t wanted;            /* root attribute gcbench_messages */
    char wanted_hash[HEX + 1];  /* root attribute gcbench_xxh3 */
    /* used only in the child: */
    struct gcb_port *port;
    const struct gcb_h5file *open;
};

/* The kinds of records: the root, a message, a tensor of the last message. */
enum { R_ROOT = 1, R_MESSAGE, R_ROW };

static const char not_a_message[] =
    "not a message: the attributes shape and dtype are absent or damaged";

static int fail_corrupt(const struct gcb_container *c, const char *dataset, struct gcb_diag *diag,
                        const char *why)
{
    return gcb_infile_fail(&c->file, dataset, GCB_E_CORRUPT, diag, "%s", why);
}

static int fail_record(const struct gcb_container *c, struct gcb_diag *diag)
{
    return fail_corrupt(c, NULL, diag, "damaged: its list of messages contradicts itself");
}

/* ---- in the child: layouts, which list the tensors of a message ---- */

/* Fewest bytes of a layout's row: path and shape of one byte, the name of the type, and two
 * numbers. */
#define MIN_ROW (1 + DTYPE + 1 + TAIL)

/* A layout that was read. Sizes are in bytes. */
struct layout {
    hid_t type; /* of a row */
    size_t path_size, shape_size, row_size;
    uint8_t *bytes; /* the rows */
    uint64_t rows;  /* number of rows */
};

/*
 * True if the dataset has exactly the writer's type for paths and shapes of some size, so that HDF5
 * converts nothing. Sets these sizes, which follow from the offset of the second member and from
 * the size of a row, and l->type.
 */
static bool is_row_type(struct layout *l, const struct gcb_h5dataset *set)
{
    const size_t fixed = DTYPE + TAIL;

    l->row_size = set->type_size;
    l->path_size = H5Tget_member_offset(set->type, 1);
    if (l->path_size == 0 || l->path_size > GCB_READ_PATH + 1 ||
        l->row_size <= l->path_size + fixed)
        return false;
    l->shape_size = l->row_size - l->path_size - fixed;
    if (l->shape_size > GCB_SHAPE_TEXT)
        return false;
    l->type = create_row_type(l->path_size, l->shape_size);
    return l->type > 0 && H5Tequal(l->type, set->type) > 0;
}

/* Reads the layout at `path` into *l, which starts zeroed. The caller closes l->type and frees
 * l->bytes, even after a failure. */
static int read_layout(struct layout *l, const struct gcb_container *c, const char *path,
                       struct gcb_diag *diag)
{
    const struct gcb_h5file *file = c->open;
    struct gcb_h5dataset set;
    int err = gcb_h5dataset_open(&set, file, file->id, path, path, diag);

    if (err)
        return err;
    err = gcb_h5dataset_vet(&set, file, path, diag);
    if (err)
        goto out;
    if (set.kind != H5T_COMPOUND || set.tensor.rank != 1 || set.chunk_rank ||
        set.tensor.count == 0 || set.tensor.count > c->rows_left || !is_row_type(l, &set)) {
        err = fail_corrupt(c, path, diag, "the layout is damaged");
        goto out;
    }
    l->rows = set.tensor.count;
    l->bytes = gcb_alloc_array(set.tensor.count, l->row_size);
    err = l->bytes ? gcb_h5dataset_read(&set, file->in, path, l->type, 0, l->rows, l->bytes, diag)
                   : gcb_diag_nomem(diag, set.tensor.count * l->row_size, "a layout");
out:
    gcb_h5dataset_close(&set);
    return err;
}

/* Returns the text in a member of `size` bytes, or NULL if the text is not terminated. */
static const char *text_at(const uint8_t *p, size_t size)
{
    return memchr(p, '\0', size) ? (const char *)p : NULL;
}

/* ---- in the child: messages ---- */

/* Sends a message that has `rows` tensors. `hash` is the hash of its layout, or "" if it has no
 * layout. */
static int send_message(struct gcb_container *c, const char *path, const struct gcb_h5dataset *set,
                        uint64_t rows, const char *hash, struct gcb_diag *diag)
{
    struct gcb_port_record r = {
        .kind = R_MESSAGE, .texts = {path, hash}, .numbers = {rows}, .tensor = set->tensor};

    r.tensor.element = GCB_ELEMENT_BYTE;
    r.tensor.dtype = gcb_element_dtype(GCB_ELEMENT_BYTE);
    return gcb_port_put(c->port, &r, diag);
}

/* Sends a tensor of the last message. */
static int send_row(struct gcb_container *c, const char *path, const char *dtype, const char *shape,
                    uint64_t offset, int64_t index, struct gcb_diag *diag)
{
    const struct gcb_port_record r = {
        .kind = R_ROW, .texts = {path, dtype, shape}, .numbers = {offset, (uint64_t)index}};

    return gcb_port_put(c->port, &r, diag);
}

/* Sends the message of a bucket or model, then the rows of its layout. */
static int send_joint(struct gcb_container *c, const char *path, const struct gcb_h5dataset *set,
                      const char *hash, struct gcb_diag *diag)
{
    char layout[GCB_READ_PATH + sizeof("_layout")];
    struct layout l = {0};
    int err;

    snprintf(layout, sizeof(layout), "%s_layout", path);
    err = read_layout(&l, c, layout, diag);
    if (!err)
        err = send_message(c, path, set, l.rows, hash, diag);
    for (uint64_t i = 0; i < l.rows && !err; i++) {
        const uint8_t *row = l.bytes + i * l.row_size, *tail = row + l.row_size - TAIL;
        const char *name = text_at(row, l.path_size);
        const char *dtype = text_at(row + l.path_size, DTYPE);
        const char *shape = text_at(row + l.path_size + DTYPE, l.shape_size);

        if (name && dtype && shape)
            err = send_row(c, name, dtype, shape, gcb_load_u64(tail),
                           (int64_t)gcb_load_u64(tail + 8), diag);
        else
            err = fail_corrupt(c, layout, diag, "the layout is damaged");
    }
    H5Tclose(l.type);
    gcb_free(l.bytes);
    return err;
}

/* Sends a message of one tensor. Attributes of the message describe the tensor. */
static int send_single(struct gcb_container *c, const char *path, const struct gcb_h5dataset *set,
                       struct gcb_diag *diag)
{
    /* one byte more than stored texts with their terminators, because gcb_h5attr_text adds another
     * terminator */
    char shape[GCB_SHAPE_TEXT + 1], dtype[DTYPE + 1];
    int64_t index = -1;
    int err;

    gcb_h5attr_integer(set->id, "index", &index);
    if (!gcb_h5attr_text(set->id, "shape", shape, sizeof(shape)) ||
        !gcb_h5attr_text(set->id, "dtype", dtype, sizeof(dtype)))
        return fail_corrupt(c, path, diag, not_a_message);
    err = send_message(c, path, set, 1, "", diag);
    return err ? err : send_row(c, path, dtype, shape, 0, index, diag);
}

/* Sends a dataset of bytes, which must be a message. Ignores datasets of other types, such as
 * layouts. */
static int on_dataset(void *ctx, struct gcb_h5dataset *set, const char *path, struct gcb_diag *diag)
{
    struct gcb_container *c = ctx;
    char hash[HEX + 1];
    int err;

    if (set->kind != H5T_INTEGER || set->type_size != 1)
        return 0;
    err = gcb_h5dataset_vet(set, c->open, path, diag);
    if (err)
        return err;
    if (set->tensor.rank != 1 || set->chunk_rank)
        return fail_corrupt(c, path, diag,
                            "not a message: it is chunked, or does not have one dimension");
    if (gcb_h5attr_text(set->id, "layout_xxh3", hash, sizeof(hash)))
        return send_joint(c, path, set, hash, diag);
    return send_single(c, path, set, diag);
}

/* Sends the attributes of the root. Fails if the file is not a file of messages, or if its version
 * is unknown. */
static int send_root(struct gcb_container *c, hid_t root, struct gcb_diag *diag)
{
    char version[32], hash[HEX + 1];
    struct gcb_port_record r = {.kind = R_ROOT, .texts = {hash}};
    int64_t messages;

    if (!gcb_h5attr_text(root, "gcbench_container", version, sizeof(version)))
        return gcb_infile_fail(&c->file, NULL, GCB_E_CORRUPT, diag,
                               "not a file of messages; `gcbench compress -o` makes one");
    if (strcmp(version, version_text) != 0)
        return gcb_infile_fail(
            &c->file, NULL, GCB_E_UNSUPPORTED, diag,
            "its messages have a version that this gcbench does not know; use a newer gcbench");
    if (!gcb_h5attr_integer(root, "gcbench_messages", &messages) ||
        !gcb_h5attr_text(root, "gcbench_xxh3", hash, sizeof(hash)))
        return fail_corrupt(c, NULL, diag, "the list of messages is damaged");
    r.numbers[0] = (uint64_t)messages;
    return gcb_port_put(c->port, &r, diag);
}

/* The function `list` of the lister: sends the root, and each message with its tensors. */
static int walk_file(void *ctx, void *state, struct gcb_port *port, struct gcb_diag *diag)
{
    const struct gcb_h5visitor visitor = {.ctx = ctx, .dataset = on_dataset};
    struct gcb_container *c = ctx;
    int err;

    c->port = port;
    c->open = state;
    err = send_root(c, c->open->id, diag);
    return err ? err : gcb_h5walk(c->open, &visitor, diag);
}

/* ---- in the parent: taking the child's records ---- */

/* Checks the last message, after all its tensors were added, and adds its share to c->sum. */
static int finish_message(struct gcb_container *c, struct gcb_diag *diag)
{
    const struct message *m = &c->messages[c->count - 1];
    char hex[HEX];

    hex_text(hex, m->salt);
    if (m->hash[0] && strcmp(hex, m->hash) != 0)
        return fail_corrupt(c, m->seen.dataset, diag, "its layout is damaged");
    if (m->seen.count > c->file.limits.max_bytes / sizeof(float))
        return gcb_infile_fail(&c->file, m->seen.dataset, GCB_E_NOMEM, diag,
                               "%" PRIu64 " elements take more than --max-bytes %" PRIu64,
                               m->seen.count, c->file.limits.max_bytes);
    c->sum += share_of(m->salt, m->seen.dataset);
    return 0;
}

/* Appends a message. The tensors of the message before it must be complete. */
static int take_message(struct gcb_container *c, const struct gcb_port_record *r,
                        struct gcb_diag *diag)
{
    const struct message *last = c->count ? &c->messages[c->count - 1] : NULL;
    const uint64_t rows = r->numbers[0];
    struct gcb_tensor set = r->tensor;
    struct message *m;

    if (!gcb_tensor_is_plausible(&set, &c->file) || set.element != GCB_ELEMENT_BYTE ||
        set.rank != 1 || set.dataset[0] != '/' || set.count > c->file.size || rows == 0 ||
        rows > c->rows_left || strlen(r->texts[1]) > HEX ||
        (last && last->seen.tensor_count < last->rows))
        return fail_record(c, diag);
    gcb_must_grow(&c->messages, &c->cap, c->count, sizeof(*c->messages));
    gcb_must_grow(&c->sets, &c->set_cap, c->count, sizeof(*c->sets));

    set.dataset = gcb_strings_add(&c->strings, set.dataset, strlen(set.dataset));
    m = &c->messages[c->count];
    *m = (struct message){.seen = {.dataset = set.dataset, .length = set.count}, .rows = rows};
    strcpy(m->hash, r->texts[1]);
    c->sets[c->count++] = set;
    m->seen.tensors = gcb_alloc_zero(rows, sizeof(*m->seen.tensors));
    c->rows_left -= rows;
    return m->seen.tensors ? 0
                           : gcb_infile_fail(&c->file, NULL, GCB_E_NOMEM, diag, "out of memory");
}

/* Appends a tensor to the last message. The tensor must begin where the tensor before it ends. */
static int take_row(struct gcb_container *c, const struct gcb_port_record *r, struct gcb_diag *diag)
{
    struct message *m = c->count ? &c->messages[c->count - 1] : NULL;
    const char *path = r->texts[0], *dtype = r->texts[1], *shape = r->texts[2];
    struct gcb_tensor *t;

    if (!m || m->seen.tensor_count >= m->rows)
        return fail_record(c, diag);
    t = &m->seen.tensors[m->seen.tensor_count];
    t->index = (int64_t)r->numbers[1];
    if (!gcb_h5path_plain(path) || gcb_dtype_parse(&t->dtype, dtype) ||
        gcb_shape_parse(shape, &t->rank, t->dims, &t->count) || r->numbers[0] != m->seen.count ||
        __builtin_add_overflow(m->seen.count, t->count, &m->seen.count))
        return fail_corrupt(c, m->seen.dataset, diag,
                            m->hash[0] ? "its layout is damaged" : not_a_message);
    m->salt = gcb_container_salt(m->salt, path, t->dtype, shape, t->index);
    t->dataset = gcb_strings_add(&c->strings, path, strlen(path));
    return ++m->seen.tensor_count == m->rows ? finish_message(c, diag) : 0;
}

static int take_record(void *ctx, const struct gcb_port_record *r, struct gcb_diag *diag)
{
    struct gcb_container *c = ctx;

    if (r->kind == R_MESSAGE)
        return take_message(c, r, diag);
    if (r->kind == R_ROW)
        return take_row(c, r, diag);
    if (r->kind != R_ROOT || strlen(r->texts[0]) > HEX)
        return fail_record(c, diag);
    c->wanted = r->numbers[0];
    strcpy(c->wanted_hash, r->texts[0]);
    return 0;
}

/* Checks that the file has exactly the messages that the root's attributes describe. */
static int check_list(const struct gcb_container *c, struct gcb_diag *diag)
{
    const struct message *last = c->count ? &c->messages[c->count - 1] : NULL;
    char got[HEX];

    hex_text(got, c->sum);
    if (c->wanted != c->count || strcmp(got, c->wanted_hash) != 0 ||
        (last && last->seen.tensor_count < last->rows))
        return fail_corrupt(c, NULL, diag,
                            "messages are missing, or their names, shapes or types are damaged");
    return 0;
}

/* Orders paths so that all paths below "/a" come directly after "/a". */
static int by_path(const void *a, const void *b)
{
    return gcb_path_compare(*(const char *const *)a, *(const char *const *)b);
}

/* Checks that no tensor has the path of another tensor, or of a group around another tensor.
 * `decompress` could not restore both. */
static int check_names(const struct gcb_container *c, struct gcb_diag *diag)
{
    size_t count = 0, used = 0;
    const char **paths;
    int err = 0;

    for (size_t i = 0; i < c->count; i++)
        count += c->messages[i].seen.tensor_count;
    paths = gcb_must_array(count, sizeof(*paths));

    for (size_t i = 0; i < c->count; i++)
        for (size_t k = 0; k < c->messages[i].seen.tensor_count; k++)
            paths[used++] = c->messages[i].seen.tensors[k].dataset;
    if (used)
        qsort(paths, used, sizeof(*paths), by_path);
    for (size_t i = 1; !err && i < used; i++) {
        const size_t n = strlen(paths[i - 1]);

        if (strncmp(paths[i - 1], paths[i], n) == 0 && (!paths[i][n] || paths[i][n] == '/'))
            err = fail_corrupt(c, paths[i], diag,
                               "damaged: two tensors have this name or a part of it");
    }
    gcb_free(paths);
    return err;
}

int gcb_container_open(struct gcb_container **out, const char *path, uint64_t max_bytes,
                       bool in_process, struct gcb_diag *diag)
{
    const struct gcb_reader *const readers[] = {&gcb_hdf5, NULL};
    const struct gcb_read_limits limits = {.max_bytes = max_bytes, .in_process = in_process};
    struct gcb_container *c = gcb_must_zero(1, sizeof(*c));
    const struct gcb_lister lister = {.ctx = c, .list = walk_file, .take = take_record};
    int err;

    err = gcb_infile_find(&c->file, path, readers, &limits, diag);
    c->rows_left = c->file.size / MIN_ROW;
    if (!err)
        err = gcb_file_child_open(&c->child, &c->file, &lister, diag);
    if (!err)
        err = check_list(c, diag);
    if (!err)
        err = check_names(c, diag);
    if (err)
        gcb_container_close(c);
    else
        *out = c;
    return err;
}

void gcb_container_close(struct gcb_container *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < c->count; i++)
        gcb_free(c->messages[i].seen.tensors);
    gcb_free(c->messages);
    gcb_free(c->sets);
    gcb_strings_fini(&c->strings);
    gcb_file_child_close(c->child);
    gcb_free(c);
}

size_t gcb_container_count(const struct gcb_container *c)
{
    return c->count;
}

const struct gcb_container_message *gcb_container_message(const struct gcb_container *c, size_t i)
{
    return &c->messages[i].seen;
}

int gcb_container_read(struct gcb_container *c, size_t i, uint8_t *out, struct gcb_diag *diag)
{
    const struct message *m = &c->messages[i];
    struct gcb_frame frame;
    struct gcb_rbuf payload;
    struct gcb_diag cause;
    int err = gcb_file_child_read(c->child, c->sets, c->count, i, out, diag);

    if (err)
        return err;
    err = gcb_message_check(out, m->seen.length, m->salt, &cause);
    if (!err)
        err = gcb_frame_parse(&frame, &payload, out, m->seen.length, &cause);
    if (err)
        return gcb_infile_fail(&c->file, m->seen.dataset, err, diag, "%s", cause.text);
    if (!(frame.flags & GCB_WIRE_CHECKSUM) || frame.count != m->seen.count)
        return fail_corrupt(c, m->seen.dataset, diag,
                            "the message has no checksum, or another number of elements than its "
                            "tensors");
    return 0;
}
