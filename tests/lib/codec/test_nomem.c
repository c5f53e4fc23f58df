/*
 * Every allocation of every method fails once: opening an encoder and a decoder, and describing a
 * message, say so cleanly, and nothing is left behind. The test's own allocator takes the library's
 * place (src/lib/base/alloc.h).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/lib/coder/coder.h"
#include "src/lib/wire/message.h"
#include "tests/support/counted_alloc.h"
#include "tests/support/test.h"

static size_t failing_calls; /* calls of the function under test alone */

/* ---- methods ---- */

#define N 9000

static void methods_of_the_tables(struct gcb_method *m, size_t *count)
{
    /* what the defaults leave out */
    static const char *const more[] = {
        "qsgd:coding=elias",
        "qsgd:coding=elias-sparse",
        "fft:chunk=1000",
        "fft:values=fp32",
        "topk:index=golomb",
        "topk:values=range",
        "terngrad:clip=0",
        "sparse:transform=random,tile=8x6",
        "powersgd:tile=8x6,rank=1,factor-bits=5,bits-per-element=3",
    };

    for (*count = 0; gcb_method_at(&m[*count], *count); ++*count)
        assert_true(*count < 64);
    for (size_t i = 0; i < sizeof(more) / sizeof(*more); i++, ++*count)
        assert_int_equal(gcb_method_parse(&m[*count], more[i], NULL), 0);
}

static void same_or_nomem(int err, const struct gcb_diag *diag, const struct gcb_method *m)
{
    if (err == GCB_E_NOMEM)
        return;
    fail_msg("%s, allocation %zu: %d (%s)", m->name, counted.fail_at, err, diag->text);
}

/* Lets each allocation of run() fail in turn, until one run needs no more; returns how many there
 * are. */
struct attempt {
    const struct gcb_method *m;
    const uint8_t *message;
    size_t length;
    struct gcb_coder *decoder;
    const char *spec, *key, *value; /* of a public encoder, and a parameter to change */
    const uint8_t *stored;          /* a raw message */
    size_t stored_length;
};

static size_t each_failure(const struct attempt *a,
                           int (*run)(const struct attempt *a, struct gcb_diag *diag))
{
    const size_t before = counted.live;

    for (size_t n = 1;; n++) {
        struct gcb_diag diag = {0};
        int err;

        counted.calls = 0;
        counted.fail_at = n;
        err = run(a, &diag);
        counted.fail_at = 0;
        assert_int_equal(counted.live, before);
        if (counted.calls < n) { /* nothing was left to fail */
            assert_int_equal(err, 0);
            return n - 1;
        }
        same_or_nomem(err, &diag, a->m);
        assert_int_equal(diag.status, err);
    }
}

static int open_encoder(const struct attempt *a, struct gcb_diag *diag)
{
    const struct gcb_coder_config config = {.env = {.count = N}};
    struct gcb_coder *c = NULL;
    const int err = gcb_coder_create(&c, a->m, &config, diag);

    assert_true(err == 0 || c == NULL);
    gcb_coder_destroy(c);
    return err;
}

static int open_decoder(const struct attempt *a, struct gcb_diag *diag)
{
    const struct gcb_coder_config config = {0};
    struct gcb_coder *c = NULL;
    const int err = gcb_coder_create_decoder(&c, a->message, a->length, &config, diag);

    assert_true(err == 0 || c == NULL);
    gcb_coder_destroy(c);
    return err;
}

static int describe(const struct attempt *a, struct gcb_diag *diag)
{
    struct gcb_message_parts parts;

    return gcb_coder_describe(a->decoder, a->message, a->length, &parts, diag);
}

/* A message, and a decoder that has decoded it; coding itself allocates nothing. */
static void round_trip(struct attempt *a, const struct gcb_method *m, uint8_t **message)
{
    const struct gcb_step at = {0};
    const struct gcb_coder_config config = {.env = {.count = N}};
    float *x = malloc(N * sizeof(float));
    struct gcb_wbuf w = {0};
    struct gcb_coder *c;
    double tile;

    for (int i = 0; i < N; i++)
        x[i] = (float)((i * 7919) % 1001 - 500) * 0.01f;
    assert_int_equal(gcb_coder_create(&c, m, &config, NULL), 0);
    w.cap = gcb_coder_bound(c);
    w.data = *message = malloc(w.cap);
    counted.calls = 0;
    assert_int_equal(gcb_coder_encode(c, &at, &(struct gcb_view){x, N}, &w, NULL), 0);
    assert_int_equal(counted.calls, 0);
    gcb_coder_destroy(c);
    *a = (struct attempt){.m = m, .message = w.data, .length = w.len};
    assert_int_equal(gcb_coder_create_decoder(&a->decoder, w.data, w.len, &config, NULL), 0);
    if (gcb_method_value(m, "tile", &tile) && tile > 0.0) /* the first message has the shapes */
        gcb_coder_decode(a->decoder, w.data, w.len, &(struct gcb_mview){x, N}, NULL);
    counted.calls = 0;
    assert_int_equal(gcb_coder_decode(a->decoder, w.data, w.len, &(struct gcb_mview){x, N}, NULL),
                     0);
    assert_int_equal(counted.calls, 0);
    free(x);
}

static void every_allocation_may_fail(void **state)
{
    static struct gcb_method methods[128];
    size_t count, failures = 0;

    methods_of_the_tables(methods, &count);
    for (size_t i = 0; i < count; i++) {
        struct attempt a;
        uint8_t *message;

        round_trip(&a, &methods[i], &message);
        /* a coder, its path and, but for a decoder of stored messages, its state */
        assert_true(each_failure(&a, open_encoder) >= 3);
        assert_true(each_failure(&a, open_decoder) >= 2);
        failures += each_failure(&a, describe);
        gcb_coder_destroy(a.decoder);
        free(message);
        assert_int_equal(counted.live, 0);
    }
    assert_true(failures >= 3); /* the codes' histograms */
}

/* ---- the public objects ---- */

static int open_public(const struct attempt *a, struct gcb_diag *diag)
{
    static const uint64_t shape[] = {N};
    const struct gcb_options o = {
        .size = sizeof(o), .shape = shape, .rank = 1, .path = "w", .input = GCB_BF16};
    struct gcb_encoder *e = NULL;
    struct gcb_decoder *d = NULL;
    int err = gcb_encoder_open(&e, a->spec, N, &o, diag);

    if (!err)
        err = gcb_decoder_open(&d, a->spec, N, &o, diag);
    assert_true(err == 0 || d == NULL);
    gcb_encoder_close(e);
    gcb_decoder_close(d);
    return err;
}

/* An encoder whose parameters cannot change gives the bytes that it gave before. */
static int change(const struct attempt *a, struct gcb_diag *diag)
{
    static uint8_t message[8 * N];
    static float x[N];
    const size_t failing = counted.fail_at;
    struct gcb_encoder *e = NULL;
    size_t length, before;
    int err;

    for (int i = 0; i < N; i++)
        x[i] = (float)((i * 7919) % 1001 - 500) * 0.01f;
    counted.fail_at = 0;
    assert_int_equal(gcb_encoder_open(&e, a->spec, N, NULL, NULL), 0);
    assert_int_equal(gcb_encode(e, 0, 0, x, message, sizeof(message), &length, NULL), 0);
    before = gcb_encoder_bound(e);
    counted.calls = 0;
    counted.fail_at = failing;
    err = gcb_encoder_set(e, a->key, a->value, diag);
    failing_calls = counted.calls;
    counted.fail_at = 0;
    assert_true(err == 0 || gcb_encoder_bound(e) == before);
    assert_int_equal(gcb_encode(e, 1, 0, x, message, sizeof(message), &length, NULL), 0);
    gcb_encoder_close(e);
    counted.calls = failing_calls;
    return err;
}

/* The decoder of a raw message that gets no memory for the method of the next message stays what it
 * is. */
static int learn(const struct attempt *a, struct gcb_diag *diag)
{
    const size_t failing = counted.fail_at;
    struct gcb_decoder *d = NULL;
    static float y[N];
    int err;

    counted.fail_at = 0;
    assert_int_equal(gcb_decoder_open_like(&d, a->stored, a->stored_length, NULL, NULL), 0);
    counted.calls = 0;
    counted.fail_at = failing;
    err = gcb_decode(d, a->message, a->length, y, diag);
    failing_calls = counted.calls;
    counted.fail_at = 0;
    assert_int_equal(gcb_decode(d, a->stored, a->stored_length, y, NULL), 0);
    assert_int_equal(gcb_decode(d, a->message, a->length, y, NULL), 0);
    gcb_decoder_close(d);
    counted.calls = failing_calls;
    return err;
}

static void public_objects_may_fail(void **state)
{
    static const struct attempt rows[] = {
        {.spec = "fft:chunk=1000,memory=ef", .key = "chunk", .value = "900"},
        {.spec = "dgc", .key = "density", .value = "0.5"},
        {.spec = "qsgd:memory=ef,coding=elias", .key = "bits", .value = "3"},
        {.spec = "sbc", .key = "index", .value = "u32"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct gcb_method m;
        struct attempt a = rows[i];

        assert_int_equal(gcb_method_parse(&m, a.spec, NULL), 0);
        a.m = &m;
        assert_true(each_failure(&a, open_public) >= 8);
        if (i % 2) /* the sparse codec changes in place */
            assert_int_equal(each_failure(&a, change), 0);
        else
            assert_true(each_failure(&a, change) >= 3);
        assert_int_equal(counted.live, 0);
    }
}

static void learning_may_fail(void **state)
{
    struct gcb_method fft, whole;
    struct attempt a, raw;
    uint8_t *message, *stored;

    assert_int_equal(gcb_method_parse(&fft, "fft:chunk=1000", NULL), 0);
    assert_int_equal(gcb_method_parse(&whole, "topk:theta=0", NULL), 0);
    round_trip(&a, &fft, &message);
    round_trip(&raw, &whole, &stored);
    a.stored = stored;
    a.stored_length = raw.length;
    assert_true(each_failure(&a, learn) >= 2);
    gcb_coder_destroy(a.decoder);
    gcb_coder_destroy(raw.decoder);
    free(message);
    free(stored);
    assert_int_equal(counted.live, 0);
}

/* Lengths that no memory holds are an ordinary failure too. */
static void absurd_sizes(void **state)
{
    struct gcb_method m;

    for (size_t i = 0; gcb_method_at(&m, i); i++) {
        const struct gcb_coder_config config = {.env = {.count = UINT64_MAX / 2}};
        struct gcb_diag diag = {0};
        struct gcb_coder *c = NULL;

        assert_int_equal(gcb_coder_create(&c, &m, &config, &diag), GCB_E_NOMEM);
        assert_null(c);
        assert_int_equal(counted.live, 0);
    }
}

/* A short message that tells of many tiles makes the decoder allocate nothing for them. */
static void tiles_that_a_message_lacks(void **state)
{
    static float y[N];
    struct gcb_coder *c;
    struct gcb_method m;
    struct gcb_rbuf payload;
    struct gcb_frame frame;
    struct attempt a;
    uint8_t *message;
    size_t length;

    assert_int_equal(gcb_method_parse(&m, "powersgd:tile=1x1", NULL), 0);
    round_trip(&a, &m, &message);
    assert_int_equal(gcb_frame_parse(&frame, &payload, message, a.length, NULL), 0);
    frame.payload_bytes = 10;
    gcb_frame_patch(&frame, message);
    length = gcb_frame_head(&frame) + 10;
    gcb_coder_destroy(a.decoder);
    assert_int_equal(
        gcb_coder_create_decoder(&c, message, length, &(struct gcb_coder_config){0}, NULL), 0);
    counted.calls = 0;
    assert_int_equal(gcb_coder_decode(c, message, length, &(struct gcb_mview){y, N}, NULL),
                     GCB_E_CORRUPT);
    assert_int_equal(counted.calls, 1); /* the parts */
    gcb_coder_destroy(c);
    free(message);
}

RUN_TESTS(cmocka_unit_test(every_allocation_may_fail), cmocka_unit_test(public_objects_may_fail),
          cmocka_unit_test(learning_may_fail), cmocka_unit_test(absurd_sizes),
          cmocka_unit_test(tiles_that_a_message_lacks))
