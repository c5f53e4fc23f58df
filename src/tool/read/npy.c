/* Arrays in NumPy's format .npy: a header such as
 * {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), } and then the elements. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "src/lib/base/alloc.h"
#include "src/lib/wire/buf.h"
#include "src/tool/read/flat.h"

enum {
    HEADER = 64 << 10, /* most bytes of a header; NumPy reads 10,000 */
    BLOCK = 16 << 10,  /* bytes that are put in order at a time */
};

static const char magic[] = "\x93NUMPY";

static int fail_header(const struct gcb_npy *npy, struct gcb_diag *diag)
{
    return gcb_flat_damaged(npy->stream.file, npy->stream.name, "its header is not valid", diag);
}

/* ---- the header ---- */

/* Spells a dictionary of Python as JSON: other quotes and brackets, small letters, no comma before
 * a bracket, no L after a number (Python 2). */
static void spell_as_json(char *text)
{
    char quote = '\0', *last = text; /* the last character that is not blank */

    for (char *c = text; *c; c++) {
        if (quote ? *c == quote : *c == '\'' || *c == '"') {
            quote = quote ? '\0' : *c;
            *c = '"';
        } else if (!quote) {
            if (*last == ',' && strchr(")]}", *c))
                *last = ' ';
            *c = *c == '('   ? '['
                 : *c == ')' ? ']'
                 : *c == 'L' ? ' '
                             : (char)tolower((unsigned char)*c);
        }
        if (*c != ' ')
            last = c;
    }
}

/* Sets the kind, format, size and byte order of the elements from a type such as "<f4". For NULL
 * and texts that are no simple type, the array is no tensor. */
static void set_type(struct gcb_npy *npy, const char *type)
{
    struct gcb_flat_array *a = &npy->array;
    unsigned size;
    char order, kind;
    int n = 0;

    a->kind = GCB_FLAT_OTHER;
    a->element = GCB_ELEMENT_NONE;
    a->size = 0;
    if (!type || sscanf(type, "%c%c%2u%n", &order, &kind, &size, &n) != 3 || type[n] ||
        !strchr("<>|", order))
        return;
    npy->swapped = order == '>';
    a->size = size;
    if (kind == 'f') {
        a->kind = GCB_FLAT_FLOAT;
        a->element = size == 2   ? GCB_ELEMENT_FP16
                     : size == 4 ? GCB_ELEMENT_FP32
                     : size == 8 ? GCB_ELEMENT_FP64
                                 : GCB_ELEMENT_NONE;
    } else if (strchr("iuV", kind) && size > 0) {
        a->kind = GCB_FLAT_PLAIN;
    }
}

/* Parses the dictionary in `text`, which it rewrites as JSON. Sets type, shape and order of the
 * array. */
static int read_header(struct gcb_npy *npy, char *text, size_t size, struct gcb_diag *diag)
{
    const struct gcb_flat_stream *s = &npy->stream;
    json_t *header, *type, *shape;
    int fortran, err;

    spell_as_json(text);
    err = gcb_flat_parse(s->file, s->name, text, size, &header, diag);
    if (!err && (json_unpack(header, "{s:o, s:b, s:o!}", "descr", &type, "fortran_order", &fortran,
                             "shape", &shape) != 0 ||
                 !gcb_flat_shape(&npy->array, shape)))
        err = fail_header(npy, diag);
    if (!err) {
        set_type(npy, json_string_value(type));
        npy->fortran = fortran && npy->array.rank > 1;
    }
    json_decref(header);
    return err;
}

int gcb_npy_start(struct gcb_npy *npy, struct gcb_diag *diag)
{
    uint8_t start[8], length[4] = {0};
    char *text = NULL;
    uint32_t n;
    int err = gcb_flat_start(&npy->stream, diag);

    /* start: the magic bytes, then the version, 1 to 3; version 1 has a header length of 2 bytes */
    npy->next = 0;
    npy->swapped = false;
    if (!err)
        err = gcb_flat_next(&npy->stream, start, sizeof(start), diag);
    if (!err && (memcmp(start, magic, sizeof(magic) - 1) != 0 || start[6] < 1 || start[6] > 3))
        return fail_header(npy, diag);
    if (!err)
        err = gcb_flat_next(&npy->stream, length, start[6] == 1 ? 2 : 4, diag);
    n = gcb_load_u32(length);
    if (!err && n > HEADER)
        return fail_header(npy, diag);
    if (!err) {
        text = gcb_alloc_zero((uint64_t)n + 1, 1);
        err =
            text ? gcb_flat_next(&npy->stream, text, n, diag) : gcb_diag_nomem(diag, n, "a header");
    }
    if (!err)
        err = read_header(npy, text, n, diag);
    gcb_free(text);
    npy->array.bytes = npy->stream.left;
    return err;
}

/* ---- the elements ---- */

/* Reverses the bytes of each element. */
static void swap_bytes(uint8_t *bytes, uint64_t count, size_t size)
{
    for (; count > 0; count--, bytes += size)
        for (size_t i = 0; i < size / 2; i++) {
            const uint8_t byte = bytes[i];

            bytes[i] = bytes[size - 1 - i];
            bytes[size - 1 - i] = byte;
        }
}

/* Reads a whole array whose first index runs fastest in the file. In `out`, the last index does. */
static int read_fortran(struct gcb_npy *npy, const struct gcb_tensor *t, uint8_t *out,
                        struct gcb_diag *diag)
{
    const size_t size = npy->array.size;
    uint64_t index[GCB_MAX_RANK] = {0}, stride[GCB_MAX_RANK] = {0}, to = 0;
    uint8_t block[BLOCK];
    int err = 0;

    stride[t->rank - 1] = 1;
    for (unsigned i = t->rank - 1; i > 0; i--)
        stride[i - 1] = stride[i] * t->dims[i];
    for (uint64_t left = t->count, n; left > 0 && !err; left -= n) {
        n = left < BLOCK / size ? left : BLOCK / size;
        err = gcb_flat_next(&npy->stream, block, n * size, diag);
        for (uint64_t k = 0; k < n && !err; k++) {
            memcpy(out + to * size, block + k * size, size);
            for (unsigned i = 0; i < t->rank; i++) {
                to += stride[i];
                if (++index[i] < t->dims[i])
                    break;
                to -= stride[i] * t->dims[i];
                index[i] = 0;
            }
        }
    }
    return err;
}

int gcb_npy_read(struct gcb_npy *npy, const struct gcb_tensor *t, uint64_t from, uint64_t *count,
                 void *out, struct gcb_diag *diag)
{
    const struct gcb_reading reading = {t->element, t->element};
    struct gcb_tensor now;
    uint64_t n = t->count - from;
    int err;

    if (!gcb_flat_tensor(&now, &npy->array, &reading) || now.element != t->element ||
        now.rank != t->rank || now.count != t->count ||
        memcmp(now.dims, t->dims, t->rank * sizeof(*t->dims)) != 0 || from != npy->next)
        return gcb_infile_fail(
            npy->stream.file->in, t->dataset, GCB_E_CORRUPT, diag,
            "changed since it was listed; do not write to the file while gcbench reads it");
    if (npy->fortran && *count < n) {
        *count = n;
        return 0;
    }
    n = n < *count ? n : *count;
    *count = n;
    err = npy->fortran ? read_fortran(npy, t, out, diag)
                       : gcb_flat_next(&npy->stream, out, n * npy->array.size, diag);
    npy->next += n;
    if (!err && npy->swapped)
        swap_bytes(out, n, npy->array.size);
    return err;
}

/* ---- the reader of .npy: a file is one array ---- */

static bool probe(int descriptor, uint64_t size)
{
    char first[sizeof(magic) - 1];

    return size > sizeof(first) && pread(descriptor, first, sizeof(first), 0) == sizeof(first) &&
           memcmp(first, magic, sizeof(first)) == 0;
}

/* Starts at the first byte, and reads the header. */
static int restart(struct gcb_flat *f, struct gcb_diag *diag)
{
    gcb_flat_end(&f->npy.stream);
    f->npy.stream.at = 0;
    f->npy.stream.packed = f->npy.stream.left = f->in->size;
    return gcb_npy_start(&f->npy, diag);
}

/* The array is named after the file (gcb_file_tensor). */
static int open_file(void **state, const struct gcb_infile *in, const char *path,
                     struct gcb_diag *diag)
{
    char name[GCB_READ_PATH + 1];
    int err = gcb_flat_open(state, in, path, diag);
    struct gcb_flat *f = *state;

    gcb_file_tensor(name, sizeof(name), in->path, ".npy");
    if (!err)
        err = gcb_flat_name(f, &f->npy.array, name, strlen(name), diag);
    return err ? err : restart(f, diag);
}

static int list(void *state, struct gcb_listing *listing, struct gcb_diag *diag)
{
    struct gcb_flat *f = state;
    struct gcb_flat_array *a = &f->npy.array;

    a->stored = a->bytes;
    a->offset = f->npy.swapped || f->npy.fortran ? 0 : f->npy.stream.at;
    a->index = -1;
    return gcb_flat_list(f, listing, a, 0, diag);
}

static int read_elements(void *state, const struct gcb_tensor *t, uint64_t from, uint64_t *count,
                         void *out, struct gcb_diag *diag)
{
    struct gcb_flat *f = state;
    const int err = from ? 0 : restart(f, diag);

    return err ? err : gcb_npy_read(&f->npy, t, from, count, out, diag);
}

const struct gcb_reader gcb_npy = {
    .name = ".npy",
    .summary = "the array of NumPy is a tensor with the name of its file.",
    .endings = {".npy"},
    .library = "gcbench",
    .address_space = UINT64_C(64) << 20,
    .probe = probe,
    .open = open_file,
    .list = list,
    .read = read_elements,
    .close = gcb_flat_close,
};
