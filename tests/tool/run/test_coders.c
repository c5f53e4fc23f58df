/* The cache of coders: which are reused, and its limit. */
#include <stdlib.h>
#include <string.h>

#include "src/tool/run/coders.h"
#include "tests/support/test.h"

static struct gcb_method topk, qsgd;

static struct gcb_coder_config config(uint64_t count, const char *path)
{
    return (struct gcb_coder_config){.env = {.count = count, .path = path, .seed = 1},
                                     .checksum = true};
}

static struct gcb_coder *encoder(struct gcb_coders *c, const struct gcb_method *m, uint64_t count,
                                 const char *path)
{
    const struct gcb_coder_config cfg = config(count, path);
    struct gcb_coder *out = NULL;

    assert_int_equal(gcb_coders_encoder(c, &out, m, &cfg, NULL), 0);
    assert_int_equal(gcb_coder_elements(out), count);
    return out;
}

static size_t encode(struct gcb_coder *coder, uint64_t step, const float *x, uint8_t *out,
                     size_t cap)
{
    const struct gcb_step at = {.step = step};
    const struct gcb_view in = {.data = x, .count = gcb_coder_elements(coder)};
    struct gcb_wbuf w = {.data = out, .cap = cap};

    assert_int_equal(gcb_coder_encode(coder, &at, &in, &w, NULL), 0);
    gcb_message_seal(w.data, w.len, 0);
    return w.len;
}

static void test_reuse(void **state)
{
    struct gcb_coders *c = NULL;
    struct gcb_coder *first;

    c = gcb_coders_create(1000);
    first = encoder(c, &topk, 100, "a");
    assert_ptr_not_equal(encoder(c, &topk, 100, "b"), first);
    assert_ptr_not_equal(encoder(c, &qsgd, 100, "a"), first);
    assert_ptr_not_equal(encoder(c, &topk, 99, "a"), first);
    assert_ptr_equal(encoder(c, &topk, 100, "a"), first);
    gcb_coders_destroy(c);
    gcb_coders_destroy(NULL);
}

/* A method with state gets a new coder for each message: a threshold found for one tensor is not
 * used for the next. */
static void test_what_remembers_begins_afresh(void **state)
{
    static float x[2][4096];
    static uint8_t first[65536], again[65536], alone[65536];
    size_t again_length, alone_length;
    struct gcb_coders *c = NULL, *other = NULL;
    struct gcb_method redsync;

    for (size_t i = 0; i < 4096; i++) {
        x[0][i] = (float)(i % 97) - 48.0f;
        x[1][i] = 3.0f * (float)((i * 7919) % 4096) - 6000.0f;
    }
    assert_int_equal(
        gcb_method_parse(&redsync, "redsync:dense-below=0,trimmed-below=0,density=0.05", NULL), 0);
    c = gcb_coders_create(1000000);
    other = gcb_coders_create(1000000);
    encode(encoder(c, &redsync, 4096, "a"), 0, x[0], first, sizeof(first));
    again_length = encode(encoder(c, &redsync, 4096, "a"), 1, x[1], again, sizeof(again));
    alone_length = encode(encoder(other, &redsync, 4096, "a"), 1, x[1], alone, sizeof(alone));
    assert_int_equal(again_length, alone_length);
    assert_memory_equal(again, alone, alone_length);
    gcb_coders_destroy(c);
    gcb_coders_destroy(other);
}

/* The largest coder is dropped first; a coder larger than the budget is created nevertheless. */
static void test_budget(void **state)
{
    struct gcb_coders *c = NULL;
    struct gcb_coder *small;

    c = gcb_coders_create(1000);
    small = encoder(c, &topk, 10, "small");
    encoder(c, &topk, 600, "large");
    encoder(c, &topk, 500, "other"); /* drops large */
    assert_ptr_equal(encoder(c, &topk, 10, "small"), small);
    encoder(c, &topk, 5000, "huge");
    encoder(c, &topk, 1000, "full");
    gcb_coders_destroy(c);
}

static size_t message(struct gcb_coder *coder, uint8_t *out, size_t cap, uint64_t n)
{
    float x[200];

    for (uint64_t i = 0; i < n; i++)
        x[i] = (float)i - 3.5f;
    return encode(coder, 0, x, out, cap);
}

static void test_decoders_come_from_messages(void **state)
{
    const struct gcb_coder_config cfg = {.max_elements = 200};
    struct gcb_coder *a = NULL, *b = NULL, *other = NULL;
    struct gcb_coders *c = NULL;
    uint8_t bytes[4096];
    size_t length;

    c = gcb_coders_create(1000);
    length = message(encoder(c, &topk, 100, "a"), bytes, sizeof(bytes), 100);
    assert_int_equal(gcb_coders_decoder(c, &a, bytes, length, &cfg, NULL), 0);
    length = message(encoder(c, &topk, 100, "b"), bytes, sizeof(bytes), 100);
    assert_int_equal(gcb_coders_decoder(c, &b, bytes, length, &cfg, NULL), 0);
    assert_ptr_equal(a, b);
    length = message(encoder(c, &qsgd, 100, "b"), bytes, sizeof(bytes), 100);
    assert_int_equal(gcb_coders_decoder(c, &other, bytes, length, &cfg, NULL), 0);
    assert_ptr_not_equal(a, other);
    assert_int_equal(gcb_coders_decoder(c, &other, bytes, length - 1, &cfg, NULL), GCB_E_CORRUPT);
    gcb_coders_destroy(c);
}

/* A sum is kept for each method and number of elements. Coders and sums are never taken for each
 * other. */
static void test_sums(void **state)
{
    const struct gcb_coder_config cfg = {.max_elements = 200};
    static float into[200];
    struct gcb_sum *first = NULL, *again = NULL, *other = NULL;
    struct gcb_coder *decoder = NULL;
    struct gcb_coders *c = NULL;
    uint8_t bytes[4096];
    struct gcb_wbuf w = {.data = bytes, .cap = sizeof(bytes)};

    c = gcb_coders_create(1000);
    w.len = message(encoder(c, &topk, 100, "a"), bytes, sizeof(bytes), 100);
    assert_int_equal(gcb_coders_sum(c, &first, &topk, &w, into, &cfg, NULL), 0);
    assert_int_equal(gcb_sum_add(first, w.data, w.len, 2.0f, NULL), 0);
    assert_int_equal(gcb_sum_finish(first, NULL, NULL), 0);
    assert_true(into[99] == 2.0f * 95.5f);
    assert_int_equal(gcb_coders_decoder(c, &decoder, w.data, w.len, &cfg, NULL), 0);
    w.len = message(encoder(c, &topk, 100, "b"), bytes, sizeof(bytes), 100);
    assert_int_equal(gcb_coders_sum(c, &again, &topk, &w, into, &cfg, NULL), 0);
    assert_ptr_equal(first, again);
    w.len = message(encoder(c, &topk, 99, "a"), bytes, sizeof(bytes), 99);
    assert_int_equal(gcb_coders_sum(c, &other, &topk, &w, into, &cfg, NULL), 0);
    assert_ptr_not_equal(first, other);
    w.len--;
    assert_int_equal(gcb_coders_sum(c, &other, &topk, &w, into, &cfg, NULL), GCB_E_CORRUPT);
    gcb_coders_destroy(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reuse),  cmocka_unit_test(test_what_remembers_begins_afresh),
        cmocka_unit_test(test_budget), cmocka_unit_test(test_decoders_come_from_messages),
        cmocka_unit_test(test_sums),
    };

    if (gcb_method_parse(&topk, "topk", NULL) || gcb_method_parse(&qsgd, "qsgd", NULL))
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
