#ifndef SRC_TOOL_WRITE_OUTFILE_H
#define SRC_TOOL_WRITE_OUTFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "src/lib/base/diag.h"

/*
 * An output file that is never half-written: it is written to a temporary file in the same folder,
 * then renamed.
 */
struct gcb_outfile {
    char *final_path;
    char *temp_path; /* the file to write; NULL after gcb_outfile_commit */
    bool replace;    /* an existing file may be replaced */
    int place;       /* result of gcb_tidy_enter */
    bool exists;     /* a file of the final name existed at init */
    struct stat old; /* stat data of that file */
};

/*
 * Checks the final name before any work starts. Removes the temporary files that ended processes
 * left in the folder. Makes an empty temporary file with mode 0666 & ~umask, or 0600 if it will
 * replace a file. Returns GCB_E_IO if the folder is absent or not writable, and GCB_E_INVALID if
 * the name is "-" or empty, or if a file of this name exists and
 *   - is not a regular file or a link to one;
 *   - is one of `inputs` (same device and inode), whether or not `force` is set;
 *   - or `force` is not set.
 */
int gcb_outfile_init(struct gcb_outfile *out, const char *path, bool force,
                     const char *const *inputs, size_t input_count, struct gcb_diag *diag);

/*
 * Gives the temporary file the mode, owner and group of the file that it replaces, as far as the
 * system permits. Syncs it, renames it to the final name and syncs the folder. A link to a regular
 * file is followed. Returns GCB_E_IO also if a file of the final name has appeared since init and
 * `force` was not set. After a failure the old file is unchanged.
 */
int gcb_outfile_commit(struct gcb_outfile *out, struct gcb_diag *diag);

/* Writes `size` bytes to the temporary file and commits it. */
int gcb_outfile_fill(struct gcb_outfile *out, const void *bytes, size_t size,
                     struct gcb_diag *diag);

/* Removes the temporary file unless it was committed, and frees the members. A zeroed struct is
 * allowed. */
void gcb_outfile_fini(struct gcb_outfile *out);

/* True if two names denote the same file. Works also for files that do not exist yet. */
bool gcb_outfile_same(const char *a, const char *b);

#endif
