/* The container: messages and what restores their tensors come back; damage anywhere is found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <hdf5.h>

#include <cmocka.h>

#include "src/data/container.h"
#include "src/data/container_salt.h"
#include "src/data/dump.h"
#include "src/wire/message.h"

/* Damaged metadata make HDF5 ask for memory that is not there; under a sanitizer too that is to be an error. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

/* HDF5 loses what it had allocated for an object header whose checksum does not match. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libhdf5";
}

static char folder[64], dump_path[2][96], path[96];

static int setup(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/test_container.XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    snprintf(dump_path[0], sizeof(dump_path[0]), "%s/a.h5", folder);
    snprintf(dump_path[1], sizeof(dump_path[1]), "%s/b_rank3.h5", folder);
    snprintf(path, sizeof(path), "%s/messages.h5", folder);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    unlink(dump_path[0]);
    unlink(dump_path[1]);
    unlink(path);
    return rmdir(folder);
}

static const struct gcb_dump_tensor rows[] = {
    {"w/a", GCB_F32, 2, (const uint64_t[]){2, 30}, 1},
    {"b", GCB_F16, 1, (const uint64_t[]){5}, 0},
    {"w/s", GCB_BF16, 0, NULL, -1},
    {"w/z", GCB_F64, 2, (const uint64_t[]){0, 4}, 3},
};
#define ROWS (sizeof(rows) / sizeof(rows[0]))

/* A dump of `steps` steps; prefix "" puts its tensors at the root. */
static void write_dump(const char *file, unsigned steps)
{
    const float x[60] = {1, 2, 3, 4, 5, 6, 7, 8};
    struct gcb_dump *dump;

    assert_int_equal(gcb_dump_create(&dump, file, true, NULL, 0, NULL), 0);
    for (unsigned s = 0; s < (steps ? steps : 1); s++)
        for (size_t i = 0; i < ROWS; i++) {
            struct gcb_dump_tensor t = rows[i];
            char name[64];

            if (steps)
                snprintf(name, sizeof(name), "/step_%06u/worker_0/%s", s, rows[i].dataset);
            else
                snprintf(name, sizeof(name), "/%s", rows[i].dataset);
            t.dataset = name;
            assert_int_equal(gcb_dump_put(dump, &t, x, NULL), 0);
        }
    assert_int_equal(gcb_dump_commit(dump, NULL), 0);
    gcb_dump_destroy(dump);
}

static struct gcb_source *open_source(size_t files)
{
    const char *const names[] = {dump_path[0], dump_path[1]};
    const struct gcb_source_config config = {.files = names, .file_count = files};
    struct gcb_source *source;
    struct gcb_diag diag = {0};

    if (gcb_source_open(&source, &config, &diag))
        fail_msg("%s", diag.text);
    return source;
}

/* A message of `count` elements whose payload depends on `tag`. */
static size_t make_message(uint8_t *out, uint64_t count, unsigned tag)
{
    const struct gcb_frame f = {
        .codec = 1, .flags = GCB_WIRE_CHECKSUM, .count = count, .payload_bytes = 5 + tag % 7};
    struct gcb_wbuf w = {.data = out, .cap = 64};
    uint8_t *p;

    gcb_frame_write(&f, &w);
    p = gcb_wbuf_take(&w, f.payload_bytes);
    assert_non_null(p);
    memset(p, (int)(tag * 37 + 1), f.payload_bytes);
    assert_non_null(gcb_wbuf_take(&w, GCB_CHECKSUM_BYTES));
    return w.len;
}

/* Writes one message for each of a layout of the given scope; returns how many. */
static size_t write_container(struct gcb_source *source, enum gcb_scope scope)
{
    const struct gcb_layout_config config = {.scope = scope, .bucket_bytes = 244};
    struct gcb_container_writer *w;
    struct gcb_layout layout;
    struct gcb_diag diag = {0};
    size_t count;

    assert_int_equal(gcb_layout_init(&layout, source, &config, NULL), 0);
    if (gcb_container_create(&w, path, true, NULL, 0, &diag))
        fail_msg("%s", diag.text);
    for (size_t i = 0; i < layout.count; i++) {
        uint8_t message[64];
        const size_t n = make_message(message, layout.messages[i].count, (unsigned)i);

        if (gcb_container_put(w, source, &layout.messages[i], message, n, &diag))
            fail_msg("%s", diag.text);
    }
    assert_int_equal(gcb_container_note(w, "spec", "fft:theta=0.9", NULL), 0);
    if (gcb_container_commit(w, &diag))
        fail_msg("%s", diag.text);
    gcb_container_destroy(w);
    count = layout.count;
    gcb_layout_fini(&layout);
    return count;
}

static struct gcb_container *open_container(void)
{
    struct gcb_container *c;
    struct gcb_diag diag = {0};

    if (gcb_container_open(&c, path, 0, &diag))
        fail_msg("%s", diag.text);
    return c;
}

/* The row that a restored path ends in. */
static const struct gcb_dump_tensor *row_of(const char *dataset, const char *prefix)
{
    const size_t n = strlen(prefix);

    assert_memory_equal(dataset, prefix, n);
    for (size_t i = 0; i < ROWS; i++)
        if (strcmp(dataset + n, rows[i].dataset) == 0)
            return &rows[i];
    fail_msg("%s", dataset);
    return NULL;
}

/* Every message reads, and its tensors are those of the dump below `prefix` (per message if NULL). */
static size_t check_content(struct gcb_container *c, const char *const *prefixes)
{
    size_t tensors = 0;

    for (size_t i = 0; i < gcb_container_count(c); i++) {
        const struct gcb_container_message *m = gcb_container_message(c, i);
        uint8_t *bytes = malloc(m->length);
        uint64_t offset = 0;
        struct gcb_frame f;
        struct gcb_rbuf payload;
        struct gcb_diag diag = {0};

        assert_non_null(bytes);
        if (gcb_container_read(c, i, bytes, &diag))
            fail_msg("%s", diag.text);
        assert_int_equal(gcb_frame_parse(&f, &payload, bytes, m->length, NULL), 0);
        assert_true(f.count == m->count);
        free(bytes);
        for (size_t j = 0; j < m->tensor_count; j++, tensors++) {
            const struct gcb_container_tensor *t = &m->tensors[j];
            const char *prefix = prefixes[0];
            const struct gcb_dump_tensor *want;

            for (size_t k = 0; prefixes[k]; k++)
                if (strncmp(t->dataset, prefixes[k], strlen(prefixes[k])) == 0)
                    prefix = prefixes[k];
            want = row_of(t->dataset, prefix);
            assert_int_equal(t->dtype, want->dtype);
            assert_int_equal(t->rank, want->rank);
            for (unsigned k = 0; k < want->rank; k++)
                assert_true(t->dims[k] == want->dims[k]);
            assert_true(t->index == want->index);
            assert_true(t->offset == offset);
            offset += t->count;
        }
        assert_true(offset == m->count);
    }
    return tensors;
}

static const char *const two_steps[] = {"/step_000000/worker_0/", "/step_000001/worker_0/", NULL};

static void test_round_trip(void **state)
{
    static const size_t messages[] = {8, 4, 2};

    (void)state;
    write_dump(dump_path[0], 2);
    for (int scope = GCB_SCOPE_TENSOR; scope <= GCB_SCOPE_MODEL; scope++) {
        struct gcb_source *source = open_source(1);
        const size_t count = write_container(source, (enum gcb_scope)scope);
        struct gcb_container *c = open_container();

        gcb_source_close(source);
        assert_int_equal(count, messages[scope]);
        assert_int_equal(gcb_container_count(c), count);
        assert_int_equal(check_content(c, two_steps), 2 * ROWS);
        assert_string_equal(gcb_container_note_of(c, "spec"), "fft:theta=0.9");
        assert_null(gcb_container_note_of(c, "gcbench_xxh3"));
        assert_null(gcb_container_note_of(c, "absent"));
        gcb_container_close(c);
    }
    gcb_container_close(NULL);
    gcb_container_destroy(NULL);
}

/* The paths of one file are kept as they are; those of several would collide. */
static void test_paths(void **state)
{
    static const char *const root[] = {"/", NULL};
    static const char *const schema[] = {"/step_000000/worker_0/", "/step_000000/worker_3/", NULL};

    (void)state;
    write_dump(dump_path[0], 0);
    write_dump(dump_path[1], 0);
    for (int scope = GCB_SCOPE_TENSOR; scope <= GCB_SCOPE_MODEL; scope++)
        for (size_t files = 1; files <= 2; files++) {
            struct gcb_source *source = open_source(files);
            struct gcb_container *c;

            write_container(source, (enum gcb_scope)scope);
            c = open_container();
            gcb_source_close(source);
            assert_int_equal(check_content(c, files == 1 ? root : schema), files * ROWS);
            gcb_container_close(c);
        }
}

static uint8_t *slurp(size_t *n)
{
    FILE *f = fopen(path, "rb");
    uint8_t *bytes = malloc(1 << 20);

    assert_true(f && bytes);
    *n = fread(bytes, 1, 1 << 20, f);
    fclose(f);
    assert_true(*n < 1 << 20);
    return bytes;
}

/* All that a reader learns from the file as one text; NULL if reading fails. */
static char *digest(void)
{
    struct gcb_container *c;
    struct gcb_diag diag = {0};
    char *text;
    size_t used = 0;
    int err = gcb_container_open(&c, path, 1 << 20, &diag);

    if (err) {
        assert_int_equal(diag.status, err);
        assert_true(diag.text[0] && !strchr(diag.text, '\n'));
        return NULL;
    }
    text = malloc(1 << 16);
    assert_non_null(text);
    for (size_t i = 0; i < gcb_container_count(c) && !err; i++) {
        const struct gcb_container_message *m = gcb_container_message(c, i);
        uint8_t *bytes = malloc(m->length ? m->length : 1);

        assert_non_null(bytes);
        err = gcb_container_read(c, i, bytes, &diag);
        used += (size_t)sprintf(text + used, "%s:", m->dataset);
        for (size_t j = 0; j < m->length && !err; j++)
            used += (size_t)sprintf(text + used, "%02x", bytes[j]);
        for (size_t j = 0; j < m->tensor_count && !err; j++) {
            const struct gcb_container_tensor *t = &m->tensors[j];

            used += (size_t)sprintf(text + used, "|%s %d %d %d", t->dataset, (int)t->dtype,
                                    (int)t->index, (int)t->offset);
            for (unsigned k = 0; k < t->rank; k++)
                used += (size_t)sprintf(text + used, "x%d", (int)t->dims[k]);
        }
        free(bytes);
    }
    gcb_container_close(c);
    if (err) {
        assert_int_equal(diag.status, err);
        free(text);
        return NULL;
    }
    return text;
}

/* Each byte of the file changed in two ways: reading fails, or nothing that matters was changed. */
static void check_flips(enum gcb_scope scope)
{
    struct gcb_source *source;
    char *whole;
    uint8_t *bytes;
    size_t n, found = 0;
    int fd;

    write_dump(dump_path[0], 1);
    source = open_source(1);
    write_container(source, scope);
    gcb_source_close(source);
    whole = digest();
    assert_non_null(whole);
    bytes = slurp(&n);
    fd = open(path, O_RDWR);
    assert_true(fd >= 0);
    for (size_t i = 0; i < 2 * n; i++) {
        const uint8_t changed = (uint8_t)(bytes[i / 2] ^ (i % 2 ? 0xff : 1u << i / 2 % 8));
        char *text;

        assert_int_equal(pwrite(fd, &changed, 1, (off_t)(i / 2)), 1);
        text = digest();
        if (text && strcmp(text, whole) != 0)
            fail_msg("byte %zu: %s instead of %s", i / 2, text, whole);
        found += !text;
        free(text);
        assert_int_equal(pwrite(fd, bytes + i / 2, 1, (off_t)(i / 2)), 1);
    }
    close(fd);
    print_message("%zu of %zu changes found, the rest without effect\n", found, 2 * n);
    free(whole);
    free(bytes);
}

static void test_flips_tensor(void **state)
{
    (void)state;
    check_flips(GCB_SCOPE_TENSOR);
}

static void test_flips_bucket(void **state)
{
    (void)state;
    check_flips(GCB_SCOPE_BUCKET);
}

/* Every cut is found, except of bytes that HDF5 has at the end for nothing. */
static void test_cuts(void **state)
{
    for (int scope = GCB_SCOPE_TENSOR; scope <= GCB_SCOPE_BUCKET; scope++) {
        struct gcb_source *source;
        size_t n;
        uint8_t *bytes;

        (void)state;
        write_dump(dump_path[0], 1);
        source = open_source(1);
        write_container(source, (enum gcb_scope)scope);
        gcb_source_close(source);
        bytes = slurp(&n);
        for (size_t cut = n; cut-- > 0;) {
            assert_int_equal(truncate(path, (off_t)cut), 0);
            assert_null(digest());
        }
        free(bytes);
    }
}

#define STEP "/step_000000/worker_0/"

/* A file as the writer leaves it, opened with HDF5 to be changed in valid ways. */
static hid_t open_to_tamper(enum gcb_scope scope)
{
    struct gcb_source *source;
    hid_t file;

    write_dump(dump_path[0], 1);
    source = open_source(1);
    write_container(source, scope);
    gcb_source_close(source);
    file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    assert_true(file >= 0);
    return file;
}

static void put_text(hid_t file, const char *object, const char *name, const char *text)
{
    const hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
    hid_t a;

    H5Tset_size(type, strlen(text) + 1);
    if (H5Aexists_by_name(file, object, name, H5P_DEFAULT) > 0)
        assert_true(H5Adelete_by_name(file, object, name, H5P_DEFAULT) >= 0);
    a = H5Acreate_by_name(file, object, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(a >= 0);
    assert_true(H5Awrite(a, type, text) >= 0);
    H5Aclose(a);
    H5Sclose(space);
    H5Tclose(type);
}

static void put_integer(hid_t file, const char *object, const char *name, int64_t value)
{
    const hid_t id = H5Oopen(file, object, H5P_DEFAULT);
    const hid_t a = H5Aopen(id, name, H5P_DEFAULT);

    assert_true(a >= 0);
    assert_true(H5Awrite(a, H5T_NATIVE_INT64, &value) >= 0);
    H5Aclose(a);
    H5Oclose(id);
}

/* Closes what was tampered with; reading must fail with these words. */
static void found(hid_t file, const char *words)
{
    struct gcb_container *c = NULL;
    struct gcb_diag diag = {0};

    assert_true(H5Fclose(file) >= 0);
    assert_int_equal(gcb_container_open(&c, path, 0, &diag), GCB_E_CORRUPT);
    if (!strstr(diag.text, words))
        fail_msg("'%s' does not say '%s'", diag.text, words);
}

static void test_changed_attributes(void **state)
{
    static const char *const shapes[] = {"30x2", "60", "2x31", ""};
    hid_t file;

    (void)state;
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        file = open_to_tamper(GCB_SCOPE_TENSOR);
        put_text(file, STEP "w/a", "shape", shapes[i]);
        found(file, "damaged");
    }
    file = open_to_tamper(GCB_SCOPE_TENSOR);
    put_text(file, STEP "w/a", "shape", "2x-30");
    found(file, "shape and dtype");
    file = open_to_tamper(GCB_SCOPE_TENSOR);
    put_text(file, STEP "w/a", "dtype", "fp16");
    found(file, "damaged");
    file = open_to_tamper(GCB_SCOPE_TENSOR);
    put_text(file, STEP "w/a", "dtype", "fp99");
    found(file, "shape and dtype");
    file = open_to_tamper(GCB_SCOPE_TENSOR);
    put_integer(file, STEP "w/a", "index", 2);
    found(file, "damaged");
    file = open_to_tamper(GCB_SCOPE_TENSOR);
    H5Adelete_by_name(file, STEP "w/a", "index", H5P_DEFAULT);
    found(file, "damaged");
    file = open_to_tamper(GCB_SCOPE_BUCKET);
    put_text(file, STEP "messages/0000", "layout_xxh3", "0123456789abcdef");
    found(file, "layout is damaged");
}

static void test_lost_and_renamed(void **state)
{
    hid_t file = open_to_tamper(GCB_SCOPE_TENSOR);

    (void)state;
    H5Ldelete(file, STEP "w/s", H5P_DEFAULT);
    found(file, "missing");
    file = open_to_tamper(GCB_SCOPE_TENSOR);
    H5Ldelete(file, STEP "w/s", H5P_DEFAULT); /* and the count made to fit */
    put_integer(file, "/", "gcbench_messages", 3);
    found(file, "missing");
    file = open_to_tamper(GCB_SCOPE_TENSOR); /* the count alone */
    put_integer(file, "/", "gcbench_messages", 3);
    found(file, "missing");
    file = open_to_tamper(GCB_SCOPE_TENSOR);
    H5Lmove(file, STEP "w/s", file, STEP "w/t", H5P_DEFAULT, H5P_DEFAULT);
    found(file, "names");
    file = open_to_tamper(GCB_SCOPE_BUCKET);
    H5Ldelete(file, STEP "messages/0001_layout", H5P_DEFAULT);
    found(file, "0001_layout");
    file = open_to_tamper(GCB_SCOPE_BUCKET); /* the layout of another message */
    H5Ldelete(file, STEP "messages/0001_layout", H5P_DEFAULT);
    H5Lcreate_hard(file, STEP "messages/0000_layout", file, STEP "messages/0001_layout",
                   H5P_DEFAULT, H5P_DEFAULT);
    found(file, "damaged");
}

/* Each byte of a layout, through HDF5, so that its own checksums have nothing to say. */
static void test_changed_layout(void **state)
{
    hid_t file = open_to_tamper(GCB_SCOPE_BUCKET);
    hid_t set = H5Dopen2(file, STEP "messages/0001_layout", H5P_DEFAULT);
    hid_t type = H5Dget_type(set);
    const size_t n = 3 * H5Tget_size(type);
    uint8_t *rows_read = malloc(n);
    char *whole;

    (void)state;
    assert_non_null(rows_read);
    assert_true(H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows_read) >= 0);
    H5Dclose(set);
    H5Fclose(file);
    whole = digest();
    assert_non_null(whole);
    for (size_t i = 0; i < n; i++) {
        char *text;

        rows_read[i] ^= (uint8_t)(1u << i % 8);
        file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
        set = H5Dopen2(file, STEP "messages/0001_layout", H5P_DEFAULT);
        assert_true(H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows_read) >= 0);
        H5Dclose(set);
        H5Fclose(file);
        text = digest(); /* what stands behind the end of a text is not read */
        if (text)
            assert_string_equal(text, whole);
        free(text);
        rows_read[i] ^= (uint8_t)(1u << i % 8);
    }
    H5Tclose(type);
    free(rows_read);
    free(whole);
}

/* A message with a good checksum that announces more elements than its shape has. */
static void test_count_against_shape(void **state)
{
    const hid_t file = open_to_tamper(GCB_SCOPE_TENSOR);
    const hid_t set = H5Dopen2(file, STEP "b", H5P_DEFAULT);
    struct gcb_container *c;
    struct gcb_diag diag = {0};
    uint8_t message[64];
    const size_t n = (size_t)H5Dget_storage_size(set);

    (void)state;
    assert_true(n <= sizeof(message));
    assert_true(H5Dread(set, H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL, H5P_DEFAULT, message) >= 0);
    assert_int_equal(gcb_load_u32(message + 8), 5);
    gcb_store_u32(message + 8, 6);
    gcb_message_seal(message, n, gcb_container_salt(0, STEP "b", GCB_F16, "5", 0));
    assert_true(H5Dwrite(set, H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL, H5P_DEFAULT, message) >= 0);
    H5Dclose(set);
    H5Fclose(file);
    c = open_container();
    assert_string_equal(gcb_container_message(c, 0)->dataset, STEP "b");
    assert_int_equal(gcb_container_read(c, 0, message, &diag), GCB_E_CORRUPT);
    assert_non_null(strstr(diag.text, "disagree"));
    gcb_container_close(c);
}

static void test_shape_text(void **state)
{
    static const char *const bad[] = {
        "x",
        "1x",
        "x1",
        "1xx2",
        "01",
        "-1",
        "1 ",
        "1,2",
        "+1",
        "18446744073709551616",
        "4294967296x4294967296",
        "1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1"};
    uint64_t dims[GCB_MAX_RANK], count;
    char text[GCB_SHAPE_TEXT];
    unsigned rank;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(gcb_shape_parse(bad[i], &rank, dims, &count), GCB_E_CORRUPT);
    assert_int_equal(gcb_shape_parse("", &rank, dims, &count), 0);
    assert_true(rank == 0 && count == 1);
    assert_int_equal(gcb_shape_parse("3x0x18446744073709551615", &rank, dims, &count), 0);
    assert_true(rank == 3 && count == 0 && dims[2] == UINT64_MAX);
    for (unsigned i = 0; i < GCB_MAX_RANK; i++)
        dims[i] = UINT64_MAX;
    gcb_shape_text(text, GCB_MAX_RANK, dims); /* the longest there is */
    assert_int_equal(strlen(text), GCB_SHAPE_TEXT - 1);
}

/* What is no message, or does not fit its plan, is not written. */
static void test_wrong_messages(void **state)
{
    const struct gcb_layout_config config = {.scope = GCB_SCOPE_TENSOR};
    struct gcb_source *source;
    struct gcb_container_writer *w;
    struct gcb_layout layout;
    uint8_t message[64];
    size_t n;

    (void)state;
    write_dump(dump_path[0], 1);
    source = open_source(1);
    assert_int_equal(gcb_layout_init(&layout, source, &config, NULL), 0);
    assert_int_equal(gcb_container_create(&w, path, false, NULL, 0, NULL), 0);
    n = make_message(message, layout.messages[0].count + 1, 0);
    assert_int_equal(gcb_container_put(w, source, &layout.messages[0], message, n, NULL),
                     GCB_E_INTERNAL);
    n = make_message(message, layout.messages[0].count, 0);
    assert_int_equal(gcb_container_put(w, source, &layout.messages[0], message, n - 1, NULL),
                     GCB_E_CORRUPT);
    message[5] = 0;
    assert_int_equal(
        gcb_container_put(w, source, &layout.messages[0], message, n - GCB_CHECKSUM_BYTES, NULL),
        GCB_E_INTERNAL);
    message[5] = GCB_WIRE_CHECKSUM;
    assert_int_equal(gcb_container_put(w, source, &layout.messages[0], message, n, NULL), 0);
    assert_int_equal(gcb_container_put(w, source, &layout.messages[0], message, n, NULL),
                     GCB_E_INVALID); /* the path is taken */
    gcb_container_destroy(w);
    assert_int_equal(access(path, F_OK), -1);
    gcb_layout_fini(&layout);
    gcb_source_close(source);
}

static void test_not_a_container(void **state)
{
    struct gcb_container *c = NULL;
    struct gcb_diag diag = {0};

    (void)state;
    write_dump(dump_path[0], 1);
    assert_int_equal(gcb_container_open(&c, dump_path[0], 0, &diag), GCB_E_INVALID);
    assert_non_null(strstr(diag.text, "not a file of messages"));
    assert_true(gcb_container_open(&c, folder, 0, &diag) < 0);
    assert_true(gcb_container_open(&c, path, 0, &diag) < 0);
    assert_null(c);
}

/* A limit on memory holds for what a message decodes to. */
static void test_memory_limit(void **state)
{
    struct gcb_source *source;
    struct gcb_container *c = NULL;
    struct gcb_diag diag = {0};

    (void)state;
    write_dump(dump_path[0], 1);
    source = open_source(1);
    write_container(source, GCB_SCOPE_TENSOR);
    gcb_source_close(source);
    assert_int_equal(gcb_container_open(&c, path, 240, &diag), 0);
    gcb_container_close(c);
    assert_int_equal(gcb_container_open(&c, path, 239, &diag), GCB_E_NOMEM);
    assert_non_null(strstr(diag.text, "--max-bytes"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_round_trip, setup, teardown),
        cmocka_unit_test_setup_teardown(test_paths, setup, teardown),
        cmocka_unit_test_setup_teardown(test_flips_tensor, setup, teardown),
        cmocka_unit_test_setup_teardown(test_flips_bucket, setup, teardown),
        cmocka_unit_test_setup_teardown(test_cuts, setup, teardown),
        cmocka_unit_test_setup_teardown(test_changed_attributes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_lost_and_renamed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_changed_layout, setup, teardown),
        cmocka_unit_test_setup_teardown(test_count_against_shape, setup, teardown),
        cmocka_unit_test(test_shape_text),
        cmocka_unit_test_setup_teardown(test_wrong_messages, setup, teardown),
        cmocka_unit_test_setup_teardown(test_not_a_container, setup, teardown),
        cmocka_unit_test_setup_teardown(test_memory_limit, setup, teardown),
    };

    return cmocka_run_group_tests_name("container", tests, NULL, NULL);
}
