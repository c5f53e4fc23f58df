#include "tests/support/containers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <unistd.h>

#include "src/lib/wire/message.h"
#include "tests/support/test.h"

struct containers containers;

int containers_setup(void **state)
{
    strcpy(containers.folder, "/tmp/test_container.XXXXXX");
    if (!mkdtemp(containers.folder))
        return -1;
    snprintf(containers.dump[0], sizeof(containers.dump[0]), "%s/a.h5", containers.folder);
    snprintf(containers.dump[1], sizeof(containers.dump[1]), "%s/b_rank3.h5", containers.folder);
    snprintf(containers.path, sizeof(containers.path), "%s/messages.h5", containers.folder);
    return 0;
}

int containers_teardown(void **state)
{
    unlink(containers.dump[0]);
    unlink(containers.dump[1]);
    unlink(containers.path);
    return rmdir(containers.folder);
}

const struct gcb_tensor containers_rows[CONTAINERS_ROWS] = {
    {.dataset = "w/a", .dtype = GCB_F32, .rank = 2, .dims = {2, 30}, .index = 1},
    {.dataset = "b", .dtype = GCB_F16, .rank = 1, .dims = {5}, .index = 0},
    {.dataset = "w/s", .dtype = GCB_BF16, .index = -1},
    {.dataset = "w/z", .dtype = GCB_F64, .rank = 2, .dims = {0, 4}, .index = 3},
};
void containers_dump(const char *file, unsigned steps)
{
    const float x[60] = {1, 2, 3, 4, 5, 6, 7, 8};
    struct gcb_h5out *dump;

    assert_int_equal(gcb_h5out_create(&dump, file, true, NULL, 0, NULL), 0);
    for (unsigned s = 0; s < (steps ? steps : 1); s++)
        for (size_t i = 0; i < CONTAINERS_ROWS; i++) {
            struct gcb_tensor t = containers_rows[i];
            char name[64];

            if (steps)
                snprintf(name, sizeof(name), "/step_%06u/worker_0/%s", s,
                         containers_rows[i].dataset);
            else
                snprintf(name, sizeof(name), "/%s", containers_rows[i].dataset);
            t.dataset = name;
            assert_int_equal(gcb_dump_put(dump, &t, x, NULL), 0);
        }
    assert_int_equal(gcb_h5out_commit(dump, NULL), 0);
    gcb_h5out_destroy(dump);
}

struct gcb_source *containers_source(size_t files)
{
    const char *const names[] = {containers.dump[0], containers.dump[1]};
    const struct gcb_source_config config = {.files = names, .file_count = files};
    struct gcb_source *source;
    struct gcb_diag diag = {0};

    if (gcb_source_open(&source, &config, &diag))
        fail_msg("%s", diag.text);
    return source;
}

size_t containers_message(uint8_t *out, uint64_t count, unsigned tag)
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

size_t containers_write(struct gcb_source *source, enum gcb_scope scope)
{
    const struct gcb_layout_config config = {.scope = scope, .bucket_bytes = 244};
    struct gcb_h5out *w;
    struct gcb_layout layout;
    struct gcb_diag diag = {0};
    size_t count;

    gcb_layout_init(&layout, source, &config);
    if (gcb_h5out_create(&w, containers.path, true, NULL, 0, &diag))
        fail_msg("%s", diag.text);
    for (size_t i = 0; i < layout.count; i++) {
        uint8_t message[64];
        const size_t n = containers_message(message, layout.messages[i].count, (unsigned)i);

        if (gcb_container_put(w, source, &layout.messages[i], message, n, &diag))
            fail_msg("%s", diag.text);
    }
    assert_int_equal(gcb_h5out_note(w, "/", "spec", "fft:theta=0.9", NULL), 0);
    if (gcb_container_commit(w, &diag))
        fail_msg("%s", diag.text);
    gcb_h5out_destroy(w);
    count = layout.count;
    gcb_layout_fini(&layout);
    return count;
}

void containers_make(enum gcb_scope scope)
{
    struct gcb_source *source;

    containers_dump(containers.dump[0], 1);
    source = containers_source(1);
    containers_write(source, scope);
    gcb_source_close(source);
}

struct gcb_container *containers_open(void)
{
    struct gcb_container *c;
    struct gcb_diag diag = {0};

    if (gcb_container_open(&c, containers.path, 0, false, &diag))
        fail_msg("%s", diag.text);
    return c;
}
