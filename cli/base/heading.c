#include "cli/base/heading.h"

#include <inttypes.h>
#include <string.h>

#include "cli/base/output.h"
#include "src/lib/base/text.h"
#include "src/tool/base/columns.h"
#include "src/tool/base/host.h"
#include "src/tool/print/number.h"

#define WIDTH 80
#define STEADY 9 /* timed runs whose median bears some that were disturbed */

static void count_of(char *out, size_t size, uint64_t n, const char *what)
{
    snprintf(out, size, "%" PRIu64 " %s%s", n, what, n == 1 ? "" : "s");
}

/* "3 steps x 4 workers x 61 tensors, fp32, 13.1 MB" */
static void extent_text(char *out, size_t size, const struct gcb_extent *e)
{
    char steps[40], workers[40], tensors[40], bytes[32];

    count_of(steps, sizeof(steps), e->steps, "step");
    count_of(workers, sizeof(workers), e->workers, "worker");
    count_of(tensors, sizeof(tensors), e->tensors, "tensor");
    snprintf(out, size, "%s x %s x %s%s, %s, %s", steps, workers, tensors,
             e->full ? "" : " (not all)",
             e->mixed_dtypes ? "mixed types" : gcb_dtype_name(e->dtype),
             gcb_bytes(bytes, (double)e->bytes));
}

/* The file's own name, or how many there are; it gives way when the line would be too long. */
static void name_text(char *out, size_t size, const struct opt_list *files)
{
    const char *path = files->items[0], *slash = strrchr(path, '/');

    if (files->count == 1)
        gcb_escape(out, size, slash && slash[1] ? slash + 1 : path);
    else
        count_of(out, size, files->count, "file");
}

void heading_print(FILE *out, const struct opt_list *files, const struct gcb_extent *e,
                   const char *settings)
{
    char name[WIDTH], extent[160];
    size_t used;

    extent_text(extent, sizeof(extent), e);
    used = strlen(extent) + 2;
    name_text(name, used + 12 < WIDTH ? WIDTH - used + 1 : 12, files);
    used = gcb_text_columns(name) + 2 + strlen(extent);
    fprintf(out, "%s: %s", name, extent);
    fprintf(out, "%s%s\n", used + 3 + strlen(settings) <= WIDTH ? "   " : "\n", settings);
}

void heading_files(char *out, size_t size, const struct opt_list *files)
{
    size_t used = 0;

    out[0] = '\0';
    for (size_t i = 0; i < files->count && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%s", i ? ", " : "", files->items[i]);
}

void heading_note_load(FILE *out, unsigned repeat)
{
    struct gcb_host host;

    gcb_host_read(&host);
    if (host.cpus > 0 && host.load1 > (double)host.cpus)
        fprintf(out, "note: load %.1f on %d cpu%s: speeds are too low%s\n", host.load1, host.cpus,
                host.cpus == 1 ? "" : "s",
                repeat && repeat < STEADY ? "; --repeat 9 steadies them" : "");
}
