#ifndef SRC_TOOL_HDF5_H5OUT_PRIVATE_H
#define SRC_TOOL_HDF5_H5OUT_PRIVATE_H

#include "src/tool/hdf5/h5out.h"

/* What the two halves share: the file as a whole (h5out.c), and what is put into it (h5out_items.c). */

/* "FILE: cannot be written: WHY"; the file is never committed then. Returns status. */
int gcb_h5out_fail(struct gcb_h5out *f, int status, const char *why, struct gcb_diag *diag);

/* Writes all of it at this place of a file, or returns errno. */
int gcb_h5out_write(int fd, const void *bytes, size_t n, uint64_t at);

/*
 * Is there room for so many more bytes under the limit on file sizes? HDF5's file in memory grows like the
 * real one, so the limit must not stop it half-way.
 */
int gcb_h5out_check_limit(struct gcb_h5out *f, uint64_t more, struct gcb_diag *diag);

#endif
