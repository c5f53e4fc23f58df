#ifndef SRC_TOOL_READ_CHILD_H
#define SRC_TOOL_READ_CHILD_H

#include "src/tool/read/port.h"

/*
 * Reads an untrusted file in a child process, one for each open file, so that a crash of HDF5 ends the child only. The
 * child has few rights (h5sandbox.h). It lists the file once and then reads items on request. What it sends is not
 * trusted either: it arrives as bounded records (buf.h) and as data whose length is checked.
 *
 * If the child crashes, the caller gets GCB_E_CORRUPT and "FILE: OBJECT: damaged: the HDF5 library crashed while
 * reading it". The caller also gets GCB_E_CORRUPT if the child takes more than limits.seconds of processor time
 * without progress, and GCB_E_IO if the child does nothing for three times as long; then the child is ended.
 *
 * With limits.in_process, and under valgrind, all of this happens in the calling process.
 */
struct gcb_h5child;

/*
 * Opens a file and lists it, unless `lister` is NULL. The caller owns *out. `file` was found by gcb_h5file_find; it is
 * copied.
 */
int gcb_h5child_open(struct gcb_h5child **out, const struct gcb_h5file *file, const char *path,
                     const struct gcb_h5lister *lister, struct gcb_diag *diag);
void gcb_h5child_close(struct gcb_h5child *child); /* the argument may be NULL */

/*
 * The items of a file in the order in which they will most likely be read. `get` fills the item with the given
 * number; it returns false if the file has no such item.
 */
struct gcb_h5items {
    const void *ctx;
    bool (*get)(const void *ctx, size_t number, struct gcb_h5item *item);
};

/*
 * Reads a whole item into `out`. Most items are stored in one piece: the caller's process reads their bytes without
 * HDF5. The child reads all other items. If the caller reads items in order, the child reads up to 4 MiB of the next
 * items while the caller works on the current item.
 */
int gcb_h5child_read(struct gcb_h5child *child, const struct gcb_h5items *items, size_t number,
                     void *out, struct gcb_diag *diag);

/* Reads `count` elements of an item whose `stored` is not 0, from element `from` on. */
int gcb_h5child_read_part(const struct gcb_h5child *child, const struct gcb_h5item *item,
                          uint64_t from, uint64_t count, void *out, struct gcb_diag *diag);

#endif
