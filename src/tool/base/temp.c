#include "src/tool/base/temp.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* FNV-1a over the number of this start of the machine and of the process's pid namespace. 0: they are not known. */
static uint32_t hash_host(void)
{
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    char words[96] = "";
    struct stat space;
    uint32_t hash = 2166136261u;
    bool known = file && fgets(words, 64, file);

    if (file)
        fclose(file);
    known &= stat("/proc/self/ns/pid", &space) == 0;
    if (!known)
        return 0;
    snprintf(words + strlen(words), 24, "/%llu", (unsigned long long)space.st_ino);
    for (const char *p = words; *p; p++)
        hash = (hash ^ (unsigned char)*p) * 16777619u;
    return hash ? hash : 1;
}

char *gcb_temp_prefix(char out[GCB_TEMP_PREFIX])
{
    snprintf(out, GCB_TEMP_PREFIX, ".gcbench-%08x-%ld-", hash_host(), (long)getpid());
    return out;
}

/* Does the name belong to a process of this host that has ended? */
static bool is_left_behind(const char *name, uint32_t host)
{
    char start[24], *end;
    long pid;

    snprintf(start, sizeof(start), ".gcbench-%08x-", host);
    if (strncmp(name, start, strlen(start)) != 0)
        return false;
    pid = strtol(name + strlen(start), &end, 10);
    return pid > 0 && pid != getpid() && *end == '-' && kill((pid_t)pid, 0) != 0 && errno == ESRCH;
}

/* Removes the files in the folder `name` of `at`, if it is this user's. */
static void empty_folder(int at, const char *name)
{
    const int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry;
    struct stat s;

    if (fd >= 0 && !dir)
        close(fd);
    if (dir && (fstat(fd, &s) || s.st_uid != geteuid())) {
        closedir(dir);
        return;
    }
    while (dir && (entry = readdir(dir)))
        unlinkat(fd, entry->d_name, 0); /* "." and ".." are folders and stay */
    if (dir)
        closedir(dir);
}

void gcb_temp_sweep(const char *folder)
{
    const uint32_t host = hash_host();
    DIR *dir = host ? opendir(*folder ? folder : ".") : NULL;
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

const char *gcb_temp_folder(void)
{
    const char *const folders[] = {getenv("TMPDIR"), "/tmp", "/dev/shm"};
    struct stat s;

    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
        if (folders[i] && stat(folders[i], &s) == 0 && S_ISDIR(s.st_mode) &&
            access(folders[i], W_OK | X_OK) == 0)
            return folders[i];
    return ".";
}

FILE *gcb_temp_file(void)
{
    const int fd = memfd_create("gcbench", MFD_CLOEXEC);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w+");

    if (fd >= 0 && !file)
        close(fd);
    return file;
}
