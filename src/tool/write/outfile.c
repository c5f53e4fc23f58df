#include "src/tool/write/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/lib/base/text.h"
#include "src/tool/base/memory.h"
#include "src/tool/base/temp.h"
#include "src/tool/base/tidy.h"

/* Takes the temporary file off the list of files to remove at exit. Call this function before
 * temp_path is freed. */
static void leave_tidy(struct gcb_outfile *out)
{
    if (out->temp_path)
        gcb_tidy_leave(out->place);
    out->place = -1;
}

/* Sets "PATH: WHY" and returns `status`. */
static int fail(struct gcb_diag *diag, int status, const char *path, const char *why)
{
    return gcb_diag_set(diag, status, "%s: %s", gcb_show(path).text, why);
}

static bool same_inode(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static bool is_input(const struct stat *s, const char *const *inputs, size_t count)
{
    struct stat in;

    for (size_t i = 0; i < count; i++)
        if (stat(inputs[i], &in) == 0 && same_inode(&in, s))
            return true;
    return false;
}

/* Checks that the file `path` may be written. If a file is to be replaced, sets out->exists and
 * out->old, its stat data. */
static int check_existing(struct gcb_outfile *out, const char *path, const char *const *inputs,
                          size_t input_count, struct gcb_diag *diag)
{
    struct stat s;

    if (strcmp(path, "-") == 0)
        return fail(
            diag, GCB_E_INVALID, path,
            "this output needs a file and does not go to standard output (a file of this name: "
            "./-)");
    if (*path == '\0')
        return gcb_invalid(diag, "the name of the file to write is empty");
    if (path[strlen(path) - 1] == '/')
        return fail(diag, GCB_E_INVALID, path, "names a folder; give the name of a file");
    if (lstat(path, &s) != 0)
        return errno == ENOENT ? 0 : fail(diag, GCB_E_IO, path, strerror(errno));
    out->exists = true;
    if (stat(path, &s) != 0)
        return fail(diag, GCB_E_INVALID, path,
                    "a link that leads nowhere; remove it or give another name");
    if (!S_ISREG(s.st_mode))
        return fail(diag, GCB_E_INVALID, path, "exists and is not a regular file");
    if (is_input(&s, inputs, input_count))
        return fail(diag, GCB_E_INVALID, path, "is an input as well; give another name");
    if (!out->replace)
        return fail(diag, GCB_E_INVALID, path, "exists; --force replaces it");
    out->old = s;
    return 0;
}

/* Gives the new file the owner, group and mode of the file that it replaces, as far as the system
 * permits. If the owner cannot be kept, the set-user-ID and set-group-ID bits are dropped. If the
 * group cannot be kept, the new file's group gets no rights. */
static void keep_access(int fd, const struct stat *old)
{
    const bool owned = fchown(fd, old->st_uid, old->st_gid) == 0;
    const bool grouped = owned || fchown(fd, (uid_t)-1, old->st_gid) == 0;
    const mode_t mode = old->st_mode & (owned ? 07777 : 0777);

    fchmod(fd, grouped ? mode : mode & ~(mode_t)070);
}

/* Most names that are tried for a temporary file: numbers of 1 to 4 digits end the names. */
enum { TRIES = 10000 };

/* Makes the file ".gcbench-HOST-PID-N" in the folder of final_path, and writes its path to `temp`,
 * which has room for the path. First removes old temporary files there (gcb_temp_sweep). The new
 * name does not depend on the final name, which may have the greatest possible length. */
static int create_temp(char *temp, const char *final_path, mode_t mode, struct gcb_diag *diag)
{
    const char *slash = strrchr(final_path, '/');
    const size_t dir = slash ? (size_t)(slash - final_path) + 1 : 0;
    char prefix[GCB_TEMP_PREFIX];

    memcpy(temp, final_path, dir);
    temp[dir] = '\0';
    gcb_temp_sweep(temp);
    gcb_temp_prefix(prefix);
    for (unsigned n = 0; n < TRIES; n++) {
        int fd;

        sprintf(temp + dir, "%s%u", prefix, n);
        fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (fd >= 0) {
            close(fd);
            return 0;
        }
        if (errno != EEXIST)
            break;
    }
    return fail(diag, GCB_E_IO, final_path,
                errno == ENOENT ? "its folder does not exist" : strerror(errno));
}

int gcb_outfile_init(struct gcb_outfile *out, const char *path, bool force,
                     const char *const *inputs, size_t input_count, struct gcb_diag *diag)
{
    struct gcb_outfile o = {.replace = force};
    size_t size;
    int err = check_existing(&o, path, inputs, input_count, diag);

    *out = (struct gcb_outfile){0};
    if (err)
        return err;
    /* a link is resolved, so that renaming replaces its target */
    o.final_path = o.exists ? realpath(path, NULL) : strdup(path);
    size = strlen(o.final_path ? o.final_path : path) + GCB_TEMP_PREFIX + sizeof("9999");
    o.temp_path = o.final_path ? gcb_alloc(size) : NULL;
    err = o.temp_path ? create_temp(o.temp_path, o.final_path, o.exists ? 0600 : 0666, diag)
                      : gcb_diag_nomem(diag, size, "a file name");
    if (err) { /* there is no temporary file to remove */
        gcb_free(o.temp_path);
        free(o.final_path);
        return err;
    }
    o.place = gcb_tidy_enter(o.temp_path);
    *out = o;
    return 0;
}

/* Syncs a file (`how` is O_WRONLY) or a folder (`how` is O_RDONLY). Unless `old` is NULL, first
 * gives the file the owner, group and mode of `old`. Returns 0 or errno. */
static int sync_path(const char *path, int how, const struct stat *old)
{
    const int fd = open(path, how | O_CLOEXEC);
    int err;

    if (fd < 0)
        return errno;
    if (old)
        keep_access(fd, old);
    err = fsync(fd) == 0 ? 0 : errno;
    if (close(fd) != 0 && !err)
        err = errno;
    return err;
}

/* Renames the temporary file to the final name. Returns 0 or errno, which is EEXIST if the final
 * name exists and may not be replaced. */
static int rename_file(const struct gcb_outfile *out)
{
    const unsigned flags = out->replace ? 0 : RENAME_NOREPLACE;
    struct stat s;

    if (renameat2(AT_FDCWD, out->temp_path, AT_FDCWD, out->final_path, flags) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return errno;
    /* the file system does not support RENAME_NOREPLACE: look first instead */
    if (!out->replace && lstat(out->final_path, &s) == 0)
        return EEXIST;
    return rename(out->temp_path, out->final_path) == 0 ? 0 : errno;
}

/* Syncs the folder of the file `path`, so that the new name survives a power failure. Failures are
 * ignored, because some file systems cannot sync a folder. */
static void sync_folder(const char *path)
{
    char *folder = gcb_must_strdup(path);

    sync_path(dirname(folder), O_RDONLY | O_DIRECTORY, NULL);
    gcb_free(folder);
}

int gcb_outfile_commit(struct gcb_outfile *out, struct gcb_diag *diag)
{
    int err = sync_path(out->temp_path, O_WRONLY, out->exists ? &out->old : NULL);

    if (!err)
        err = rename_file(out);
    if (err == EEXIST)
        return fail(diag, GCB_E_IO, out->final_path,
                    "appeared while gcbench ran; --force replaces it");
    if (err)
        return fail(diag, GCB_E_IO, out->final_path, strerror(err));
    sync_folder(out->final_path);
    leave_tidy(out);
    gcb_free(out->temp_path);
    out->temp_path = NULL;
    return 0;
}

int gcb_outfile_fill(struct gcb_outfile *out, const void *bytes, size_t size, struct gcb_diag *diag)
{
    FILE *f = fopen(out->temp_path, "we");
    bool good = f && fwrite(bytes, 1, size, f) == size;

    if (f)
        good = fclose(f) == 0 && good;
    return good ? gcb_outfile_commit(out, diag)
                : fail(diag, GCB_E_IO, out->final_path, strerror(errno));
}

bool gcb_outfile_same(const char *a, const char *b)
{
    const char *p = strrchr(a, '/'), *q = strrchr(b, '/');
    char x[PATH_MAX] = "", y[PATH_MAX] = "";
    struct stat s, t;

    if (stat(a, &s) == 0 && stat(b, &t) == 0)
        return same_inode(&s, &t);
    /* If a file does not exist, realpath still writes its path, up to the first name that is
     * missing. */
    return (realpath(a, x) || errno == ENOENT) && (realpath(b, y) || errno == ENOENT) &&
           strcmp(x, y) == 0 && strcmp(p ? p + 1 : a, q ? q + 1 : b) == 0;
}

void gcb_outfile_fini(struct gcb_outfile *out)
{
    if (out->temp_path)
        unlink(out->temp_path);
    leave_tidy(out);
    gcb_free(out->temp_path);
    free(out->final_path);
    *out = (struct gcb_outfile){0};
}
