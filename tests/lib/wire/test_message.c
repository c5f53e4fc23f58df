/* The frame of a message: written frames parse, damaged ones do not. */
#include <stdlib.h>
#include <string.h>

#include "src/lib/tensor/tensor.h"
#include "src/lib/wire/message.h"
#include "tests/support/test.h"

#define PAYLOAD 22
#define PARAMS 5

static struct gcb_frame sample(uint8_t flags)
{
    struct gcb_frame f = {
        .codec = 12,
        .flags = flags,
        .source = GCB_BF16,
        .count = 1000,
        .payload_bytes = PAYLOAD,
        .param_bytes = PARAMS,
        .params = {1, 2, 3, 4, 5},
    };

    if (flags & GCB_WIRE_WIDE)
        f.count = UINT64_C(1) << 40;
    return f;
}

/* Writes the sample with a payload and a checksum if flagged; returns its length. */
static size_t build(uint8_t *message, size_t cap, const struct gcb_frame *f)
{
    struct gcb_wbuf out = {.data = message, .cap = cap};
    uint8_t *payload;

    gcb_frame_write(f, &out);
    assert_int_equal(out.len, gcb_frame_head(f));
    payload = gcb_wbuf_take(&out, f->payload_bytes);
    assert_non_null(payload);
    for (unsigned i = 0; i < f->payload_bytes; i++)
        payload[i] = (uint8_t)(i * 7);
    assert_non_null(gcb_wbuf_take(&out, gcb_frame_tail(f)));
    assert_false(out.failed);
    if (f->flags & GCB_WIRE_CHECKSUM)
        gcb_message_seal(message, out.len, 0);
    return out.len;
}

static void assert_same(const struct gcb_frame *a, const struct gcb_frame *b)
{
    assert_int_equal(a->codec, b->codec);
    assert_int_equal(a->flags, b->flags);
    assert_int_equal(a->source, b->source);
    assert_true(a->count == b->count);
    assert_true(a->payload_bytes == b->payload_bytes);
    assert_int_equal(a->param_bytes, b->param_bytes);
    assert_memory_equal(a->params, b->params, b->param_bytes);
}

static void test_round_trip(void **state)
{
    for (unsigned flags = 0; flags < 8; flags++) {
        struct gcb_frame f = sample((uint8_t)flags), got;
        struct gcb_rbuf payload;
        uint8_t message[128];
        size_t length;

        if (flags & GCB_WIRE_STORED) {
            length = build(message, sizeof(message), &f);
            assert_int_equal(gcb_frame_parse(&got, &payload, message, length, NULL), GCB_E_CORRUPT);
            f.count = PAYLOAD / gcb_raw_size(f.source);
        }
        length = build(message, sizeof(message), &f);
        assert_int_equal(gcb_frame_parse(&got, &payload, message, length, NULL), 0);
        assert_same(&got, &f);
        assert_int_equal(gcb_rbuf_left(&payload), PAYLOAD);
        assert_ptr_equal(payload.data, message + gcb_frame_head(&f));
        assert_false(payload.failed);
    }
}

static void test_every_cut_is_refused(void **state)
{
    for (unsigned flags = 0; flags < 8; flags++) {
        const struct gcb_frame f = sample((uint8_t)flags);
        uint8_t message[128];
        const size_t length = build(message, sizeof(message), &f);
        struct gcb_frame got;
        struct gcb_rbuf payload;

        for (size_t cut = 0; cut < length; cut++) {
            /* exact size, so that a sanitizer sees a read past the end */
            uint8_t *copy = malloc(cut ? cut : 1);

            assert_non_null(copy);
            memcpy(copy, message, cut);
            assert_int_equal(gcb_frame_parse(&got, &payload, copy, cut, NULL), GCB_E_CORRUPT);
            free(copy);
        }
        message[length] = 0;
        assert_int_equal(gcb_frame_parse(&got, &payload, message, length + 1, NULL), GCB_E_CORRUPT);
    }
}

static void refuse(size_t at, uint8_t value, int status, const char *words)
{
    const struct gcb_frame f = sample(GCB_WIRE_CHECKSUM);
    uint8_t message[128];
    const size_t length = build(message, sizeof(message), &f);
    struct gcb_frame got = {.codec = 99};
    struct gcb_rbuf payload = {.len = 99};
    struct gcb_diag diag = {0};

    message[at] = value;
    assert_int_equal(gcb_frame_parse(&got, &payload, message, length, &diag), status);
    assert_int_equal(diag.status, status);
    assert_non_null(strstr(diag.text, words));
    /* results are unchanged after a failure */
    assert_int_equal(got.codec, 99);
    assert_int_equal(payload.len, 99);
}

static void test_fields_are_checked(void **state)
{
    refuse(0, 'g', GCB_E_CORRUPT, "not a gcbench message");
    refuse(2, 'X', GCB_E_CORRUPT, "not a gcbench message");
    refuse(3, 2, GCB_E_UNSUPPORTED, "version 2");
    refuse(3, 0, GCB_E_CORRUPT, "version 0");
    refuse(5, 2 | 8, GCB_E_UNSUPPORTED, "unknown flags 0x08");
    refuse(5, 2 | 128, GCB_E_UNSUPPORTED, "unknown flags 0x80");
    refuse(5, 0, GCB_E_CORRUPT, "payload"); /* a dropped checksum flag changes the lengths */
    refuse(6, GCB_DTYPE_COUNT, GCB_E_CORRUPT, "element type");
    refuse(6, 255, GCB_E_CORRUPT, "element type");
    refuse(7, GCB_WIRE_MAX_PARAMS + 1, GCB_E_CORRUPT, "parameters");
    refuse(7, PARAMS + 1, GCB_E_CORRUPT, "payload");
    refuse(7, GCB_WIRE_MAX_PARAMS, GCB_E_CORRUPT, "cut");
    refuse(12, PAYLOAD + 1, GCB_E_CORRUPT, "payload");
    refuse(15, 0xff, GCB_E_CORRUPT, "payload");
}

static void test_huge_wide_payload(void **state)
{
    struct gcb_frame f = sample(GCB_WIRE_WIDE | GCB_WIRE_CHECKSUM), got;
    uint8_t message[128];
    const size_t length = build(message, sizeof(message), &f);
    struct gcb_rbuf payload;

    /* sums that would wrap around */
    gcb_store_u64(message + 16, UINT64_MAX);
    assert_int_equal(gcb_frame_parse(&got, &payload, message, length, NULL), GCB_E_CORRUPT);
    gcb_store_u64(message + 16, UINT64_MAX - GCB_CHECKSUM_BYTES + 1 + PAYLOAD);
    assert_int_equal(gcb_frame_parse(&got, &payload, message, length, NULL), GCB_E_CORRUPT);
}

static void test_small_wide_is_accepted(void **state)
{
    struct gcb_frame f = sample(GCB_WIRE_WIDE), got;
    uint8_t message[128];
    struct gcb_rbuf payload;
    size_t length;

    f.count = 3;
    length = build(message, sizeof(message), &f);
    assert_int_equal(gcb_frame_parse(&got, &payload, message, length, NULL), 0);
    assert_same(&got, &f);
}

static void test_narrow_never_shortens(void **state)
{
    struct gcb_frame f = sample(0);
    uint8_t message[128];
    struct gcb_wbuf out = {.data = message, .cap = sizeof(message)};

    f.count = UINT64_C(1) << 32;
    gcb_frame_write(&f, &out);
    assert_true(out.failed);
}

static void test_patch(void **state)
{
    for (unsigned wide = 0; wide <= GCB_WIRE_WIDE; wide += GCB_WIRE_WIDE) {
        struct gcb_frame f = sample((uint8_t)wide), got;
        uint8_t message[128], guard;
        struct gcb_rbuf payload;
        size_t length;

        f.payload_bytes = 0;
        length = build(message, sizeof(message), &f);
        guard = message[length - 1];
        f.payload_bytes = 12;
        f.count = 6;
        f.flags |= GCB_WIRE_STORED;
        gcb_frame_patch(&f, message);
        assert_int_equal(message[length - 1], guard);
        assert_int_equal(gcb_frame_parse(&got, &payload, message, length + 12, NULL), 0);
        assert_same(&got, &f);
    }
}

static void test_writing_is_bounded(void **state)
{
    const struct gcb_frame f = sample(0);

    for (size_t cap = 0; cap < gcb_frame_head(&f); cap++) {
        uint8_t *data = malloc(cap ? cap : 1);
        struct gcb_wbuf out = {.data = data, .cap = cap};

        assert_non_null(data);
        gcb_frame_write(&f, &out);
        assert_true(out.failed);
        assert_true(out.len <= cap);
        free(data);
    }
}

/* Sealing does not change a message without a checksum field, and checking accepts it. */
static void no_checksum_no_change(void **state)
{
    const struct gcb_frame f = sample(0);
    uint8_t message[256], before[256];
    struct gcb_wbuf w = {.data = message, .cap = sizeof(message)};

    gcb_frame_write(&f, &w);
    memset(gcb_wbuf_take(&w, f.payload_bytes), 0x77, f.payload_bytes);
    memcpy(before, message, w.len);
    gcb_message_seal(message, w.len, 0);
    assert_memory_equal(before, message, w.len);
    assert_int_equal(gcb_message_check(message, w.len, 0, NULL), 0);
    gcb_message_seal(message, 3, 0);
    assert_memory_equal(before, message, w.len);
    assert_int_equal(gcb_message_check(message, 3, 0, NULL), GCB_E_CORRUPT);
}

RUN_TESTS(cmocka_unit_test(no_checksum_no_change), cmocka_unit_test(test_round_trip),
          cmocka_unit_test(test_every_cut_is_refused), cmocka_unit_test(test_fields_are_checked),
          cmocka_unit_test(test_huge_wide_payload), cmocka_unit_test(test_small_wide_is_accepted),
          cmocka_unit_test(test_narrow_never_shortens), cmocka_unit_test(test_patch),
          cmocka_unit_test(test_writing_is_bounded))
