#include "src/tool/read/hdf5_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"
#include "src/tool/base/host.h"
#include "src/tool/read/hdf5_attr.h"

/* A message ends with what to do, so its names are cut before its cause is, which has this room. */
enum { NAMES = 56, CAUSE = GCB_DIAG_TEXT - NAMES };
_Static_assert(CAUSE > GCB_H5_WORDS + GCB_ADVICE, "no command is cut");
_Static_assert(CAUSE > 40 + sizeof(", not HDF5; ") + sizeof(((struct gcb_filekind *)NULL)->advice),
               "no advice is cut");

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Sets a message to which `more` bytes will be added. The dataset's name gets the bytes that
 * the file's name leaves, and at least 40. */
static int set_message(const struct gcb_h5file *file, const char *dataset, int status,
                       struct gcb_diag *diag, const char *cause, size_t more)
{
    const size_t room =
        GCB_DIAG_TEXT - strlen(": : ") - strlen(cause) - more; /* with a zero byte */
    const char *path = file->path ? file->path : "";
    char name[GCB_H5_SHOWN], set[200] = "";
    size_t used = strlen(gcb_escape(name, sizeof(name), path));

    if (dataset)
        gcb_escape(set, room < used + 40 ? 40 : smaller(room - used, sizeof(set)), dataset);
    gcb_escape(name, smaller(room - strlen(set), sizeof(name)), path);
    return gcb_diag_set(diag, status, "%s: %s%s%s", name, set, dataset ? ": " : "", cause);
}

int gcb_h5file_fail(const struct gcb_h5file *file, const char *dataset, int status,
                    struct gcb_diag *diag, const char *format, ...)
{
    char cause[CAUSE];
    va_list args;

    va_start(args, format);
    vsnprintf(cause, sizeof(cause), format, args);
    va_end(args);
    return set_message(file, dataset, status, diag, cause, 0);
}

int gcb_h5file_fail_convert(const struct gcb_h5file *file, const char *dataset, int status,
                            struct gcb_diag *diag, const char *format, ...)
{
    char words[GCB_H5_WORDS - 2], cause[GCB_H5_WORDS];
    va_list args;

    va_start(args, format);
    vsnprintf(words, sizeof(words), format, args);
    va_end(args);
    snprintf(cause, sizeof(cause), "%s: ", words);
    set_message(file, dataset, status, diag, cause, GCB_ADVICE);
    /* a child may not look for the converter, so its parent completes the message */
    if (!file->trace)
        gcb_h5file_complete(file, diag);
    return status;
}

void gcb_h5file_complete(const struct gcb_h5file *file, struct gcb_diag *diag)
{
    char command[GCB_ADVICE];
    size_t n = diag ? strlen(diag->text) : 0;

    if (n > 2 && strcmp(diag->text + n - 2, ": ") == 0)
        gcb_append(diag->text, sizeof(diag->text), "%s", gcb_advice_convert(command, file->path));
}

struct cause {
    char *out;
    size_t size;
};

/* Copies the first error that H5Ewalk2 visits, which is the innermost error. */
static herr_t take_first(unsigned n, const H5E_error2_t *error, void *ctx)
{
    const struct cause *c = ctx;

    (void)n;
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
 * A second barrier, in case the checks overlook something: external links do not open, and HDF5 looks for external
 * files below /dev/null, where none can be.
 */
static bool set_barriers(hid_t list)
{
    return H5Pset_elink_cb(list, refuse_external, NULL) >= 0 &&
           H5Pset_efile_prefix(list, "/dev/null") >= 0 &&
           H5Pset_virtual_prefix(list, "/dev/null") >= 0;
}

/*
 * Turns the chunk cache off, because each chunk is read only once, and for safety. Without the cache, HDF5 reads as
 * many bytes of an unfiltered chunk as the chunk's shape needs. With the cache, HDF5 reads as many bytes as the file's
 * index says, and then uses the whole chunk even if it read fewer bytes (1.10.8, seen under AddressSanitizer).
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

/* Checks that the path is a regular file. HDF5 seeks, so reading a pipe or device would hang or give wrong data. */
static int check_regular(struct gcb_h5file *f, const char *path, struct gcb_diag *diag)
{
    struct stat *st = &f->found;

    if (!*path)
        return gcb_diag_set(diag, GCB_E_IO, "the file name is empty");
    if (stat(path, st) != 0)
        return gcb_h5file_fail(
            f, NULL, GCB_E_IO, diag, "%s%s", strerror(errno),
            strchr(path, '%') ? "; a file in several parts is named by its first part" : "");
    if (S_ISDIR(st->st_mode))
        return gcb_h5file_fail(f, NULL, GCB_E_INVALID, diag,
                               "is a folder; give the files in it instead");
    if (!S_ISREG(st->st_mode))
        return gcb_h5file_fail(f, NULL, GCB_E_INVALID, diag, "not a regular file");
    f->size = (uint64_t)st->st_size;
    return 0;
}

/* ---- what the file is ---- */

/* Has another program locked the file, as HDF5 does while it writes? */
static bool is_locked(int descriptor)
{
    if (flock(descriptor, LOCK_SH | LOCK_NB) == 0) {
        flock(descriptor, LOCK_UN);
        return false;
    }
    return errno == EWOULDBLOCK;
}

static int fail_locked(const struct gcb_h5file *f, struct gcb_diag *diag)
{
    return gcb_h5file_fail(f, NULL, GCB_E_IO, diag,
                           "another program has it open and may be writing it; close the file "
                           "there, or wait until that program ends");
}

/* Checks that the file has an HDF5 signature. If not, says what the file is and what to do. */
static int check_kind(struct gcb_h5file *f, const char *path, int descriptor, struct gcb_diag *diag)
{
    struct gcb_filekind kind;

    if (f->size == 0)
        return is_locked(descriptor)
                   ? fail_locked(f, diag)
                   : gcb_h5file_fail(f, NULL, GCB_E_CORRUPT, diag, "the file is empty");
    if (gcb_filekind_hdf5(descriptor, f->size, &f->begin))
        return 0;
    gcb_filekind_find(&kind, descriptor, path);
    if (!kind.name)
        return gcb_h5file_fail(f, NULL, GCB_E_CORRUPT, diag, "not an HDF5 file");
    return gcb_h5file_fail(f, NULL, GCB_E_CORRUPT, diag, "%s, not HDF5%s%s", kind.name,
                           kind.advice[0] ? "; " : "", kind.advice);
}

int gcb_h5file_find(struct gcb_h5file *out, const char *path, const struct gcb_h5limits *limits,
                    struct gcb_diag *diag)
{
    int descriptor, err;

    *out = (struct gcb_h5file){.limits = *limits};
    if (out->limits.max_bytes == 0)
        out->limits.max_bytes = gcb_host_memory() / 2;
    if (out->limits.max_bytes == 0) /* the memory size is unknown */
        out->limits.max_bytes = UINT64_C(1) << 32;
    if (out->limits.seconds == 0)
        out->limits.seconds = 20;
    out->path = path;
    err = check_regular(out, path, diag);
    if (err)
        return err;
    descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0)
        return gcb_h5file_fail(out, NULL, GCB_E_IO, diag, "%s", strerror(errno));
    err = check_kind(out, path, descriptor, diag);
    close(descriptor);
    return err;
}

/* ---- opening ---- */

/* The version of the HDF5 library in use, such as "1.10.8". */
static const char *library_version(char out[32])
{
    unsigned a = 0, b = 0, c = 0;

    H5get_libversion(&a, &b, &c);
    snprintf(out, 32, "%u.%u.%u", a, b, c);
    return out;
}

int gcb_h5file_damaged(const struct gcb_h5file *file, const char *dataset, const char *what,
                       struct gcb_diag *diag)
{
    char cause[160], version[32];

    gcb_h5file_cause(cause, sizeof(cause));
    if (!strstr(cause, "version number"))
        return gcb_h5file_fail(file, dataset, GCB_E_CORRUPT, diag, "%s (%s)", what, cause);
    /* of a part of the file that the library does not know */
    return gcb_h5file_fail_convert(
        file, dataset, GCB_E_CORRUPT, diag,
        "damaged, or written by a newer HDF5 than gcbench's %s; a new h5py may rewrite it",
        library_version(version));
}

/* Says why the file, which has an HDF5 signature, cannot be opened. The bytes of the superblock tell what HDF5 does not. */
static int explain_open(const struct gcb_h5file *f, const char *path, int descriptor,
                        struct gcb_diag *diag)
{
    enum { VERSION = 8, FLAGS = 11, BEING_WRITTEN = 5 };
    uint8_t first[2048] = {0};
    const ssize_t n = pread(descriptor, first, sizeof(first), (off_t)f->begin);
    char text[GCB_ADVICE_WORD];

    if (n > 0 && is_locked(descriptor))
        return fail_locked(f, diag);
    if (first[VERSION] == 3 && first[FLAGS] & BEING_WRITTEN)
        return gcb_h5file_fail(
            f, NULL, GCB_E_IO, diag,
            "marked as being written: close it in the program that writes it. If that program has "
            "ended without closing it: h5clear -s %s (Debian package hdf5-tools)",
            gcb_advice_quote(text, path));
    if (first[VERSION] > 3 && first[VERSION] < 16)
        return gcb_h5file_fail_convert(
            f, NULL, GCB_E_UNSUPPORTED, diag,
            "written by a newer HDF5 than gcbench's %s; rewrite it with a new h5py",
            library_version(text));
    if (n > 0 &&
        (memmem(first, (size_t)n, "NCSAfami", 8) || memmem(first, (size_t)n, "NCSAmult", 8)))
        return gcb_h5file_fail_convert(
            f, NULL, GCB_E_UNSUPPORTED, diag,
            "one part of a file that HDF5 divided into several; join them");
    if (strstr(gcb_h5file_cause(text, sizeof(text)), "lock file"))
        return gcb_h5file_fail(f, NULL, GCB_E_IO, diag,
                               "its file system does not lock files (%s); copy it to a local disk",
                               text);
    return gcb_h5file_damaged(f, NULL, "damaged or cut short", diag);
}

static int fail_open(const struct gcb_h5file *f, const char *path, struct gcb_diag *diag)
{
    const int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    int err;

    if (descriptor < 0)
        return gcb_h5file_fail(f, NULL, GCB_E_IO, diag, "%s", strerror(errno));
    err = explain_open(f, path, descriptor, diag);
    close(descriptor);
    return err;
}

static int open_file(struct gcb_h5file *f, const char *path, struct gcb_diag *diag)
{
    void *handle;
    int err;

    f->access = access_list(f->limits.allow_external);
    if (f->access < 0)
        return gcb_h5file_fail(f, NULL, GCB_E_NOMEM, diag, "HDF5 cannot make a property list");
    f->id = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    if (f->id < 0)
        return fail_open(f, path, diag);
    if (H5Fget_vfd_handle(f->id, H5P_DEFAULT, &handle) < 0)
        return gcb_h5file_fail(f, NULL, GCB_E_INTERNAL, diag, "HDF5 gives no file descriptor");
    err = gcb_h5file_check(f, *(const int *)handle, NULL, diag);
    if (err)
        return err;
    if (!gcb_h5attr_sound(f->id))
        return gcb_h5file_fail(f, "/", GCB_E_CORRUPT, diag, "its attributes are damaged");
    return 0;
}

#define ROOM ((size_t)4 << 20) /* HDF5 takes 1 MB when it starts and opens a file */

int gcb_h5file_room(struct gcb_diag *diag)
{
    return gcb_has_room(1, ROOM) ? 0 : gcb_diag_nomem(diag, ROOM, "HDF5");
}

int gcb_h5file_prepare(struct gcb_diag *diag)
{
    const int err = gcb_h5file_room(diag);

    if (err)
        return err;
    /* At the program's end HDF5 closes what is open, and crashes after a failed H5Fclose. gcbench needs none of that: it
     * closes the files that it writes. Only the first call does something, because HDF5 has not started yet. */
    H5dont_atexit();
    /* Both settings hold for the whole process. Other users of HDF5 may have changed them, so set them each time. */
    if (H5Eset_auto2(H5E_DEFAULT, NULL, NULL) < 0 || H5PLset_loading_state(0) < 0)
        return gcb_diag_set(diag, GCB_E_INTERNAL, "HDF5 cannot be initialised");
    return 0;
}

int gcb_h5file_check(const struct gcb_h5file *file, int descriptor, const char *dataset,
                     struct gcb_diag *diag)
{
    const struct stat *a = &file->found;
    struct stat b;

    if (fstat(descriptor, &b) == 0 && a->st_dev == b.st_dev && a->st_ino == b.st_ino &&
        a->st_size == b.st_size && a->st_mtim.tv_sec == b.st_mtim.tv_sec &&
        a->st_mtim.tv_nsec == b.st_mtim.tv_nsec)
        return 0;
    return gcb_h5file_fail(
        file, dataset, GCB_E_CORRUPT, diag,
        "changed since it was listed; do not write to the file while gcbench reads it");
}

int gcb_h5file_open(struct gcb_h5file *file, const char *path, struct gcb_diag *diag)
{
    const int err = gcb_h5file_prepare(diag);

    return err ? err : open_file(file, path, diag);
}

void gcb_h5file_close(struct gcb_h5file *file)
{
    if (file->access > 0)
        H5Pclose(file->access);
    if (file->id > 0)
        H5Fclose(file->id);
    *file = (struct gcb_h5file){0};
}

void gcb_h5file_trace(const struct gcb_h5file *file, const char *path)
{
    struct gcb_h5trace *t = file->trace;

    if (!t)
        return;
    if (path)
        snprintf(t->path, sizeof(t->path), "%s", path);
    __atomic_add_fetch(&t->steps, 1, __ATOMIC_RELAXED);
}
