/* The reader of safetensors: 8 bytes with the length of a header, the header, which is a JSON
 * object, and the elements, little-endian. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/lib/base/alloc.h"
#include "src/lib/wire/buf.h"
#include "src/tool/read/flat.h"

enum {
    START = 8,            /* bytes before the header */
    MAX_HEADER = 32 << 20 /* enough for 300,000 tensors; jansson takes up to 80 times as much */
};

struct safetensors {
    struct gcb_flat file;
    json_t *header;
    uint64_t begin; /* place of the data in the file */
};

static int fail(const struct safetensors *f, const char *name, const char *why,
                struct gcb_diag *diag)
{
    return gcb_infile_fail(f->file.in, name, GCB_E_CORRUPT, diag, "damaged: %s", why);
}

static int fail_header(const struct safetensors *f, const char *name, struct gcb_diag *diag)
{
    return fail(f, name, "its header is not valid", diag);
}

/* ---- arrays ---- */

/* Sets the type. A type that is not known is no tensor. */
static void set_type(struct gcb_flat_array *a, const char *name)
{
    static const struct {
        const char *name;
        enum gcb_element element;
    } floats[] = {
        {"F64", GCB_ELEMENT_FP64},  {"F32", GCB_ELEMENT_FP32},     {"F16", GCB_ELEMENT_FP16},
        {"BF16", GCB_ELEMENT_BF16}, {"F8_E4M3", GCB_ELEMENT_E4M3}, {"F8_E5M2", GCB_ELEMENT_E5M2},
    };
    const unsigned long bits = strtoul(name + !!*name, NULL, 10);

    a->element = GCB_ELEMENT_NONE;
    for (size_t i = 0; i < sizeof(floats) / sizeof(floats[0]); i++)
        if (strcmp(name, floats[i].name) == 0)
            a->element = floats[i].element;
    a->size = a->element ? gcb_element_size(a->element) : bits / 8;
    a->kind = a->element || *name == 'F'                                  ? GCB_FLAT_FLOAT
              : (*name == 'U' || *name == 'I') && bits >= 8 && bits <= 64 ? GCB_FLAT_PLAIN
                                                                          : GCB_FLAT_OTHER;
}

/* Lists the array that the header describes as {"dtype": "F32", "shape": [3, 4],
 * "data_offsets": [0, 48]}. */
static int list_array(struct safetensors *f, struct gcb_listing *listing, struct gcb_flat_array *a,
                      json_t *value, struct gcb_diag *diag)
{
    const uint64_t most = f->file.in->size - f->begin;
    const char *type;
    json_int_t from, to;
    json_t *shape;
    int err;

    if (json_unpack(value, "{s:s, s:o, s:[I, I!]!}", "dtype", &type, "shape", &shape,
                    "data_offsets", &from, &to) != 0 ||
        !gcb_flat_shape(a, shape))
        return fail_header(f, a->path, diag);
    if (from < 0 || from > to || (uint64_t)to > most)
        return fail(f, a->path, "its data is outside of the file", diag);
    set_type(a, type);
    a->offset = f->begin + (uint64_t)from;
    a->bytes = a->stored = (uint64_t)(to - from);
    a->object++;
    err = gcb_flat_list(&f->file, listing, a, 0, diag);
    return err ? err : gcb_flat_take(&f->file, a->offset, a->offset + a->bytes, diag);
}

/* Keeps the texts of "__metadata__" as attributes of the root. */
static int list_metadata(struct safetensors *f, struct gcb_listing *listing, json_t *metadata,
                         struct gcb_diag *diag)
{
    const char *key;
    json_t *value;
    int err = json_is_object(metadata) ? 0 : fail_header(f, NULL, diag);

    json_object_foreach(metadata, key, value)
    {
        if (!json_is_string(value))
            err = fail_header(f, NULL, diag);
        else if (strlen(key) <= GCB_READ_NAME && json_string_length(value) < GCB_LISTING_TEXT)
            err = gcb_listing_attribute(listing, "/", key, json_string_value(value), 0.0, diag);
        if (err)
            break;
    }
    return err;
}

/* ---- the table ---- */

static bool probe(int descriptor, uint64_t size)
{
    uint8_t first[START + 1];

    return size > sizeof(first) && pread(descriptor, first, sizeof(first), 0) == sizeof(first) &&
           gcb_load_u64(first) <= UINT32_MAX && first[START] == '{';
}

/* Nobody who writes a file can know which of its keys have one hash. */
static int prepare(struct gcb_diag *diag)
{
    (void)diag;
    json_object_seed(0);
    return 0;
}

static int open_file(void **state, const struct gcb_infile *in, const char *path,
                     struct gcb_diag *diag)
{
    struct safetensors *f = gcb_alloc_zero(1, sizeof(*f));
    uint8_t start[START];
    uint64_t length;
    char *text;
    int err;

    *state = f;
    if (!f)
        return gcb_diag_nomem(diag, sizeof(*f), "reading a file");
    err = gcb_flat_open(&f->file, in, path, diag);
    if (!err)
        err = gcb_flat_read(&f->file, NULL, 0, start, sizeof(start), diag);
    if (err)
        return err;
    length = gcb_load_u64(start);
    if (length > in->size - START)
        return fail(f, NULL, "cut short: its header is not complete", diag);
    if (length > MAX_HEADER)
        return gcb_infile_fail(in, NULL, GCB_E_UNSUPPORTED, diag,
                               "its header is longer than 32 MiB; write its tensors to several "
                               "files");
    f->begin = START + length;
    text = gcb_alloc(length);
    err = text ? gcb_flat_read(&f->file, NULL, START, text, length, diag)
               : gcb_diag_nomem(diag, length, "the header of a file");
    if (!err)
        err = gcb_flat_parse(&f->file, NULL, text, length, &f->header, diag);
    gcb_free(text);
    return err;
}

static int list(void *state, struct gcb_listing *listing, struct gcb_diag *diag)
{
    struct safetensors *f = state;
    struct gcb_flat_array a = {.index = -1};
    uint64_t bytes = 0;
    const char *name;
    json_t *value;
    int err = 0;

    f->file.span_count = 0;
    json_object_foreach(f->header, name, value)
    {
        if (strcmp(name, "__metadata__") == 0) {
            err = list_metadata(f, listing, value, diag);
        } else {
            err = gcb_flat_name(&f->file, &a, name, strlen(name), diag);
            if (!err)
                err = list_array(f, listing, &a, value, diag);
            bytes += a.bytes;
        }
        if (err)
            return err;
    }
    err = gcb_flat_check_spans(&f->file, diag);
    if (!err && bytes != f->file.in->size - f->begin)
        err = fail(f, NULL, "some of its bytes belong to no tensor", diag);
    return err;
}

static void close_file(void *state)
{
    struct safetensors *f = state;

    if (!f)
        return;
    gcb_flat_close(&f->file);
    json_decref(f->header);
    gcb_free(f);
}

const struct gcb_reader gcb_safetensors = {
    .name = "safetensors",
    .summary = "each array of 16, 32 or 64-bit floats, bfloat16 or fp8 is a tensor.",
    .library = "gcbench",
    .address_space = UINT64_C(1) << 30,
    .probe = probe,
    .prepare = prepare,
    .open = open_file,
    .list = list,
    .close = close_file,
};
