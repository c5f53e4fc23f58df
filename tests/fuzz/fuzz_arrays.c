/* Files of .npy, .npz and safetensors, read in this process. HDF5 is left out: mutate_hdf5.c. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "src/tool/read/source.h"
#include "tests/fuzz/fuzz.h"

static const int allowed[] = {GCB_E_CORRUPT, GCB_E_UNSUPPORTED, GCB_E_NOMEM, 0};

static char path[] = "/tmp/fuzz_arrays.XXXXXX";
static int file = -1;

static void remove_file(void)
{
    unlink(path);
}

/* Reads all tensors. What a listing promises must be true. */
static int read_all(struct gcb_source *source, struct gcb_diag *diag)
{
    for (size_t i = 0; i < gcb_source_count(source); i++) {
        const struct gcb_tensor *t = gcb_source_tensor(source, i);
        float *x = malloc(t->count * sizeof(*x) + 1);
        int err;

        fuzz_require(x && t->count <= FUZZ_MAX_ELEMENTS * 16, "the limit holds", NULL);
        err = gcb_source_read(source, i, x, diag);
        for (uint64_t k = 0; k < t->count && !err; k++) /* a sanitizer sees what was not set */
            if (x[k] > 1e38f)
                err = 0;
        free(x);
        if (err)
            return err;
    }
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *files[] = {path};
    const struct gcb_source_config config = {
        .files = files,
        .file_count = 1,
        .reading = {GCB_ELEMENT_BF16, size % 2 ? GCB_ELEMENT_E4M3 : GCB_ELEMENT_NONE},
        .limits = {.max_bytes = FUZZ_MAX_ELEMENTS * 16 * sizeof(float), .in_process = true}};
    struct gcb_source *source = NULL;
    struct gcb_diag diag = {0};
    uint64_t at;
    int err;

    if (file < 0) {
        file = mkstemp(path);
        atexit(remove_file);
    }
    if (file < 0 || pwrite(file, data, size, 0) != (ssize_t)size || ftruncate(file, (off_t)size))
        abort();
    if (gcb_filekind_hdf5(file, size, &at))
        return 0;
    err = gcb_source_open(&source, &config, &diag);
    if (!err)
        err = read_all(source, &diag);
    fuzz_require_status(err, &diag, allowed);
    gcb_source_close(source);
    return 0;
}
