#include "src/tool/write/dump_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/lib/base/text.h"
#include "src/lib/tensor/tensor.h"
#include "src/tool/base/memory.h"
#include "src/tool/read/hdf5.h"

/* Most bytes of metadata that HDF5 writes between two calls of check_limit. */
#define META_RESERVE ((uint64_t)1 << 20)
#define COPY_BYTES ((size_t)64 << 10) /* bytes of metadata that are copied at a time */
#define MAX_TEXT 65000 /* most bytes of a text attribute; old formats allow less than 64 KiB */

/* Sets "FILE: cannot be written: WHY" and returns `status`. The file is never committed after this.
 */
static int fail(struct gcb_h5out *f, int status, const char *why, struct gcb_diag *diag)
{
    f->failed = true;
    return gcb_diag_set(diag, status, "%s: cannot be written: %s", f->shown, why);
}

/* Writes n bytes at the offset `at` of a file. Returns 0 or errno. */
static int write_all(int fd, const void *bytes, size_t n, uint64_t at)
{
    const uint8_t *p = bytes;

    while (n) {
        const ssize_t done = pwrite(fd, p, n, (off_t)at);

        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return done < 0 ? errno : ENOSPC;
        p += done;
        at += (uint64_t)done;
        n -= (size_t)done;
    }
    return 0;
}

/*
 * Checks that the file, with `more` bytes of data and META_RESERVE of metadata added, stays within
 * the process's limit on file sizes (RLIMIT_FSIZE). The limit also applies to HDF5's file in
 * memory, whose writes must not fail half-way.
 */
static int check_limit(struct gcb_h5out *f, uint64_t more, struct gcb_diag *diag)
{
    struct rlimit limit;
    hsize_t now = 0;

    if (f->file && H5Fget_filesize(f->file, &now) < 0)
        return fail(f, GCB_E_INTERNAL, "HDF5 does not know the file's size", diag);
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return 0;
    if (more > limit.rlim_cur || now + META_RESERVE > limit.rlim_cur - more)
        return fail(f, GCB_E_IO, "it would exceed the limit on file sizes; raise it with ulimit -f",
                    diag);
    return 0;
}

/*
 * Opens the file on disk and HDF5's file in memory. HDF5 can only make a file by its name. So HDF5
 * opens the file on disk, where it writes nothing yet. Then dup2 makes HDF5's descriptor refer to
 * the file in memory. Returns 0 or errno.
 */
static int open_files(struct gcb_h5out *f)
{
    const hid_t fcpl = H5Pcreate(H5P_FILE_CREATE), fapl = H5Pcreate(H5P_FILE_ACCESS);
    void *handle;
    int err = ENOMEM;

    /* In the format of HDF5 1.8, all metadata have checksums, so a reader notices damage before it
     * uses the data. */
    if (H5Pset_obj_track_times(fcpl, 0) < 0 ||
        H5Pset_libver_bounds(fapl, H5F_LIBVER_V18, H5F_LIBVER_V18) < 0)
        goto out;
    errno = 0;
    f->disk = open(f->out.temp_path, O_WRONLY | O_CLOEXEC);
    f->memory = memfd_create("gcbench", MFD_CLOEXEC);
    if (f->disk >= 0 && f->memory >= 0)
        f->file = H5Fcreate(f->out.temp_path, H5F_ACC_TRUNC, fcpl, fapl);
    if (f->file > 0 && H5Fget_vfd_handle(f->file, H5P_DEFAULT, &handle) >= 0 &&
        dup2(f->memory, *(int *)handle) >= 0)
        err = 0;
    else
        err = errno ? errno : EIO;
out:
    H5Pclose(fcpl);
    H5Pclose(fapl);
    return err;
}

int gcb_h5out_create(struct gcb_h5out **out, const char *path, bool force,
                     const char *const *inputs, size_t input_count, struct gcb_diag *diag)
{
    struct gcb_h5out *f = gcb_must_zero(1, sizeof(*f));
    int err, why;

    f->memory = f->disk = -1;
    gcb_escape(f->shown, sizeof(f->shown), path);
    err = gcb_outfile_init(&f->out, path, force, inputs, input_count, diag);
    if (!err)
        err = check_limit(f, 0, diag);
    if (!err)
        err = gcb_h5file_prepare(diag);
    why = err ? 0 : open_files(f);
    if (why)
        err = fail(f, GCB_E_IO, strerror(why), diag);
    if (err)
        gcb_h5out_destroy(f);
    else
        *out = f;
    return err;
}

/* ---- datasets and attributes ---- */

bool gcb_h5path_plain(const char *path)
{
    for (const char *p = path; *p == '/'; p += strcspn(p, "/")) {
        p++;
        if (*p == '/' || *p == '\0' || strcmp(p, ".") == 0 || strncmp(p, "./", 2) == 0)
            return false;
    }
    return path[0] == '/';
}

/* Makes the missing groups above `path`. They do not record the time of their creation, so that the
 * same input gives the same bytes. */
static int create_groups(hid_t file, const char *path)
{
    const hid_t gcpl = H5Pcreate(H5P_GROUP_CREATE);
    char *part = gcb_strdup(path);
    int err = part && H5Pset_obj_track_times(gcpl, 0) >= 0 ? 0 : GCB_E_NOMEM;

    for (char *end = part; !err && (end = strchr(end + 1, '/')) != NULL; *end = '/') {
        hid_t group;

        *end = '\0';
        if (H5Lexists(file, part, H5P_DEFAULT) > 0)
            continue;
        group = H5Gcreate2(file, part, H5P_DEFAULT, gcpl, H5P_DEFAULT);
        err = group < 0 ? GCB_E_INVALID : 0;
        H5Gclose(group);
    }
    gcb_free(part);
    H5Pclose(gcpl);
    return err;
}

/* Makes a dataset and the groups above it. HDF5 assigns a place in the file to the dataset, but
 * writes nothing there. Returns a negative id on failure. */
static hid_t create_set(hid_t file, const char *path, hid_t type, hid_t space)
{
    const hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE);
    hid_t id = -1;

    if (create_groups(file, path) == 0 && H5Pset_obj_track_times(dcpl, 0) >= 0 &&
        H5Pset_alloc_time(dcpl, H5D_ALLOC_TIME_EARLY) >= 0 &&
        H5Pset_fill_time(dcpl, H5D_FILL_TIME_NEVER) >= 0)
        id = H5Dcreate2(file, path, type, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    H5Pclose(dcpl);
    return id;
}

/* Sets "FILE: NAME WHY" for a dataset or attribute that cannot be made. The file is never committed
 * after this. Returns GCB_E_INVALID. */
static int refuse(struct gcb_h5out *f, const char *name, const char *why, struct gcb_diag *diag)
{
    char shown[160];

    f->failed = true;
    return gcb_invalid(diag, "%s: %s %s", f->shown, gcb_escape(shown, sizeof(shown), name), why);
}

static const char no_set[] = "exists already, is too large, or has a name HDF5 refuses";
static const char no_attribute[] =
    "is an attribute that exists already, is longer than 65000 bytes, or has no object";

/* Sets *out to the size of a dataset in bytes. Returns GCB_E_INVALID if it is above INT64_MAX. */
static int find_set_size(uint64_t *out, hid_t type, unsigned rank, const uint64_t *dims)
{
    uint64_t bytes = H5Tget_size(type);

    for (unsigned i = 0; i < rank; i++)
        if (__builtin_mul_overflow(bytes, dims[i], &bytes))
            return GCB_E_INVALID;
    *out = bytes;
    return bytes <= INT64_MAX ? 0 : GCB_E_INVALID;
}

int gcb_h5out_set(struct gcb_h5out *f, const char *path, hid_t type, unsigned rank,
                  const uint64_t *dims, struct gcb_diag *diag)
{
    hsize_t extent[GCB_MAX_RANK];
    hid_t space, set;
    haddr_t at;
    int err;

    if (!gcb_h5path_plain(path) || rank > GCB_MAX_RANK || find_set_size(&f->left, type, rank, dims))
        return refuse(f, path, no_set, diag);
    err = check_limit(f, f->left, diag);
    if (!err && (gcb_h5file_room(diag) ||
                 gcb_grow(&f->direct, &f->direct_cap, f->direct_count, sizeof(*f->direct))))
        err = fail(f, GCB_E_NOMEM, "out of memory", diag);
    if (err)
        return err;
    for (unsigned i = 0; i < rank; i++)
        extent[i] = dims[i];
    space = rank ? H5Screate_simple((int)rank, extent, NULL) : H5Screate(H5S_SCALAR);
    set = create_set(f->file, path, type, space);
    H5Sclose(space);
    if (set < 0)
        return refuse(f, path, no_set, diag);
    at = H5Dget_offset(set);
    H5Dclose(set);
    if (f->left == 0)
        return 0; /* HDF5 stores nothing for an empty dataset */
    if (at == HADDR_UNDEF)
        return fail(f, GCB_E_INTERNAL, "HDF5 assigned no place in the file", diag);
    f->at = at;
    f->direct[f->direct_count++] = (struct gcb_h5extent){at, at + f->left};
    return 0;
}

int gcb_h5out_append(struct gcb_h5out *f, const void *bytes, size_t n, struct gcb_diag *diag)
{
    int err;

    if (n > f->left)
        return fail(f, GCB_E_INTERNAL, "a dataset got more bytes than it has room for", diag);
    err = write_all(f->disk, bytes, n, f->at);
    if (err)
        return fail(f, GCB_E_IO, strerror(err), diag);
    f->at += n;
    f->left -= n;
    return 0;
}

int gcb_h5out_value(struct gcb_h5out *f, const char *object, const char *name, hid_t file_type,
                    hid_t memory_type, const void *value, struct gcb_diag *diag)
{
    const hid_t space = H5Screate(H5S_SCALAR);
    const hid_t attribute = H5Acreate_by_name(f->file, object, name, file_type, space, H5P_DEFAULT,
                                              H5P_DEFAULT, H5P_DEFAULT);
    bool good = attribute > 0 && H5Awrite(attribute, memory_type, value) >= 0;

    good = H5Aclose(attribute) >= 0 && good;
    H5Sclose(space);
    return good ? 0 : refuse(f, name, no_attribute, diag);
}

int gcb_h5out_note(struct gcb_h5out *f, const char *object, const char *name, const char *text,
                   struct gcb_diag *diag)
{
    const hid_t type = H5Tcopy(H5T_C_S1);
    int err;

    if (strlen(text) > MAX_TEXT)
        err = refuse(f, name, no_attribute, diag);
    else if (H5Tset_size(type, strlen(text) + 1) >= 0 && H5Tset_cset(type, H5T_CSET_UTF8) >= 0)
        err = gcb_h5out_value(f, object, name, type, type, text, diag);
    else
        err = fail(f, GCB_E_INTERNAL, "HDF5 cannot make a text type", diag);
    H5Tclose(type);
    return err;
}

int gcb_h5out_number(struct gcb_h5out *f, const char *object, const char *name, double value,
                     struct gcb_diag *diag)
{
    return gcb_h5out_value(f, object, name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, &value, diag);
}

/* ---- completing the file ---- */

/* Copies the bytes [from, to) of the file in memory to the same place on disk. `buffer` has
 * COPY_BYTES bytes. Returns 0 or errno. */
static int copy_bytes(struct gcb_h5out *f, void *buffer, uint64_t from, uint64_t to)
{
    int err = 0;

    while (from < to && !err) {
        const size_t want = to - from < COPY_BYTES ? (size_t)(to - from) : COPY_BYTES;
        const ssize_t got = pread(f->memory, buffer, want, (off_t)from);

        if (got <= 0)
            return got < 0 ? errno : EIO;
        err = write_all(f->disk, buffer, (size_t)got, from);
        from += (uint64_t)got;
    }
    return err;
}

static int by_start(const void *a, const void *b)
{
    const struct gcb_h5extent *x = a, *y = b;

    return (x->from > y->from) - (x->from < y->from);
}

/* Copies everything except the datasets' bytes from memory to disk. Returns 0 or errno. */
static int copy_metadata(struct gcb_h5out *f, void *buffer)
{
    uint64_t at = 0;
    struct stat s;
    int err = 0;

    if (f->direct_count)
        qsort(f->direct, f->direct_count, sizeof(*f->direct), by_start);
    for (size_t i = 0; i < f->direct_count && !err; i++) {
        err = copy_bytes(f, buffer, at, f->direct[i].from);
        at = f->direct[i].to;
    }
    if (err)
        return err;
    if (fstat(f->memory, &s) != 0)
        return errno;
    err = copy_bytes(f, buffer, at, (uint64_t)s.st_size);
    if (err)
        return err;
    return ftruncate(f->disk, s.st_size) == 0 ? 0 : errno;
}

/* Closes HDF5's file in memory. Returns GCB_E_NOMEM if that fails, because only a lack of memory
 * makes H5Fclose fail here. */
static int close_file(struct gcb_h5out *f)
{
    const hid_t file = f->file;

    f->file = 0;
    return H5Fclose(file) < 0 ? GCB_E_NOMEM : 0;
}

int gcb_h5out_commit(struct gcb_h5out *f, struct gcb_diag *diag)
{
    void *buffer;
    int err;

    if (f->failed)
        return fail(f, GCB_E_IO, "an earlier error left it incomplete", diag);
    err = check_limit(f, 0, diag);
    if (!err)
        err = gcb_h5file_room(diag);
    if (err)
        return err;
    if (close_file(f))
        return fail(f, GCB_E_NOMEM, "HDF5 cannot close the file", diag);
    buffer = gcb_alloc(COPY_BYTES);
    if (!buffer)
        return gcb_diag_nomem(diag, COPY_BYTES, "writing a file");
    err = copy_metadata(f, buffer);
    gcb_free(buffer);
    if (err)
        return fail(f, GCB_E_IO, strerror(err), diag);
    return gcb_outfile_commit(&f->out, diag);
}

void gcb_h5out_destroy(struct gcb_h5out *f)
{
    if (!f)
        return;
    if (f->file > 0)
        close_file(f);
    if (f->memory >= 0)
        close(f->memory);
    if (f->disk >= 0)
        close(f->disk);
    gcb_outfile_fini(&f->out);
    gcb_free(f->direct);
    gcb_free(f);
}
