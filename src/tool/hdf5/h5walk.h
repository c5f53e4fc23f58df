#ifndef SRC_TOOL_HDF5_H5WALK_H
#define SRC_TOOL_HDF5_H5WALK_H

#include "src/tool/hdf5/h5file.h"

/* Limits that no honest dump comes near; beyond them a file is GCB_E_CORRUPT. */
enum {
    GCB_H5_DEPTH = 64,        /* groups inside groups */
    GCB_H5_NAME = 1024,       /* bytes of one link's name */
    GCB_H5_PATH = 4096,       /* bytes of an absolute path */
    GCB_H5_OBJECTS = 1 << 22, /* links in one file */
};

/*
 * Called for each object, in depth-first order by link name, bytewise; a call that returns not 0 ends the
 * walk with that value. `path` is absolute and valid for the call only.
 */
struct gcb_h5visitor {
    void *ctx;
    /* The group `id`, before what is in it; "/" comes first. May be NULL. */
    int (*group)(void *ctx, hid_t id, const char *path, struct gcb_diag *diag);
    /* A dataset that is opened but not vetted; closed behind the call. */
    int (*dataset)(void *ctx, struct gcb_h5dataset *dataset, const char *path,
                   struct gcb_diag *diag);
};

/*
 * Visits every group and dataset of a file once, under the first of its names. Soft links are passed over:
 * what they lead to has a name of its own. External links are refused, or followed where allowed; links
 * of a user's own class are refused.
 */
int gcb_h5walk(const struct gcb_h5file *file, const struct gcb_h5visitor *visitor,
               struct gcb_diag *diag);

#endif
