#include "src/tool/read/infile.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "src/lib/base/text.h"
#include "src/tool/base/host.h"
#include "src/tool/read/reader.h"

/* NAMES: bytes of a message that are kept for the names of file and dataset and the separators.
 * DATASET: the part of them for the dataset's name. A cause may end with what to do, so long names
 * are cut to leave room for the cause. */
enum { NAMES = 56, DATASET = 40 };

enum { MAX_INFLATION = 1100 }; /* largest ratio of a dataset's bytes to its stored bytes */

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

int gcb_infile_fail(const struct gcb_infile *file, const char *dataset, int status,
                    struct gcb_diag *diag, const char *format, ...)
{
    const char *path = file->path ? file->path : "";
    char cause[GCB_DIAG_TEXT - NAMES];
    char name[112], set[200] = ""; /* the longest names of file and dataset that are shown */
    size_t room, used = strlen(gcb_escape(name, sizeof(name), path));
    va_list args;

    va_start(args, format);
    vsnprintf(cause, sizeof(cause), format, args);
    va_end(args);
    room = GCB_DIAG_TEXT - strlen(": : ") - strlen(cause); /* for both names and the terminator */
    if (dataset) { /* its name gets the bytes that the file's name leaves, at least DATASET */
        const size_t left = room < used + DATASET ? DATASET : room - used;

        gcb_escape(set, smaller(left, sizeof(set)), dataset);
    }
    gcb_escape(name, smaller(room - strlen(set), sizeof(name)), path);
    return gcb_diag_set(diag, status, "%s: %s%s%s", name, set, dataset ? ": " : "", cause);
}

/* Checks that the path is a regular file, and sets f->found and f->size. Readers seek, so reading a
 * pipe or device would hang or give wrong data. */
static int check_regular(struct gcb_infile *f, struct gcb_diag *diag)
{
    struct stat *st = &f->found;

    if (!*f->path)
        return gcb_diag_set(diag, GCB_E_IO, "the file name is empty");
    if (stat(f->path, st) != 0)
        return gcb_infile_fail(
            f, NULL, GCB_E_IO, diag, "%s%s", strerror(errno),
            strchr(f->path, '%') ? "; a file in several parts is named by its first part" : "");
    if (S_ISDIR(st->st_mode))
        return gcb_infile_fail(f, NULL, GCB_E_INVALID, diag,
                               "is a folder; give the files in it instead");
    if (!S_ISREG(st->st_mode))
        return gcb_infile_fail(f, NULL, GCB_E_INVALID, diag, "not a regular file");
    f->size = (uint64_t)st->st_size;
    return 0;
}

int gcb_infile_check_lock(const struct gcb_infile *file, int descriptor, struct gcb_diag *diag)
{
    if (flock(descriptor, LOCK_SH | LOCK_NB) == 0)
        flock(descriptor, LOCK_UN);
    else if (errno == EWOULDBLOCK)
        return gcb_infile_fail(file, NULL, GCB_E_IO, diag,
                               "another program has it open and may be writing it; close the file "
                               "there, or wait until that program ends");
    return 0;
}

/* Finds the reader of the file. If there is none, says what the file is and what to do. */
static int find_reader(struct gcb_infile *f, const struct gcb_reader *const *readers,
                       int descriptor, struct gcb_diag *diag)
{
    struct gcb_filekind kind;
    char names[96] = "";
    int err = 0;

    if (f->size == 0) {
        err = gcb_infile_check_lock(f, descriptor, diag);
        return err ? err : gcb_infile_fail(f, NULL, GCB_E_CORRUPT, diag, "the file is empty");
    }
    for (size_t i = 0; readers[i]; i++) {
        if (readers[i]->probe(descriptor, f->size)) {
            f->reader = readers[i];
            return 0;
        }
        gcb_append(names, sizeof(names), "%s%s",
                   i == 0           ? ""
                   : readers[i + 1] ? ", "
                                    : " or ",
                   readers[i]->name);
    }
    kind = gcb_filekind_find(descriptor);
    if (!kind.name)
        return gcb_infile_fail(f, NULL, GCB_E_CORRUPT, diag, "not an %s file", names);
    return gcb_infile_fail(f, NULL, GCB_E_CORRUPT, diag, "not an %s file, but %s%s%s", names,
                           kind.name, kind.advice[0] ? "; " : "", kind.advice);
}

int gcb_infile_find(struct gcb_infile *out, const char *path,
                    const struct gcb_reader *const *readers, const struct gcb_read_limits *limits,
                    struct gcb_diag *diag)
{
    int descriptor, err;

    *out = (struct gcb_infile){.path = path, .limits = *limits};
    if (out->limits.max_bytes == 0)
        out->limits.max_bytes = gcb_host_memory() / 2;
    if (out->limits.max_bytes == 0) /* the memory size is unknown: allow 4 GiB */
        out->limits.max_bytes = UINT64_C(4) << 30;
    if (out->limits.seconds == 0)
        out->limits.seconds = 20;
    err = check_regular(out, diag);
    if (err)
        return err;
    descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0)
        return gcb_infile_fail(out, NULL, GCB_E_IO, diag, "%s", strerror(errno));
    err = find_reader(out, readers, descriptor, diag);
    close(descriptor);
    return err;
}

int gcb_infile_check(const struct gcb_infile *file, int descriptor, const char *dataset,
                     struct gcb_diag *diag)
{
    const struct stat *a = &file->found;
    struct stat b;

    if (fstat(descriptor, &b) == 0 && a->st_dev == b.st_dev && a->st_ino == b.st_ino &&
        a->st_size == b.st_size && a->st_mtim.tv_sec == b.st_mtim.tv_sec &&
        a->st_mtim.tv_nsec == b.st_mtim.tv_nsec)
        return 0;
    return gcb_infile_fail(
        file, dataset, GCB_E_CORRUPT, diag,
        "changed since it was listed; do not write to the file while gcbench reads it");
}

int gcb_infile_read(const struct gcb_infile *file, int descriptor, const char *dataset, uint64_t at,
                    void *out, size_t size, struct gcb_diag *diag)
{
    for (size_t done = 0; done < size;) {
        const ssize_t n = at > file->size ? 0
                                          : pread(descriptor, (uint8_t *)out + done, size - done,
                                                  (off_t)(at + done));

        if (n < 0 && errno != EINTR)
            return gcb_infile_fail(file, dataset, GCB_E_IO, diag, "%s", strerror(errno));
        if (n == 0)
            return gcb_infile_fail(file, dataset, GCB_E_CORRUPT, diag, "the file was cut short");
        done += n > 0 ? (size_t)n : 0;
    }
    return 0;
}

int gcb_infile_check_size(const struct gcb_infile *file, const char *dataset, uint64_t bytes,
                          uint64_t stored, struct gcb_diag *diag)
{
    const uint64_t most = file->limits.max_bytes;

    if (bytes > GCB_READ_SMALL && bytes / MAX_INFLATION > stored)
        return gcb_infile_fail(file, dataset, GCB_E_CORRUPT, diag,
                               "declares %" PRIu64 " bytes but stores %" PRIu64, bytes, stored);
    if (bytes > most)
        return gcb_infile_fail(file, dataset, GCB_E_NOMEM, diag,
                               "%" PRIu64 " bytes, more than --max-bytes %" PRIu64, bytes, most);
    return 0;
}

void gcb_infile_trace(const struct gcb_infile *file, const char *path)
{
    struct gcb_trace *t = file->trace;

    if (!t)
        return;
    if (path)
        snprintf(t->path, sizeof(t->path), "%s", path);
    __atomic_add_fetch(&t->steps, 1, __ATOMIC_RELAXED);
}
