#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"
#include "src/tool/read/hdf5.h"

/* Buffer for the cause of an error of HDF5. */
struct cause {
    char *out;
    size_t size;
};

/* Copies the first error that H5Ewalk2 visits, which is the innermost error. */
static herr_t take_first(unsigned n, const H5E_error2_t *error, void *ctx)
{
    const struct cause *c = ctx;

    if (error->desc && error->desc[0])
        gcb_escape(c->out, c->size, error->desc);
    return 1;
}

char *gcb_h5file_cause(char *out, size_t size)
{
    struct cause c = {out, size};

    snprintf(out, size, "no details");
    (void)H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take_first, &c);
    return out;
}

static herr_t refuse_external(const char *parent_file, const char *parent_group,
                              const char *child_file, const char *child_object, unsigned *flags,
                              hid_t fapl, void *ctx)
{
    (void)parent_file, (void)parent_group, (void)child_file, (void)child_object;
    (void)flags, (void)fapl, (void)ctx;
    return -1;
}

/*
 * Lets HDF5 open no external links, and look for external files below /dev/null, where there are
 * none. This is a second barrier, in case hdf5_vet.c overlooks something. Returns false on failure.
 */
static bool set_barriers(hid_t list)
{
    return H5Pset_elink_cb(list, refuse_external, NULL) >= 0 &&
           H5Pset_efile_prefix(list, "/dev/null") >= 0 &&
           H5Pset_virtual_prefix(list, "/dev/null") >= 0;
}

/*
 * Makes the property list of struct gcb_h5file, or returns a negative id. The list turns the chunk
 * cache off, because each chunk is read only once, and for safety. Without the cache, HDF5 reads as
 * many bytes of an unfiltered chunk as the chunk's shape needs. With the cache, HDF5 reads as many
 * bytes as the file's index says. Then it uses the whole chunk, even if it read fewer bytes
 * (1.10.8, seen under AddressSanitizer).
 */
static hid_t access_list(bool allow_external)
{
    const hid_t list = H5Pcreate(H5P_DATASET_ACCESS);

    if (list < 0)
        return list;
    if (H5Pset_chunk_cache(list, 0, 0, 1.0) < 0 || (!allow_external && !set_barriers(list))) {
        H5Pclose(list);
        return H5I_INVALID_HID;
    }
    return list;
}

/* Writes the version of the HDF5 library in use, such as "1.10.8". Returns out. */
static const char *library_version(char out[32])
{
    unsigned a = 0, b = 0, c = 0;

    H5get_libversion(&a, &b, &c);
    snprintf(out, 32, "%u.%u.%u", a, b, c);
    return out;
}

int gcb_h5file_damaged(const struct gcb_infile *file, const char *dataset, const char *what,
                       struct gcb_diag *diag)
{
    char cause[160], version[32];

    gcb_h5file_cause(cause, sizeof(cause));
    if (!strstr(cause, "version number"))
        return gcb_infile_fail(file, dataset, GCB_E_CORRUPT, diag, "%s (%s)", what, cause);
    /* HDF5 found a version number that it does not know in some structure of the file */
    return gcb_infile_fail(file, dataset, GCB_E_CORRUPT, diag,
                           "damaged, or written by a newer HDF5 than gcbench's %s; a new h5py may "
                           "rewrite it: " GCB_CONVERT,
                           library_version(version));
}

/* Sets the message for a file that has an HDF5 signature but cannot be opened. First looks
 * at locks and the superblock, because HDF5's own messages do not name these causes. Returns a
 * negative status. */
static int explain_open(const struct gcb_infile *f, const char *path, struct gcb_diag *diag)
{
    /* VERSION and FLAGS are offsets in the superblock. The flags say that the file is open for
     * writing (bit 0), perhaps with readers (bit 2). A version of 16 or more is taken as damage. */
    enum { VERSION = 8, FLAGS = 11, BEING_WRITTEN = 5, VERSION_DAMAGED = 16 };
    uint8_t first[2048] = {0};
    uint64_t begin = 0;
    const int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    const bool found = gcb_filekind_hdf5(descriptor, f->size, &begin);
    const ssize_t n = found ? pread(descriptor, first, sizeof(first), (off_t)begin) : 0;
    const int err = n > 0 ? gcb_infile_check_lock(f, descriptor, diag) : 0;
    char text[160];

    close(descriptor);
    if (err)
        return err;
    if (first[VERSION] == 3 && first[FLAGS] & BEING_WRITTEN)
        return gcb_infile_fail(
            f, NULL, GCB_E_IO, diag,
            "marked as being written: close it in the program that writes it. If that program has "
            "ended without closing it: h5clear -s FILE (Debian package hdf5-tools)");
    if (first[VERSION] > 3 && first[VERSION] < VERSION_DAMAGED)
        return gcb_infile_fail(
            f, NULL, GCB_E_UNSUPPORTED, diag,
            "written by a newer HDF5 than gcbench's %s; rewrite it with a new h5py: " GCB_CONVERT,
            library_version(text));
    if (n > 0 &&
        (memmem(first, (size_t)n, "NCSAfami", 8) || memmem(first, (size_t)n, "NCSAmult", 8)))
        return gcb_infile_fail(
            f, NULL, GCB_E_UNSUPPORTED, diag,
            "one part of a file that HDF5 divided into several; join them: " GCB_CONVERT);
    if (strstr(gcb_h5file_cause(text, sizeof(text)), "lock file"))
        return gcb_infile_fail(f, NULL, GCB_E_IO, diag,
                               "its file system does not lock files (%s); copy it to a local disk",
                               text);
    return gcb_h5file_damaged(f, NULL, "damaged or cut short", diag);
}

#define ROOM ((size_t)4 << 20) /* bytes; HDF5 takes 1 MB when it starts and opens a file */

int gcb_h5file_room(struct gcb_diag *diag)
{
    return gcb_has_room(1, ROOM) ? 0 : gcb_diag_nomem(diag, ROOM, "HDF5");
}

int gcb_h5file_prepare(struct gcb_diag *diag)
{
    const int err = gcb_h5file_room(diag);

    if (err)
        return err;
    /* HDF5 must not run code when the program ends, because that code crashes after a failed
     * H5Fclose. gcbench does not need that code, because gcbench closes each file that it
     * writes. The call has an effect only before HDF5 starts. */
    H5dont_atexit();
    /* These settings hold for the whole process. Other users of HDF5 may have changed them, so this
     * function makes them each time. */
    if (H5Eset_auto2(H5E_DEFAULT, NULL, NULL) < 0 || H5PLset_loading_state(0) < 0 ||
        !gcb_h5lzf_register())
        return gcb_diag_set(diag, GCB_E_INTERNAL, "HDF5 cannot be initialised");
    return 0;
}

int gcb_h5file_open(void **state, const struct gcb_infile *in, const char *path,
                    struct gcb_diag *diag)
{
    struct gcb_h5file *f = gcb_alloc_zero(1, sizeof(*f));
    void *handle;
    int err;

    *state = f;
    if (!f)
        return gcb_diag_nomem(diag, sizeof(*f), "reading a file");
    f->in = in;
    f->access = access_list(in->limits.allow_external);
    if (f->access < 0)
        return gcb_infile_fail(in, NULL, GCB_E_NOMEM, diag, "HDF5 cannot make a property list");
    f->id = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    if (f->id < 0)
        return explain_open(in, path, diag);
    if (H5Fget_vfd_handle(f->id, H5P_DEFAULT, &handle) < 0)
        return gcb_infile_fail(in, NULL, GCB_E_INTERNAL, diag, "HDF5 gives no file descriptor");
    err = gcb_infile_check(in, *(const int *)handle, NULL, diag);
    if (err)
        return err;
    if (!gcb_h5attr_sound(f->id))
        return gcb_infile_fail(in, "/", GCB_E_CORRUPT, diag, "its attributes are damaged");
    return 0;
}

void gcb_h5file_close(void *state)
{
    struct gcb_h5file *f = state;

    if (!f)
        return;
    H5Pclose(f->access);
    H5Fclose(f->id);
    gcb_free(f);
}
