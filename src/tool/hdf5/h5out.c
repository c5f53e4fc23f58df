#include "src/tool/hdf5/h5out_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"

#define META_RESERVE ((uint64_t)1 << 20) /* what metadata may add to a file between two datasets */
#define COPY_BYTES ((size_t)64 << 10)

int gcb_h5out_fail(struct gcb_h5out *f, int status, const char *why, struct gcb_diag *diag)
{
    f->failed = true;
    return gcb_diag_set(diag, status, "%s: cannot be written: %s", f->shown, why);
}

int gcb_h5out_write(int fd, const void *bytes, size_t n, uint64_t at)
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

int gcb_h5out_check_limit(struct gcb_h5out *f, uint64_t more, struct gcb_diag *diag)
{
    struct rlimit limit;
    hsize_t now = 0;

    if (f->file && H5Fget_filesize(f->file, &now) < 0)
        return gcb_h5out_fail(f, GCB_E_INTERNAL, "HDF5 does not tell its size", diag);
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return 0;
    if (more > limit.rlim_cur || now + META_RESERVE > limit.rlim_cur - more)
        return gcb_h5out_fail(f, GCB_E_IO, "the limit on file sizes (ulimit -f) would be passed",
                              diag);
    return 0;
}

/* The format of HDF5 1.8: all metadata carry checksums, so damage is found before it is believed. */
static hid_t access_list(void)
{
    const hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);

    if (fapl >= 0 && H5Pset_libver_bounds(fapl, H5F_LIBVER_V18, H5F_LIBVER_V18) >= 0)
        return fapl;
    if (fapl >= 0)
        H5Pclose(fapl);
    return -1;
}

/*
 * Copies the bytes of a file that is in memory. H5Fget_file_image would do it, but clears a flag in the
 * first block and leaves the checksum over it as it was.
 */
static size_t copy_image(hid_t file, void *image, size_t size)
{
    hsize_t n = 0;
    void *handle;

    if (H5Fflush(file, H5F_SCOPE_GLOBAL) < 0 || H5Fget_filesize(file, &n) < 0 || n > size ||
        H5Fget_vfd_handle(file, H5P_DEFAULT, &handle) < 0)
        return 0;
    memcpy(image, *(void **)handle, (size_t)n);
    return (size_t)n;
}

/* The bytes of an empty HDF5 file; returns how many, or 0. */
static size_t empty_image(hid_t fapl, void *image, size_t size)
{
    const hid_t fcpl = H5Pcreate(H5P_FILE_CREATE), core = H5Pcopy(fapl);
    hid_t file = -1;
    size_t n = 0;

    if (fcpl >= 0 && core >= 0 && H5Pset_obj_track_times(fcpl, 0) >= 0 &&
        H5Pset_fapl_core(core, size, 0) >= 0)
        file = H5Fcreate("empty", H5F_ACC_TRUNC, fcpl, core);
    if (file >= 0) {
        n = copy_image(file, image, size);
        H5Fclose(file);
    }
    if (fcpl >= 0)
        H5Pclose(fcpl);
    if (core >= 0)
        H5Pclose(core);
    return n;
}

/*
 * HDF5 insists on a file with a name. So it opens an empty one of ours, in which it only marks that it is
 * open, and then the file in memory slips under its descriptor. Returns errno.
 */
static int start_with(struct gcb_h5out *f, hid_t fapl)
{
    uint8_t image[8192];
    const size_t n = empty_image(fapl, image, sizeof(image));
    void *handle;
    int err = n ? gcb_h5out_write(f->disk, image, n, 0) : ENOMEM;

    if (!err)
        err = gcb_h5out_write(f->memory, image, n, 0);
    if (err)
        return err;
    errno = 0;
    f->file = H5Fopen(f->out.temp_path, H5F_ACC_RDWR, fapl);
    if (f->file < 0 || H5Fget_vfd_handle(f->file, H5P_DEFAULT, &handle) < 0)
        return errno ? errno : EIO;
    return dup2(f->memory, *(int *)handle) < 0 ? errno : 0;
}

static int start(struct gcb_h5out *f)
{
    const hid_t fapl = access_list();
    int err;

    if (fapl < 0)
        return ENOMEM;
    f->disk = open(f->out.temp_path, O_WRONLY | O_CLOEXEC);
    f->memory = memfd_create("gcbench", MFD_CLOEXEC);
    err = f->disk < 0 || f->memory < 0 ? errno : start_with(f, fapl);
    H5Pclose(fapl);
    return err;
}

int gcb_h5out_init(struct gcb_h5out *f, const char *path, bool force, const char *const *inputs,
                   size_t input_count, struct gcb_diag *diag)
{
    int err, why;

    *f = (struct gcb_h5out){.memory = -1, .disk = -1};
    gcb_escape(f->shown, sizeof(f->shown), path);
    err = gcb_outfile_init(&f->out, path, force, inputs, input_count, diag);
    if (!err)
        err = gcb_h5out_check_limit(f, 0, diag);
    if (err)
        goto out;
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    why = start(f);
    if (why)
        err = gcb_h5out_fail(f, GCB_E_IO, strerror(why), diag);
out:
    if (err)
        gcb_h5out_fini(f);
    return err;
}

/* Copies the bytes [from, to) of the file in memory to their place on disk. Returns errno. */
static int copy_bytes(struct gcb_h5out *f, void *buffer, uint64_t from, uint64_t to)
{
    int err = 0;

    while (from < to && !err) {
        const size_t want = to - from < COPY_BYTES ? (size_t)(to - from) : COPY_BYTES;
        const ssize_t got = pread(f->memory, buffer, want, (off_t)from);

        if (got <= 0)
            return got < 0 ? errno : EIO;
        err = gcb_h5out_write(f->disk, buffer, (size_t)got, from);
        from += (uint64_t)got;
    }
    return err;
}

static int by_start(const void *a, const void *b)
{
    const struct gcb_h5extent *x = a, *y = b;

    return (x->from > y->from) - (x->from < y->from);
}

/* Copies what is not a dataset's bytes, up to the file's end. Returns errno. */
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

/* Only an error of memory can stop HDF5 here. */
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
        return gcb_h5out_fail(f, GCB_E_IO, "an earlier error left it incomplete", diag);
    err = gcb_h5out_check_limit(f, 0, diag);
    if (err)
        return err;
    if (close_file(f))
        return gcb_h5out_fail(f, GCB_E_NOMEM, "HDF5 cannot close the file", diag);
    buffer = gcb_alloc(COPY_BYTES);
    if (!buffer)
        return gcb_diag_nomem(diag, COPY_BYTES, "writing a file");
    err = copy_metadata(f, buffer);
    gcb_free(buffer);
    if (err)
        return gcb_h5out_fail(f, GCB_E_IO, strerror(err), diag);
    return gcb_outfile_commit(&f->out, diag);
}

void gcb_h5out_fini(struct gcb_h5out *f)
{
    if (f->file > 0)
        close_file(f);
    if (f->memory > 0)
        close(f->memory);
    if (f->disk > 0)
        close(f->disk);
    gcb_outfile_fini(&f->out);
    gcb_free(f->direct);
    *f = (struct gcb_h5out){0};
}
