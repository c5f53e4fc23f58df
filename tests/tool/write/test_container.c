/* The container: messages and the data that restores their tensors. Damage:
 * test_container_damage.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <unistd.h>

#include "src/lib/wire/message.h"
#include "src/tool/read/hdf5.h"
#include "tests/support/containers.h"
#include "tests/support/test.h"

/* The row whose path is the end of this restored path. */
static const struct gcb_tensor *row_of(const char *dataset, const char *prefix)
{
    const size_t n = strlen(prefix);

    assert_memory_equal(dataset, prefix, n);
    for (size_t i = 0; i < CONTAINERS_ROWS; i++)
        if (strcmp(dataset + n, containers_rows[i].dataset) == 0)
            return &containers_rows[i];
    fail_msg("%s", dataset);
    return NULL;
}

/* All messages can be read, and their tensors are those of the dump below `prefix` (NULL: a prefix
 * per message). */
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
            const struct gcb_tensor *t = &m->tensors[j];
            const char *prefix = prefixes[0];
            const struct gcb_tensor *want;

            for (size_t k = 0; prefixes[k]; k++)
                if (strncmp(t->dataset, prefixes[k], strlen(prefixes[k])) == 0)
                    prefix = prefixes[k];
            want = row_of(t->dataset, prefix);
            assert_int_equal(t->dtype, want->dtype);
            assert_int_equal(t->rank, want->rank);
            for (unsigned k = 0; k < want->rank; k++)
                assert_true(t->dims[k] == want->dims[k]);
            assert_true(t->index == want->index);
            offset += t->count;
        }
        assert_true(offset == m->count);
    }
    return tensors;
}

/* Checks a root attribute of the file that was written. */
static void check_note(const char *name, const char *want)
{
    const hid_t file = H5Fopen(containers.path, H5F_ACC_RDONLY, H5P_DEFAULT);
    char text[64];

    assert_true(file >= 0);
    assert_true(gcb_h5attr_text(file, name, text, sizeof(text)));
    assert_string_equal(text, want);
    H5Fclose(file);
}

static const char *const two_steps[] = {"/step_000000/worker_0/", "/step_000001/worker_0/", NULL};

static void test_round_trip(void **state)
{
    static const size_t messages[] = {8, 4, 2};

    containers_dump(containers.dump[0], 2);
    for (int scope = GCB_SCOPE_TENSOR; scope <= GCB_SCOPE_MODEL; scope++) {
        struct gcb_source *source = containers_source(1);
        const size_t count = containers_write(source, (enum gcb_scope)scope);
        struct gcb_container *c = containers_open();

        gcb_source_close(source);
        assert_int_equal(count, messages[scope]);
        assert_int_equal(gcb_container_count(c), count);
        assert_int_equal(check_content(c, two_steps), 2 * CONTAINERS_ROWS);
        gcb_container_close(c);
        check_note("spec", "fft:theta=0.9");
    }
    gcb_container_close(NULL);
    gcb_h5out_destroy(NULL);
}

/* The paths of one file are kept; the paths of several files could be the same. */
static void test_paths(void **state)
{
    static const char *const root[] = {"/", NULL};
    static const char *const schema[] = {"/step_000000/worker_0/", "/step_000000/worker_3/", NULL};

    containers_dump(containers.dump[0], 0);
    containers_dump(containers.dump[1], 0);
    for (int scope = GCB_SCOPE_TENSOR; scope <= GCB_SCOPE_MODEL; scope++)
        for (size_t files = 1; files <= 2; files++) {
            struct gcb_source *source = containers_source(files);
            struct gcb_container *c;

            containers_write(source, (enum gcb_scope)scope);
            c = containers_open();
            gcb_source_close(source);
            assert_int_equal(check_content(c, files == 1 ? root : schema), files * CONTAINERS_ROWS);
            gcb_container_close(c);
        }
}

/* Bytes that are not a message, or do not match their plan, are refused. */
static void test_wrong_messages(void **state)
{
    const struct gcb_layout_config config = {.scope = GCB_SCOPE_TENSOR};
    struct gcb_source *source;
    struct gcb_h5out *w;
    struct gcb_layout layout;
    uint8_t message[64];
    size_t n;

    containers_dump(containers.dump[0], 1);
    source = containers_source(1);
    gcb_layout_init(&layout, source, &config);
    assert_int_equal(gcb_h5out_create(&w, containers.path, false, NULL, 0, NULL), 0);
    n = containers_message(message, layout.messages[0].count + 1, 0);
    assert_int_equal(gcb_container_put(w, source, &layout.messages[0], message, n, NULL),
                     GCB_E_INTERNAL);
    n = containers_message(message, layout.messages[0].count, 0);
    assert_int_equal(gcb_container_put(w, source, &layout.messages[0], message, n - 1, NULL),
                     GCB_E_CORRUPT);
    message[5] = 0;
    assert_int_equal(
        gcb_container_put(w, source, &layout.messages[0], message, n - GCB_CHECKSUM_BYTES, NULL),
        GCB_E_INTERNAL);
    message[5] = GCB_WIRE_CHECKSUM;
    assert_int_equal(gcb_container_put(w, source, &layout.messages[0], message, n, NULL), 0);
    assert_int_equal(gcb_container_put(w, source, &layout.messages[0], message, n, NULL),
                     GCB_E_INVALID); /* the path exists */
    gcb_h5out_destroy(w);
    assert_int_equal(access(containers.path, F_OK), -1);
    gcb_layout_fini(&layout);
    gcb_source_close(source);
}

static void test_not_a_container(void **state)
{
    struct gcb_container *c = NULL;
    struct gcb_diag diag = {0};

    containers_dump(containers.dump[0], 1);
    assert_int_equal(gcb_container_open(&c, containers.dump[0], 0, false, &diag), GCB_E_CORRUPT);
    assert_non_null(strstr(diag.text, "not a file of messages"));
    assert_true(gcb_container_open(&c, containers.folder, 0, false, &diag) < 0);
    assert_true(gcb_container_open(&c, containers.path, 0, false, &diag) < 0);
    assert_null(c);
}

/* The limit on memory applies to the decoded tensor. */
static void test_memory_limit(void **state)
{
    struct gcb_container *c = NULL;
    struct gcb_diag diag = {0};

    containers_make(GCB_SCOPE_TENSOR);
    assert_int_equal(gcb_container_open(&c, containers.path, 240, false, &diag), 0);
    gcb_container_close(c);
    assert_int_equal(gcb_container_open(&c, containers.path, 239, false, &diag), GCB_E_NOMEM);
    assert_non_null(strstr(diag.text, "--max-bytes"));
}

RUN_TESTS(cmocka_unit_test_setup_teardown(test_round_trip, containers_setup, containers_teardown),
          cmocka_unit_test_setup_teardown(test_paths, containers_setup, containers_teardown),
          cmocka_unit_test_setup_teardown(test_wrong_messages, containers_setup,
                                          containers_teardown),
          cmocka_unit_test_setup_teardown(test_not_a_container, containers_setup,
                                          containers_teardown),
          cmocka_unit_test_setup_teardown(test_memory_limit, containers_setup, containers_teardown))
