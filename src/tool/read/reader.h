#ifndef SRC_TOOL_READ_READER_H
#define SRC_TOOL_READ_READER_H

#include <stdbool.h>

#include "src/lib/tensor/tensor.h"

struct gcb_infile; /* infile.h */

/*
 * A file format is a table of functions in a source file of its own, and a row in gcb_readers
 * (source_list.c). The functions, except `probe` and `prepare`, run in a child with few rights
 * (child.h), which the parent does not trust. The parent knows no format: it gets a list of tensors
 * and remarks. The parent itself reads each tensor whose elements lie in one piece, and asks the
 * child for all others. The parent converts the elements.
 */

/* How the elements of a tensor are stored. */
enum gcb_element {
    GCB_ELEMENT_NONE,
    /* A file may hold the next four formats as integers or bytes, without saying which format it
     * is. Then the user names the format with --as. */
    GCB_ELEMENT_BF16,
    GCB_ELEMENT_FP16,
    GCB_ELEMENT_E4M3, /* the 8-bit format of the OCP: largest number 448, no infinity */
    GCB_ELEMENT_E5M2, /* the upper byte of an fp16 */
    GCB_ELEMENT_FP32,
    GCB_ELEMENT_FP64,
    GCB_ELEMENT_BYTE, /* not a float: a byte of a compressed message */
    GCB_ELEMENTS,
};

#define GCB_SCALE_BLOCK 128

struct gcb_tensor {
    const char *path;    /* path below the worker group; escape it before showing it */
    const char *dataset; /* absolute path in its file */
    const char *file;    /* name of the file, as the user gave it or below a folder of the user */
    uint64_t step;
    uint32_t worker;
    enum gcb_dtype dtype;      /* type for counting input bytes; may differ from `element` */
    enum gcb_element element;  /* format in the file */
    bool has_step, has_worker; /* the path names a step, a worker */
    uint64_t linked; /* bit i: component i of `dataset` is an alias link to a group (hdf5.h) */
    uint64_t object; /* number of the object in its file, the same under each of its paths */
    uint64_t count;  /* product of dims; 1 for a scalar, 0 for an empty tensor */
    int64_t index;   /* place in the model, or -1 */
    /* Offset of the first element in the file, if the elements lie there one after the other,
     * little-endian. 0: ask the reader. */
    uint64_t offset;
    /* Offset in the file of the float32 by which fp8 is multiplied, or 0. If `blocked`, there is a
     * float32 for each block of GCB_SCALE_BLOCK rows and columns of a matrix, row by row. */
    uint64_t scale;
    bool blocked;
    unsigned rank;
    uint64_t dims[GCB_MAX_RANK];
};

/* The formats of 2-byte and of 1-byte datasets that are not floats. GCB_ELEMENT_NONE: such datasets
 * are read only if their attribute source_dtype names the format. */
struct gcb_reading {
    enum gcb_element words, bytes;
};

/* The names that --as takes, in the order of enum gcb_element from GCB_ELEMENT_BF16 on; ends with
 * NULL. */
extern const char *const gcb_element_names[];

/* Finds a 2-byte or 1-byte format by its name for --as, NumPy, ml_dtypes or PyTorch. Returns
 * GCB_ELEMENT_NONE for any other name. */
enum gcb_element gcb_element_of(const char *name);
/* Bytes of an element in the file; 0 for GCB_ELEMENT_NONE. */
size_t gcb_element_size(enum gcb_element element);
/* Returns the type for counting input bytes. fp8 counts as fp16, the smallest type that has all
 * values of fp8. But readers count a tensor of fp8 with scales as fp32. */
enum gcb_dtype gcb_element_dtype(enum gcb_element element);
/* Makes `element`, of 1 or 2 bytes, the format of datasets whose elements have the same size. */
void gcb_reading_use(struct gcb_reading *reading, enum gcb_element element);

/* Writes the name of the only tensor of a file. The name is the part of the path `file` after the
 * folders of step and worker (docs/dataset.md), or the file's name if there are no such folders.
 * The step and worker in the file's name, and `ending` (".npy"), are left out. If nothing is left,
 * writes "arr_0". `out` has `size` bytes, at least 6. */
void gcb_file_tensor(char *out, size_t size, const char *file, const char *ending);

/* Compares paths component by component, with results like strcmp: "/a/b" comes after "/a", and
 * before "/a.b". */
int gcb_path_compare(const char *a, const char *b);

/* ---- what a reader says while it lists its file ---- */

/* What the user should know about the files: what was left out (the kinds up to
 * GCB_REMARK_UNREADABLE, which may explain why the files have no tensor), and what is doubtful. */
enum gcb_remark {
    GCB_REMARK_WORDS,      /* selected datasets of 2-byte numbers without a format, left out */
    GCB_REMARK_BYTES,      /* selected datasets of 1-byte numbers without a format, left out */
    GCB_REMARK_FLOATS,     /* floats of other formats, such as long double, left out */
    GCB_REMARK_LINKS,      /* links that were not followed */
    GCB_REMARK_DEEP,       /* groups nested too deep, left out */
    GCB_REMARK_DIMENSIONS, /* netCDF dimensions without values, left out */
    GCB_REMARK_OTHERS,     /* other datasets, left out */
    GCB_REMARK_FILES,      /* links in a folder, and files without a reader's ending, left out */
    GCB_REMARK_MESSAGES,   /* files of `compress -o`, left out */
    GCB_REMARK_UNREADABLE, /* damaged or refused objects that are not selected */
    GCB_REMARK_ALIASES,    /* names left out: another name of the tensor gives a step or worker */
    GCB_REMARK_UNWRITTEN,  /* datasets that were never written, read as the fill value */
    GCB_REMARK_FP8,        /* tensors of fp8, which count as fp16 */
    GCB_REMARK_SCALED,     /* tensors of fp8 with scales, which count as fp32 */
    GCB_REMARK_NUMBERS,    /* tensors whose step is a group that is only a number */
    GCB_REMARK_NO_STEP,    /* tensors of step 0 whose path begins with a numbered group or name */
    GCB_REMARK_NO_WORKER,  /* tensors of a numbered group that is not taken as a worker */
    GCB_REMARKS,           /* number of kinds */
};

struct gcb_listing;

/* True if the user wants the tensor `dataset`, or wants it only if its step is the last. `linked`
 * is that of struct gcb_tensor. */
bool gcb_listing_selects(const struct gcb_listing *l, const char *dataset, uint64_t linked);
/* True if the user wants the object at this path or, if `below`, may want an object below it. A
 * listing does not fail because an unwanted object is damaged. */
bool gcb_listing_wants(const struct gcb_listing *l, const char *path, bool below);
/* Returns the formats of datasets that are not floats. */
const struct gcb_reading *gcb_listing_reading(const struct gcb_listing *l);
/*
 * Lists tensor t, selected or not. The caller has set `dataset`, `linked` and `object`, and for a
 * selected tensor also its index, types, shape, count, offset and scale. The listing finds path,
 * file, step and worker.
 */
int gcb_listing_tensor(struct gcb_listing *l, const struct gcb_tensor *t, struct gcb_diag *diag);
/* Says that the object at `path` is left out or doubtful. An object that is not `wanted` is not
 * counted, but an --exclude pattern that matches its path counts as used. */
int gcb_listing_remark(struct gcb_listing *l, enum gcb_remark kind, const char *path, bool wanted,
                       struct gcb_diag *diag);
/* Says what the tensors are, such as "momentum": a text of the file. */
int gcb_listing_what(struct gcb_listing *l, const char *what, struct gcb_diag *diag);

/* ---- the table of a reader ---- */

/* Functions that return int return 0 or a negative status (infile.h) with its message. */
struct gcb_reader {
    const char *name;       /* of the format, as in "not an HDF5 file" */
    const char *summary;    /* for the manual, after "HDF5: ": which data of a file are tensors */
    const char *endings[4]; /* of the names of its files in a folder: ".h5"; NULL is last */
    const char *library;    /* what is to blame for a crash: "the HDF5 library" */
    uint64_t address_space; /* bytes that the child may map beyond what it has at the start */
    bool opens_files;       /* with --allow-external the reader opens other files while reading */

    /* True if the open file is of this format. Runs in the parent: looks at bytes and calls no
     * library. */
    bool (*probe)(int descriptor, uint64_t size);
    /* Prepares this process for children that call the library. May be NULL. */
    int (*prepare)(struct gcb_diag *diag);
    /* Runs code that the user allows by an option (limits), in the child before it gives up its
     * rights, or in this process if there is no child. May be NULL. */
    void (*load)(const struct gcb_infile *file);
    /* Opens the file at `path`. *file lives as long as *state. On failure *state may be set, too.
     * `close` is called in any case, except in a child, which ends without it. */
    int (*open)(void **state, const struct gcb_infile *file, const char *path,
                struct gcb_diag *diag);
    /* Calls gcb_listing_tensor for each tensor, and gcb_listing_remark for what is left out. */
    int (*list)(void *state, struct gcb_listing *listing, struct gcb_diag *diag);
    /*
     * Reads elements of a tensor that was listed, from element `from` on, as they are stored,
     * little-endian. `from` is 0, or where the last call, for the same tensor, ended. On input,
     * *count is the number of elements that fit into `out`. On output, *count is the number of
     * elements that were read, at least one unless the tensor is empty. If the format can read only
     * more elements at a time, *count becomes that larger number, and `out` is unchanged. Returns
     * GCB_E_CORRUPT also if the tensor has changed since the listing. May be NULL if all tensors
     * have an offset.
     */
    int (*read)(void *state, const struct gcb_tensor *t, uint64_t from, uint64_t *count, void *out,
                struct gcb_diag *diag);
    /* The argument may be NULL. */
    void (*close)(void *state);
};

extern const struct gcb_reader gcb_hdf5, gcb_npy, gcb_npz, gcb_safetensors;
/* All readers; ends with NULL. */
extern const struct gcb_reader *const gcb_readers[];

#endif
