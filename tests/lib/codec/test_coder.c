#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/test.h"
#include "tests/support/trip.h"

static struct gcb_coder *encoder_of(const char *spec, uint64_t n, const struct trip_options *o)
{
    struct gcb_coder_config config;
    struct gcb_kernels kernels;
    struct gcb_queue queue;
    struct gcb_method m;
    struct gcb_coder *c = NULL;

    trip_configure(&config, &queue, &kernels, o, n);
    assert_int_equal(gcb_method_parse(&m, spec, NULL), 0);
    assert_int_equal(gcb_coder_create(&c, &m, &config, NULL), 0);
    return c;
}

static int decoder_of(struct gcb_coder **out, const uint8_t *message, size_t length,
                      uint64_t max_elements, struct gcb_diag *diag)
{
    const struct gcb_coder_config config = {.max_elements = max_elements};

    *out = NULL;
    return gcb_coder_create_decoder(out, message, length, &config, diag);
}

/* ---- the stored rule ---- */

/* Four elements are shorter raw than as codes with their scales, in each source type. */
static void sends_raw_what_would_expand(void **state)
{
    static const struct {
        enum gcb_dtype source;
        size_t bytes; /* of an element */
    } rows[] = {{GCB_F32, 4}, {GCB_F16, 2}, {GCB_BF16, 2}, {GCB_F64, 4}};
    const float x[] = {1.0f, -2.5f, 0.0f, 0.375f}; /* exact in every type */

    for (size_t i = 0; i < 4; i++) {
        const struct trip_options o = {.source = rows[i].source};
        struct trip t = {0};

        trip_run(&t, "topk:theta=0", x, 4, &o); /* 4 + 4 * 8 bytes */
        assert_true(t.parts.stored);
        assert_int_equal(t.length, 16 + 4 * rows[i].bytes);
        assert_int_equal(t.message[6], rows[i].source);
        assert_memory_equal(t.back, x, sizeof(x));
        assert_int_equal(t.parts.payload.value_bytes, 4 * rows[i].bytes);
        assert_int_equal(t.parts.payload.kept, 4);
        trip_free(&t);
    }
}

/* A payload as long as the raw tensor still goes out as itself; one byte more does not. */
static void stored_rule_is_exact(void **state)
{
    float x[100];
    struct trip t = {0};

    trip_fill(x, 100, TRIP_GAUSS, 1);
    trip_run(&t, "identity", x, 100, NULL);
    assert_false(t.parts.stored);
    trip_free(&t);
    trip_run(&t, "identity", x, 100, &(struct trip_options){.source = GCB_F64});
    assert_false(t.parts.stored); /* raw is no wider than the float32 that codecs see */
    trip_free(&t);
    trip_run(&t, "identity", x, 100, &(struct trip_options){.source = GCB_F16});
    assert_true(t.parts.stored);
    assert_int_equal(t.length, 16 + 200);
    trip_free(&t);
    /* range at 16 bits is 5 bytes of scale more than a half tensor, at 15 bits it is less */
    trip_run(&t, "range:bits=16", x, 100, &(struct trip_options){.source = GCB_BF16});
    assert_true(t.parts.stored);
    trip_free(&t);
    trip_run(&t, "range:bits=15", x, 100, &(struct trip_options){.source = GCB_BF16});
    assert_false(t.parts.stored);
    trip_free(&t);
    /* 5 + 3 = 8 bytes are not longer than four halves; with three elements 5 + 3 are longer than
     * 6 */
    trip_run(&t, "range:bits=6", x, 4, &(struct trip_options){.source = GCB_BF16});
    assert_false(t.parts.stored);
    trip_free(&t);
    trip_run(&t, "range:bits=6", x, 3, &(struct trip_options){.source = GCB_BF16});
    assert_true(t.parts.stored);
    trip_free(&t);
}

/* ---- values that are not finite ---- */

/* ---- an encoder that asks for the tensor to be sent raw ---- */

static int unable_init(void *state, const struct gcb_codec_env *env, struct gcb_diag *diag)
{
    struct gcb_codec_base *s = state;

    s->max_payload = 4;
    s->may_send_raw = true;
    return 0;
}

static int unable_encode(void *state, const struct gcb_step *at, const struct gcb_view *in,
                         struct gcb_wbuf *out)
{
    gcb_put_f32(out, in->data[0]); /* must be dropped */
    return GCB_E_SEND_RAW;
}

static void encoder_asks_for_raw(void **state)
{
    static const struct gcb_codec_ops ops = {
        .state_size = sizeof(struct gcb_codec_base), .init = unable_init, .encode = unable_encode};
    static const struct gcb_codec codec = {.name = "unable", .wire_id = 200, .ops = &ops};
    const struct gcb_method m = {.name = "unable", .codec = &codec};
    const float x[] = {3e38f, -0.0f, 1e-45f};
    const struct gcb_step at = {0};
    struct gcb_coder_config config = {.env = {.count = 3}};
    struct trip t = {.n = 3, .message = malloc(256)};
    struct gcb_wbuf w = {.data = t.message, .cap = 256};
    struct gcb_message_parts parts;

    for (int policy = GCB_NONFINITE_ERROR; policy <= GCB_NONFINITE_TRUSTED; policy++) {
        config.nonfinite = (enum gcb_nonfinite)policy;
        assert_int_equal(gcb_coder_create(&t.encoder, &m, &config, NULL), 0);
        w.len = 0;
        assert_int_equal(gcb_coder_bound(t.encoder), gcb_coder_raw_bytes(t.encoder));
        assert_int_equal(gcb_coder_encode(t.encoder, &at, &(struct gcb_view){x, 3}, &w, NULL), 0);
        gcb_coder_destroy(t.encoder);
    }
    t.encoder = NULL;
    t.length = w.len;
    trip_decode(&t, &(struct trip_options){0});
    assert_int_equal(gcb_coder_describe(t.decoder, t.message, t.length, &parts, NULL), 0);
    assert_true(parts.stored);
    assert_int_equal(parts.payload.value_bytes, sizeof(x));
    assert_memory_equal(t.back, x, sizeof(x));
    trip_free(&t);
}

/* ---- sizes: the arithmetic without the memory ---- */

static void wide_frames(void **state)
{
    static const struct {
        const char *spec;
        double bytes; /* of an element, with its share of the scales */
    } rows[] = {{"identity", 4.0},
                {"fp16", 2.0},
                {"range", 1.0},
                {"qsgd", 0.5 + 4.0 / 512},
                {"terngrad:clip=0", 0.25}};
    static const uint64_t counts[] = {UINT64_C(1) << 30, (UINT64_C(1) << 30) - 1,
                                      (UINT64_C(1) << 32) - 1, UINT64_C(1) << 32,
                                      (UINT64_C(1) << 40) + 3};

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        for (size_t k = 0; k < sizeof(counts) / sizeof(*counts); k++) {
            const struct trip_options any = {.nonfinite = GCB_NONFINITE_RAW};
            struct gcb_coder *c = encoder_of(rows[i].spec, counts[k], &any);
            const uint64_t raw = 4 * counts[k];
            double own;

            /* room for the raw tensor; 8 bytes more of head once a length passes 32 bits */
            assert_true(gcb_coder_bound(c) >= raw + (raw > UINT32_MAX ? 24 : 16));
            assert_true(gcb_coder_bound(c) <= raw + 24 + 64);
            gcb_coder_destroy(c);
            /* only the method's own bytes, if all values are finite */
            c = encoder_of(rows[i].spec, counts[k], &(struct trip_options){0});
            own = rows[i].bytes * (double)counts[k];
            assert_true((double)gcb_coder_bound(c) >= own + (raw > UINT32_MAX ? 24 : 16));
            assert_true((double)gcb_coder_bound(c) <= own + 24 + 64);
            gcb_coder_destroy(c);
        }
    }
}

/* ---- what a decoder refuses ---- */

static void decoder_refuses(void **state)
{
    float x[1000], back[1000];
    const struct gcb_mview out = {.data = back, .count = 1000}, shorter = {back, 999};
    struct trip t = {0}, other = {0}, small = {0};
    struct gcb_diag diag = {0};
    struct gcb_coder *c;

    trip_fill(x, 1000, TRIP_GAUSS, 1);
    trip_run(&t, "qsgd", x, 1000, NULL);
    trip_encode(&other, "qsgd:bits=5", x, 1000, NULL);
    trip_encode(&small, "qsgd", x, 999, NULL);
    assert_int_equal(gcb_coder_decode(t.decoder, other.message, other.length, &out, &diag),
                     GCB_E_MISMATCH);
    assert_int_equal(gcb_coder_decode(t.decoder, small.message, small.length, &out, &diag),
                     GCB_E_MISMATCH);
    assert_int_equal(gcb_coder_decode(t.decoder, t.message, t.length, &shorter, &diag),
                     GCB_E_MISMATCH);
    assert_int_equal(gcb_coder_decode(t.encoder, t.message, t.length, &out, &diag), GCB_E_MISMATCH);
    assert_int_equal(gcb_coder_decode(t.decoder, t.message, t.length - 1, &out, &diag),
                     GCB_E_CORRUPT);
    t.message[4] = 250; /* a codec nobody has */
    assert_int_equal(gcb_coder_decode(t.decoder, t.message, t.length, &out, &diag), GCB_E_MISMATCH);
    assert_int_equal(decoder_of(&c, t.message, t.length, 0, &diag), GCB_E_UNSUPPORTED);
    t.message[4] = 5;
    t.message[16] = 99; /* bits */
    assert_int_equal(decoder_of(&c, t.message, t.length, 0, &diag), GCB_E_CORRUPT);
    t.message[16] = 4;
    assert_int_equal(decoder_of(&c, t.message, t.length, 999, &diag), GCB_E_CORRUPT);
    assert_non_null(strstr(diag.text, "1000 elements"));
    assert_int_equal(decoder_of(&c, t.message, t.length, 1000, &diag), 0);
    gcb_coder_destroy(c);
    trip_free(&t);
    trip_free(&other);
    trip_free(&small);
}

/* Messages that promise up to 2^64 - 1 elements: refused, whatever the limit and the codec. */
static void refuses_absurd_counts(void **state)
{
    static const uint64_t counts[] = {(UINT64_C(1) << 56) + 1, UINT64_C(1) << 60, UINT64_C(1) << 62,
                                      UINT64_C(1) << 63, UINT64_MAX};
    struct gcb_method m;

    for (size_t i = 0; gcb_method_at(&m, i); i++) {
        for (size_t k = 0; k < sizeof(counts) / sizeof(*counts); k++) {
            for (uint8_t stored = 0; stored < 2; stored++) {
                struct gcb_frame f = {.codec = m.codec->wire_id,
                                      .flags = (uint8_t)(GCB_WIRE_WIDE | stored),
                                      .count = counts[k]};
                uint8_t bytes[128], state_image[1 << 15] = {0};
                struct gcb_wbuf params = {.data = f.params, .cap = sizeof(f.params)};
                struct gcb_wbuf w = {.data = bytes, .cap = sizeof(bytes)};
                struct gcb_diag diag = {0};
                struct gcb_coder *c;

                assert_true(m.codec->ops->state_size <= sizeof(state_image));
                gcb_param_store(m.codec->params, m.value, state_image);
                gcb_param_write(m.codec->params, state_image, &params);
                f.param_bytes = stored ? 0 : (uint8_t)params.len;
                gcb_frame_write(&f, &w);
                assert_int_equal(decoder_of(&c, bytes, w.len, 0, &diag), GCB_E_CORRUPT);
                assert_non_null(strstr(diag.text, "elements"));
                assert_int_equal(decoder_of(&c, bytes, w.len, UINT64_MAX, &diag), GCB_E_CORRUPT);
            }
        }
    }
}

/* A stored message needs no method, so its decoder takes stored ones only; others' take both
 * kinds. */
static void accepts(void **state)
{
    float x[8] = {1.0f};
    struct trip stored = {0}, coded = {0};
    struct gcb_frame fs, fc;
    struct gcb_rbuf payload;

    trip_run(&stored, "topk:theta=0", x, 8, NULL);
    trip_run(&coded, "fp16", x, 8, NULL);
    assert_int_equal(gcb_frame_parse(&fs, &payload, stored.message, stored.length, NULL), 0);
    assert_int_equal(gcb_frame_parse(&fc, &payload, coded.message, coded.length, NULL), 0);
    assert_true(gcb_coder_accepts(stored.decoder, &fs));
    assert_false(gcb_coder_accepts(stored.decoder, &fc));
    assert_true(gcb_coder_accepts(coded.decoder, &fc));
    assert_true(gcb_coder_accepts(coded.decoder, &fs));
    fc.codec = 3; /* bf16: same shape, another meaning */
    assert_false(gcb_coder_accepts(coded.decoder, &fc));
    fs.count = 9;
    assert_false(gcb_coder_accepts(coded.decoder, &fs));
    trip_free(&stored);
    trip_free(&coded);
}

/* ---- what an encoder refuses ---- */

static void encoder_refuses(void **state)
{
    const struct gcb_step at = {0};
    float x[100] = {1.0f};
    uint8_t out[600];
    struct gcb_coder *c = encoder_of("range", 100, &(struct trip_options){0});
    const size_t bound = gcb_coder_bound(c);

    assert_true(bound <= sizeof(out));
    for (size_t cap = 0; cap < 16 + 1 + 5 + 100; cap++) { /* too short at every place */
        struct gcb_wbuf w = {.data = out, .cap = cap};

        memset(out, 0xa5, sizeof(out));
        assert_int_equal(gcb_coder_encode(c, &at, &(struct gcb_view){x, 100}, &w, NULL),
                         GCB_E_NOSPACE);
        assert_int_equal(w.len, 0);
        assert_int_equal(out[cap], 0xa5);
    }
    for (uint64_t n = 99; n <= 101; n += 2) {
        struct gcb_wbuf w = {.data = out, .cap = sizeof(out)};

        assert_int_equal(gcb_coder_encode(c, &at, &(struct gcb_view){x, n}, &w, NULL),
                         GCB_E_MISMATCH);
        assert_int_equal(gcb_coder_encode_raw(c, &(struct gcb_view){x, n}, &w, NULL),
                         GCB_E_MISMATCH);
        assert_int_equal(w.len, 0);
    }
    gcb_coder_destroy(c);
}

RUN_TESTS(cmocka_unit_test(sends_raw_what_would_expand), cmocka_unit_test(stored_rule_is_exact),
          cmocka_unit_test(encoder_asks_for_raw), cmocka_unit_test(wide_frames),
          cmocka_unit_test(decoder_refuses), cmocka_unit_test(refuses_absurd_counts),
          cmocka_unit_test(accepts), cmocka_unit_test(encoder_refuses))
