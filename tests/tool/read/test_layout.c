/* Which tensors one message covers, for each scope. */
#include <stdio.h>
#include <string.h>

#include "src/tool/read/layout.h"
#include "tests/support/h5make.h"
#include "tests/support/test.h"

/* Steps 1 and 2, workers 0 and 1, tensors a (100), b (3), c (200), d (50, float64). */
static struct h5make file;

static int make_file(void **state)
{
    static const char *const places[] = {"/step_1/worker_0", "/step_1/worker_1", "/step_2/worker_0",
                                         "/step_2/worker_1"};

    h5make_open(&file, "layout.h5");
    for (size_t i = 0; i < 4; i++) {
        static const struct {
            const char *name;
            uint64_t n;
        } sets[] = {{"a", 100}, {"b", 3}, {"c", 200}, {"d", 50}};

        for (size_t k = 0; k < 4; k++) {
            char path[64];

            snprintf(path, sizeof(path), "%s/%s", places[i], sets[k].name);
            h5make_put(&file, path, k == 3 ? H5T_IEEE_F64LE : H5T_IEEE_F32LE, sets[k].n,
                       (float)(1000 * i + 250 * k), 0);
        }
    }
    h5make_close(&file);
    return 0;
}

static int clean(void **state)
{
    h5make_clean();
    return 0;
}

static struct gcb_source *open_source(void)
{
    const char *files[] = {file.path};
    const struct gcb_source_config config = {.files = files, .file_count = 1};
    struct gcb_source *source = NULL;

    assert_int_equal(gcb_source_open(&source, &config, NULL), 0);
    assert_int_equal(gcb_source_count(source), 16);
    return source;
}

/* Pieces follow one another without gaps, and each tensor is in exactly one message. */
static void check_whole(const struct gcb_layout *layout, const struct gcb_source *source)
{
    unsigned seen[16] = {0};
    uint64_t largest = 0;

    for (size_t i = 0; i < layout->count; i++) {
        const struct gcb_message_plan *m = &layout->messages[i];
        uint64_t at = 0;

        assert_true(m->piece_count > 0);
        for (size_t k = 0; k < m->piece_count; k++) {
            const struct gcb_tensor *t = gcb_source_tensor(source, m->pieces[k].tensor);

            assert_int_equal(m->pieces[k].offset, at);
            assert_int_equal(t->step, m->step);
            assert_int_equal(t->worker, m->worker);
            at += t->count;
            seen[m->pieces[k].tensor]++;
        }
        assert_int_equal(at, m->count);
        largest = at > largest ? at : largest;
    }
    assert_int_equal(largest, layout->largest);
    for (size_t i = 0; i < 16; i++)
        assert_int_equal(seen[i], 1);
}

static void plan(struct gcb_layout *layout, struct gcb_source *source,
                 const struct gcb_layout_config *config, size_t messages)
{
    gcb_layout_init(layout, source, config);
    check_whole(layout, source);
    assert_int_equal(layout->count, messages);
}

static void test_tensor(void **state)
{
    struct gcb_source *source = open_source();
    struct gcb_layout layout;

    plan(&layout, source, &(struct gcb_layout_config){.scope = GCB_SCOPE_TENSOR, .min_elements = 4},
         16);
    for (size_t i = 0; i < 16; i++) {
        assert_int_equal(layout.messages[i].pieces[0].tensor, i);
        assert_string_equal(layout.messages[i].name, "");
        assert_int_equal(layout.messages[i].dense, i % 4 == 1);
    }
    assert_int_equal(layout.messages[3].dtype, GCB_F64);
    assert_int_equal(layout.messages[3].input_bytes, 400);
    gcb_layout_fini(&layout);
    assert_null(layout.messages);
    gcb_layout_fini(&layout);
    gcb_source_close(source);
}

static void test_model(void **state)
{
    struct gcb_source *source = open_source();
    struct gcb_layout layout;

    plan(&layout, source, &(struct gcb_layout_config){.scope = GCB_SCOPE_MODEL}, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(layout.messages[i].count, 353);
        assert_int_equal(layout.messages[i].input_bytes, 303 * 4 + 50 * 8);
        assert_int_equal(layout.messages[i].dtype, GCB_F32); /* the types differ */
        assert_string_equal(layout.messages[i].name, "messages/0000");
        assert_int_equal(layout.messages[i].step, 1 + i / 2);
        assert_int_equal(layout.messages[i].worker, i % 2);
    }
    gcb_layout_fini(&layout);
    gcb_source_close(source);
}

static void test_bucket(void **state)
{
    struct gcb_source *source = open_source();
    struct gcb_layout layout;

    /* a + b are 412 bytes, c is 800 (too large: its own bucket), d is 400 */
    plan(&layout, source,
         &(struct gcb_layout_config){.scope = GCB_SCOPE_BUCKET, .bucket_bytes = 412}, 12);
    assert_int_equal(layout.messages[0].piece_count, 2);
    assert_int_equal(layout.messages[1].count, 200);
    assert_int_equal(layout.messages[2].dtype, GCB_F64);
    assert_string_equal(layout.messages[2].name, "messages/0002");
    assert_string_equal(layout.messages[3].name, "messages/0000");
    gcb_layout_fini(&layout);
    plan(&layout, source,
         &(struct gcb_layout_config){.scope = GCB_SCOPE_BUCKET, .bucket_bytes = 411}, 16);
    gcb_layout_fini(&layout);
    plan(&layout, source, &(struct gcb_layout_config){.scope = GCB_SCOPE_BUCKET}, 4);
    gcb_layout_fini(&layout);
    gcb_source_close(source);
}

/* Dense tensors come after the buckets, which skip them. */
static void test_dense(void **state)
{
    const char *dense[] = {"a"};
    const struct gcb_layout_config config = {
        .scope = GCB_SCOPE_MODEL, .dense = dense, .dense_count = 1, .min_elements = 4};
    struct gcb_source *source = open_source();
    struct gcb_layout layout;

    plan(&layout, source, &config, 12);
    assert_int_equal(layout.messages[0].count, 250);
    assert_false(layout.messages[0].dense);
    assert_true(layout.messages[1].dense && layout.messages[2].dense);
    assert_int_equal(layout.messages[1].count, 100);
    assert_int_equal(layout.messages[2].count, 3);
    assert_string_equal(layout.messages[1].name, "");
    gcb_layout_fini(&layout);
    gcb_source_close(source);
}

/* Different types, the wider one first. */
static void test_mixed(void **state)
{
    const char *files[1];
    const struct gcb_source_config config = {.files = files, .file_count = 1};
    struct gcb_source *source = NULL;
    struct gcb_layout layout;
    struct h5make m;

    h5make_open(&m, "mixed.h5");
    h5make_put(&m, "a", H5T_IEEE_F64LE, 5, 0, 0);
    h5make_put(&m, "b", H5T_IEEE_F32LE, 5, 0, 0);
    h5make_close(&m);
    files[0] = m.path;
    assert_int_equal(gcb_source_open(&source, &config, NULL), 0);
    gcb_layout_init(&layout, source, &(struct gcb_layout_config){.scope = GCB_SCOPE_MODEL});
    assert_int_equal(layout.count, 1);
    assert_int_equal(layout.messages[0].dtype, GCB_F32);
    assert_int_equal(layout.messages[0].input_bytes, 60);
    gcb_layout_fini(&layout);
    gcb_source_close(source);
}

static void test_read(void **state)
{
    struct gcb_source *source = open_source();
    struct gcb_layout layout;
    float x[354] = {0};

    plan(&layout, source, &(struct gcb_layout_config){.scope = GCB_SCOPE_MODEL}, 4);
    x[353] = 7.0f;
    assert_int_equal(gcb_layout_read(source, &layout.messages[2], x, NULL), 0);
    assert_true(x[0] == 2000.0f && x[99] == 2099.0f && x[100] == 2250.0f);
    assert_true(x[103] == 2500.0f && x[302] == 2699.0f && x[303] == 2750.0f);
    assert_true(x[352] == 2799.0f && x[353] == 7.0f);
    gcb_layout_fini(&layout);
    gcb_source_close(source);
}

RUN_TESTS_BETWEEN(make_file, clean, cmocka_unit_test(test_tensor), cmocka_unit_test(test_model),
                  cmocka_unit_test(test_bucket), cmocka_unit_test(test_dense),
                  cmocka_unit_test(test_read), cmocka_unit_test(test_mixed))
