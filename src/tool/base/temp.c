#include "src/tool/base/temp.h"
#include "src/tool/base/memory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

/* Writes ".gcbench-HOST-", as temp.h describes it. Returns false if the boot id or the pid
 * namespace cannot be read. */
static bool name_host(char out[GCB_TEMP_PREFIX])
{
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    char boot[64] = "", words[96];
    struct stat space = {.st_ino = 0};
    bool known = file && fgets(boot, sizeof(boot), file);

    if (file)
        fclose(file);
    known &= stat("/proc/self/ns/pid", &space) == 0;
    snprintf(words, sizeof(words), "%s/%llu", boot, (unsigned long long)space.st_ino);
    snprintf(out, GCB_TEMP_PREFIX, ".gcbench-%08x-", (unsigned)XXH32(words, strlen(words), 0));
    return known;
}

char *gcb_temp_prefix(char out[GCB_TEMP_PREFIX])
{
    size_t n;

    name_host(out);
    n = strlen(out);
    snprintf(out + n, GCB_TEMP_PREFIX - n, "%ld-", (long)getpid());
    return out;
}

/* True if `name` is a temporary name of a process of this host that has ended. `host` is from
 * name_host. */
static bool is_left_behind(const char *name, const char *host)
{
    char *end;
    long pid;

    if (strncmp(name, host, strlen(host)) != 0)
        return false;
    pid = strtol(name + strlen(host), &end, 10);
    return pid > 0 && pid != getpid() && *end == '-' && kill((pid_t)pid, 0) != 0 && errno == ESRCH;
}

/* Removes the files in the folder `name` if this user owns that folder. `at` is a descriptor of the
 * folder that contains `name`. */
static void empty_folder(int at, const char *name)
{
    const int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry;
    struct stat s;

    if (!dir) {
        if (fd >= 0)
            close(fd);
        return;
    }
    if (fstat(fd, &s) == 0 && s.st_uid == geteuid())
        while ((entry = readdir(dir)))
            unlinkat(fd, entry->d_name, 0); /* "." and ".." are folders and stay */
    closedir(dir);
}

void gcb_temp_sweep(const char *folder)
{
    char host[GCB_TEMP_PREFIX];
    DIR *dir = name_host(host) ? opendir(*folder ? folder : ".") : NULL;
    const struct dirent *entry;
    struct stat s;

    while (dir && (entry = readdir(dir))) {
        if (!is_left_behind(entry->d_name, host) ||
            fstatat(dirfd(dir), entry->d_name, &s, AT_SYMLINK_NOFOLLOW) || s.st_uid != geteuid())
            continue;
        if (S_ISDIR(s.st_mode))
            empty_folder(dirfd(dir), entry->d_name);
        unlinkat(dirfd(dir), entry->d_name, S_ISDIR(s.st_mode) ? AT_REMOVEDIR : 0);
    }
    if (dir)
        closedir(dir);
}

char *gcb_temp_make_folder(const char *parent)
{
    const size_t size = strlen(parent) + GCB_TEMP_PREFIX + sizeof("/XXXXXX");
    char prefix[GCB_TEMP_PREFIX], *path = gcb_must_array(size, 1);
    int why;

    gcb_temp_sweep(parent);
    snprintf(path, size, "%s/%sXXXXXX", parent, gcb_temp_prefix(prefix));
    if (mkdtemp(path))
        return path;
    why = errno;
    gcb_free(path);
    errno = why;
    return NULL;
}

FILE *gcb_temp_file(void)
{
    const int fd = memfd_create("gcbench", MFD_CLOEXEC);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w+");

    if (fd >= 0 && !file)
        close(fd);
    return file;
}
