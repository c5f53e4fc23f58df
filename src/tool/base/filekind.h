#ifndef SRC_TOOL_BASE_FILEKIND_H
#define SRC_TOOL_BASE_FILEKIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Recognises, by its first bytes, a file that somebody may take for an HDF5 file or a log, and says
 * what to type next. This module only looks at bytes; it parses no format.
 */

#define GCB_ADVICE 300 /* bytes of a command that is shown to the user */

struct gcb_filekind {
    const char *name;             /* "a NumPy file"; NULL: not recognised; at most 39 bytes */
    char advice[GCB_ADVICE + 64]; /* what to do: "convert it: python3 ..." */
    bool makes_hdf5;              /* the advice makes an HDF5 file of it */
};

/* Recognises a file that begins with these bytes, and whose name is `path`. */
void gcb_filekind_of(struct gcb_filekind *out, const void *bytes, size_t n, const char *path);
/* The same for an open file. */
void gcb_filekind_find(struct gcb_filekind *out, int descriptor, const char *path);

/*
 * Finds the offset of an HDF5 signature in an open file: at the start, or after a user block of 512, 1024, 2048, ... bytes.
 * Returns false if the file has none.
 */
bool gcb_filekind_hdf5(int descriptor, uint64_t size, uint64_t *offset);

/* Writes a file's name as a word of a shell command; "FILE" if it is too long or has bytes other than ASCII. Returns out. */
#define GCB_ADVICE_WORD 128
char *gcb_advice_quote(char out[GCB_ADVICE_WORD], const char *path);

/*
 * Writes the command that turns the file into one that gcbench reads: `python3 .../convert.py FILE OUT.h5`. It can be
 * pasted into a shell. Returns out.
 */
char *gcb_advice_convert(char out[GCB_ADVICE], const char *path);

#endif
