/* The container: damage is found at any place. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <fcntl.h>
#include <unistd.h>

#include <hdf5.h>

#include "src/lib/wire/message.h"
#include "tests/support/containers.h"
#include "tests/support/test.h"

/* Damaged metadata makes HDF5 ask for more memory than there is. Under a sanitizer, too, that must
 * be an error. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

/* HDF5 leaks the memory of an object header whose checksum does not match. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libhdf5";
}

static uint8_t *slurp(size_t *n)
{
    FILE *f = fopen(containers.path, "rb");
    uint8_t *bytes = malloc(1 << 20);

    assert_true(f && bytes);
    *n = fread(bytes, 1, 1 << 20, f);
    fclose(f);
    assert_true(*n < 1 << 20);
    return bytes;
}

/* Everything that a reader gets from the file, as one text; NULL if reading fails. */
static char *digest(void)
{
    struct gcb_container *c;
    struct gcb_diag diag = {0};
    char *text;
    size_t used = 0;
    int err = gcb_container_open(&c, containers.path, 1 << 20, true, &diag);

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
            const struct gcb_tensor *t = &m->tensors[j];

            used +=
                (size_t)sprintf(text + used, "|%s %d %d", t->dataset, (int)t->dtype, (int)t->index);
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

/* Changes each byte of the file in two ways: reading fails, or gives the same result. */
static void check_flips(enum gcb_scope scope)
{
    char *whole;
    uint8_t *bytes;
    size_t n, found = 0;
    int fd;

    containers_make(scope);
    whole = digest();
    assert_non_null(whole);
    bytes = slurp(&n);
    fd = open(containers.path, O_RDWR);
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
    check_flips(GCB_SCOPE_TENSOR);
}

static void test_flips_bucket(void **state)
{
    check_flips(GCB_SCOPE_BUCKET);
}

/* Each cut is found, except in unused bytes at the end of the HDF5 file. */
static void test_cuts(void **state)
{
    for (int scope = GCB_SCOPE_TENSOR; scope <= GCB_SCOPE_BUCKET; scope++) {
        size_t n;
        uint8_t *bytes;

        containers_make((enum gcb_scope)scope);
        bytes = slurp(&n);
        for (size_t cut = n; cut-- > 0;) {
            assert_int_equal(truncate(containers.path, (off_t)cut), 0);
            assert_null(digest());
        }
        free(bytes);
    }
}

#define STEP "/step_000000/worker_0/"

/* A complete file, opened with HDF5 so that tests can change it in valid ways. */
static hid_t open_to_tamper(enum gcb_scope scope)
{
    hid_t file;

    containers_make(scope);
    file = H5Fopen(containers.path, H5F_ACC_RDWR, H5P_DEFAULT);
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

/* Closes the changed file; reading it must fail with this message. */
static void found(hid_t file, const char *words)
{
    struct gcb_container *c = NULL;
    struct gcb_diag diag = {0};

    assert_true(H5Fclose(file) >= 0);
    assert_int_equal(gcb_container_open(&c, containers.path, 0, false, &diag), GCB_E_CORRUPT);
    if (!strstr(diag.text, words))
        fail_msg("'%s' does not say '%s'", diag.text, words);
}

static void test_changed_attributes(void **state)
{
    static const char *const shapes[] = {"30x2", "60", "2x31", ""};
    hid_t file;

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

    H5Ldelete(file, STEP "w/s", H5P_DEFAULT);
    found(file, "missing");
    file = open_to_tamper(GCB_SCOPE_TENSOR);
    H5Ldelete(file, STEP "w/s", H5P_DEFAULT); /* with a matching count */
    put_integer(file, "/", "gcbench_messages", 3);
    found(file, "missing");
    file = open_to_tamper(GCB_SCOPE_TENSOR); /* only the count */
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

/* Changes each byte of a layout through HDF5, so that HDF5's own checksums match. */
static void test_changed_layout(void **state)
{
    hid_t file = open_to_tamper(GCB_SCOPE_BUCKET);
    hid_t set = H5Dopen2(file, STEP "messages/0001_layout", H5P_DEFAULT);
    hid_t type = H5Dget_type(set);
    const size_t n = 3 * H5Tget_size(type);
    uint8_t *rows_read = malloc(n);
    char *whole;

    assert_non_null(rows_read);
    assert_true(H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows_read) >= 0);
    H5Dclose(set);
    H5Fclose(file);
    whole = digest();
    assert_non_null(whole);
    for (size_t i = 0; i < n; i++) {
        char *text;

        rows_read[i] ^= (uint8_t)(1u << i % 8);
        file = H5Fopen(containers.path, H5F_ACC_RDWR, H5P_DEFAULT);
        set = H5Dopen2(file, STEP "messages/0001_layout", H5P_DEFAULT);
        assert_true(H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows_read) >= 0);
        H5Dclose(set);
        H5Fclose(file);
        text = digest(); /* bytes after the end of a text are not read */
        if (text)
            assert_string_equal(text, whole);
        free(text);
        rows_read[i] ^= (uint8_t)(1u << i % 8);
    }
    H5Tclose(type);
    free(rows_read);
    free(whole);
}

/* A message with a valid checksum that declares more elements than its shape has. */
static void test_count_against_shape(void **state)
{
    const hid_t file = open_to_tamper(GCB_SCOPE_TENSOR);
    const hid_t set = H5Dopen2(file, STEP "b", H5P_DEFAULT);
    struct gcb_container *c;
    struct gcb_diag diag = {0};
    uint8_t message[64];
    const size_t n = (size_t)H5Dget_storage_size(set);

    assert_true(n <= sizeof(message));
    assert_true(H5Dread(set, H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL, H5P_DEFAULT, message) >= 0);
    assert_int_equal(gcb_load_u32(message + 8), 5);
    gcb_store_u32(message + 8, 6);
    gcb_message_seal(message, n, gcb_container_salt(0, STEP "b", GCB_F16, "5", 0));
    assert_true(H5Dwrite(set, H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL, H5P_DEFAULT, message) >= 0);
    H5Dclose(set);
    H5Fclose(file);
    c = containers_open();
    assert_string_equal(gcb_container_message(c, 0)->dataset, STEP "b");
    assert_int_equal(gcb_container_read(c, 0, message, &diag), GCB_E_CORRUPT);
    assert_non_null(strstr(diag.text, "another number of elements"));
    gcb_container_close(c);
}

/* Two messages that hold the same tensors, as an attacker could write them: no attribute tells. */
static void test_repeated_names(void **state)
{
    const struct gcb_layout_config config = {.scope = GCB_SCOPE_MODEL};
    struct gcb_container *c = NULL;
    struct gcb_h5out *w;
    struct gcb_source *source;
    struct gcb_layout layout;
    struct gcb_diag diag = {0};
    uint8_t message[64];

    containers_dump(containers.dump[0], 1);
    source = containers_source(1);
    gcb_layout_init(&layout, source, &config);
    assert_int_equal(gcb_h5out_create(&w, containers.path, true, NULL, 0, NULL), 0);
    for (unsigned i = 0; i < 2; i++) {
        struct gcb_message_plan plan = layout.messages[0];
        const size_t n = containers_message(message, plan.count, i);

        snprintf(plan.name, sizeof(plan.name), "%04u", i);
        assert_int_equal(gcb_container_put(w, source, &plan, message, n, NULL), 0);
    }
    assert_int_equal(gcb_container_commit(w, NULL), 0);
    gcb_h5out_destroy(w);
    gcb_layout_fini(&layout);
    gcb_source_close(source);
    assert_int_equal(gcb_container_open(&c, containers.path, 1 << 20, false, &diag), GCB_E_CORRUPT);
    assert_non_null(
        strstr(diag.text, "messages.h5: " STEP "b: damaged: two tensors have this name"));
}

RUN_TESTS(
    cmocka_unit_test_setup_teardown(test_flips_tensor, containers_setup, containers_teardown),
    cmocka_unit_test_setup_teardown(test_flips_bucket, containers_setup, containers_teardown),
    cmocka_unit_test_setup_teardown(test_cuts, containers_setup, containers_teardown),
    cmocka_unit_test_setup_teardown(test_changed_attributes, containers_setup, containers_teardown),
    cmocka_unit_test_setup_teardown(test_lost_and_renamed, containers_setup, containers_teardown),
    cmocka_unit_test_setup_teardown(test_changed_layout, containers_setup, containers_teardown),
    cmocka_unit_test_setup_teardown(test_count_against_shape, containers_setup,
                                    containers_teardown),
    cmocka_unit_test_setup_teardown(test_repeated_names, containers_setup, containers_teardown))
