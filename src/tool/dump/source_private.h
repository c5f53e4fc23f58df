#ifndef SRC_TOOL_DUMP_SOURCE_PRIVATE_H
#define SRC_TOOL_DUMP_SOURCE_PRIVATE_H

#include "src/tool/dump/source.h"
#include "src/tool/hdf5/h5child.h"

/*
 * The inside of a source. source_open.c and source_synthetic.c fill it; source.c reads it.
 */

/* Strings that live as long as the source, packed into blocks. */
struct gcb_strings {
    char **blocks;
    size_t count, cap;
    size_t left; /* free bytes in the last block */
};

struct gcb_step_value {
    uint64_t step;
    const char *name;
    double value;
};

struct gcb_note {
    const char *name, *text;
};

/* Enough for a dump with a file for each of 16 workers, whose tensors are read in turn. */
enum { GCB_SOURCE_FILES = 16 };

struct gcb_source {
    struct gcb_h5limits limits;
    struct gcb_strings strings;

    struct gcb_tensor *tensors;
    size_t count, cap;
    size_t skipped;
    bool *met; /* for each glob of the selection: see gcb_source_met */

    struct gcb_step_value *values;
    size_t value_count, value_cap;
    struct gcb_note *notes;
    size_t note_count, note_cap;

    /* Without files: how to make each tensor. NULL if the tensors are in files. */
    struct gcb_synthetic *synthetic;
    uint64_t seed;

    /* The files that are open, each in a child. A dump can have thousands of files, so the one used longest ago gives
     * its place to the next. */
    struct gcb_source_file {
        const char *name; /* the same pointer as in its tensors; NULL: free */
        struct gcb_h5child *child;
        uint64_t used; /* time of the last use */
    } files[GCB_SOURCE_FILES];
    uint64_t uses;
};

/* Copies n bytes and adds a terminator; `s` owns the copy. NULL: out of memory. */
const char *gcb_strings_add(struct gcb_strings *s, const char *text, size_t n);

/* Gives the child that reads the file `name`, a string of the source. If it is not open, opens it and, unless `lister` is
 * NULL, lists it. */
int gcb_source_use(struct gcb_h5child **out, struct gcb_source *source, const char *name,
                   const struct gcb_h5lister *lister, struct gcb_diag *diag);

#endif
