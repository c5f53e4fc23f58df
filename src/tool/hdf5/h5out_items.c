/* What is put into a file that is being written: datasets, the groups above them, attributes. */
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"
#include "src/lib/tensor/tensor.h"
#include "src/tool/hdf5/h5out_private.h"

#define TEXT_MOST 65000 /* what readers of older files expect of an attribute */

bool gcb_h5path_plain(const char *path)
{
    for (const char *p = path; *p == '/'; p += strcspn(p, "/")) {
        p++;
        if (*p == '/' || *p == '\0' || strcmp(p, ".") == 0 || strncmp(p, "./", 2) == 0)
            return false;
    }
    return path[0] == '/';
}

/* Makes the groups above `path` that are not there. No times in anything: same input, same bytes. */
static int create_groups(hid_t file, const char *path)
{
    const hid_t gcpl = H5Pcreate(H5P_GROUP_CREATE);
    char *part = gcb_strdup(path);
    int err = gcpl >= 0 && part && H5Pset_obj_track_times(gcpl, 0) >= 0 ? 0 : GCB_E_NOMEM;

    for (char *end = part; !err && (end = strchr(end + 1, '/')) != NULL; *end = '/') {
        hid_t group;

        *end = '\0';
        if (H5Lexists(file, part, H5P_DEFAULT) > 0)
            continue;
        group = H5Gcreate2(file, part, H5P_DEFAULT, gcpl, H5P_DEFAULT);
        if (group < 0)
            err = GCB_E_INVALID;
        else
            H5Gclose(group);
    }
    gcb_free(part);
    if (gcpl >= 0)
        H5Pclose(gcpl);
    return err;
}

static hid_t create_set(hid_t file, const char *path, hid_t type, hid_t space)
{
    const hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE);
    hid_t id = -1;

    if (dcpl >= 0 && create_groups(file, path) == 0 && H5Pset_obj_track_times(dcpl, 0) >= 0 &&
        H5Pset_alloc_time(dcpl, H5D_ALLOC_TIME_EARLY) >= 0 &&
        H5Pset_fill_time(dcpl, H5D_FILL_TIME_NEVER) >= 0)
        id = H5Dcreate2(file, path, type, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    if (dcpl >= 0)
        H5Pclose(dcpl);
    return id;
}

static int no_set(struct gcb_h5out *f, const char *path, struct gcb_diag *diag)
{
    char name[160];

    f->failed = true;
    gcb_escape(name, sizeof(name), path);
    return gcb_diag_set(diag, GCB_E_INVALID, "%s: %s exists already, or is no possible name",
                        f->shown, name);
}

/* The size of a dataset in bytes. */
static int set_bytes(uint64_t *out, hid_t type, unsigned rank, const uint64_t *dims)
{
    uint64_t bytes = H5Tget_size(type);

    for (unsigned i = 0; i < rank; i++)
        if (__builtin_mul_overflow(bytes, dims[i], &bytes))
            return GCB_E_INVALID;
    *out = bytes;
    return bytes <= INT64_MAX ? 0 : GCB_E_INVALID;
}

static int note_extent(struct gcb_h5out *f, uint64_t from, uint64_t to, struct gcb_diag *diag)
{
    const int err = gcb_grow(&f->direct, &f->direct_cap, f->direct_count, sizeof(*f->direct));

    if (err)
        return gcb_h5out_fail(f, err, gcb_status_text(err), diag);
    f->direct[f->direct_count++] = (struct gcb_h5extent){from, to};
    return 0;
}

int gcb_h5set_create(struct gcb_h5out *f, struct gcb_h5set *set, const char *path, hid_t type,
                     unsigned rank, const uint64_t *dims, struct gcb_diag *diag)
{
    hsize_t extent[GCB_MAX_RANK];
    hid_t space;
    haddr_t at;
    int err;

    *set = (struct gcb_h5set){.id = -1};
    if (!gcb_h5path_plain(path) || rank > GCB_MAX_RANK || set_bytes(&set->left, type, rank, dims))
        return no_set(f, path, diag);
    err = gcb_h5out_check_limit(f, set->left, diag);
    if (err)
        return err;
    for (unsigned i = 0; i < rank; i++)
        extent[i] = dims[i];
    space = rank ? H5Screate_simple((int)rank, extent, NULL) : H5Screate(H5S_SCALAR);
    if (space >= 0) {
        set->id = create_set(f->file, path, type, space);
        H5Sclose(space);
    }
    if (set->id < 0)
        return no_set(f, path, diag);
    if (set->left == 0)
        return 0; /* an empty dataset has no place */
    at = H5Dget_offset(set->id);
    if (at == HADDR_UNDEF)
        return gcb_h5out_fail(f, GCB_E_INTERNAL, "HDF5 assigned no place", diag);
    set->at = at;
    return note_extent(f, at, at + set->left, diag);
}

int gcb_h5set_append(struct gcb_h5out *f, struct gcb_h5set *set, const void *bytes, size_t n,
                     struct gcb_diag *diag)
{
    int err;

    if (n > set->left)
        return gcb_h5out_fail(f, GCB_E_INTERNAL, "more bytes than the dataset has", diag);
    err = gcb_h5out_write(f->disk, bytes, n, set->at);
    if (err)
        return gcb_h5out_fail(f, GCB_E_IO, strerror(err), diag);
    set->at += n;
    set->left -= n;
    return 0;
}

void gcb_h5set_close(struct gcb_h5set *set)
{
    if (set->id > 0)
        H5Dclose(set->id);
    set->id = 0;
}

static int no_attribute(struct gcb_h5out *f, const char *name, struct gcb_diag *diag)
{
    char shown[160];

    f->failed = true;
    return gcb_diag_set(diag, GCB_E_INVALID, "%s: attribute %s exists already, or is too long",
                        f->shown, gcb_escape(shown, sizeof(shown), name));
}

int gcb_h5out_value(struct gcb_h5out *f, hid_t object, const char *name, hid_t file_type,
                    hid_t memory_type, const void *value, struct gcb_diag *diag)
{
    const hid_t space = H5Screate(H5S_SCALAR);
    hid_t attribute = -1;
    bool good = false;

    if (space >= 0)
        attribute = H5Acreate2(object, name, file_type, space, H5P_DEFAULT, H5P_DEFAULT);
    if (attribute >= 0) {
        good = H5Awrite(attribute, memory_type, value) >= 0;
        good = H5Aclose(attribute) >= 0 && good;
    }
    if (space >= 0)
        H5Sclose(space);
    if (good)
        return 0;
    return no_attribute(f, name, diag);
}

int gcb_h5out_text(struct gcb_h5out *f, hid_t object, const char *name, const char *text,
                   struct gcb_diag *diag)
{
    const hid_t type = H5Tcopy(H5T_C_S1);
    int err = GCB_E_INTERNAL;

    if (strlen(text) > TEXT_MOST)
        err = no_attribute(f, name, diag);
    else if (type >= 0 && H5Tset_size(type, strlen(text) + 1) >= 0 &&
             H5Tset_cset(type, H5T_CSET_UTF8) >= 0)
        err = gcb_h5out_value(f, object, name, type, type, text, diag);
    else
        gcb_h5out_fail(f, GCB_E_INTERNAL, "HDF5 makes no text type", diag);
    if (type >= 0)
        H5Tclose(type);
    return err;
}
