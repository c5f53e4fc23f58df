#ifndef SRC_TOOL_HDF5_OUTFILE_H
#define SRC_TOOL_HDF5_OUTFILE_H

#include <stdbool.h>
#include <stddef.h>

#include "src/lib/base/diag.h"

/*
 * The name of an output that is never half-written: written beside its final name, then renamed.
 */
struct gcb_outfile {
    char *final_path;
    char *temp_path; /* write here; in the same directory. NULL once committed */
    bool replace;    /* with force */
    int place;       /* of gcb_tidy_enter */
};

/*
 * Checks before any work starts: the directory exists and is writable, an existing final name is a
 * regular file (never a device, folder, pipe or link to one) and then only with `force`, and is none of
 * `inputs` (same device and inode: refused even with force). GCB_E_INVALID or GCB_E_IO; words name the
 * path. Creates the (empty, mode 0666 & ~umask) temporary file.
 */
int gcb_outfile_init(struct gcb_outfile *out, const char *path, bool force,
                     const char *const *inputs, size_t input_count, struct gcb_diag *diag);

/*
 * Syncs and renames the temporary file over the final name (a link to a regular file is followed). GCB_E_IO
 * leaves the old file as it was; so it is when, without force, the name has appeared since init.
 */
int gcb_outfile_commit(struct gcb_outfile *out, struct gcb_diag *diag);

/* Removes the temporary file unless committed, and frees. Zeroed is fine. */
void gcb_outfile_fini(struct gcb_outfile *out);

/* Whether two names are, or would be, the same file, however each is spelled. */
bool gcb_outfile_same(const char *a, const char *b);

#endif
