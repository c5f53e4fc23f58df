/* What the user should know about the files of a source, in words. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "src/lib/base/text.h"
#include "src/tool/read/source_private.h"

/* The texts of a remark, which reads "3 WHATs SAID, such as FILE: DATASET; WAY". FILE is left out
 * if the source has only one file. */
static const struct {
    const char *what; /* gets an 's' if there is more than one */
    const char *said; /* what happened to the objects */
    const char *way;  /* what the user can do; NULL: nothing */
} words[GCB_REMARKS] = {
    [GCB_REMARK_WORDS] = {"dataset", "of 2-byte integers or bytes skipped",
                          "--as bf16 or --as fp16 reads them"},
    [GCB_REMARK_BYTES] = {"dataset", "of 1-byte integers or bytes skipped",
                          "--as fp8_e4m3 or --as fp8_e5m2 reads them"},
    [GCB_REMARK_FLOATS] = {"dataset", "of a float format that gcbench does not read skipped",
                           GCB_CONVERT},
    [GCB_REMARK_LINKS] = {"link",
                          "not followed, because the target is missing, in another file, or a "
                          "group that the path went through",
                          NULL},
    [GCB_REMARK_DEEP] = {"group", "nested more than 64 deep skipped", NULL},
    [GCB_REMARK_DIMENSIONS] = {"netCDF dimension", "without values skipped", NULL},
    [GCB_REMARK_OTHERS] = {"dataset", "of other types than floats skipped", NULL},
    [GCB_REMARK_FILES] = {"file", "of other kinds in a folder skipped",
                          "name a file to see how it can be read"},
    [GCB_REMARK_MESSAGES] = {"file", "of messages skipped",
                             "`gcbench decompress` restores its tensors"},
    [GCB_REMARK_UNREADABLE] = {"object", "skipped, unreadable and not selected", NULL},
    [GCB_REMARK_ALIASES] = {"tensor", "read only under another name, which has a step or worker",
                            NULL},
    [GCB_REMARK_UNWRITTEN] = {"dataset", "that was never written, read as its fill value",
                              "is the dump complete?"},
    [GCB_REMARK_FP8] = {"tensor", "of fp8 read as fp16, so that an element counts 2 bytes", NULL},
    [GCB_REMARK_SCALED] = {"tensor",
                           "of fp8 and its scales read as fp32, so that an element counts 4 bytes",
                           NULL},
    [GCB_REMARK_NUMBERS] = {"tensor",
                            "in a group whose name is a number, which is taken as the step", NULL},
    [GCB_REMARK_NO_STEP] = {"tensor", "read as step 0, because no group is named step_N or iter_N",
                            NULL},
    [GCB_REMARK_NO_WORKER] = {"tensor", "in a numbered group that is not taken as a worker",
                              "workers are groups named worker_N or rank_N"},
};

enum { DATASET_LEAST = 40 }; /* bytes that the name of a dataset gets at least */

void gcb_source_add_remark(struct gcb_source *source, enum gcb_remark kind, uint64_t count,
                           const char *file, const char *dataset)
{
    struct gcb_remark_count *r = &source->remarks[kind];

    if (r->count == 0) {
        r->file = file;
        r->dataset = dataset;
    }
    r->count += count;
}

bool gcb_source_remark(char out[GCB_REMARK_TEXT], const struct gcb_source *source,
                       enum gcb_remark kind)
{
    const struct gcb_remark_count *r = &source->remarks[kind];
    const char *way = words[kind].way, *s = r->count == 1 ? "" : "s";
    char file[112], dataset[160];
    size_t room;

    if (r->count == 0)
        return false;
    snprintf(out, GCB_REMARK_TEXT, "%" PRIu64 " %s%s %s, such as ", r->count, words[kind].what, s,
             words[kind].said);
    /* long names are cut, so that `way` fits */
    room = GCB_REMARK_TEXT - strlen(out) - (way ? strlen(way) + strlen("; ") : 0);
    if (source->file_count > 1) {
        const size_t left = room > DATASET_LEAST ? room - DATASET_LEAST : 1;

        gcb_escape(file, left < sizeof(file) ? left : sizeof(file), r->file);
        gcb_append(out, GCB_REMARK_TEXT, "%s: ", file);
        room -= strlen(file) + strlen(": ");
    }
    gcb_escape(dataset, room < sizeof(dataset) ? room : sizeof(dataset), r->dataset);
    gcb_append(out, GCB_REMARK_TEXT, "%s%s%s", dataset, way ? "; " : "", way ? way : "");
    return true;
}
