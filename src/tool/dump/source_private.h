#ifndef SRC_TOOL_DUMP_SOURCE_PRIVATE_H
#define SRC_TOOL_DUMP_SOURCE_PRIVATE_H

#include "kernels/convert/convert.h"
#include "src/tool/dump/source.h"
#include "src/tool/hdf5/h5file.h"

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

struct gcb_source {
    struct gcb_h5limits limits;
    struct gcb_convert_fns convert;
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

    /* Only one file is open at a time: a dump can have thousands of files. */
    struct gcb_h5file file;
    const char *file_name; /* its name, the same pointer as in its tensors; NULL: no file is open */
};

/* Copies n bytes and adds a terminator; `s` owns the copy. NULL: out of memory. */
const char *gcb_strings_add(struct gcb_strings *s, const char *text, size_t n);

/* Opens the file `name`, which the source owns, unless it is open; closes any other. */
int gcb_source_use(struct gcb_source *source, const char *name, struct gcb_diag *diag);

#endif
