#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/wire/message.h"
#include "src/tool/container/container.h"
#include "src/tool/container/container_format.h"
#include "src/tool/hdf5/h5attr.h"
#include "src/tool/hdf5/h5out.h"
#include "src/tool/hdf5/h5walk.h"

/* Reading messages. Data of the file is used only after a checksum or the message itself has confirmed it. */

struct message {
    struct gcb_container_message seen;
    uint64_t salt;
};

struct gcb_container {
    struct gcb_h5file file;
    struct message *messages;
    size_t count, cap;
    uint64_t
        rows_left; /* rows of layouts still allowed; a file with more uses the same bytes twice */
    uint64_t sum;  /* of gcb_container_share over the messages */
};

static int fail_corrupt(const struct gcb_container *c, const char *dataset, struct gcb_diag *diag,
                        const char *why)
{
    return gcb_h5file_fail(&c->file, dataset, GCB_E_CORRUPT, diag, "%s", why);
}

static int fail_nomem(const struct gcb_container *c, struct gcb_diag *diag)
{
    return gcb_h5file_fail(&c->file, NULL, GCB_E_NOMEM, diag, "out of memory");
}

static void free_message(struct message *m)
{
    for (size_t i = 0; i < m->seen.tensor_count; i++)
        gcb_free(m->seen.tensors[i].dataset);
    gcb_free(m->seen.tensors);
    gcb_free(m->seen.dataset);
    *m = (struct message){0};
}

/* ---- layouts: the tensors of a message that covers several ---- */

/* A row has at least a byte for each of two texts, the type's name and two numbers. */
#define MIN_ROW (1 + GCB_CONTAINER_DTYPE + 1 + 16)

struct layout {
    hid_t type;
    size_t path_size, shape_size, row_size;
    uint8_t *bytes;
    uint64_t rows;
};

/* Bytes of the text member `name` of a row type, or 0 if there is none. */
static size_t text_size(hid_t row, const char *name)
{
    const int i = H5Tget_member_index(row, name);
    hid_t type;
    size_t size = 0;

    if (i < 0)
        return 0;
    type = H5Tget_member_type(row, (unsigned)i);
    if (type < 0)
        return 0;
    if (H5Tget_class(type) == H5T_STRING && H5Tis_variable_str(type) == 0)
        size = H5Tget_size(type);
    H5Tclose(type);
    return size;
}

/* The type must be exactly the writer's type for texts of these sizes, so that HDF5 converts nothing. */
static bool check_row_type(struct layout *l, const struct gcb_h5dataset *set)
{
    l->path_size = text_size(set->type, "path");
    l->shape_size = text_size(set->type, "shape");
    if (l->path_size == 0 || l->path_size > GCB_H5_PATH + 1 || l->shape_size == 0 ||
        l->shape_size > GCB_SHAPE_TEXT)
        return false;
    l->row_size = l->path_size + GCB_CONTAINER_DTYPE + l->shape_size + 16;
    l->type = gcb_container_row_type(l->path_size, l->shape_size);
    return l->type > 0 && H5Tequal(l->type, set->type) > 0 && set->type_size == l->row_size;
}

static int read_layout(struct layout *l, const struct gcb_container *c, const char *path,
                       struct gcb_diag *diag)
{
    struct gcb_h5dataset set;
    int err = gcb_h5dataset_open(&set, &c->file, c->file.id, path, path, diag);

    if (err)
        return err;
    err = gcb_h5dataset_vet(&set, &c->file, path, diag);
    if (err)
        goto out;
    if (set.kind != H5T_COMPOUND || set.rank != 1 || set.chunk_rank || set.count == 0 ||
        set.count > c->rows_left || !check_row_type(l, &set)) {
        err = fail_corrupt(c, path, diag, "the layout is damaged");
        goto out;
    }
    l->rows = set.count;
    l->bytes = gcb_alloc_array(set.count, l->row_size);
    err = l->bytes ? gcb_h5dataset_read(&set, &c->file, path, l->type, l->bytes, diag)
                   : gcb_diag_nomem(diag, set.count * l->row_size, "a layout");
out:
    gcb_h5dataset_close(&set);
    return err;
}

/* The text in a member of `size` bytes, or NULL if it is not terminated. */
static const char *text_at(const uint8_t *p, size_t size)
{
    return memchr(p, '\0', size) ? (const char *)p : NULL;
}

/* Appends the tensor of row i. Its offset must be where the tensor before it ends. */
static int add_tensor(struct message *m, const struct layout *l, uint64_t i)
{
    struct gcb_container_tensor *t = &m->seen.tensors[i];
    const uint8_t *row = l->bytes + i * l->row_size, *tail = row + l->row_size - 16;
    const char *path = text_at(row, l->path_size);
    const char *dtype = text_at(row + l->path_size, GCB_CONTAINER_DTYPE);
    const char *shape = text_at(row + l->path_size + GCB_CONTAINER_DTYPE, l->shape_size);

    if (!path || !dtype || !shape || !gcb_h5path_plain(path) || gcb_dtype_parse(&t->dtype, dtype) ||
        gcb_shape_parse(shape, &t->rank, t->dims, &t->count))
        return GCB_E_CORRUPT;
    t->offset = gcb_load_u64(tail);
    t->index = (int64_t)gcb_load_u64(tail + 8);
    if (t->offset != m->seen.count ||
        __builtin_add_overflow(m->seen.count, t->count, &m->seen.count))
        return GCB_E_CORRUPT;
    m->salt = gcb_container_salt(m->salt, path, t->dtype, shape, t->index);
    t->dataset = gcb_strdup(path);
    return t->dataset ? 0 : GCB_E_NOMEM;
}

/* ---- messages ---- */

/* A message of several tensors: its layout is the dataset beside it, whose hash is an attribute of the message. */
static int read_joint(struct gcb_container *c, struct message *m, const char *hash,
                      struct gcb_diag *diag)
{
    char beside[GCB_H5_PATH + 16], hex[GCB_CONTAINER_HEX];
    struct layout l = {0};
    int err;

    snprintf(beside, sizeof(beside), "%s_layout", m->seen.dataset);
    err = read_layout(&l, c, beside, diag);
    if (err)
        goto out;
    m->seen.tensors = gcb_alloc_zero(l.rows, sizeof(*m->seen.tensors));
    if (!m->seen.tensors) {
        err = fail_nomem(c, diag);
        goto out;
    }
    m->seen.tensor_count = l.rows;
    c->rows_left -= l.rows;
    for (uint64_t i = 0; i < l.rows && !err; i++)
        err = add_tensor(m, &l, i);
    gcb_container_hex(hex, m->salt);
    if (err == GCB_E_NOMEM)
        fail_nomem(c, diag);
    else if (err || strcmp(hex, hash) != 0)
        err = fail_corrupt(c, beside, diag, "the layout is damaged");
out:
    if (l.type > 0)
        H5Tclose(l.type);
    gcb_free(l.bytes);
    return err;
}

/* A message of one tensor, which the message's attributes describe. */
static int read_single(struct gcb_container *c, struct message *m, hid_t id, struct gcb_diag *diag)
{
    /* one byte more than the longest texts need, for the terminator */
    char shape[GCB_SHAPE_TEXT + 1], dtype[GCB_CONTAINER_DTYPE + 1];
    struct gcb_container_tensor *t = gcb_alloc_zero(1, sizeof(*t));

    if (!t)
        return fail_nomem(c, diag);
    m->seen.tensors = t;
    m->seen.tensor_count = 1;
    t->dataset = gcb_strdup(m->seen.dataset);
    if (!t->dataset)
        return fail_nomem(c, diag);
    t->index = -1;
    gcb_h5attr_integer(id, "index", &t->index);
    if (!gcb_h5attr_text(id, "shape", shape, sizeof(shape)) ||
        !gcb_h5attr_text(id, "dtype", dtype, sizeof(dtype)) ||
        gcb_shape_parse(shape, &t->rank, t->dims, &t->count) != 0 ||
        gcb_dtype_parse(&t->dtype, dtype) != 0)
        return fail_corrupt(c, m->seen.dataset, diag,
                            "not a message: the attributes shape and dtype are absent or damaged");
    m->seen.count = t->count;
    m->salt = gcb_container_salt(0, t->dataset, t->dtype, shape, t->index);
    return 0;
}

static int read_message(struct gcb_container *c, struct message *m, struct gcb_h5dataset *set,
                        const char *path, struct gcb_diag *diag)
{
    char hash[GCB_CONTAINER_HEX + 1];
    int err = gcb_h5dataset_vet(set, &c->file, path, diag);

    if (err)
        return err;
    if (set->rank != 1 || set->chunk_rank)
        return fail_corrupt(c, path, diag, "not a message: not one-dimensional, or chunked");
    m->seen.dataset = gcb_strdup(path);
    if (!m->seen.dataset)
        return fail_nomem(c, diag);
    m->seen.length = set->count;
    if (gcb_h5attr_text(set->id, "layout_xxh3", hash, sizeof(hash)))
        err = read_joint(c, m, hash, diag);
    else
        err = read_single(c, m, set->id, diag);
    if (err)
        return err;
    if (m->seen.count > c->file.limits.max_bytes / sizeof(float))
        return gcb_h5file_fail(&c->file, path, GCB_E_NOMEM, diag,
                               "%" PRIu64 " elements take more than --max-bytes %" PRIu64,
                               m->seen.count, c->file.limits.max_bytes);
    c->sum += gcb_container_share(m->salt, path);
    return 0;
}

static int on_dataset(void *ctx, struct gcb_h5dataset *set, const char *path, struct gcb_diag *diag)
{
    struct gcb_container *c = ctx;
    struct message *m;
    int err;

    if (set->kind != H5T_INTEGER || set->type_size != 1)
        return 0; /* a layout, or a dataset that compress did not write */
    if (gcb_grow(&c->messages, &c->cap, c->count, sizeof(*c->messages)))
        return fail_nomem(c, diag);
    m = &c->messages[c->count];
    *m = (struct message){0};
    err = read_message(c, m, set, path, diag);
    if (err)
        free_message(m);
    else
        c->count++;
    return err;
}

static int read_root(struct gcb_container *c, int64_t *messages, char *hash, struct gcb_diag *diag)
{
    char version[32];

    if (!gcb_h5attr_text(c->file.id, "gcbench_container", version, sizeof(version)))
        return gcb_h5file_fail(&c->file, NULL, GCB_E_INVALID, diag,
                               "not a file of messages; `gcbench compress -o` makes one");
    if (strcmp(version, GCB_CONTAINER_VERSION) != 0)
        return gcb_h5file_fail(
            &c->file, NULL, GCB_E_UNSUPPORTED, diag,
            "its messages have a version that this gcbench does not know; use a newer gcbench");
    if (!gcb_h5attr_integer(c->file.id, "gcbench_messages", messages) ||
        !gcb_h5attr_text(c->file.id, "gcbench_xxh3", hash, GCB_CONTAINER_HEX + 1))
        return fail_corrupt(c, NULL, diag, "the list of messages is damaged");
    return 0;
}

static int read_list(struct gcb_container *c, struct gcb_diag *diag)
{
    const struct gcb_h5visitor visitor = {.ctx = c, .dataset = on_dataset};
    char want[GCB_CONTAINER_HEX + 1], got[GCB_CONTAINER_HEX];
    int64_t messages;
    int err = read_root(c, &messages, want, diag);

    if (!err)
        err = gcb_h5walk(&c->file, &visitor, diag);
    if (err)
        return err;
    gcb_container_hex(got, c->sum);
    if (messages < 0 || (uint64_t)messages != c->count || strcmp(got, want) != 0)
        return fail_corrupt(c, NULL, diag,
                            "messages are missing, or their names, shapes or types are damaged");
    return 0;
}

int gcb_container_open(struct gcb_container **out, const char *path, uint64_t max_bytes,
                       struct gcb_diag *diag)
{
    const struct gcb_h5limits limits = {.max_bytes = max_bytes};
    struct gcb_container *c = gcb_alloc_zero(1, sizeof(*c));
    int err;

    if (!c)
        return gcb_diag_nomem(diag, sizeof(*c), "reading messages");
    err = gcb_h5file_open(&c->file, path, &limits, diag);
    if (err)
        goto out;
    c->rows_left = c->file.size / MIN_ROW;
    err = read_list(c, diag);
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
        free_message(&c->messages[i]);
    gcb_free(c->messages);
    gcb_h5file_close(&c->file);
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

/* Reads the bytes of a message. The file may have changed since it was listed. */
static int read_bytes(struct gcb_container *c, const struct message *m, uint8_t *out,
                      struct gcb_diag *diag)
{
    struct gcb_h5dataset set;
    int err =
        gcb_h5dataset_open(&set, &c->file, c->file.id, m->seen.dataset, m->seen.dataset, diag);

    if (err)
        return err;
    err = gcb_h5dataset_vet(&set, &c->file, m->seen.dataset, diag);
    if (!err && (set.kind != H5T_INTEGER || set.type_size != 1 || set.count != m->seen.length))
        err = fail_corrupt(
            c, m->seen.dataset, diag,
            "changed since it was listed; do not write to the file while gcbench reads it");
    if (!err)
        err = gcb_h5dataset_read(&set, &c->file, m->seen.dataset, H5T_NATIVE_UINT8, out, diag);
    gcb_h5dataset_close(&set);
    return err;
}

int gcb_container_read(struct gcb_container *c, size_t i, uint8_t *out, struct gcb_diag *diag)
{
    const struct message *m = &c->messages[i];
    struct gcb_frame frame;
    struct gcb_rbuf payload;
    struct gcb_diag cause;
    int err = read_bytes(c, m, out, diag);

    if (err)
        return err;
    err = gcb_message_check(out, m->seen.length, m->salt, &cause);
    if (!err)
        err = gcb_frame_parse(&frame, &payload, out, m->seen.length, &cause);
    if (err)
        return gcb_h5file_fail(&c->file, m->seen.dataset, err, diag, "%s", cause.text);
    if (!(frame.flags & GCB_WIRE_CHECKSUM) || frame.count != m->seen.count)
        return fail_corrupt(c, m->seen.dataset, diag,
                            "the message and the shapes of its tensors disagree");
    return 0;
}
