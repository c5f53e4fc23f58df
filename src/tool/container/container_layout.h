#ifndef SRC_TOOL_CONTAINER_CONTAINER_LAYOUT_H
#define SRC_TOOL_CONTAINER_CONTAINER_LAYOUT_H

#include "src/tool/container/container.h"
#include "src/tool/hdf5/h5file.h"

/* A row of a layout takes at least this many bytes: texts of one byte, a type, two numbers. */
#define GCB_CONTAINER_ROW_LEAST 23

/* The table of tensors beside a message, read and checked. */
struct gcb_container_layout {
    struct gcb_container_tensor *tensors; /* owned by the caller, also after a failure */
    size_t tensor_count;
    uint64_t count; /* elements of all */
    uint64_t salt;
};

/*
 * Reads the layout at `path`: at most max_rows rows in the form of gcb_container_row_type, of plain
 * paths, whose offsets follow from the shapes. GCB_E_CORRUPT.
 */
int gcb_container_layout_read(struct gcb_container_layout *out, const struct gcb_h5file *file,
                              const char *path, uint64_t max_rows, struct gcb_diag *diag);

/* Frees an array of tensors and their names. NULL is fine. */
void gcb_container_tensors_free(struct gcb_container_tensor *tensors, size_t count);

#endif
