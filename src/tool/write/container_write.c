#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "src/lib/base/alloc.h"
#include "src/lib/wire/message.h"
#include "src/tool/write/container.h"
#include "src/tool/write/container_format.h"
#include "src/tool/write/dump_private.h"

/* ---- the format, which the reader uses too ---- */

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

uint64_t gcb_container_share(uint64_t salt, const char *path)
{
    return mix(salt, path);
}

void gcb_container_hex(char out[GCB_CONTAINER_HEX], uint64_t hash)
{
    snprintf(out, GCB_CONTAINER_HEX, "%016" PRIx64, hash);
}

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

hid_t gcb_container_row_type(size_t path_size, size_t shape_size)
{
    const size_t dtype = path_size, shape = dtype + GCB_CONTAINER_DTYPE;
    const size_t offset = shape + shape_size, index = offset + 8;
    const hid_t row = H5Tcreate(H5T_COMPOUND, index + 8);

    if (row < 0)
        return row;
    if (insert_text(row, "path", 0, path_size) == 0 &&
        insert_text(row, "dtype", dtype, GCB_CONTAINER_DTYPE) == 0 &&
        insert_text(row, "shape", shape, shape_size) == 0 &&
        H5Tinsert(row, "offset", offset, H5T_STD_U64LE) >= 0 &&
        H5Tinsert(row, "index", index, H5T_STD_I64LE) >= 0)
        return row;
    H5Tclose(row);
    return -1;
}

/* ---- the writer ---- */

/* How `decompress` will restore a tensor. */
struct entry {
    const struct gcb_tensor *tensor;
    uint64_t offset;
    char path[GCB_READ_PATH + 1];
    char shape[GCB_SHAPE_TEXT];
};

static bool from_several_files(const struct gcb_source *source)
{
    const char *first = gcb_source_tensor(source, 0)->file;

    for (size_t i = 1; i < gcb_source_count(source); i++)
        if (strcmp(gcb_source_tensor(source, i)->file, first) != 0)
            return true;
    return false;
}

/* Fills *e. Tensors from different files may have the same path. So if there are several files, a
 * tensor is given the path /step_N/worker_N/PATH (docs/dataset.md). */
static int fill_entry(struct gcb_h5out *w, struct entry *e, const struct gcb_tensor *t,
                      uint64_t offset, struct gcb_diag *diag)
{
    int n;

    e->tensor = t;
    e->offset = offset;
    gcb_shape_text(e->shape, t->rank, t->dims);
    if (w->several_files)
        n = snprintf(e->path, sizeof(e->path), "/step_%06" PRIu64 "/worker_%" PRIu32 "/%s", t->step,
                     t->worker, t->path + strspn(t->path, "/"));
    else
        n = snprintf(e->path, sizeof(e->path), "%s", t->dataset);
    if (n < 0 || (size_t)n >= sizeof(e->path))
        return gcb_diag_set(diag, GCB_E_INVALID, "%s: a tensor's path is longer than 4096 bytes",
                            w->shown);
    return 0;
}

static uint64_t add_salt(uint64_t salt, const struct entry *e)
{
    return gcb_container_salt(salt, e->path, e->tensor->dtype, e->shape, e->tensor->index);
}

/* Writes the dataset of a message. */
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
    w->sum += gcb_container_share(salt, path);
    return err;
}

/* Writes a message of one tensor. */
static int put_single(struct gcb_h5out *w, const struct entry *e, uint8_t *message, size_t length,
                      struct gcb_diag *diag)
{
    int err = put_message(w, e->path, message, length, add_salt(0, e), diag);

    if (!err)
        err = gcb_h5out_note(w, e->path, "shape", e->shape, diag);
    if (!err)
        err = gcb_h5out_note(w, e->path, "dtype", gcb_dtype_name(e->tensor->dtype), diag);
    if (!err && e->tensor->index >= 0)
        err = gcb_h5out_value(w, e->path, "index", H5T_STD_I64LE, H5T_NATIVE_INT64,
                              &e->tensor->index, diag);
    return err;
}

/* The layout of a message: a table of its tensors. */
struct table {
    uint8_t *rows;
    size_t count, path_size, shape_size, row_size;
    uint64_t salt;
};

static void fill_row(struct table *t, size_t i, const struct entry *e)
{
    uint8_t *row = t->rows + i * t->row_size;
    uint8_t *tail = row + t->row_size - 16;

    memcpy(row, e->path, strlen(e->path));
    memcpy(row + t->path_size, gcb_dtype_name(e->tensor->dtype), GCB_CONTAINER_DTYPE - 1);
    memcpy(row + t->path_size + GCB_CONTAINER_DTYPE, e->shape, strlen(e->shape));
    gcb_store_u64(tail, e->offset);
    gcb_store_u64(tail + 8, (uint64_t)e->tensor->index);
}

/* Fills the table in two passes over the pieces: the first finds the longest texts, the second
 * fills the rows. The caller frees t->rows. */
static int fill_table(struct gcb_h5out *w, struct table *t, const struct gcb_source *source,
                      const struct gcb_message_plan *plan, struct entry *e, struct gcb_diag *diag)
{
    int err = 0;

    *t = (struct table){.count = plan->piece_count, .path_size = 1, .shape_size = 1};
    for (size_t i = 0; i < 2 * t->count && !err; i++) {
        const struct gcb_piece *piece = &plan->pieces[i % t->count];

        if (i == t->count) {
            t->row_size = t->path_size + GCB_CONTAINER_DTYPE + t->shape_size + 16;
            t->rows = gcb_alloc_zero(t->count, t->row_size);
            if (!t->rows)
                return gcb_diag_nomem(diag, t->count * t->row_size, "a layout");
        }
        err = fill_entry(w, e, gcb_source_tensor(source, piece->tensor), piece->offset, diag);
        if (t->rows && !err) {
            fill_row(t, i - t->count, e);
            t->salt = add_salt(t->salt, e);
        } else if (!err) {
            t->path_size = t->path_size > strlen(e->path) ? t->path_size : strlen(e->path) + 1;
            t->shape_size = t->shape_size > strlen(e->shape) ? t->shape_size : strlen(e->shape) + 1;
        }
    }
    return err;
}

static int put_table(struct gcb_h5out *w, const struct table *t, const char *path,
                     struct gcb_diag *diag)
{
    const hid_t type = gcb_container_row_type(t->path_size, t->shape_size);
    const uint64_t dims[1] = {t->count};
    int err;

    if (type < 0)
        return gcb_diag_set(diag, GCB_E_INTERNAL, "HDF5 cannot make a compound type");
    err = gcb_h5out_set(w, path, type, 1, dims, diag);
    H5Tclose(type);
    return err ? err : gcb_h5out_append(w, t->rows, t->count * t->row_size, diag);
}

/* Writes a message of several tensors, and its layout. */
static int put_joint(struct gcb_h5out *w, const struct gcb_source *source,
                     const struct gcb_message_plan *plan, struct entry *e, uint8_t *message,
                     size_t length, struct gcb_diag *diag)
{
    char path[128], beside[160], hex[GCB_CONTAINER_HEX];
    struct table t;
    int err = fill_table(w, &t, source, plan, e, diag);

    if (err)
        goto out;
    snprintf(path, sizeof(path), "/step_%06" PRIu64 "/worker_%" PRIu32 "/messages/%s", plan->step,
             plan->worker, plan->name);
    snprintf(beside, sizeof(beside), "%s_layout", path);
    gcb_container_hex(hex, t.salt);
    err = put_message(w, path, message, length, t.salt, diag);
    if (!err)
        err = gcb_h5out_note(w, path, "layout_xxh3", hex, diag);
    if (!err)
        err = put_table(w, &t, beside, diag);
out:
    gcb_free(t.rows);
    return err;
}

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
    struct entry *e;
    int err = check_message(plan, message, length, diag);

    if (err)
        return err;
    e = gcb_alloc(sizeof(*e));
    if (!e)
        return gcb_diag_nomem(diag, sizeof(*e), "a path");
    if (w->source != source) {
        w->source = source;
        w->several_files = from_several_files(source);
    }
    if (plan->name[0]) {
        err = put_joint(w, source, plan, e, message, length, diag);
    } else {
        err = fill_entry(w, e, gcb_source_tensor(source, plan->pieces[0].tensor), 0, diag);
        if (!err)
            err = put_single(w, e, message, length, diag);
    }
    gcb_free(e);
    return err;
}

int gcb_container_commit(struct gcb_h5out *w, struct gcb_diag *diag)
{
    char hex[GCB_CONTAINER_HEX];
    int err;

    gcb_container_hex(hex, w->sum);
    err = gcb_h5out_note(w, "/", "gcbench_container", GCB_CONTAINER_VERSION, diag);
    if (!err)
        err = gcb_h5out_value(w, "/", "gcbench_messages", H5T_STD_U64LE, H5T_NATIVE_UINT64,
                              &w->messages, diag);
    if (!err)
        err = gcb_h5out_note(w, "/", "gcbench_xxh3", hex, diag);
    if (!err)
        err = gcb_h5out_commit(w, diag);
    return err;
}
