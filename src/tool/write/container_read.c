#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/wire/message.h"
#include "src/tool/base/strings.h"
#include "src/tool/read/child.h"
#include "src/tool/read/hdf5.h"
#include "src/tool/write/container.h"
#include "src/tool/write/container_format.h"
#include "src/tool/write/dump_private.h"

/*
 * Reads messages. A child process lists the file (src/tool/read/child.h): it sends one record for
 * the root, one for each message and one for each row of a layout. Data of the file is used only
 * after a checksum or the message itself has confirmed it.
 */

struct message {
    struct gcb_container_message seen;
    struct gcb_tensor bytes; /* its dataset */
    uint64_t salt;
    uint64_t rows;                    /* number of its tensors */
    char hash[GCB_CONTAINER_HEX + 1]; /* hash of the layout; "" if the message covers one tensor */
};

struct gcb_container {
    struct gcb_infile file; /* found, but never opened: the child has its own copy */
    struct gcb_file_child *child;
    struct message *messages;
    size_t count, cap;
    struct gcb_strings strings; /* the paths */
    /* Layout rows that may still come. A file of this size has room for no more rows. */
    uint64_t rows_left;
    uint64_t sum;                            /* sum of gcb_container_share over the messages */
    int64_t wanted;                          /* root attribute gcbench_messages */
    char wanted_hash[GCB_CONTAINER_HEX + 1]; /* root attribute gcbench_xxh3 */
    struct gcb_port *port;                   /* used only in the child, like the next member */
    const struct gcb_h5file *open;
};

/* The kinds of records. */
enum { R_ROOT = 1, R_MESSAGE, R_ROW };

static const char not_a_message[] =
    "not a message: the attributes shape and dtype are absent or damaged";

static int fail_corrupt(const struct gcb_container *c, const char *dataset, struct gcb_diag *diag,
                        const char *why)
{
    return gcb_infile_fail(&c->file, dataset, GCB_E_CORRUPT, diag, "%s", why);
}

static int fail_nomem(const struct gcb_container *c, struct gcb_diag *diag)
{
    return gcb_infile_fail(&c->file, NULL, GCB_E_NOMEM, diag, "out of memory");
}

static int fail_record(const struct gcb_container *c, struct gcb_diag *diag)
{
    return fail_corrupt(c, NULL, diag, "damaged: its list of messages contradicts itself");
}

/* ---- in the child: layouts, which list the tensors of a message ---- */

/* Fewest bytes of a layout row: two texts of one byte, the name of the type and two 8-byte numbers.
 */
#define MIN_ROW (1 + GCB_CONTAINER_DTYPE + 1 + 16)

struct layout {
    hid_t type;
    size_t path_size, shape_size, row_size;
    uint8_t *bytes;
    uint64_t rows;
};

/*
 * The type must be exactly the writer's type for texts of some sizes, so that HDF5 converts
 * nothing. The sizes follow from the offset of the second member and from the size of a row.
 */
static bool check_row_type(struct layout *l, const struct gcb_h5dataset *set)
{
    const size_t fixed = GCB_CONTAINER_DTYPE + 16;

    l->row_size = set->type_size;
    l->path_size = H5Tget_member_offset(set->type, 1);
    if (l->path_size == 0 || l->path_size > GCB_READ_PATH + 1 ||
        l->row_size <= l->path_size + fixed)
        return false;
    l->shape_size = l->row_size - l->path_size - fixed;
    if (l->shape_size > GCB_SHAPE_TEXT)
        return false;
    l->type = gcb_container_row_type(l->path_size, l->shape_size);
    return l->type > 0 && H5Tequal(l->type, set->type) > 0;
}

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
    if (set.kind != H5T_COMPOUND || set.rank != 1 || set.chunk_rank || set.count == 0 ||
        set.count > c->rows_left || !check_row_type(l, &set)) {
        err = fail_corrupt(c, path, diag, "the layout is damaged");
        goto out;
    }
    l->rows = set.count;
    l->bytes = gcb_alloc_array(set.count, l->row_size);
    err = l->bytes ? gcb_h5dataset_read(&set, file->in, path, l->type, 0, l->rows, l->bytes, diag)
                   : gcb_diag_nomem(diag, set.count * l->row_size, "a layout");
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

/* Sends a message that has `rows` tensors. `hash` is that of its layout; "": it has none. */
static int put_message(struct gcb_container *c, const char *path, const struct gcb_h5dataset *set,
                       uint64_t rows, const char *hash, struct gcb_diag *diag)
{
    struct gcb_tensor t = {.dataset = path, .element = GCB_ELEMENT_BYTE, .dtype = GCB_F32};
    struct gcb_wbuf *record = &c->port->record;

    gcb_h5dataset_describe(&t, set);
    gcb_put_u8(record, R_MESSAGE);
    gcb_tensor_put(record, &t);
    gcb_put_u64(record, rows);
    gcb_text_put(record, hash);
    return gcb_port_put(c->port, diag);
}

/* Sends a tensor of the last message. */
static int put_row(struct gcb_container *c, const char *path, const char *dtype, const char *shape,
                   uint64_t offset, int64_t index, struct gcb_diag *diag)
{
    struct gcb_wbuf *record = &c->port->record;

    gcb_put_u8(record, R_ROW);
    gcb_text_put(record, path);
    gcb_text_put(record, dtype);
    gcb_text_put(record, shape);
    gcb_put_u64(record, offset);
    gcb_put_u64(record, (uint64_t)index);
    return gcb_port_put(c->port, diag);
}

/* Sends a message of several tensors, then the rows of its layout, which is the dataset
 * NNNN_layout. */
static int put_joint(struct gcb_container *c, const char *path, const struct gcb_h5dataset *set,
                     const char *hash, struct gcb_diag *diag)
{
    char beside[GCB_READ_PATH + 16];
    struct layout l = {0};
    int err;

    snprintf(beside, sizeof(beside), "%s_layout", path);
    err = read_layout(&l, c, beside, diag);
    if (!err)
        err = put_message(c, path, set, l.rows, hash, diag);
    for (uint64_t i = 0; i < l.rows && !err; i++) {
        const uint8_t *row = l.bytes + i * l.row_size, *tail = row + l.row_size - 16;
        const char *name = text_at(row, l.path_size);
        const char *dtype = text_at(row + l.path_size, GCB_CONTAINER_DTYPE);
        const char *shape = text_at(row + l.path_size + GCB_CONTAINER_DTYPE, l.shape_size);

        err = name && dtype && shape ? put_row(c, name, dtype, shape, gcb_load_u64(tail),
                                               (int64_t)gcb_load_u64(tail + 8), diag)
                                     : fail_corrupt(c, beside, diag, "the layout is damaged");
    }
    if (l.type > 0)
        H5Tclose(l.type);
    gcb_free(l.bytes);
    return err;
}

/* Sends a message of one tensor. Attributes of the message describe the tensor. */
static int put_single(struct gcb_container *c, const char *path, const struct gcb_h5dataset *set,
                      struct gcb_diag *diag)
{
    /* one byte more than the longest texts need, for the terminator */
    char shape[GCB_SHAPE_TEXT + 1], dtype[GCB_CONTAINER_DTYPE + 1];
    int64_t index = -1;
    int err;

    gcb_h5attr_integer(set->id, "index", &index);
    if (!gcb_h5attr_text(set->id, "shape", shape, sizeof(shape)) ||
        !gcb_h5attr_text(set->id, "dtype", dtype, sizeof(dtype)))
        return fail_corrupt(c, path, diag, not_a_message);
    err = put_message(c, path, set, 1, "", diag);
    return err ? err : put_row(c, path, dtype, shape, 0, index, diag);
}

static int on_dataset(void *ctx, struct gcb_h5dataset *set, const char *path, struct gcb_diag *diag)
{
    struct gcb_container *c = ctx;
    char hash[GCB_CONTAINER_HEX + 1];
    int err;

    if (set->kind != H5T_INTEGER || set->type_size != 1)
        /* not bytes, so not a message: a table of the tensors in a bucket, or not written by
         * compress */
        return 0;
    err = gcb_h5dataset_vet(set, c->open, path, diag);
    if (err)
        return err;
    if (set->rank != 1 || set->chunk_rank)
        return fail_corrupt(c, path, diag,
                            "not a message: it is chunked, or does not have one dimension");
    if (gcb_h5attr_text(set->id, "layout_xxh3", hash, sizeof(hash)))
        return put_joint(c, path, set, hash, diag);
    return put_single(c, path, set, diag);
}

static int put_root(struct gcb_container *c, hid_t root, struct gcb_diag *diag)
{
    char version[32], hash[GCB_CONTAINER_HEX + 1];
    int64_t messages;

    if (!gcb_h5attr_text(root, "gcbench_container", version, sizeof(version)))
        return gcb_infile_fail(&c->file, NULL, GCB_E_CORRUPT, diag,
                               "not a file of messages; `gcbench compress -o` makes one");
    if (strcmp(version, GCB_CONTAINER_VERSION) != 0)
        return gcb_infile_fail(
            &c->file, NULL, GCB_E_UNSUPPORTED, diag,
            "its messages have a version that this gcbench does not know; use a newer gcbench");
    if (!gcb_h5attr_integer(root, "gcbench_messages", &messages) ||
        !gcb_h5attr_text(root, "gcbench_xxh3", hash, sizeof(hash)))
        return fail_corrupt(c, NULL, diag, "the list of messages is damaged");
    gcb_put_u8(&c->port->record, R_ROOT);
    gcb_put_u64(&c->port->record, (uint64_t)messages);
    gcb_text_put(&c->port->record, hash);
    return gcb_port_put(c->port, diag);
}

static int walk_file(void *ctx, void *state, struct gcb_port *port, struct gcb_diag *diag)
{
    const struct gcb_h5visitor visitor = {.ctx = ctx, .dataset = on_dataset};
    struct gcb_container *c = ctx;
    int err;

    c->port = port;
    c->open = state;
    err = put_root(c, c->open->id, diag);
    return err ? err : gcb_h5walk(c->open, &visitor, diag);
}

/* ---- in the parent: taking the child's records ---- */

static int take_root(struct gcb_container *c, struct gcb_rbuf *record, struct gcb_diag *diag)
{
    const char *hash;

    c->wanted = (int64_t)gcb_get_u64(record);
    hash = gcb_text_take(record, sizeof(c->wanted_hash));
    if (!hash)
        return fail_record(c, diag);
    strcpy(c->wanted_hash, hash);
    return 0;
}

/* Checks the last message, after all its tensors were added. */
static int finish_message(struct gcb_container *c, struct gcb_diag *diag)
{
    const struct message *m = &c->messages[c->count - 1];
    char hex[GCB_CONTAINER_HEX];

    gcb_container_hex(hex, m->salt);
    if (m->hash[0] && strcmp(hex, m->hash) != 0)
        return fail_corrupt(c, m->seen.dataset, diag, "its layout is damaged");
    if (m->seen.count > c->file.limits.max_bytes / sizeof(float))
        return gcb_infile_fail(&c->file, m->seen.dataset, GCB_E_NOMEM, diag,
                               "%" PRIu64 " elements take more than --max-bytes %" PRIu64,
                               m->seen.count, c->file.limits.max_bytes);
    c->sum += gcb_container_share(m->salt, m->seen.dataset);
    return 0;
}

static int take_message(struct gcb_container *c, struct gcb_rbuf *record, struct gcb_diag *diag)
{
    const struct message *last = c->count ? &c->messages[c->count - 1] : NULL;
    struct gcb_tensor bytes;
    const bool sound = gcb_tensor_take(&bytes, record, &c->file);
    const uint64_t rows = gcb_get_u64(record);
    struct message *m;
    const char *hash;

    hash = gcb_text_take(record, sizeof(m->hash));
    if (!sound || !hash || bytes.element != GCB_ELEMENT_BYTE || bytes.rank != 1 ||
        bytes.dataset[0] != '/' || bytes.count > c->file.size || rows == 0 || rows > c->rows_left ||
        (last && last->seen.tensor_count < last->rows))
        return fail_record(c, diag);
    if (gcb_grow(&c->messages, &c->cap, c->count, sizeof(*c->messages)))
        return fail_nomem(c, diag);
    m = &c->messages[c->count++];
    *m = (struct message){.seen.length = bytes.count, .bytes = bytes, .rows = rows};
    m->bytes.dataset = m->seen.dataset =
        gcb_strings_add(&c->strings, bytes.dataset, strlen(bytes.dataset));
    m->seen.tensors = gcb_alloc_zero(rows, sizeof(*m->seen.tensors));
    if (!m->seen.dataset || !m->seen.tensors)
        return fail_nomem(c, diag);
    strcpy(m->hash, hash);
    c->rows_left -= rows;
    return 0;
}

/* Appends a tensor to the last message. The tensor must begin where the tensor before it ends. */
static int take_row(struct gcb_container *c, struct gcb_rbuf *record, struct gcb_diag *diag)
{
    struct message *m = c->count ? &c->messages[c->count - 1] : NULL;
    const char *path = gcb_text_take(record, GCB_READ_PATH + 1);
    const char *dtype = gcb_text_take(record, GCB_CONTAINER_DTYPE + 1);
    const char *shape = gcb_text_take(record, GCB_SHAPE_TEXT + 1);
    struct gcb_tensor *t;
    uint64_t offset;

    if (!m || m->seen.tensor_count >= m->rows)
        return fail_record(c, diag);
    t = &m->seen.tensors[m->seen.tensor_count];
    offset = gcb_get_u64(record);
    t->index = (int64_t)gcb_get_u64(record);
    if (!path || !dtype || !shape || !gcb_h5path_plain(path) || gcb_dtype_parse(&t->dtype, dtype) ||
        gcb_shape_parse(shape, &t->rank, t->dims, &t->count) || offset != m->seen.count ||
        __builtin_add_overflow(m->seen.count, t->count, &m->seen.count))
        return fail_corrupt(c, m->seen.dataset, diag,
                            m->hash[0] ? "its layout is damaged" : not_a_message);
    m->salt = gcb_container_salt(m->salt, path, t->dtype, shape, t->index);
    t->dataset = gcb_strings_add(&c->strings, path, strlen(path));
    if (!t->dataset)
        return fail_nomem(c, diag);
    return ++m->seen.tensor_count == m->rows ? finish_message(c, diag) : 0;
}

static int take_record(void *ctx, struct gcb_rbuf *record, struct gcb_diag *diag)
{
    struct gcb_container *c = ctx;

    switch (gcb_get_u8(record)) {
    case R_ROOT:
        return take_root(c, record, diag);
    case R_MESSAGE:
        return take_message(c, record, diag);
    case R_ROW:
        return take_row(c, record, diag);
    default:
        return fail_record(c, diag);
    }
}

/* Checks that the file has exactly the messages that the root's attributes describe. */
static int check_list(const struct gcb_container *c, struct gcb_diag *diag)
{
    const struct message *last = c->count ? &c->messages[c->count - 1] : NULL;
    char got[GCB_CONTAINER_HEX];

    gcb_container_hex(got, c->sum);
    if (c->wanted < 0 || (uint64_t)c->wanted != c->count || strcmp(got, c->wanted_hash) != 0 ||
        (last && last->seen.tensor_count < last->rows))
        return fail_corrupt(c, NULL, diag,
                            "messages are missing, or their names, shapes or types are damaged");
    return 0;
}

/* The place of a character in the order of paths: the end, then a slash, then all others. */
static int rank_of(char c)
{
    return c == '\0' ? 0 : c == '/' ? 1 : 2 + (unsigned char)c;
}

/* Orders paths so that "/a" is directly before "/a/b". */
static int by_path(const void *a, const void *b)
{
    const char *x = *(const char *const *)a, *y = *(const char *const *)b;

    while (*x && *x == *y) {
        x++;
        y++;
    }
    return rank_of(*x) - rank_of(*y);
}

/* Checks that no tensor has the name of another, or of a group that holds another: they could not
 * be restored. */
static int check_names(const struct gcb_container *c, struct gcb_diag *diag)
{
    size_t count = 0, used = 0;
    const char **paths;
    int err = 0;

    for (size_t i = 0; i < c->count; i++)
        count += c->messages[i].seen.tensor_count;
    paths = gcb_alloc_array(count, sizeof(*paths));
    if (!paths)
        return fail_nomem(c, diag);
    for (size_t i = 0; i < c->count; i++)
        for (size_t k = 0; k < c->messages[i].seen.tensor_count; k++)
            paths[used++] = c->messages[i].seen.tensors[k].dataset;
    if (used)
        qsort(paths, used, sizeof(*paths), by_path);
    for (size_t i = 1; !err && i < used; i++) {
        const size_t n = strlen(paths[i - 1]);

        if (strncmp(paths[i - 1], paths[i], n) == 0 && (!paths[i][n] || paths[i][n] == '/'))
            err = fail_corrupt(c, paths[i], diag, "damaged: two tensors have this name");
    }
    gcb_free(paths);
    return err;
}

int gcb_container_open(struct gcb_container **out, const char *path, uint64_t max_bytes,
                       bool in_process, struct gcb_diag *diag)
{
    const struct gcb_reader *const readers[] = {&gcb_hdf5, NULL};
    const struct gcb_read_limits limits = {.max_bytes = max_bytes, .in_process = in_process};
    struct gcb_container *c = gcb_alloc_zero(1, sizeof(*c));
    const struct gcb_lister lister = {.ctx = c, .list = walk_file, .take = take_record};
    int err;

    if (!c)
        return gcb_diag_nomem(diag, sizeof(*c), "reading messages");
    err = gcb_infile_find(&c->file, path, readers, &limits, diag);
    c->rows_left = c->file.size / MIN_ROW;
    if (!err)
        err = gcb_file_child_open(&c->child, &c->file, &lister, diag);
    if (!err)
        err = check_list(c, diag);
    if (!err)
        err = check_names(c, diag);
    if (err)
        goto out;
    *out = c;
    c = NULL;
out:
    gcb_container_close(c);
    return err;
}

void gcb_container_close(struct gcb_container *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < c->count; i++)
        gcb_free(c->messages[i].seen.tensors);
    gcb_free(c->messages);
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

static const struct gcb_tensor *get_bytes(const void *ctx, size_t i)
{
    const struct gcb_container *c = ctx;

    return i < c->count ? &c->messages[i].bytes : NULL;
}

int gcb_container_read(struct gcb_container *c, size_t i, uint8_t *out, struct gcb_diag *diag)
{
    const struct message *m = &c->messages[i];
    const struct gcb_tensors messages = {c, get_bytes};
    struct gcb_frame frame;
    struct gcb_rbuf payload;
    struct gcb_diag cause;
    int err = gcb_file_child_read(c->child, &messages, i, out, diag);

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
