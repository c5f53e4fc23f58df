#ifndef SRC_TOOL_DUMP_SOURCE_PRIVATE_H
#define SRC_TOOL_DUMP_SOURCE_PRIVATE_H

#include "kernels/convert/convert.h"
#include "src/tool/dump/selection.h"
#include "src/tool/hdf5/h5file.h"

/* Strings that live as long as the source, packed into blocks. */
struct gcb_strings {
    char **blocks;
    size_t count, cap;
    size_t left; /* bytes free in the last block */
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
    bool *met; /* of each glob of the selection, see gcb_source_met */

    struct gcb_step_value *values;
    size_t value_count, value_cap;
    struct gcb_note *notes;
    size_t note_count, note_cap;

    /* NULL, or how each tensor is made: no file is ever open then. */
    struct gcb_synthetic *synthetic;
    uint64_t seed;

    /* One file at a time is open: dumps come in thousands of files. */
    struct gcb_h5file file;
    const char *file_name; /* which one, as tensors point at it; NULL: none */
};

/* A copy of n bytes and a terminator, owned by `s`; NULL when there is no memory. */
const char *gcb_strings_add(struct gcb_strings *s, const char *text, size_t n);
void gcb_strings_fini(struct gcb_strings *s);

/* What is known while files are listed. */
struct gcb_listing {
    struct gcb_source *source;
    const struct gcb_tensor_selection *selection;
    struct gcb_numbers steps, workers;
    uint64_t last_step; /* greatest seen, selected or not */
    uint64_t seen;      /* tensors, selected or not */
};

/*
 * Opens the file `name` (owned by the source), appends its selected tensors in the order they stand, its
 * step values and notes. With "last" among the steps, tensors of any step are kept for now.
 */
int gcb_source_list(struct gcb_listing *listing, const char *name, struct gcb_diag *diag);

/* Makes `name` the open file. */
int gcb_source_use(struct gcb_source *source, const char *name, struct gcb_diag *diag);

/* Which element type a dataset has, its attribute source_dtype included; false if none of ours. */
bool gcb_source_dtype(enum gcb_dtype *out, const struct gcb_h5dataset *dataset);

#endif
