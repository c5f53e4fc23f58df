#ifndef SRC_TOOL_READ_SOURCE_PRIVATE_H
#define SRC_TOOL_READ_SOURCE_PRIVATE_H

#include "src/tool/base/strings.h"
#include "src/tool/read/child.h"
#include "src/tool/read/selection.h"
#include "src/tool/read/source.h"

/*
 * The private parts of a source. source_open.c, source_list.c and source_synthetic.c fill them; source.c reads them.
 */

struct gcb_step_value {
    uint64_t step;
    const char *name;
    double value;
};

struct gcb_note {
    const char *name, *text;
};

/* Most files that are open at a time. In a dump with a file for each worker, the files are read in turn, so several
 * files stay open. */
enum { GCB_SOURCE_OPEN = 16 };

struct gcb_source {
    struct gcb_h5limits limits;
    struct gcb_strings strings;

    struct gcb_tensor *tensors;
    size_t count, cap;
    struct gcb_remark_count {
        uint64_t count;
        const char *file, *dataset; /* an example */
    } remarks[GCB_REMARKS];
    bool *met; /* met[i]: glob i of the selection matched a tensor (gcb_source_met) */

    struct gcb_step_value *values;
    size_t value_count, value_cap;
    struct gcb_note *notes;
    size_t note_count, note_cap;

    /* How to generate each tensor; NULL if the tensors are in files. */
    struct gcb_synthetic *synthetic;
    uint64_t seed;

    /* A dump can have thousands of files. Only the last used files are open, each in a child process. */
    struct gcb_source_file {
        const char *name; /* the same pointer as `file` of its tensors */
        struct gcb_h5file found;
        struct gcb_h5child *child; /* NULL if the file is not open */
        uint64_t used;             /* time of the last use */
    } * files;
    size_t file_count, file_cap;
    size_t last_file; /* number of the file that was read last */
    uint64_t uses;
};

/* Opens a file unless it is open, and lists it unless `lister` is NULL. */
int gcb_source_use(struct gcb_source *source, struct gcb_source_file *file,
                   const struct gcb_h5lister *lister, struct gcb_diag *diag);

/* Adds to the remarks of a kind. The first example is kept; `dataset` may be "". */
void gcb_source_add_remark(struct gcb_source *source, enum gcb_remark kind, uint64_t count,
                           const char *file, const char *dataset);

/* Fills *out with the facts that reading the tensor needs. */
void gcb_source_item(struct gcb_h5item *out, const struct gcb_tensor *t);

/*
 * The state of listing files. A child process (h5child.h) lists a file with a copy of this struct: it walks the file
 * and sends a record for each float dataset and for each attribute of the root and of step groups. The parent takes
 * the records, checks them and fills the source.
 */
struct gcb_listing {
    struct gcb_source *source;
    const struct gcb_tensor_selection *selection;
    const struct gcb_h5reading *reading;
    struct gcb_numbers steps, workers;
    uint64_t last_step; /* greatest step so far, selected or not */
    uint64_t seen;      /* number of tensors so far, selected or not */
    size_t pending;     /* last values that are of a group epoch_N, which may not be a step */
    const char *file;   /* name of the file that is being walked */
    uint32_t rank;      /* worker of the file's tensors that are in no worker group */
    struct gcb_h5file found;
    struct gcb_h5port *port;       /* used only in the child */
    uint64_t remarks[GCB_REMARKS]; /* used only in the child: how many of each kind */
};

/* Lists a file: appends its selected tensors in the order of the walk, and its step values and notes. */
int gcb_listing_add(struct gcb_listing *l, const char *path, struct gcb_diag *diag);

#endif
