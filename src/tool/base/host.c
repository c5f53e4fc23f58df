#include "src/tool/base/host.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

/* Reads the first line of a file in /proc or /sys. If that fails, `out` is "". */
static void read_line(char *out, size_t size, const char *path)
{
    FILE *f = fopen(path, "re");

    out[0] = '\0';
    if (!f)
        return;
    if (!fgets(out, (int)size, f))
        out[0] = '\0';
    out[strcspn(out, "\n")] = '\0';
    fclose(f);
}

#define MOST_CACHES 8 /* gcb_host_cache looks at this many at most */

/* Reads the model of the first CPU in /proc/cpuinfo. If the file names no model, as on most ARM
 * machines, `out` is "". */
static void read_cpu_model(char *out, size_t size)
{
    FILE *f = fopen("/proc/cpuinfo", "re");
    char line[256];

    out[0] = '\0';
    while (f && !out[0] && fgets(line, sizeof(line), f)) {
        const char *colon = strchr(line, ':');

        if (strncmp(line, "model name", 10) == 0 && colon && colon[1])
            snprintf(out, size, "%.*s", (int)strcspn(colon + 2, "\n"), colon + 2);
    }
    if (f)
        fclose(f);
}

uint64_t gcb_host_memory(void)
{
    const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);

    return pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : 0;
}

/* Reads /sys, because sysconf may return the sum over all caches of a package of CPUs. */
uint64_t gcb_host_cache(void)
{
    uint64_t largest = 0;

    for (int i = 0; i < MOST_CACHES; i++) {
        unsigned long long size;
        char path[80], unit = 0;
        FILE *f;

        snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu0/cache/index%d/size", i);
        f = fopen(path, "re");
        if (!f)
            break;
        /* a size from 2^32 on is no size of a cache, and the shift below could lose its bits */
        if (fscanf(f, "%llu%c", &size, &unit) == 2 && size < UINT64_C(1) << 32) {
            if (unit == 'K') /* Linux writes no other unit */
                size <<= 10;
            largest = size > largest ? size : largest;
        }
        fclose(f);
    }
    return largest;
}

void gcb_host_read(struct gcb_host *out)
{
    struct utsname name;
    cpu_set_t set;

    memset(out, 0, sizeof(*out));
    read_cpu_model(out->cpu_model, sizeof(out->cpu_model));
    read_line(out->governor, sizeof(out->governor),
              "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
    if (uname(&name) == 0)
        snprintf(out->kernel, sizeof(out->kernel), "%.60s %.90s", name.sysname, name.release);
    out->cpus = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : -1;
    if (getloadavg(&out->load1, 1) != 1)
        out->load1 = -1.0;
    out->memory_bytes = gcb_host_memory();
}
