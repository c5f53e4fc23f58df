#include "cli/base/heading.h"

#include <inttypes.h>
#include <string.h>

#include "cli/base/output.h"
#include "src/lib/base/text.h"
#include "src/tool/base/columns.h"
#include "src/tool/base/host.h"
#include "src/tool/rows/number.h"

#define WIDTH 80
#define STEADY 9 /* number of timed runs whose median a few slow runs do not move */

static void count_text(char *out, size_t size, uint64_t n, const char *what)
{
    snprintf(out, size, "%" PRIu64 " %s%s", n, what, n == 1 ? "" : "s");
}

/* Writes, for example, "3 steps x 4 workers x 61 tensors, fp32, 13.1 MB". */
static void extent_text(char *out, size_t size, const struct gcb_extent *e)
{
    char steps[40], workers[40], tensors[40], bytes[32];

    count_text(steps, sizeof(steps), e->steps, "step");
    count_text(workers, sizeof(workers), e->workers, "worker");
    count_text(tensors, sizeof(tensors), e->tensors, "tensor");
    snprintf(out, size, "%s x %s x %s%s, %s, %s", steps, workers, tensors,
             e->full ? "" : " (not all)",
             e->mixed_dtypes ? "mixed types" : gcb_dtype_name(e->dtype),
             gcb_bytes(bytes, (double)e->bytes));
}

/* Writes the file's name without folders, or the number of files; cuts the text to `size`. */
static void name_text(char *out, size_t size, const struct opt_list *files)
{
    const char *path = files->items[0], *slash = strrchr(path, '/');

    if (files->count == 1)
        gcb_escape(out, size, slash && slash[1] ? slash + 1 : path);
    else
        count_text(out, size, files->count, "file");
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
    if (!settings[0])
        fputc('\n', out);
    else
        fprintf(out, "%s%s\n", used + 3 + strlen(settings) <= WIDTH ? "   " : "\n", settings);
}

void heading_note_load(FILE *out, unsigned repeat)
{
    struct gcb_host host;

    gcb_host_read(&host);
    if (host.cpus > 0 && host.load1 > (double)host.cpus)
        opt_note(out, "load %.1f on %d cpu%s: speeds may be low%s", host.load1, host.cpus,
                 host.cpus == 1 ? "" : "s",
                 repeat && repeat < STEADY ? "; --repeat 9 makes them steadier" : "");
}

static void note_glob(FILE *err, const char *option, const char *glob)
{
    char shown[160];

    fprintf(err,
            "gcbench: note: --%s %s: no tensor matches; a pattern has to match the whole path, "
            "such as '*conv*'\n",
            option, gcb_escape(shown, sizeof(shown), glob));
}

static void note_layers(FILE *err, const char *option, const struct gcb_source *source,
                        const struct opt_list *globs)
{
    for (size_t i = 0; i < globs->count; i++)
        if (!gcb_source_matches(source, globs->items[i]))
            note_glob(err, option, globs->items[i]);
}

void heading_note_input(FILE *err, const struct gcb_source *source, const struct opt_input *in,
                        const struct opt_message *message)
{
    char remark[GCB_REMARK_TEXT];

    if (in->allow_external)
        fprintf(err,
                "gcbench: note: --allow-external: the process that reads the file may open any "
                "other file that you may read\n");
    for (int kind = 0; kind < GCB_REMARKS; kind++)
        if (gcb_source_remark(remark, source, (enum gcb_remark)kind))
            fprintf(err, "gcbench: note: %s\n", remark);
    for (size_t i = 0; i < in->dataset.count; i++)
        if (!gcb_source_met(source, i))
            note_glob(err, "dataset", in->dataset.items[i]);
    for (size_t i = 0; i < in->exclude.count; i++)
        if (!gcb_source_met(source, in->dataset.count + i))
            note_glob(err, "exclude", in->exclude.items[i]);
    if (!message)
        return;
    note_layers(err, "dense", source, &message->dense);
    note_layers(err, "output-layer", source, &message->output_layer);
}
