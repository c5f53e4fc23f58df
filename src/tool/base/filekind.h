#ifndef SRC_TOOL_BASE_FILEKIND_H
#define SRC_TOOL_BASE_FILEKIND_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The kind of a file that somebody may take for an input of gcbench, and what to do next. This
 * module recognises the kind by the file's first bytes; it parses no format.
 */
struct gcb_filekind {
    const char *name; /* "a NumPy file"; NULL: not recognised */
    /* what to do, such as "convert it: python3 ..."; may be ""; NULL if `name` is NULL */
    const char *advice;
};

/* GCB_CONVERT is the command that turns a file into one that gcbench reads. GCB_CONVERT_IN says
 * where an installed convert.py is. */
#define GCB_CONVERT_IN " (in share/gcbench)"
#define GCB_CONVERT "python3 datasets/convert.py FILE NEW.h5" GCB_CONVERT_IN

/* Returns the kind of an open file from its first bytes. The file's offset does not change. The
 * strings are static. `name` is NULL if the kind is unknown or the file cannot be read. */
struct gcb_filekind gcb_filekind_find(int descriptor);

/*
 * Finds the HDF5 signature in an open file of `size` bytes: at the start, or after a user block of
 * 512, 1024, 2048, ... bytes. Sets *offset to its place in the file. Returns false, and leaves
 * *offset alone, if the file has no signature.
 */
bool gcb_filekind_hdf5(int descriptor, uint64_t size, uint64_t *offset);

#endif
