/* Arrays in NumPy's format .npy: a header such as
 * {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), } and then the elements. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

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
    return gcb_infile_fail(npy->stream.file->in, npy->stream.name, GCB_E_CORRUPT, diag,
                           "damaged: the header of its array is not valid");
}

/* ---- the header ---- */

/* Skips blanks, then this character. Returns false if another character is there. */
static bool skip(const char **at, char c)
{
    *at += strspn(*at, " \t\n");
    if (**at != c)
        return false;
    ++*at;
    return true;
}

/* Skips blanks, then this word. */
static bool skip_word(const char **at, const char *word)
{
    const size_t n = strlen(word);

    *at += strspn(*at, " \t\n");
    if (strncmp(*at, word, n) != 0)
        return false;
    *at += n;
    return true;
}

/* Skips a string. Sets *text to its first character and returns its length, or -1. */
static int skip_string(const char **at, const char **text)
{
    const char quote = **at;
    size_t n;

    if (quote != '\'' && quote != '"')
        return -1;
    *text = *at + 1;
    n = strcspn(*text, quote == '"' ? "\"\\" : "'\\");
    if ((*text)[n] != quote)
        return -1;
    *at = *text + n + 1;
    return (int)n;
}

/* Skips a value in brackets, such as the list of fields of a structured type. */
static bool skip_nested(const char **at)
{
    const char *text;
    int depth = 0;

    do {
        *at += strspn(*at, " \t\n");
        if (**at == '\'' || **at == '"') {
            if (skip_string(at, &text) < 0)
                return false;
            continue;
        }
        if (**at == '\0')
            return false;
        depth += !!strchr("([{", **at) - !!strchr(")]}", **at);
        ++*at;
    } while (depth > 0);
    return depth == 0;
}

/* Reads a type such as '<f4'. Any other description is that of another type. */
static bool read_type(struct gcb_npy *npy, const char **at)
{
    struct gcb_flat_array *a = &npy->array;
    const char *text;
    char kind;
    int n;

    *at += strspn(*at, " \t\n");
    if (**at == '[' || **at == '(')
        return skip_nested(at);
    n = skip_string(at, &text);
    if (n < 0)
        return false;
    if (n < 3 || n > 4 || !strchr("<>|", text[0]) || (int)strspn(text + 2, "0123456789") < n - 2)
        return true;
    npy->swapped = text[0] == '>';
    kind = text[1];
    a->size = strtoul(text + 2, NULL, 10);
    if (kind == 'f') {
        a->kind = GCB_FLAT_FLOAT;
        a->element = a->size == 2   ? GCB_ELEMENT_FP16
                     : a->size == 4 ? GCB_ELEMENT_FP32
                     : a->size == 8 ? GCB_ELEMENT_FP64
                                    : GCB_ELEMENT_NONE;
    } else if (strchr("iuV", kind) && a->size > 0) {
        a->kind = GCB_FLAT_PLAIN;
    }
    return true;
}

/* Reads a shape such as (), (3,) or (3, 4). */
static bool read_shape(struct gcb_flat_array *a, const char **at)
{
    bool more = true;
    char *end;

    if (!skip(at, '('))
        return false;
    while (!skip(at, ')')) {
        if (!more || a->rank == GCB_MAX_RANK || **at < '0' || **at > '9')
            return false;
        errno = 0;
        a->dims[a->rank++] = strtoull(*at, &end, 10);
        if (errno)
            return false;
        *at = end + (*end == 'L'); /* Python 2 */
        more = skip(at, ',');
    }
    return true;
}

static bool read_order(struct gcb_npy *npy, const char **at)
{
    npy->fortran = skip_word(at, "True");
    return npy->fortran || skip_word(at, "False");
}

/* Reads the dictionary. Each key must occur once. */
static bool read_header(struct gcb_npy *npy, const char *at)
{
    unsigned seen = 0;
    bool more = true;

    if (!skip(&at, '{'))
        return false;
    while (!skip(&at, '}')) {
        const char *key;
        const int n = more ? skip_string(&at, &key) : -1;
        const unsigned bit = n == 5 && memcmp(key, "descr", 5) == 0             ? 1
                             : n == 13 && memcmp(key, "fortran_order", 13) == 0 ? 2
                             : n == 5 && memcmp(key, "shape", 5) == 0           ? 4
                                                                                : 0;

        if (bit == 0 || seen & bit || !skip(&at, ':') ||
            !(bit == 1   ? read_type(npy, &at)
              : bit == 2 ? read_order(npy, &at)
                         : read_shape(&npy->array, &at)))
            return false;
        seen |= bit;
        more = skip(&at, ',');
    }
    return seen == 7 && at[strspn(at, " \t\n")] == '\0';
}

int gcb_npy_start(struct gcb_npy *npy, struct gcb_diag *diag)
{
    struct gcb_flat_array *a = &npy->array;
    uint8_t start[8], length[4] = {0};
    char *text = NULL;
    uint32_t n;
    int err = gcb_flat_start(&npy->stream, diag);

    a->kind = GCB_FLAT_OTHER;
    a->element = GCB_ELEMENT_NONE;
    a->size = 0;
    a->rank = 0;
    npy->next = 0;
    npy->swapped = npy->fortran = false;
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
    if (!err && (strlen(text) != n || !read_header(npy, text)))
        err = fail_header(npy, diag);
    gcb_free(text);
    a->bytes = npy->stream.left;
    npy->fortran &= a->rank > 1;
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

/* Reads a whole array whose first index runs fastest. */
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
