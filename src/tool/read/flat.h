#ifndef SRC_TOOL_READ_FLAT_H
#define SRC_TOOL_READ_FLAT_H

#include <jansson.h>
#include <zlib.h>

#include "src/tool/read/infile.h"
#include "src/tool/read/reader.h"

/*
 * What the readers of .npy, .npz and safetensors share. Such a file is a flat list of named arrays.
 * It is untrusted, so all numbers are checked before use. If the file says how many bytes to
 * allocate, more than 64 KiB are allocated only if the file has as many bytes.
 */

struct gcb_flat;

/* Reads exactly `size` bytes at offset `at`. `name` is for the message, and may be NULL. */
int gcb_flat_read(const struct gcb_flat *f, const char *name, uint64_t at, void *out, size_t size,
                  struct gcb_diag *diag);

/* Fails with "damaged: WHY". `name` may be NULL. Returns GCB_E_CORRUPT. */
int gcb_flat_damaged(const struct gcb_flat *f, const char *name, const char *why,
                     struct gcb_diag *diag);

/* Notes that an array takes the bytes from `begin` to before `end`. Returns 0 or GCB_E_NOMEM. */
int gcb_flat_take(struct gcb_flat *f, uint64_t begin, uint64_t end, struct gcb_diag *diag);
/* Refuses the file if two arrays take the same byte, or if an empty array lies inside another.
 * Sorts f->spans. */
int gcb_flat_check_spans(struct gcb_flat *f, struct gcb_diag *diag);

/* ---- arrays ---- */

enum gcb_flat_kind {
    GCB_FLAT_OTHER, /* no tensor */
    GCB_FLAT_FLOAT, /* floats; `element` is GCB_ELEMENT_NONE if gcbench does not read the format */
    GCB_FLAT_PLAIN, /* integers or bytes, which may hold a float of 1 or 2 bytes (--as) */
};

struct gcb_flat_array {
    char path[GCB_READ_PATH + 1]; /* "/" and the name */
    enum gcb_flat_kind kind;
    enum gcb_element element; /* the format of floats; GCB_ELEMENT_NONE for the other kinds */
    size_t size;              /* bytes of an element; 0 if that is not known */
    unsigned rank;
    uint64_t dims[GCB_MAX_RANK];
    uint64_t stored; /* bytes of the array in the file; in .npz with the header of .npy */
    uint64_t bytes;  /* bytes of the elements when they are unpacked */
    /* as in struct gcb_tensor: */
    uint64_t offset, object;
    int64_t index;
    uint64_t scale;
    bool blocked;
};

/* Sets a->path from the n bytes of `name`. Returns GCB_E_CORRUPT if the name has GCB_READ_PATH
 * bytes or more, a zero byte, or a part that is empty, ".", ".." or longer than GCB_READ_NAME. */
int gcb_flat_name(const struct gcb_flat *f, struct gcb_flat_array *a, const char *name, size_t n,
                  struct gcb_diag *diag);
/* Parses a header, which must be a JSON object without a key that occurs twice. The caller ends
 * *out with json_decref, also after a failure. */
int gcb_flat_parse(const struct gcb_flat *f, const char *name, const char *text, size_t size,
                   json_t **out, struct gcb_diag *diag);
/* Sets a->rank and a->dims from a list of numbers. Returns false if it is no shape. */
bool gcb_flat_shape(struct gcb_flat_array *a, const json_t *list);
/* Sets the element, dtype, scale, shape and count of *t. Returns false if the array is not a tensor
 * (then t->element is GCB_ELEMENT_NONE), or if its shape does not fit its bytes. */
bool gcb_flat_tensor(struct gcb_tensor *t, const struct gcb_flat_array *a,
                     const struct gcb_reading *reading);
/*
 * Lists an array, or says why it is not a tensor. `err` is 0, or the error of finding out what the
 * array is, with its message in *diag. Returns this error if the array is selected, or if it is
 * GCB_E_NOMEM or GCB_E_IO; otherwise leaves the array out. Refuses a selected array whose shape
 * does not fit its bytes, that is larger than limits.max_bytes, or that unpacks to far more than it
 * stores.
 */
int gcb_flat_list(const struct gcb_flat *f, struct gcb_listing *listing,
                  const struct gcb_flat_array *a, int err, struct gcb_diag *diag);

/* ---- streams ---- */

/* Bytes that are read from the first to the last, perhaps inflated. */
struct gcb_flat_stream {
    struct gcb_flat *file;
    const char *name;     /* for messages */
    uint64_t at, packed;  /* place in the file of the next byte, and stored bytes from there on */
    uint64_t left;        /* bytes left to read, counted after inflating */
    bool deflated;        /* the stored bytes are deflated */
    bool checked;         /* the bytes have a checksum: CRC-32 */
    uint32_t crc, so_far; /* the checksum, and that of the bytes that were read */
    z_stream inflater;
    uint8_t block[16384]; /* deflated bytes */
};

/* Starts to read. The caller has set all members from `file` to `crc`, and ends the stream with
 * gcb_flat_end. */
int gcb_flat_start(struct gcb_flat_stream *s, struct gcb_diag *diag);
/* Reads the next `size` bytes. After the last byte, checks that the data ends there, and its
 * checksum. */
int gcb_flat_next(struct gcb_flat_stream *s, void *out, uint64_t size, struct gcb_diag *diag);
void gcb_flat_end(struct gcb_flat_stream *s); /* a zeroed struct is allowed */

/* ---- arrays in the format .npy (npy.c) ---- */

struct gcb_npy {
    struct gcb_flat_array array;
    struct gcb_flat_stream stream; /* at the next element */
    bool swapped;                  /* big-endian */
    bool fortran;                  /* the first index runs fastest */
    uint64_t next;                 /* number of the next element */
};

/* Starts npy->stream and reads the header. Sets kind, element, size, shape and `bytes` of the
 * array, and the members after `stream`. */
int gcb_npy_start(struct gcb_npy *npy, struct gcb_diag *diag);
/* Reads elements of the tensor after gcb_npy_start, as `read` of struct gcb_reader: in the order of
 * flatten(), the last index runs fastest. `from` must be npy->next. */
int gcb_npy_read(struct gcb_npy *npy, const struct gcb_tensor *t, uint64_t from, uint64_t *count,
                 void *out, struct gcb_diag *diag);

/* ---- files ---- */

/* An open file: the state of the readers of .npy, .npz and safetensors. */
struct gcb_flat {
    const struct gcb_infile *in;
    int descriptor; /* -1: not open */
    /* the parts of the file that arrays take */
    struct gcb_flat_span {
        uint64_t begin, end;
    } * spans;
    size_t span_count, span_cap;

    struct gcb_npy npy; /* in .npy and .npz: the array that is being read */
    json_t *header;     /* of safetensors */
    uint64_t begin;     /* place of the data of safetensors, or of the directory of an .npz */
    /* of .npz */
    uint8_t *directory;
    size_t length;  /* bytes of the directory */
    uint64_t count; /* number of its records */
    uint64_t end;   /* the end of the last member's data, or less if its local header is not read */
};

/* Opens the file that gcb_infile_find found, as `open` of struct gcb_reader. */
int gcb_flat_open(void **state, const struct gcb_infile *in, const char *path,
                  struct gcb_diag *diag);
void gcb_flat_close(void *state); /* the argument may be NULL */

#endif
