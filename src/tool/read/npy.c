/* The reader of NumPy's .npy: a file is one array. */
#include <string.h>
#include <unistd.h>

#include "src/lib/base/alloc.h"
#include "src/tool/read/flat.h"

static bool probe(int descriptor, uint64_t size)
{
    char first[6];

    return size > sizeof(first) && pread(descriptor, first, sizeof(first), 0) == sizeof(first) &&
           memcmp(first, "\x93NUMPY", sizeof(first)) == 0;
}

/* Starts at the first byte, and reads the header. */
static int restart(struct gcb_flat *f, struct gcb_diag *diag)
{
    gcb_flat_end(&f->npy.stream);
    f->npy.stream.at = 0;
    f->npy.stream.packed = f->npy.stream.left = f->in->size;
    return gcb_npy_start(&f->npy, diag);
}

/* The array is called like the file. */
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
