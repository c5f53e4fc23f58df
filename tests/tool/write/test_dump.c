/* Dumps: written data can be read; a file appears complete or not at all; a full disk is an
 * ordinary error. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <hdf5.h>

#include "src/tool/write/dump.h"
#include "tests/support/test.h"

static char folder[64], path[128];

/* Number of writes to the disk that still succeed; < 0: all. This pwrite replaces the C
 * library's. */
static long writes_left = -1;
static long writes_seen;

/* HDF5's own file is open for reading too; those writes always succeed. */
static bool on_disk(int fd)
{
    return (fcntl(fd, F_GETFL) & O_ACCMODE) == O_WRONLY;
}

ssize_t pwrite(int fd, const void *bytes, size_t n, off_t at);
ssize_t pwrite(int fd, const void *bytes, size_t n, off_t at)
{
    if (on_disk(fd)) {
        writes_seen++;
        if (writes_left == 0) {
            errno = ENOSPC;
            return -1;
        }
        if (writes_left > 0)
            writes_left--;
    }
    return syscall(SYS_pwrite64, fd, bytes, n, at);
}

static int setup(void **state)
{
    strcpy(folder, "/tmp/test_dump.XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof(path), "%s/out.h5", folder);
    return 0;
}

/* Number of files in the folder. */
static int files(void)
{
    DIR *d = opendir(folder);
    int n = 0;

    assert_non_null(d);
    while (readdir(d))
        n++;
    closedir(d);
    return n - 2;
}

static int teardown(void **state)
{
    writes_left = -1;
    unlink(path);
    return rmdir(folder);
}

static struct gcb_h5out *create(bool force)
{
    struct gcb_h5out *dump = NULL;
    struct gcb_diag diag = {0};

    if (gcb_h5out_create(&dump, path, force, NULL, 0, &diag))
        fail_msg("%s", diag.text);
    return dump;
}

static int put(struct gcb_h5out *dump, const char *dataset, enum gcb_dtype dtype, unsigned rank,
               const uint64_t *dims, const float *data, struct gcb_diag *diag)
{
    struct gcb_tensor t = {.dataset = dataset, .dtype = dtype, .rank = rank, .index = 7};

    if (rank)
        memcpy(t.dims, dims, rank * sizeof(*dims));

    return gcb_dump_put(dump, &t, data, diag);
}

/* Reads a whole dataset as doubles and checks its shape. */
static void check_values(hid_t file, const char *name, size_t size, int rank, const uint64_t *dims,
                         const double *want)
{
    const hid_t set = H5Dopen2(file, name, H5P_DEFAULT);
    hid_t type, space;
    hsize_t extent[GCB_MAX_RANK];
    double got[64];
    size_t count = 1;

    assert_true(set >= 0);
    type = H5Dget_type(set);
    space = H5Dget_space(set);
    assert_int_equal(H5Tget_class(type), H5T_FLOAT);
    assert_int_equal(H5Tget_size(type), size);
    assert_int_equal(H5Sget_simple_extent_ndims(space), rank);
    H5Sget_simple_extent_dims(space, extent, NULL);
    for (int i = 0; i < rank; i++) {
        assert_true(extent[i] == dims[i]);
        count *= dims[i];
    }
    assert_true(count <= 64);
    assert_true(H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, got) >= 0);
    for (size_t i = 0; i < count; i++)
        assert_true(got[i] == want[i]);
    H5Tclose(type);
    H5Sclose(space);
    H5Dclose(set);
}

static void check_text(hid_t file, const char *object, const char *name, const char *want)
{
    const hid_t a = H5Aopen_by_name(file, object, name, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t type = H5Aget_type(a);
    char got[64];

    assert_true(a >= 0);
    assert_true(H5Tget_size(type) <= sizeof(got));
    assert_true(H5Aread(a, type, got) >= 0);
    assert_string_equal(got, want);
    H5Tclose(type);
    H5Aclose(a);
}

static double number(hid_t file, const char *object, const char *name)
{
    const hid_t a = H5Aopen_by_name(file, object, name, H5P_DEFAULT, H5P_DEFAULT);
    double v = 0;

    assert_true(a >= 0);
    assert_true(H5Aread(a, H5T_NATIVE_DOUBLE, &v) >= 0);
    H5Aclose(a);
    return v;
}

static const uint64_t shape[] = {2, 3};
static const float values[] = {0.0f, -1.5f, 1.0f / 3.0f, 65504.0f, 1e-7f, 1.00390625f};

static void write_sample(struct gcb_h5out *dump)
{
    static const uint64_t none[] = {4, 0};

    assert_int_equal(put(dump, "/step_000001/worker_0/f32", GCB_F32, 2, shape, values, NULL), 0);
    assert_int_equal(put(dump, "/step_000001/worker_0/f16", GCB_F16, 2, shape, values, NULL), 0);
    assert_int_equal(put(dump, "/step_000001/worker_0/bf16", GCB_BF16, 2, shape, values, NULL), 0);
    assert_int_equal(put(dump, "/step_000001/worker_0/f64", GCB_F64, 2, shape, values, NULL), 0);
    assert_int_equal(put(dump, "/scalar", GCB_F32, 0, NULL, values + 1, NULL), 0);
    assert_int_equal(put(dump, "/empty", GCB_F32, 2, none, values, NULL), 0);
    assert_int_equal(gcb_h5out_note(dump, "/", "model", "t\xc3\xa9st", NULL), 0);
    assert_int_equal(gcb_h5out_number(dump, "/step_000001", "loss", 0.1, NULL), 0);
}

static void test_round_trip(void **state)
{
    static const double half[] = {0,         -1.5, 0.333251953125, 65504, 1.1920928955078125e-07,
                                  1.00390625};
    static const double brain[] = {0, -1.5, 0.333984375, 65536, 1.00117176771163940e-07, 1.0};
    struct gcb_h5out *dump = create(false);
    double same[6];
    hid_t file;

    write_sample(dump);
    assert_int_equal(access(path, F_OK), -1); /* not before it is complete */
    assert_int_equal(gcb_h5out_commit(dump, NULL), 0);
    gcb_h5out_destroy(dump);
    assert_int_equal(files(), 1);
    for (int i = 0; i < 6; i++)
        same[i] = (double)values[i];
    file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    assert_true(file >= 0);
    check_values(file, "/step_000001/worker_0/f32", 4, 2, shape, same);
    check_values(file, "/step_000001/worker_0/f16", 2, 2, shape, half);
    check_values(file, "/step_000001/worker_0/bf16", 4, 2, shape, brain);
    check_values(file, "/step_000001/worker_0/f64", 8, 2, shape, same);
    check_values(file, "/scalar", 4, 0, NULL, same + 1);
    check_values(file, "/empty", 4, 2, (const uint64_t[]){4, 0}, NULL);
    check_text(file, "/step_000001/worker_0/bf16", "source_dtype", "bfloat16");
    check_text(file, "/", "model", "t\xc3\xa9st");
    assert_true(number(file, "/step_000001", "loss") == 0.1);
    assert_true(number(file, "/scalar", "index") == 7.0);
    H5Fclose(file);
}

/* More than one block of conversion, and metadata between large datasets. */
static void test_large(void **state)
{
    const uint64_t n = 100003;
    float *x = malloc(n * sizeof(*x)), *y = malloc(n * sizeof(*y));
    struct gcb_h5out *dump = create(false);
    hid_t file;

    assert_true(x && y);
    for (uint64_t i = 0; i < n; i++)
        x[i] = (float)(i % 2048) - 1000.0f;
    for (int i = 0; i < 40; i++) {
        char name[32];

        snprintf(name, sizeof(name), "/a%d/b/c", i);
        assert_int_equal(
            put(dump, name, (enum gcb_dtype)(i % 2 ? GCB_F16 : GCB_F64), 1, &n, x, NULL), 0);
    }
    assert_int_equal(gcb_h5out_commit(dump, NULL), 0);
    gcb_h5out_destroy(dump);
    file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    for (int i = 0; i < 40; i++) {
        char name[32];
        hid_t set;

        snprintf(name, sizeof(name), "/a%d/b/c", i);
        set = H5Dopen2(file, name, H5P_DEFAULT);
        memset(y, 0, n * sizeof(*y));
        assert_true(H5Dread(set, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, y) >= 0);
        assert_memory_equal(x, y, n * sizeof(*x));
        H5Dclose(set);
    }
    H5Fclose(file);
    free(x);
    free(y);
}

static uint8_t *slurp(size_t *n)
{
    FILE *f = fopen(path, "rb");
    uint8_t *bytes = malloc(1 << 20);

    assert_true(f && bytes);
    *n = fread(bytes, 1, 1 << 20, f);
    fclose(f);
    return bytes;
}

static void test_bad_names(void **state)
{
    static const char *const names[] = {"/a/b", "/a/b/c", "/a",  "relative", "/",
                                        "",     "/x/",    "//x", "/./x",     "/x/."};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct gcb_h5out *dump = create(false);
        struct gcb_diag diag = {0};

        assert_int_equal(put(dump, "/a/b", GCB_F32, 2, shape, values, NULL), 0);
        assert_int_equal(put(dump, names[i], GCB_F32, 2, shape, values, &diag), GCB_E_INVALID);
        assert_non_null(strstr(diag.text, path));
        /* a dump with a failed tensor is never committed */
        assert_int_equal(gcb_h5out_commit(dump, NULL), GCB_E_IO);
        gcb_h5out_destroy(dump);
        assert_int_equal(files(), 0);
    }
}

static void test_bad_requests(void **state)
{
    struct gcb_h5out *dump = create(false);
    const uint64_t huge[] = {UINT64_C(1) << 40, UINT64_C(1) << 40};
    char *text = calloc(1, 70000);

    assert_non_null(text);
    memset(text, 'a', 69999);
    assert_int_equal(gcb_h5out_note(dump, "/absent", "a", "b", NULL), GCB_E_INVALID);
    assert_int_equal(gcb_h5out_note(dump, "/", "a", "b", NULL), 0);
    assert_int_equal(gcb_h5out_note(dump, "/", "empty", "", NULL), 0);
    assert_int_equal(gcb_h5out_note(dump, "/", "a", "c", NULL), GCB_E_INVALID);
    assert_int_equal(gcb_h5out_note(dump, "/", "long", text, NULL), GCB_E_INVALID);
    assert_int_equal(put(dump, "/h", GCB_F32, 2, huge, values, NULL), GCB_E_INVALID);
    gcb_h5out_destroy(dump);
    gcb_h5out_destroy(NULL);
    free(text);
}

/* Writes a whole dump. Returns the first error. */
static int write_all(struct gcb_diag *diag)
{
    const uint64_t n = 40000;
    float *x = calloc(n, sizeof(*x));
    struct gcb_h5out *dump = NULL;
    int err = gcb_h5out_create(&dump, path, true, NULL, 0, diag);

    assert_non_null(x);
    for (int i = 0; i < 8 && !err; i++) {
        char name[64];

        snprintf(name, sizeof(name), "/step_%d/worker_0/w", i);
        err = put(dump, name, (enum gcb_dtype)(i % 4), 1, &n, x, diag);
    }
    if (!err)
        err = gcb_h5out_commit(dump, diag);
    gcb_h5out_destroy(dump);
    free(x);
    return err;
}

/*
 * The disk becomes full at each write in turn. Each time there is an error, no file is left over,
 * the old file is unchanged, and HDF5 does not crash when this program ends.
 */
static void test_full_disk(void **state)
{
    FILE *old = fopen(path, "w");
    long total;

    assert_non_null(old);
    fputs("old", old);
    fclose(old);
    for (writes_left = 0, total = 1; writes_left < total; writes_left++) {
        struct gcb_diag diag = {0};
        const long allowed = writes_left;
        size_t n;
        uint8_t *bytes;

        assert_int_equal(write_all(&diag), GCB_E_IO);
        assert_non_null(strstr(diag.text, "No space left"));
        assert_non_null(strstr(diag.text, path));
        assert_int_equal(files(), 1);
        assert_int_equal(H5Fget_obj_count((hid_t)H5F_OBJ_ALL, H5F_OBJ_ALL), 0);
        bytes = slurp(&n);
        assert_true(n == 3 && memcmp(bytes, "old", 3) == 0);
        free(bytes);
        if (allowed == 0) { /* count the writes */
            writes_left = -1;
            writes_seen = 0;
            assert_int_equal(write_all(NULL), 0);
            total = writes_seen;
            assert_true(total > 20);
            old = fopen(path, "w");
            assert_non_null(old);
            fputs("old", old);
            fclose(old);
        }
        writes_left = allowed;
    }
    writes_left = -1;
}

/* A limit on file sizes, which also applies to HDF5's file in memory. */
static void test_file_limit(void **state)
{
    struct rlimit before, tight;
    struct gcb_diag diag = {0};

    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    for (rlim_t size = 0; size < 3 << 20; size += 100000) {
        int err;

        tight = before;
        tight.rlim_cur = size;
        setrlimit(RLIMIT_FSIZE, &tight);
        err = write_all(&diag);
        setrlimit(RLIMIT_FSIZE, &before);
        if (err) {
            assert_int_equal(err, GCB_E_IO);
            assert_non_null(strstr(diag.text, "limit on file sizes"));
        }
        assert_int_equal(files(), err ? 0 : 1);
        unlink(path);
    }
}

RUN_TESTS(cmocka_unit_test_setup_teardown(test_round_trip, setup, teardown),
          cmocka_unit_test_setup_teardown(test_large, setup, teardown),
          cmocka_unit_test_setup_teardown(test_bad_names, setup, teardown),
          cmocka_unit_test_setup_teardown(test_bad_requests, setup, teardown),
          cmocka_unit_test_setup_teardown(test_full_disk, setup, teardown),
          cmocka_unit_test_setup_teardown(test_file_limit, setup, teardown))
