#ifndef SRC_TOOL_HDF5_H5WALK_H
#define SRC_TOOL_HDF5_H5WALK_H

#include "src/tool/hdf5/h5dataset.h"

/*
 * Functions that the walk calls, depth-first in the bytewise order of link names. A result other than 0 ends the
 * walk with that result. `path` is absolute and valid only during the call.
 */
struct gcb_h5visitor {
    void *ctx;
    /* Called for the group `id`, before its members. The first group is "/". May be NULL. */
    int (*group)(void *ctx, hid_t id, const char *path, struct gcb_diag *diag);
    /* Called for a dataset that is open but not vetted. The walk closes it after the call. */
    int (*dataset)(void *ctx, struct gcb_h5dataset *dataset, const char *path,
                   struct gcb_diag *diag);
};

/*
 * Visits each group and dataset of a file once, under the first of its names. Soft links are skipped, because their
 * targets have hard links too. External links are refused unless allowed. User-defined links are refused.
 */
int gcb_h5walk(const struct gcb_h5file *file, const struct gcb_h5visitor *visitor,
               struct gcb_diag *diag);

#endif
