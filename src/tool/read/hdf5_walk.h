#ifndef SRC_TOOL_READ_HDF5_WALK_H
#define SRC_TOOL_READ_HDF5_WALK_H

#include "src/tool/read/hdf5_dataset.h"

/* Why the walk leaves an object out. */
enum gcb_h5left {
    GCB_H5_NOT_FOLLOWED, /* a link whose target is missing, in another file or a group of the path itself; or a link
                            within too many other links */
    GCB_H5_TOO_DEEP,   /* a group inside GCB_H5_DEPTH others */
    GCB_H5_UNREADABLE, /* refused or damaged, but not wanted */
    GCB_H5_LEFT,       /* number of reasons */
};

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
    /* Is the object at this path wanted? If `below`, also: is any object below it? An object that is not wanted may be
     * damaged. NULL: all are wanted, and left_out may be NULL too. */
    bool (*wanted)(void *ctx, const char *path, bool below);
    int (*left_out)(void *ctx, enum gcb_h5left why, const char *path, struct gcb_diag *diag);
};

/*
 * Visits each group and dataset of a file under each of its paths. Hard links and soft links are followed; a link that
 * leads back to a group of its own path is left out, and so is a fourth link to another place in one path. External links
 * are refused unless allowed. User-defined links are refused. A file in which links lead to the same groups in very many
 * ways is refused.
 */
int gcb_h5walk(const struct gcb_h5file *file, const struct gcb_h5visitor *visitor,
               struct gcb_diag *diag);

#endif
