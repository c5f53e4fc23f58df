/* Reading messages. Nothing in the file is believed that the checksums or the message do not confirm. */
#include "src/tool/container/container.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/wire/message.h"
#include "src/tool/container/container_layout.h"
#include "src/tool/container/container_salt.h"
#include "src/tool/hdf5/h5attr.h"
#include "src/tool/hdf5/h5walk.h"

struct message {
    struct gcb_container_message seen;
    char *dataset;
    struct gcb_container_tensor *tensors;
    uint64_t salt;
};

struct gcb_container {
    struct gcb_h5file file;
    struct message *messages;
    size_t count, cap;
    uint64_t rows_left; /* of layouts; more than the file can hold are the same ones over again */
    uint64_t sum;
};

static int bad(const struct gcb_container *c, const char *dataset, struct gcb_diag *diag,
               const char *why)
{
    return gcb_h5file_fail(&c->file, dataset, GCB_E_CORRUPT, diag, "%s", why);
}

static int no_memory(const struct gcb_container *c, struct gcb_diag *diag)
{
    return gcb_h5file_fail(&c->file, NULL, GCB_E_NOMEM, diag, "out of memory");
}

/* A room at the end of the list, zeroed but not counted. */
static struct message *next_message(struct gcb_container *c)
{
    if (gcb_grow(&c->messages, &c->cap, c->count, sizeof(*c->messages)))
        return NULL;
    c->messages[c->count] = (struct message){0};
    return &c->messages[c->count];
}

static void free_message(struct message *m)
{
    gcb_container_tensors_free(m->tensors, m->seen.tensor_count);
    gcb_free(m->dataset);
    *m = (struct message){0};
}

/* One tensor, which the attributes of its message describe. */
static int read_single(struct gcb_container *c, struct message *m, hid_t id, struct gcb_diag *diag)
{
    /* a byte more than the texts need, for the terminator; so below */
    char shape[GCB_SHAPE_TEXT + 1], dtype[GCB_CONTAINER_DTYPE + 1];
    struct gcb_container_tensor *t = gcb_alloc_zero(1, sizeof(*t));
    char *path = gcb_strdup(m->dataset);

    m->tensors = t;
    m->seen.tensor_count = t ? 1 : 0;
    if (!t || !path) {
        gcb_free(path);
        return no_memory(c, diag);
    }
    t->dataset = path;
    t->index = -1;
    gcb_h5attr_integer(id, "index", &t->index);
    if (!gcb_h5attr_text(id, "shape", shape, sizeof(shape)) ||
        !gcb_h5attr_text(id, "dtype", dtype, sizeof(dtype)) ||
        gcb_shape_parse(shape, &t->rank, t->dims, &t->count) != 0 ||
        gcb_dtype_parse(&t->dtype, dtype) != 0)
        return bad(c, m->dataset, diag,
                   "not a message: its attributes shape and dtype say nothing");
    m->seen.count = t->count;
    m->salt = gcb_container_salt(0, path, t->dtype, shape, t->index);
    return 0;
}

static int read_joint(struct gcb_container *c, struct message *m, const char *hash,
                      struct gcb_diag *diag)
{
    char beside[GCB_H5_PATH + 16], hex[GCB_CONTAINER_HEX];
    struct gcb_container_layout layout = {0};
    int err;

    snprintf(beside, sizeof(beside), "%s_layout", m->dataset);
    err = gcb_container_layout_read(&layout, &c->file, beside, c->rows_left, diag);
    m->tensors = layout.tensors;
    m->seen.tensor_count = layout.tensor_count;
    if (err)
        return err;
    c->rows_left -= layout.tensor_count;
    m->seen.count = layout.count;
    m->salt = layout.salt;
    gcb_container_hex(hex, layout.salt);
    return strcmp(hex, hash) == 0 ? 0 : bad(c, beside, diag, "the layout is damaged");
}

static int read_message(struct gcb_container *c, struct message *m, struct gcb_h5dataset *set,
                        const char *path, struct gcb_diag *diag)
{
    char hash[GCB_CONTAINER_HEX + 1];
    int err = gcb_h5dataset_vet(set, &c->file, path, diag);

    if (err)
        return err;
    if (set->rank != 1 || set->chunk_rank)
        return bad(c, path, diag, "not a message: neither flat nor in one piece");
    m->dataset = gcb_strdup(path);
    if (!m->dataset)
        return no_memory(c, diag);
    m->seen.dataset = m->dataset;
    m->seen.length = set->count;
    if (gcb_h5attr_text(set->id, "layout_xxh3", hash, sizeof(hash)))
        err = read_joint(c, m, hash, diag);
    else
        err = read_single(c, m, set->id, diag);
    if (err)
        return err;
    m->seen.tensors = m->tensors;
    if (m->seen.count > c->file.limits.max_bytes / sizeof(float))
        return gcb_h5file_fail(&c->file, path, GCB_E_NOMEM, diag,
                               "%" PRIu64 " elements, more than --max-bytes %" PRIu64,
                               m->seen.count, c->file.limits.max_bytes);
    c->sum += gcb_container_share(m->salt, path);
    return 0;
}

static int visit(void *ctx, struct gcb_h5dataset *set, const char *path, struct gcb_diag *diag)
{
    struct gcb_container *c = ctx;
    struct message *m;
    int err;

    if (set->kind != H5T_INTEGER || set->type_size != 1)
        return 0; /* a layout, or something that is none of ours */
    m = next_message(c);
    if (!m)
        return no_memory(c, diag);
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
                               "not a file of messages; gcbench compress -o makes one");
    if (strcmp(version, GCB_CONTAINER_VERSION) != 0)
        return gcb_h5file_fail(&c->file, NULL, GCB_E_UNSUPPORTED, diag,
                               "a file of messages of a version that this build does not know");
    if (!gcb_h5attr_integer(c->file.id, "gcbench_messages", messages) ||
        !gcb_h5attr_text(c->file.id, "gcbench_xxh3", hash, GCB_CONTAINER_HEX + 1))
        return bad(c, NULL, diag, "the list of messages is damaged");
    return 0;
}

static int read_list(struct gcb_container *c, struct gcb_diag *diag)
{
    const struct gcb_h5visitor visitor = {.ctx = c, .dataset = visit};
    char want[GCB_CONTAINER_HEX + 1], got[GCB_CONTAINER_HEX];
    int64_t messages;
    int err = read_root(c, &messages, want, diag);

    if (!err)
        err = gcb_h5walk(&c->file, &visitor, diag);
    if (err)
        return err;
    gcb_container_hex(got, c->sum);
    if (messages < 0 || (uint64_t)messages != c->count || strcmp(got, want) != 0)
        return bad(c, NULL, diag, "messages are missing, or their names, shapes or types damaged");
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
    c->rows_left = c->file.size / GCB_CONTAINER_ROW_LEAST;
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

/* The bytes of a message, which the file may have changed meanwhile. */
static int read_bytes(struct gcb_container *c, const struct message *m, uint8_t *out,
                      struct gcb_diag *diag)
{
    struct gcb_h5dataset set;
    int err = gcb_h5dataset_open(&set, &c->file, c->file.id, m->dataset, m->dataset, diag);

    if (err)
        return err;
    err = gcb_h5dataset_vet(&set, &c->file, m->dataset, diag);
    if (!err && (set.kind != H5T_INTEGER || set.type_size != 1 || set.count != m->seen.length))
        err = bad(c, m->dataset, diag, "changed while it was read");
    if (!err)
        err = gcb_h5dataset_read(&set, &c->file, m->dataset, H5T_NATIVE_UINT8, out, diag);
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
        return gcb_h5file_fail(&c->file, m->dataset, err, diag, "%s", cause.text);
    if (!(frame.flags & GCB_WIRE_CHECKSUM) || frame.count != m->seen.count)
        return bad(c, m->dataset, diag, "the message and the shapes of its tensors disagree");
    return 0;
}
