/* The reader of NumPy's .npy: a file is one array. */
#include <string.h>
#include <unistd.h>

#include "src/lib/base/alloc.h"
#include "src/tool/read/flat.h"

struct npy_file {
    struct gcb_flat file;
    struct gcb_npy npy;
};

static bool probe(int descriptor, uint64_t size)
{
    char first[6];

    return size > sizeof(first) && pread(descriptor, first, sizeof(first), 0) == sizeof(first) &&
           memcmp(first, "\x93NUMPY", sizeof(first)) == 0;
}

/* Starts at the first byte, and reads the header. */
static int restart(struct npy_file *f, struct gcb_diag *diag)
{
    gcb_flat_end(&f->npy.stream);
    f->npy.stream.file = &f->file;
    f->npy.stream.at = 0;
    f->npy.stream.packed = f->npy.stream.left = f->file.in->size;
    return gcb_npy_start(&f->npy, diag);
}

/* The array is called like the file. */
static int open_file(void **state, const struct gcb_infile *in, const char *path,
                     struct gcb_diag *diag)
{
    const char *name = gcb_file_below(in->path);
    const size_t length = strlen(name);
    const bool ends = length > 4 && strcmp(name + length - 4, ".npy") == 0;
    struct npy_file *f = gcb_alloc_zero(1, sizeof(*f));
    int err;

    *state = f;
    if (!f)
        return gcb_diag_nomem(diag, sizeof(*f), "reading a file");
    err = gcb_flat_open(&f->file, in, path, diag);
    if (!err)
        err = gcb_flat_name(&f->file, &f->npy.array, name, ends ? length - 4 : length, diag);
    if (!err)
        err = restart(f, diag);
    return err;
}

static int list(void *state, struct gcb_listing *listing, struct gcb_diag *diag)
{
    struct npy_file *f = state;
    struct gcb_flat_array *a = &f->npy.array;

    a->stored = a->bytes;
    a->offset = f->npy.swapped || f->npy.fortran ? 0 : f->npy.stream.at;
    a->index = -1;
    return gcb_flat_list(&f->file, listing, a, 0, diag);
}

static int read_elements(void *state, const struct gcb_tensor *t, uint64_t from, uint64_t *count,
                         void *out, struct gcb_diag *diag)
{
    struct npy_file *f = state;
    const int err = from ? 0 : restart(f, diag);

    return err ? err : gcb_npy_read(&f->npy, t, from, count, out, diag);
}

static void close_file(void *state)
{
    struct npy_file *f = state;

    if (!f)
        return;
    gcb_flat_end(&f->npy.stream);
    gcb_flat_close(&f->file);
    gcb_free(f);
}

const struct gcb_reader gcb_npy = {
    .name = ".npy",
    .summary = "the array of NumPy is a tensor with the name of its file.",
    .library = "gcbench",
    .address_space = UINT64_C(64) << 20,
    .probe = probe,
    .open = open_file,
    .list = list,
    .read = read_elements,
    .close = close_file,
};
