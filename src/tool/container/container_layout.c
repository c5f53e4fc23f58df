#include "src/tool/container/container_layout.h"

#include <inttypes.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/wire/buf.h"
#include "src/tool/container/container_salt.h"
#include "src/tool/hdf5/h5out.h"
#include "src/tool/hdf5/h5walk.h"

static int bad(const struct gcb_h5file *file, const char *path, struct gcb_diag *diag)
{
    return gcb_h5file_fail(file, path, GCB_E_CORRUPT, diag, "the layout is damaged");
}

/* Bytes of the text member `name`, or 0. */
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

struct rows {
    hid_t type;
    size_t path_size, shape_size, row_size;
    uint8_t *bytes;
    uint64_t count;
};

/* The type must be the one that the writer makes for texts of these sizes: nothing is converted. */
static int check_type(struct rows *r, const struct gcb_h5dataset *set)
{
    r->path_size = text_size(set->type, "path");
    r->shape_size = text_size(set->type, "shape");
    if (r->path_size == 0 || r->path_size > GCB_H5_PATH + 1 || r->shape_size == 0 ||
        r->shape_size > GCB_SHAPE_TEXT)
        return GCB_E_CORRUPT;
    r->row_size = r->path_size + GCB_CONTAINER_DTYPE + r->shape_size + 16;
    r->type = gcb_container_row_type(r->path_size, r->shape_size);
    return r->type > 0 && H5Tequal(r->type, set->type) > 0 && set->type_size == r->row_size
               ? 0
               : GCB_E_CORRUPT;
}

static int read_rows(struct rows *r, const struct gcb_h5file *file, const char *path,
                     uint64_t max_rows, struct gcb_diag *diag)
{
    struct gcb_h5dataset set;
    int err = gcb_h5dataset_open(&set, file, file->id, path, path, diag);

    if (err)
        return err;
    err = gcb_h5dataset_vet(&set, file, path, diag);
    if (err)
        goto out;
    if (set.kind != H5T_COMPOUND || set.rank != 1 || set.chunk_rank || set.count == 0 ||
        set.count > max_rows || check_type(r, &set) != 0) {
        err = bad(file, path, diag);
        goto out;
    }
    r->count = set.count;
    r->bytes = gcb_alloc_array(set.count, r->row_size);
    err = r->bytes ? gcb_h5dataset_read(&set, file, path, r->type, r->bytes, diag)
                   : gcb_diag_nomem(diag, set.count * r->row_size, "a layout");
out:
    gcb_h5dataset_close(&set);
    return err;
}

/* A text that ends within its member, or NULL. */
static const char *text_at(const uint8_t *p, size_t size)
{
    return memchr(p, '\0', size) ? (const char *)p : NULL;
}

static int parse_row(struct gcb_container_layout *out, const struct rows *r, size_t i)
{
    struct gcb_container_tensor *t = &out->tensors[i];
    const uint8_t *row = r->bytes + i * r->row_size, *tail = row + r->row_size - 16;
    const char *path = text_at(row, r->path_size);
    const char *dtype = text_at(row + r->path_size, GCB_CONTAINER_DTYPE);
    const char *shape = text_at(row + r->path_size + GCB_CONTAINER_DTYPE, r->shape_size);

    if (!path || !dtype || !shape || !gcb_h5path_plain(path) || gcb_dtype_parse(&t->dtype, dtype) ||
        gcb_shape_parse(shape, &t->rank, t->dims, &t->count))
        return GCB_E_CORRUPT;
    t->offset = gcb_load_u64(tail);
    t->index = (int64_t)gcb_load_u64(tail + 8);
    if (t->offset != out->count || __builtin_add_overflow(out->count, t->count, &out->count))
        return GCB_E_CORRUPT;
    out->salt = gcb_container_salt(out->salt, path, t->dtype, shape, t->index);
    t->dataset = gcb_strdup(path);
    return t->dataset ? 0 : GCB_E_NOMEM;
}

int gcb_container_layout_read(struct gcb_container_layout *out, const struct gcb_h5file *file,
                              const char *path, uint64_t max_rows, struct gcb_diag *diag)
{
    struct rows r = {0};
    int err = read_rows(&r, file, path, max_rows, diag);

    if (err)
        goto out;
    out->tensors = gcb_alloc_zero(r.count, sizeof(*out->tensors));
    if (!out->tensors) {
        err = gcb_diag_nomem(diag, r.count * sizeof(*out->tensors), "a layout");
        goto out;
    }
    out->tensor_count = r.count;
    for (size_t i = 0; i < r.count && !err; i++)
        err = parse_row(out, &r, i);
    if (err == GCB_E_CORRUPT)
        bad(file, path, diag);
    else if (err)
        gcb_diag_nomem(diag, GCB_H5_PATH, "a layout");
out:
    if (r.type > 0)
        H5Tclose(r.type);
    gcb_free(r.bytes);
    return err;
}

void gcb_container_tensors_free(struct gcb_container_tensor *tensors, size_t count)
{
    for (size_t i = 0; i < count; i++)
        gcb_free(tensors[i].dataset);
    gcb_free(tensors);
}
