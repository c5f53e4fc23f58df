/* Tensors in HDF5 files: listing, order, selection, values and notes, conversion. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/lib/base/alloc.h"
#include "src/tool/read/source.h"
#include "tests/support/h5make.h"
#include "tests/support/test.h"

enum { MAX_SHOWN = 64 };

static struct h5make dump, rank0, rank3, types, again, epochs;

static void make_dump(void)
{
    h5make_open(&dump, "dump.h5");
    h5make_put(&dump, "/step_000010/worker_1/b", H5T_IEEE_F32LE, 3, 0, 0);
    h5make_put(&dump, "/step_000010/worker_0/b", H5T_IEEE_F32LE, 3, 0, 0);
    h5make_put(&dump, "/step_000010/worker_0/a-", H5T_IEEE_F32LE, 3, 0, 0);
    h5make_put(&dump, "/step_000010/worker_0/a/x", H5T_IEEE_F32LE, 3, 0, 0);
    h5make_put(&dump, "/step_000010/worker_0/Z", H5T_IEEE_F32LE, 3, 0, 0);
    h5make_put(&dump, "/step9/worker2/step_4/b", H5T_IEEE_F64LE, 3, 0, 0);
    h5make_put(&dump, "/step_abc/n", H5T_IEEE_F32LE, 3, 0, 0);
    h5make_put(&dump, "/step_000010/count", H5T_NATIVE_INT, 3, 0, 0);
    h5make_integer(&dump, "/step_000010/worker_0/b", "index", 0);
    h5make_integer(&dump, "/step_000010/worker_0/a-", "index", 2);
    h5make_integer(&dump, "/step_000010/worker_0/Z", "index", 1);
    h5make_integer(&dump, "/step_000010/worker_0/a/x", "index", -7);
    h5make_close(&dump);
}

static void make_ranks(void)
{
    h5make_open(&rank0, "lowrank4_rank0.h5");
    h5make_put(&rank0, "/step_1/w", H5T_IEEE_F32LE, 3, 0, 0);
    h5make_close(&rank0);
    h5make_open(&rank3, "grads_rank3.h5");
    h5make_put(&rank3, "/step_1/w", H5T_IEEE_F32LE, 3, 100, 0);
    h5make_put(&rank3, "/step_1/worker_9/w", H5T_IEEE_F32LE, 3, 200, 0);
    h5make_close(&rank3);
    h5make_open(&again, "again_rank3.h5");
    h5make_put(&again, "/step_01/w", H5T_IEEE_F32LE, 3, 0, 0);
    h5make_close(&again);
}

/* Epochs that are steps, and an epoch that has steps. */
static void make_epochs(void)
{
    h5make_open(&epochs, "epochs.h5");
    h5make_put(&epochs, "/epoch_1/w", H5T_IEEE_F32LE, 3, 0, 0);
    h5make_put(&epochs, "/epoch_2/worker_0/w", H5T_IEEE_F32LE, 3, 0, 0);
    h5make_put(&epochs, "/epoch_3/step_30/w", H5T_IEEE_F32LE, 3, 0, 0);
    h5make_put(&epochs, "/epoch_4/count", H5T_NATIVE_INT, 3, 0, 0);
    h5make_close(&epochs);
}

/* The format that PyTorch and others call bfloat16. */
static hid_t bf16_type(void)
{
    const hid_t t = H5Tcopy(H5T_IEEE_F32LE);

    assert_true(H5Tset_fields(t, 15, 7, 8, 0, 7) >= 0 && H5Tset_size(t, 2) >= 0);
    assert_true(H5Tset_ebias(t, 127) >= 0);
    return t;
}

static hid_t f16_type(hid_t like)
{
    const hid_t t = H5Tcopy(like);

    assert_true(H5Tset_fields(t, 15, 10, 5, 0, 10) >= 0 && H5Tset_size(t, 2) >= 0);
    assert_true(H5Tset_ebias(t, 15) >= 0);
    return t;
}

/* Each dataset has the integers from -50 up. All formats represent them exactly, bfloat16 only up
 * to 256. */
static void make_types(void)
{
    const hid_t f16 = f16_type(H5T_IEEE_F32LE), f16be = f16_type(H5T_IEEE_F32BE);
    const hid_t bf16 = bf16_type();

    h5make_open(&types, "types.h5");
    h5make_put(&types, "bf16", bf16, 101, -50, 0);
    h5make_put(&types, "f16", f16, 101, -50, 0);
    h5make_put(&types, "f16be", f16be, 2001, -50, 0);
    h5make_put(&types, "f16be_chunked", f16be, 2001, -50, 100);
    h5make_put(&types, "f16_long", f16, 2001, -50, 64);
    h5make_put(&types, "f32", H5T_IEEE_F32LE, 100001, -50, 0);
    h5make_put(&types, "f32be", H5T_IEEE_F32BE, 100001, -50, 0);
    h5make_put(&types, "f32_chunked", H5T_IEEE_F32LE, 100001, -50, 7);
    h5make_put(&types, "f64", H5T_IEEE_F64LE, 100001, -50, 0);
    h5make_put(&types, "f64be", H5T_IEEE_F64BE, 100001, -50, 4096);
    h5make_put(&types, "marked", H5T_IEEE_F32LE, 11, -50, 0);
    h5make_put(&types, "empty", f16, 0, 0, 0);
    h5make_text(&types, "marked", "source_dtype", "bfloat16");
    h5make_text(&types, "f64", "source_dtype",
                "bfloat16"); /* the attribute applies only to float32 */
    h5make_close(&types);
    H5Tclose(f16);
    H5Tclose(f16be);
    H5Tclose(bf16);
}

static int make_all(void **state)
{
    make_dump();
    make_ranks();
    make_epochs();
    make_types();
    return 0;
}

static int clean(void **state)
{
    h5make_clean();
    return 0;
}

static struct gcb_source *open_ok(const struct gcb_source_config *config)
{
    struct gcb_source *source = NULL;
    struct gcb_diag diag = {0};

    if (gcb_source_open(&source, config, &diag) != 0)
        fail_msg("%s", diag.text);
    return source;
}

/* "10/0/a/x 10/0/b ..." of all tensors. */
static void check_listing(const struct gcb_source_config *config, const char *want)
{
    struct gcb_source *source = open_ok(config);
    char got[MAX_SHOWN * 16] = "";
    size_t n = 0;

    for (size_t i = 0; i < gcb_source_count(source); i++) {
        const struct gcb_tensor *t = gcb_source_tensor(source, i);

        n += (size_t)snprintf(got + n, sizeof(got) - n, "%s%u/%u/%s", i ? " " : "",
                              (unsigned)t->step, (unsigned)t->worker, t->path);
    }
    gcb_source_close(source);
    assert_string_equal(got, want);
}

static void check_refused(const struct gcb_source_config *config, int status, const char *words)
{
    struct gcb_source *source = NULL;
    struct gcb_diag diag = {0};

    assert_int_equal(gcb_source_open(&source, config, &diag), status);
    assert_null(source);
    if (!strstr(diag.text, words))
        fail_msg("'%s' is not in: %s", words, diag.text);
}

/* Checks how a remark begins; NULL: there is none. */
static void check_remark(const struct gcb_source *source, enum gcb_remark kind, const char *begins)
{
    char text[GCB_REMARK_TEXT] = "";

    assert_int_equal(gcb_source_remark(text, source, kind), begins != NULL);
    if (begins && strncmp(text, begins, strlen(begins)) != 0)
        fail_msg("'%s' does not begin with '%s'", text, begins);
}

static void test_order(void **state)
{
    const char *files[] = {dump.path};
    struct gcb_source_config config = {.files = files, .file_count = 1};

    check_listing(&config, "0/0/step_abc/n 9/2/step_4/b 10/0/Z 10/0/a/x 10/0/a- 10/0/b 10/1/b");
    config.order = GCB_ORDER_RECORDED;
    check_listing(&config, "0/0/step_abc/n 9/2/step_4/b 10/0/b 10/0/Z 10/0/a- 10/0/a/x 10/1/b");
}

static void test_selection(void **state)
{
    const char *files[] = {dump.path}, *include[] = {"a*", "b"}, *exclude[] = {"*/x"};
    struct gcb_source_config config = {.files = files, .file_count = 1};
    struct gcb_tensor_selection *s = &config.selection;

    s->steps = "last";
    check_listing(&config, "10/0/Z 10/0/a/x 10/0/a- 10/0/b 10/1/b");
    s->steps = "last,0-9/9";
    s->workers = "1-5";
    check_listing(&config, "9/2/step_4/b 10/1/b");
    s->workers = "0";
    s->include = include;
    s->include_count = 2;
    check_listing(&config, "10/0/a/x 10/0/a- 10/0/b");
    s->exclude = exclude;
    s->exclude_count = 1;
    check_listing(&config, "10/0/a- 10/0/b");
    s->workers = "1,7";
    check_refused(&config, GCB_E_INVALID, "no worker 7");
    s->steps = "11";
    check_refused(&config, GCB_E_INVALID, "no step 11; the last is 10");
    s->steps = "1-5";
    s->workers = NULL;
    check_refused(&config, GCB_E_INVALID,
                  "leaves none of 7 tensors; `gcbench inspect` lists their names, and a pattern "
                  "must match the "
                  "whole name");
    s->steps = "1-";
    check_refused(&config, GCB_E_INVALID,
                  "--step takes N, A-B, A-B/STRIDE, last, all or a list A,B,C, not '1-'");
}

/* A step in which no dataset is a tensor is absent, whichever process reads the file. */
static void test_step_without_tensor(void **state)
{
    const char *files[] = {epochs.path};
    struct gcb_source_config config = {
        .files = files, .file_count = 1, .selection = {.steps = "4"}};

    check_refused(&config, GCB_E_INVALID, "no step 4; the last is 30");
    config.limits.in_process = true;
    check_refused(&config, GCB_E_INVALID, "no step 4; the last is 30");
}

static void test_idle_globs(void **state)
{
    const char *files[] = {dump.path}, *include[] = {"b", "B"}, *exclude[] = {"Z", "a", "a/?"};
    struct gcb_source_config config = {.files = files, .file_count = 1};
    struct gcb_tensor_selection *s = &config.selection;
    struct gcb_source *source;

    s->include = include;
    s->include_count = 2;
    s->exclude = exclude;
    s->exclude_count = 3;
    s->steps = "last";
    source = open_ok(&config);
    assert_true(gcb_source_met(source, 0));
    assert_false(gcb_source_met(source, 1));
    assert_true(gcb_source_met(source, 2)); /* although only b is selected */
    assert_false(gcb_source_met(source, 3));
    assert_true(gcb_source_met(source, 4));
    assert_true(gcb_source_matches(source, "b"));
    assert_false(gcb_source_matches(source, "Z"));
    gcb_source_close(source);
}

static void test_files(void **state)
{
    const char *files[] = {rank3.path, rank0.path, again.path};
    struct gcb_source_config config = {.files = files, .file_count = 2};
    struct gcb_source *source;
    float x[3];

    check_listing(&config, "1/0/w 1/3/w 1/9/w");
    source = open_ok(&config);
    for (size_t i = 0; i < 3; i++) { /* from one file to the other and back */
        assert_int_equal(gcb_source_read(source, i, x, NULL), 0);
        assert_true(x[2] == (float)(i * 100) + 2.0f);
    }
    gcb_source_close(source);
    config.file_count = 3;
    check_refused(&config, GCB_E_INVALID, "grads_rank3.h5: /step_1/w and ");
    check_refused(&config, GCB_E_INVALID, "again_rank3.h5: /step_01/w are the same");
    config.file_count = 0;
    check_refused(&config, GCB_E_INVALID, "no file");
    files[0] = "h5make-missing.h5";
    config.file_count = 1;
    check_refused(&config, GCB_E_IO, "h5make-missing.h5: No such file");
}

static void test_facts(void **state)
{
    const char *files[] = {rank0.path, dump.path};
    const struct gcb_source_config config = {.files = files, .file_count = 2};
    struct gcb_source *source = open_ok(&config);

    check_remark(source, GCB_REMARK_OTHERS, "1 dataset of other types than floats skipped");
    gcb_source_close(source);
}

/* Reads a tensor in parts of `length` elements; the last may be shorter. */
static void read_parts(struct gcb_source *source, size_t i, float *out, uint64_t length)
{
    const uint64_t count = gcb_source_tensor(source, i)->count;

    for (uint64_t from = 0; from < count; from += length) {
        const uint64_t n = count - from < length ? count - from : length;

        assert_int_equal(gcb_source_read_part(source, i, from, n, out + from, NULL), 0);
    }
    assert_int_equal(gcb_source_read_part(source, i, count, 0, out, NULL), 0);
    assert_int_equal(gcb_source_read_part(source, i, count, 1, out, NULL), GCB_E_INTERNAL);
}

static void check_values(struct gcb_source *source, size_t i)
{
    const struct gcb_tensor *t = gcb_source_tensor(source, i);
    float *x = gcb_alloc_array(t->count + 1, sizeof(*x));

    assert_non_null(x);
    x[t->count] = 0.25f;                        /* a guard */
    for (unsigned pass = 0; pass < 2; pass++) { /* whole, then in parts */
        if (pass == 1 && !gcb_source_has_parts(source, i))
            break;
        if (pass == 0)
            assert_int_equal(gcb_source_read(source, i, x, NULL), 0);
        else
            read_parts(source, i, x, t->count / 3 + 1);
        for (uint64_t k = 0; k < t->count; k++)
            if (x[k] != (float)k - 50.0f)
                fail_msg("%s: element %u is %g", t->path, (unsigned)k, (double)x[k]);
        memset(x, 0, t->count * sizeof(*x));
    }
    assert_true(x[t->count] == 0.25f);
    gcb_free(x);
}

static void test_types(void **state)
{
    static const enum gcb_dtype want[] = {
        GCB_BF16, GCB_F16, GCB_F16, GCB_F16, GCB_F16, GCB_F16,
        GCB_F32,  GCB_F32, GCB_F32, GCB_F64, GCB_F64, GCB_BF16,
    };
    const char *files[] = {types.path};
    const struct gcb_source_config config = {.files = files, .file_count = 1};
    struct gcb_source *source = open_ok(&config);

    assert_int_equal(gcb_source_count(source), 12);
    for (size_t i = 0; i < 12; i++) {
        assert_int_equal(gcb_source_tensor(source, i)->dtype, want[i]);
        check_values(source, i);
    }
    gcb_source_close(source);
}

static void test_max_bytes(void **state)
{
    const char *files[] = {types.path}, *f64[] = {"f64"}, *f16[] = {"f16be"};
    struct gcb_source_config config = {.files = files, .file_count = 1, .limits.max_bytes = 800007};

    config.selection.include = f64;
    config.selection.include_count = 1;
    check_refused(&config, GCB_E_NOMEM, "/f64: 800008 bytes, more than --max-bytes 800007");
    config.limits.max_bytes = 800008;
    check_listing(&config, "0/0/f64");
    config.selection.include = f16;
    config.limits.max_bytes = 8003; /* as float32 it takes 8004 */
    check_refused(&config, GCB_E_NOMEM, "/f16be: 2001 elements");
    config.limits.max_bytes = 8004;
    check_listing(&config, "0/0/f16be");
}

enum { MANY = 17 }; /* one file more than a source keeps open */

/* Reads the only tensor of step i of a dump with a file for each step. */
static int read_step(struct gcb_source *source, size_t i, float expected, struct gcb_diag *diag)
{
    float x[3] = {0};
    const int err = gcb_source_read(source, i, x, diag);

    if (!err)
        assert_true(x[0] == expected && x[2] == expected + 2);
    return err;
}

/*
 * A dump with more files than are open at a time: a file is opened again when it is read. If it has
 * changed since it was listed, nothing is written past the caller's memory.
 */
static void test_many_files(void **state)
{
    static char paths[MANY][64];
    const char *files[MANY];
    const struct gcb_source_config config = {.files = files, .file_count = MANY};
    struct gcb_source *source;
    struct gcb_diag diag = {0};
    struct h5make m;
    char name[32];

    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof(name), "many_%02d.h5", i);
        h5make_open(&m, name);
        snprintf(name, sizeof(name), "/step_%d/w", i);
        h5make_put(&m, name, H5T_IEEE_F32LE, 3, (float)i, 0);
        h5make_close(&m);
        memcpy(paths[i], m.path, sizeof(paths[i]));
        files[i] = paths[i];
    }
    source = open_ok(&config);
    for (size_t i = 0; i < 3 * MANY; i++)
        assert_int_equal(read_step(source, i % MANY, (float)(i % MANY), NULL), 0);
    assert_int_equal(unlink(paths[0]), 0);
    h5make_open(&m, "many_00.h5");
    h5make_put(&m, "/step_0/w", H5T_IEEE_F32LE, 300, 0, 0);
    h5make_close(&m);
    assert_int_equal(read_step(source, 0, 0, &diag), GCB_E_CORRUPT);
    assert_non_null(strstr(diag.text, "changed"));
    assert_int_equal(read_step(source, 1, 1, &diag), 0);
    gcb_source_close(source);
    gcb_source_close(NULL);
}

/* Writes a contiguous or, with `chunk`, a chunked dataset of doubles, in big or little endian. */
static void put_doubles(struct h5make *m, const char *name, hid_t type, const double *x, hsize_t n,
                        hsize_t chunk)
{
    const hid_t space = H5Screate_simple(1, &n, NULL), list = H5Pcreate(H5P_DATASET_CREATE);
    hid_t set;

    if (chunk)
        assert_true(H5Pset_chunk(list, 1, &chunk) >= 0);
    set = H5Dcreate2(m->file, name, type, space, H5P_DEFAULT, list, H5P_DEFAULT);
    assert_true(H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, x) >= 0);
    H5Dclose(set);
    H5Pclose(list);
    H5Sclose(space);
}

/* Infinities, NaNs and small values stay. A finite float64 that float32 cannot hold is refused by
 * name. */
static void test_special(void **state)
{
    static const double in[] = {INFINITY, -INFINITY, NAN, -0.0, 1e-40, 3.4028235e38, 1e-60};
    static const double wide[] = {0, 1, 2, 3, 4, -1e300};
    const char *files[1];
    struct gcb_source_config config = {.files = files, .file_count = 1};

    for (int way = 0; way < 6; way++) { /* without HDF5, by HDF5's child, in this process */
        const hid_t type = way % 3 == 0 ? H5T_IEEE_F64LE : H5T_IEEE_F64BE;
        struct gcb_source *source;
        struct gcb_diag diag = {0};
        struct h5make m;
        float x[7];

        h5make_open(&m, "special.h5");
        put_doubles(&m, "a", type, in, 7, way % 3 == 1 ? 3 : 0);
        put_doubles(&m, "b", type, wide, 6, way % 3 == 1 ? 4 : 0);
        h5make_close(&m);
        files[0] = m.path;
        config.limits.in_process = way > 2;
        source = open_ok(&config);
        assert_int_equal(gcb_source_read(source, 0, x, NULL), 0);
        assert_true(x[0] == INFINITY && x[1] == -INFINITY && isnan(x[2]));
        assert_true(x[3] == 0.0f && signbit(x[3]) && x[4] == 1e-40f);
        assert_true(x[5] == FLT_MAX && x[6] == 0.0f);
        assert_int_equal(gcb_source_read(source, 1, x, &diag), GCB_E_CORRUPT);
        if (!strstr(diag.text, "special.h5: /b: element 5 is -1e+300"))
            fail_msg("%s", diag.text);
        assert_int_equal(gcb_source_read(source, 0, x, NULL), 0); /* the child still works */
        gcb_source_close(source);
    }
}

/* Three kinds of data outside the file. Each is refused; if allowed, all are read. */
static void make_outside(struct h5make *m, const char *raw)
{
    const hsize_t dims[1] = {3};
    const hid_t space = H5Screate_simple(1, dims, NULL);
    const hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE), vds = H5Pcreate(H5P_DATASET_CREATE);
    const float x[3] = {7, 8, 9};
    FILE *f = fopen(raw, "wb");

    assert_true(f && fwrite(x, sizeof(x), 1, f) == 1 && fclose(f) == 0);
    h5make_open(m, "outside.h5");
    assert_true(H5Lcreate_external("grads_rank3.h5", "/step_1/worker_9", m->file, "/link",
                                   H5P_DEFAULT, H5P_DEFAULT) >= 0);
    assert_true(H5Pset_external(dcpl, raw, 0, sizeof(x)) >= 0);
    H5Dclose(H5Dcreate2(m->file, "/raw", H5T_IEEE_F32LE, space, H5P_DEFAULT, dcpl, H5P_DEFAULT));
    assert_true(H5Pset_virtual(vds, space, rank3.path, "/step_1/w", space) >= 0);
    H5Dclose(H5Dcreate2(m->file, "/virtual", H5T_IEEE_F32LE, space, H5P_DEFAULT, vds, H5P_DEFAULT));
    H5Pclose(vds);
    H5Pclose(dcpl);
    H5Sclose(space);
    h5make_close(m);
}

static void test_external(void **state)
{
    static const char *const names[] = {"link/w", "raw", "virtual"};
    static const float third[] = {202, 9, 102};
    const char *files[1], *include[1];
    struct gcb_source_config config = {.files = files, .file_count = 1};
    struct gcb_source *source;
    struct h5make m;
    char raw[80];
    float x[3];

    snprintf(raw, sizeof(raw), "%.*s/raw.bin", (int)(strrchr(rank3.path, '/') - rank3.path),
             rank3.path);
    make_outside(&m, raw);
    files[0] = m.path;
    check_refused(&config, GCB_E_UNSUPPORTED, "/link: a link to another file; --allow-external");
    config.limits.allow_external = true;
    source = open_ok(&config);
    assert_int_equal(gcb_source_count(source), 3);
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(gcb_source_tensor(source, i)->path, names[i]);
        assert_int_equal(gcb_source_read(source, i, x, NULL), 0);
        assert_true(x[2] == third[i]);
    }
    gcb_source_close(source);
    include[0] = "link*";
    config.selection.include = include;
    config.selection.include_count = 1;
    check_listing(&config, "0/0/link/w");
    remove(raw);
}

/* Links to files or objects that do not exist, if following is allowed. */
static void test_external_gone(void **state)
{
    const char *files[1];
    struct gcb_source_config config = {
        .files = files, .file_count = 1, .limits.allow_external = true};
    struct h5make m;

    h5make_open(&m, "gone.h5");
    assert_true(H5Lcreate_external("h5make-missing.h5", "/", m.file, "/link", H5P_DEFAULT,
                                   H5P_DEFAULT) >= 0);
    h5make_close(&m);
    files[0] = m.path;
    check_refused(&config, GCB_E_IO, "/link: its external link leads nowhere");
}

RUN_TESTS_BETWEEN(make_all, clean, cmocka_unit_test(test_order), cmocka_unit_test(test_selection),
                  cmocka_unit_test(test_idle_globs), cmocka_unit_test(test_files),
                  cmocka_unit_test(test_facts), cmocka_unit_test(test_types),
                  cmocka_unit_test(test_max_bytes), cmocka_unit_test(test_many_files),
                  cmocka_unit_test(test_special), cmocka_unit_test(test_external),
                  cmocka_unit_test(test_external_gone), cmocka_unit_test(test_step_without_tensor))
