/* The reader of safetensors: 8 bytes with the length of a header, the header, which is a JSON
 * object, and the elements, little-endian. */
#include <string.h>
#include <unistd.h>

#include "src/lib/base/alloc.h"
#include "src/lib/wire/buf.h"
#include "src/tool/read/flat.h"

enum {
    START = 8,                 /* bytes before the header */
    MAX_HEADER = 100 * 1000000 /* as for the library safetensors */
};

struct safetensors {
    struct gcb_flat file;
    char *header; /* terminated */
    size_t length;
    uint64_t begin; /* place of the data in the file */
};

static int fail(const struct safetensors *f, const char *name, const char *why,
                struct gcb_diag *diag)
{
    return gcb_infile_fail(f->file.in, name, GCB_E_CORRUPT, diag, "damaged: %s", why);
}

static int fail_header(const struct safetensors *f, const char *name, struct gcb_diag *diag)
{
    return fail(f, name, "its header is not what safetensors writes", diag);
}

/* ---- JSON, as much as a header has: no nesting beyond two levels, only counts as numbers ---- */

/* Skips blanks, then this character. Returns false if another character is there. */
static bool skip(const char **at, char c)
{
    *at += strspn(*at, " \t\r\n");
    if (**at != c)
        return false;
    ++*at;
    return true;
}

/* Reads four hexadecimal digits. Returns UINT32_MAX if there are none. */
static uint32_t read_hex(const char **at)
{
    static const char digits[] = "0123456789abcdef";
    uint32_t value = 0;

    for (int i = 0; i < 4; i++, ++*at) {
        const char c = **at >= 'A' && **at <= 'F' ? (char)(**at | 0x20) : **at;
        const char *digit = c ? strchr(digits, c) : NULL;

        if (!digit)
            return UINT32_MAX;
        value = value << 4 | (uint32_t)(digit - digits);
    }
    return value;
}

/* Reads the code point after "\u", perhaps of two escapes, and appends it as UTF-8. */
static bool read_code(const char **at, char *out, size_t *n)
{
    uint32_t code = read_hex(at);
    unsigned more;

    if (code >= 0xd800 && code < 0xdc00 && (*at)[0] == '\\' && (*at)[1] == 'u') {
        uint32_t low;

        *at += 2;
        low = read_hex(at);
        if (low < 0xdc00 || low > 0xdfff)
            return false;
        code = 0x10000 + (code - 0xd800) * 0x400 + (low - 0xdc00);
    } else if (code > 0xffff || (code >= 0xd800 && code < 0xe000)) {
        return false;
    }
    more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    out[(*n)++] = (char)(more ? 0xff00 >> (more + 1) | code >> 6 * more : code);
    while (more-- > 0)
        out[(*n)++] = (char)(0x80 | (code >> 6 * more & 0x3f));
    return true;
}

/* Reads a string into `out`, which gets a terminator and has room for `size` bytes. A longer string
 * is cut to nothing and sets *length to `size`. Returns false if it is not a string. */
static bool read_string(const char **at, char *out, size_t size, size_t *length)
{
    static const char escapes[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    size_t n = 0;

    if (!skip(at, '"'))
        return false;
    while (**at != '"') {
        char bytes[4];
        size_t used = 0;
        const char *escape;

        if ((unsigned char)**at < 0x20)
            return false;
        if (**at != '\\') {
            bytes[used++] = *(*at)++;
        } else if (*++*at == 'u') {
            ++*at;
            if (!read_code(at, bytes, &used))
                return false;
        } else {
            escape = **at ? strchr(escapes, **at) : NULL;
            if (!escape)
                return false;
            bytes[used++] = meant[escape - escapes];
            ++*at;
        }
        if (n + used < size)
            memcpy(out + n, bytes, used);
        n = n + used < size ? n + used : size;
    }
    ++*at;
    *length = n;
    out[n < size ? n : 0] = '\0';
    return true;
}

static bool read_count(const char **at, uint64_t *out)
{
    *at += strspn(*at, " \t\r\n");
    if (**at < '0' || **at > '9' || (**at == '0' && (*at)[1] >= '0' && (*at)[1] <= '9'))
        return false;
    for (*out = 0; **at >= '0' && **at <= '9'; ++*at)
        if (__builtin_mul_overflow(*out, 10, out) ||
            __builtin_add_overflow(*out, (uint64_t)(**at - '0'), out))
            return false;
    return true;
}

/* Reads a list of at most `most` counts, and sets *n to their number. */
static bool read_counts(const char **at, uint64_t *out, unsigned most, unsigned *n)
{
    *n = 0;
    if (!skip(at, '['))
        return false;
    if (skip(at, ']'))
        return true;
    do {
        if (*n == most || !read_count(at, &out[(*n)++]))
            return false;
    } while (skip(at, ','));
    return skip(at, ']');
}

/* ---- arrays ---- */

/* Sets the type. A type that is not known is no tensor. */
static void set_type(struct gcb_flat_array *a, const char *name)
{
    static const struct {
        const char *name;
        enum gcb_flat_kind kind;
        enum gcb_element element;
        size_t size;
    } types[] = {
        {"F64", GCB_FLAT_FLOAT, GCB_ELEMENT_FP64, 8},
        {"F32", GCB_FLAT_FLOAT, GCB_ELEMENT_FP32, 4},
        {"F16", GCB_FLAT_FLOAT, GCB_ELEMENT_FP16, 2},
        {"BF16", GCB_FLAT_FLOAT, GCB_ELEMENT_BF16, 2},
        {"F8_E4M3", GCB_FLAT_FLOAT, GCB_ELEMENT_E4M3, 1},
        {"F8_E5M2", GCB_FLAT_FLOAT, GCB_ELEMENT_E5M2, 1},
        {"U16", GCB_FLAT_PLAIN, GCB_ELEMENT_NONE, 2},
        {"I16", GCB_FLAT_PLAIN, GCB_ELEMENT_NONE, 2},
        {"U8", GCB_FLAT_PLAIN, GCB_ELEMENT_NONE, 1},
        {"I8", GCB_FLAT_PLAIN, GCB_ELEMENT_NONE, 1},
    };

    a->kind = name[0] == 'F' ? GCB_FLAT_FLOAT : GCB_FLAT_OTHER;
    a->element = GCB_ELEMENT_NONE;
    a->size = 0;
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (strcmp(name, types[i].name) == 0) {
            a->kind = types[i].kind;
            a->element = types[i].element;
            a->size = types[i].size;
        }
}

/* Reads {"dtype": "F32", "shape": [3, 4], "data_offsets": [0, 48]}. Each key must occur once. */
static bool read_array(const char **at, struct gcb_flat_array *a, uint64_t offsets[2])
{
    char key[16], type[16];
    size_t length;
    unsigned seen = 0, n = 2;

    if (!skip(at, '{'))
        return false;
    do {
        unsigned bit = 0;

        if (!read_string(at, key, sizeof(key), &length) || !skip(at, ':'))
            return false;
        if (strcmp(key, "dtype") == 0 && read_string(at, type, sizeof(type), &length))
            bit = 1;
        else if (strcmp(key, "shape") == 0 && read_counts(at, a->dims, GCB_MAX_RANK, &a->rank))
            bit = 2;
        else if (strcmp(key, "data_offsets") == 0 && read_counts(at, offsets, 2, &n))
            bit = 4;
        if (bit == 0 || seen & bit)
            return false;
        seen |= bit;
    } while (skip(at, ','));
    if (seen != 7 || n != 2 || !skip(at, '}'))
        return false;
    set_type(a, type);
    return true;
}

/* Lists the next array, whose name has been read. */
static int list_array(struct safetensors *f, struct gcb_listing *listing, struct gcb_flat_array *a,
                      const char **at, struct gcb_diag *diag)
{
    const uint64_t most = f->file.in->size - f->begin;
    uint64_t offsets[2] = {0};
    int err;

    if (!read_array(at, a, offsets))
        return fail_header(f, a->path, diag);
    if (offsets[0] > offsets[1] || offsets[1] > most)
        return fail(f, a->path, "its data is outside of the file", diag);
    a->offset = f->begin + offsets[0];
    a->bytes = a->stored = offsets[1] - offsets[0];
    a->object++;
    err = gcb_flat_list(&f->file, listing, a, 0, diag);
    return err ? err : gcb_flat_take(&f->file, a->offset, a->offset + a->bytes, diag);
}

/* Keeps the texts of "__metadata__" as attributes of the root. */
static int list_metadata(struct safetensors *f, struct gcb_listing *listing, const char **at,
                         struct gcb_diag *diag)
{
    char key[GCB_READ_NAME + 1], text[GCB_LISTING_TEXT];
    size_t n, length;
    int err = 0;

    if (!skip(at, '{'))
        return fail_header(f, NULL, diag);
    if (skip(at, '}'))
        return 0;
    do {
        if (!read_string(at, key, sizeof(key), &n) || !skip(at, ':') ||
            !read_string(at, text, sizeof(text), &length))
            return fail_header(f, NULL, diag);
        if (n < sizeof(key) && length < sizeof(text))
            err = gcb_listing_attribute(listing, "/", key, text, 0.0, diag);
    } while (!err && skip(at, ','));
    return err || skip(at, '}') ? err : fail_header(f, NULL, diag);
}

/* Lists what the next key of the header has. */
static int list_entry(struct safetensors *f, struct gcb_listing *listing, struct gcb_flat_array *a,
                      const char **at, struct gcb_diag *diag)
{
    char name[GCB_READ_PATH];
    size_t n;
    int err;

    if (!read_string(at, name, sizeof(name), &n) || !skip(at, ':'))
        return fail_header(f, NULL, diag);
    if (strcmp(name, "__metadata__") == 0)
        return list_metadata(f, listing, at, diag);
    err = gcb_flat_name(&f->file, a, name, n, diag);
    return err ? err : list_array(f, listing, a, at, diag);
}

/* ---- the table ---- */

static bool probe(int descriptor, uint64_t size)
{
    uint8_t first[START + 1];

    return size > sizeof(first) && pread(descriptor, first, sizeof(first), 0) == sizeof(first) &&
           gcb_load_u64(first) <= UINT32_MAX && first[START] == '{';
}

static int open_file(void **state, const struct gcb_infile *in, const char *path,
                     struct gcb_diag *diag)
{
    struct safetensors *f = gcb_alloc_zero(1, sizeof(*f));
    uint8_t start[START];
    int err;

    *state = f;
    if (!f)
        return gcb_diag_nomem(diag, sizeof(*f), "reading a file");
    err = gcb_flat_open(&f->file, in, path, diag);
    if (!err)
        err = gcb_flat_read(&f->file, NULL, 0, start, sizeof(start), diag);
    if (err)
        return err;
    f->begin = START + gcb_load_u64(start);
    if (f->begin > MAX_HEADER)
        return fail(f, NULL, "its header is longer than 100 MB", diag);
    if (f->begin > in->size)
        return fail(f, NULL, "cut short: its header is not complete", diag);
    f->length = (size_t)f->begin - START;
    f->header = gcb_alloc_zero(f->length + 1, 1);
    return f->header ? gcb_flat_read(&f->file, NULL, START, f->header, f->length, diag)
                     : gcb_diag_nomem(diag, f->length, "the header of a file");
}

/* Besides what gcb_flat_check_spans checks, the arrays must take the whole rest of the file, as the
 * library safetensors requires it. */
static int check_data(struct safetensors *f, struct gcb_diag *diag)
{
    const int err = gcb_flat_check_spans(&f->file, diag);
    uint64_t at = f->begin;
    bool whole = true;

    for (size_t i = 0; i < f->file.span_count; i++) {
        whole &= f->file.spans[i].begin == at;
        at = f->file.spans[i].end;
    }
    if (err || (whole && at == f->file.in->size))
        return err;
    return fail(f, NULL, "some of its bytes belong to no tensor", diag);
}

static int list(void *state, struct gcb_listing *listing, struct gcb_diag *diag)
{
    struct safetensors *f = state;
    struct gcb_flat_array a = {.index = -1};
    const char *at = f->header;
    int err = 0;

    f->file.span_count = 0;
    if (!skip(&at, '{'))
        return fail_header(f, NULL, diag);
    if (!skip(&at, '}')) {
        do
            err = list_entry(f, listing, &a, &at, diag);
        while (!err && skip(&at, ','));
        if (!err && !skip(&at, '}'))
            err = fail_header(f, NULL, diag);
    }
    at += strspn(at, " \t\r\n");
    if (!err && at != f->header + f->length)
        err = fail_header(f, NULL, diag);
    return err ? err : check_data(f, diag);
}

static void close_file(void *state)
{
    struct safetensors *f = state;

    if (!f)
        return;
    gcb_flat_close(&f->file);
    gcb_free(f->header);
    gcb_free(f);
}

const struct gcb_reader gcb_safetensors = {
    .name = "safetensors",
    .summary = "each array of 16, 32 or 64-bit floats, bfloat16 or fp8 is a tensor.",
    .library = "gcbench",
    .address_space = UINT64_C(512) << 20,
    .probe = probe,
    .open = open_file,
    .list = list,
    .close = close_file,
};
