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
    char *temp_path; /* the file to write; NULL after a commit that succeeded */
    bool replace;    /* an existing file may be replaced */
    int place;       /* result of gcb_tidy_enter for temp_path */
    bool exists;     /* a file of the final name existed at gcb_outfile_init */
    struct stat old; /* if `exists`: stat data of that file, or of the file that it links to */
};

/*
 * Checks the final name `path` before any work starts, and makes an empty temporary file beside it.
 * The temporary file has mode 0666 & ~umask, or 0600 if it will replace a file. First removes the
 * temporary files that ended processes left in the folder. On failure *out is zeroed. Returns
 * GCB_E_IO if the folder is absent or not writable. Returns GCB_E_INVALID if the name is "-" or
 * empty or ends with '/', or if a file of this name exists and
 *   - is not a regular file or a link to a regular file;
 *   - or is one of `inputs` (same device and inode), even if `force` is set;
 *   - or `force` is not set.
 */
int gcb_outfile_init(struct gcb_outfile *out, const char *path, bool force,
                     const char *const *inputs, size_t input_count, struct gcb_diag *diag);

/*
 * Gives the temporary file the mode, owner and group of the file that it replaces, as far as the
 * system permits. Syncs the temporary file, renames it to the final name and syncs the folder. If
 * the final name is a link to a regular file, that file is replaced. Returns GCB_E_IO, also if a
 * file of the final name has appeared since gcb_outfile_init and `force` was not set. After a
 * failure the old file is unchanged.
 */
int gcb_outfile_commit(struct gcb_outfile *out, struct gcb_diag *diag);

/* Makes `size` bytes the whole content of the temporary file, and commits the file. Returns 0 or
 * GCB_E_IO. */
int gcb_outfile_fill(struct gcb_outfile *out, const void *bytes, size_t size,
                     struct gcb_diag *diag);

/* Removes the temporary file unless it was committed, and frees the members. A zeroed struct is
 * allowed. */
void gcb_outfile_fini(struct gcb_outfile *out);

/* True if two names denote the same file. Works also for files that do not exist yet in a folder
 * that exists. */
bool gcb_outfile_same(const char *a, const char *b);

#endif
