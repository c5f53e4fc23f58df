/* The reader of safetensors: 8 bytes with the length of a header, the header, which is a JSON
 * object, and the elements, little-endian. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"
#include "src/lib/wire/buf.h"
#include "src/tool/read/flat.h"

enum {
    START = 8,            /* bytes before the header */
    MAX_HEADER = 32 << 20 /* bytes, for 300,000 tensors; jansson may take 80 times as much memory */
};

/* ---- arrays ---- */

/* Sets kind, element and size of the array from its type, such as "F32". */
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

/* Reads how the header describes an array: {"dtype": "F32", "shape": [3, 4],
 * "data_offsets": [0, 48]}. */
static int read_array(const struct gcb_flat *f, struct gcb_flat_array *a, json_t *value,
                      struct gcb_diag *diag)
{
    const uint64_t most = f->in->size - f->begin;
    const char *type;
    json_int_t from, to;
    json_t *shape;

    if (json_unpack(value, "{s:s, s:o, s:[I, I!]!}", "dtype", &type, "shape", &shape,
                    "data_offsets", &from, &to) != 0 ||
        !gcb_flat_shape(a, shape))
        return gcb_flat_damaged(f, a->path, "its header is not valid", diag);
    if (from < 0 || from > to || (uint64_t)to > most)
        return gcb_flat_damaged(f, a->path, "its data is outside of the file", diag);
    set_type(a, type);
    a->offset = f->begin + (uint64_t)from;
    a->bytes = a->stored = (uint64_t)(to - from);
    a->scale = 0;
    a->blocked = false;
    return 0;
}

/* ---- scales of fp8 ---- */

/* The scales of the array NAME are the array NAME_scale_inv or NAME_scale. */
static const char *const scale_ends[] = {"_scale_inv", "_scale"};

/* Finds the scales of an array of fp8, and sets a->scale and a->blocked. */
static int find_scales(const struct gcb_flat *f, struct gcb_flat_array *a, struct gcb_diag *diag)
{
    const char *name = a->path + 1;
    struct gcb_flat_array s = {.rank = 0};
    struct gcb_tensor t;
    json_t *value = NULL;
    bool fits;
    int err;

    for (int i = 0; i < 2 && !value && a->size == 1 && a->element; i++) {
        snprintf(s.path, sizeof(s.path), "%s%s", name, scale_ends[i]);
        value = json_object_get(f->header, s.path);
    }
    if (!value)
        return 0;
    err = read_array(f, &s, value, diag);
    if (err)
        return err;
    fits = gcb_flat_tensor(&t, &s, &(struct gcb_reading){0}) && t.element == GCB_ELEMENT_FP32;
    a->blocked = t.count != 1;
    for (int i = 0; i < 2 && a->blocked; i++)
        fits &= a->rank == 2 && s.rank == 2 &&
                s.dims[i] == (a->dims[i] + GCB_SCALE_BLOCK - 1) / GCB_SCALE_BLOCK;
    if (!fits)
        return gcb_infile_fail(f->in, a->path, GCB_E_UNSUPPORTED, diag,
                               "%s is neither one float32 nor one for each block of 128 x 128",
                               gcb_show(s.path).text);
    a->scale = s.offset;
    return 0;
}

/* True if the array `name` holds the scales of an array of fp8. */
static bool is_scale(const struct gcb_flat *f, const char *name)
{
    char base[GCB_READ_PATH + 1];
    struct gcb_flat_array a;
    const char *type;

    for (int i = 0; i < 2; i++) {
        const size_t n = strlen(name), end = strlen(scale_ends[i]);

        if (n <= end || strcmp(name + n - end, scale_ends[i]) != 0)
            continue;
        snprintf(base, sizeof(base), "%.*s", (int)(n - end), name);
        type = json_string_value(json_object_get(json_object_get(f->header, base), "dtype"));
        set_type(&a, type ? type : "");
        if (a.size == 1 && a.element)
            return true;
    }
    return false;
}

/* ---- the table of the reader ---- */

static bool probe(int descriptor, uint64_t size)
{
    uint8_t first[START + 1];

    return size > sizeof(first) && pread(descriptor, first, sizeof(first), 0) == sizeof(first) &&
           gcb_load_u64(first) <= UINT32_MAX && first[START] == '{';
}

/* Lets jansson hash keys with a random seed, so that a hostile file cannot have keys that all have
 * the same hash, which would make reading slow. */
static int prepare(struct gcb_diag *diag)
{
    (void)diag;
    json_object_seed(0);
    return 0;
}

static int open_file(void **state, const struct gcb_infile *in, const char *path,
                     struct gcb_diag *diag)
{
    uint8_t start[START];
    const int failed = gcb_flat_open(state, in, path, diag);
    struct gcb_flat *f = *state;
    uint64_t length;
    char *text;
    int err = failed ? failed : gcb_flat_read(f, NULL, 0, start, sizeof(start), diag);

    if (err)
        return err;
    length = gcb_load_u64(start);
    if (length > in->size - START)
        return gcb_flat_damaged(f, NULL, "cut short: its header is not complete", diag);
    if (length > MAX_HEADER)
        return gcb_infile_fail(in, NULL, GCB_E_UNSUPPORTED, diag,
                               "its header is longer than 32 MiB; write its tensors to several "
                               "files");
    f->begin = START + length;
    text = gcb_alloc(length);
    err = text ? gcb_flat_read(f, NULL, START, text, length, diag)
               : gcb_diag_nomem(diag, length, "the header of a file");
    if (!err)
        err = gcb_flat_parse(f, NULL, text, length, &f->header, diag);
    gcb_free(text);
    return err;
}

static int list(void *state, struct gcb_listing *listing, struct gcb_diag *diag)
{
    struct gcb_flat *f = state;
    struct gcb_flat_array a = {.index = -1};
    uint64_t bytes = 0;
    const char *name;
    json_t *value;
    int err = 0;

    f->span_count = 0;
    json_object_foreach(f->header, name, value)
    {
        if (strcmp(name, "__metadata__") == 0)
            continue;
        err = gcb_flat_name(f, &a, name, strlen(name), diag);
        if (!err)
            err = read_array(f, &a, value, diag);
        if (!err)
            err = gcb_flat_take(f, a.offset, a.offset + a.bytes, diag);
        a.object++;
        if (!err && !is_scale(f, name))
            err = gcb_flat_list(f, listing, &a, find_scales(f, &a, diag), diag);
        if (err)
            return err;
        bytes += a.bytes;
    }
    err = gcb_flat_check_spans(f, diag);
    if (!err && bytes != f->in->size - f->begin)
        err = gcb_flat_damaged(f, NULL, "some of its bytes belong to no tensor", diag);
    return err;
}

const struct gcb_reader gcb_safetensors = {
    .name = "safetensors",
    .summary = "each array of 16, 32 or 64-bit floats, bfloat16 or fp8 is a tensor.",
    .endings = {".safetensors"},
    .library = "gcbench",
    .address_space = UINT64_C(1) << 30,
    .probe = probe,
    .prepare = prepare,
    .open = open_file,
    .list = list,
    .close = gcb_flat_close,
};
