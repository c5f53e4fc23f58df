#include "tests/support/h5make.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/test.h"
enum { MAX_FILES = 64 };

static char folder[128];
static char made[MAX_FILES][sizeof(((struct h5make *)NULL)->path)];
static size_t made_count;

void h5make_open(struct h5make *m, const char *name)
{
    if (made_count == 0) {
        const char *tmp = getenv("TMPDIR");

        snprintf(folder, sizeof(folder), "%s/h5make-XXXXXX", tmp && *tmp ? tmp : "/tmp");
        assert_non_null(mkdtemp(folder));
    }
    snprintf(m->path, sizeof(m->path), "%s/%s", folder, name);
    assert_true(made_count < MAX_FILES);
    memcpy(made[made_count++], m->path, sizeof(m->path));
    m->file = H5Fcreate(m->path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(m->file > 0);
}

void h5make_close(struct h5make *m)
{
    assert_true(H5Fclose(m->file) >= 0);
}

void h5make_put(struct h5make *m, const char *path, hid_t type, uint64_t n, float start,
                uint64_t chunk)
{
    const hsize_t dims[1] = {n}, chunks[1] = {chunk};
    const hid_t space = H5Screate_simple(1, dims, NULL), lcpl = H5Pcreate(H5P_LINK_CREATE);
    const hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE);
    float *x = calloc(n + 1, sizeof(*x));
    hid_t set;

    assert_non_null(x);
    for (uint64_t i = 0; i < n; i++)
        x[i] = start + (float)i;
    assert_true(H5Pset_create_intermediate_group(lcpl, 1) >= 0);
    if (chunk)
        assert_true(H5Pset_chunk(dcpl, 1, chunks) >= 0 && H5Pset_deflate(dcpl, 1) >= 0);
    set = H5Dcreate2(m->file, path, type, space, lcpl, dcpl, H5P_DEFAULT);
    assert_true(set > 0);
    assert_true(H5Dwrite(set, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, x) >= 0);
    H5Dclose(set);
    H5Pclose(dcpl);
    H5Pclose(lcpl);
    H5Sclose(space);
    free(x);
}

static void put_attribute(struct h5make *m, const char *path, const char *name, hid_t type,
                          const void *value)
{
    const hid_t space = H5Screate(H5S_SCALAR);
    const hid_t a =
        H5Acreate_by_name(m->file, path, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);

    assert_true(a > 0 && H5Awrite(a, type, value) >= 0);
    H5Aclose(a);
    H5Sclose(space);
}

void h5make_integer(struct h5make *m, const char *path, const char *name, int64_t value)
{
    put_attribute(m, path, name, H5T_NATIVE_INT64, &value);
}

void h5make_text(struct h5make *m, const char *path, const char *name, const char *value)
{
    const hid_t type = H5Tcopy(H5T_C_S1);

    assert_true(H5Tset_size(type, strlen(value)) >= 0);
    put_attribute(m, path, name, type, value);
    H5Tclose(type);
}

void h5make_clean(void)
{
    for (size_t i = 0; i < made_count; i++)
        unlink(made[i]);
    rmdir(folder);
}
