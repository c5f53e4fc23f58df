/* Encoders with a memory. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/lib/api/options.h"
#include "src/lib/memory/memory.h"
#include "tests/lib/api/encoders.h"
#include "tests/support/test.h"
#include "tests/support/trip.h"

static const struct gcb_options plain = {.size = sizeof(plain)};
static const struct gcb_options raw = {.size = sizeof(raw), .nonfinite = GCB_NONFINITE_RAW};

/* ---- against a memory that decodes its own messages ---- */

static void follows_the_recurrence(const char *spec)
{
    const struct gcb_queue queue = {.threads = 1};
    struct gcb_encoder *e = encoder_of(spec, NULL);
    struct gcb_memory_params params;
    struct gcb_memory *m = NULL;
    struct gcb_method method;
    struct trip t = {0};
    struct gcb_kernels kernels;
    uint8_t message[ROOM];
    float g[N], sent[N];

    assert_int_equal(gcb_method_parse(&method, spec, NULL), 0);
    gcb_method_memory_for(&params, &method, N);
    gcb_kernels_init(&kernels, 0);
    assert_int_equal(gcb_memory_create(&m, &params, N, 1, &queue, &kernels, NULL), 0);
    gradient(g, 0);
    trip_encode(&t, spec, g, N, &(struct trip_options){.seed = 1}); /* for its encoder */
    for (uint64_t step = 0; step < 7; step++) {
        const struct gcb_step at = {.step = step};
        struct gcb_wbuf w = {.data = t.message, .cap = gcb_coder_bound(t.encoder)};
        const struct gcb_mview out = {.data = sent, .count = N};
        struct gcb_coder *decoder = NULL;
        struct gcb_view p = {.count = N};

        gradient(g, step);
        p.data = gcb_memory_compensate(m, g);
        if (p.data)
            assert_int_equal(gcb_coder_encode(t.encoder, &at, &p, &w, NULL), 0);
        if (encode(e, step, g, message) != w.len || memcmp(message, w.data, w.len) != 0)
            fail_msg("%s: step %d differs", spec, (int)step);
        if (!p.data)
            continue;
        assert_int_equal(
            gcb_coder_create_decoder(&decoder, w.data, w.len, &(struct gcb_coder_config){0}, NULL),
            0);
        assert_int_equal(gcb_coder_decode(decoder, w.data, w.len, &out, NULL), 0);
        gcb_memory_update(m, sent);
        gcb_coder_destroy(decoder);
    }
    gcb_encoder_close(e);
    gcb_memory_destroy(m);
    trip_free(&t);
}

static void every_method_has_its_memory(void **state)
{
    static const char *const more[] = {
        "topk:memory=ef,decay=0.5",
        "topk:memory=dgc,momentum=0.9,nesterov=yes",
        "topk:memory=dgc,momentum=0.9,nesterov=redsync",
        "topk:memory=dgc,momentum=0.9,values=fp16,residual=clear",
        "topk:memory=dgc,momentum=0.9,values=fp16,residual=clear,masking=no",
        "natural:memory=dgc,momentum=0.9,residual=clear",
        "topk:memory=dgc,momentum=0.9,clip-norm=0.5,masking=no",
        "topk:memory=delay,delay=3,momentum=0.5",
        "sbc:delay=4,p=0.05",
        "topk:transform=hadamard,chunk=64,memory=demo,momentum=0.9",
        "redsync:dense-below=0,trimmed-below=0,density=0.05",
        "redsync:dense-below=0,quant=asq",
        "qsgd:coding=elias,memory=ef",
    };
    struct gcb_method m;
    char spec[128];

    for (size_t i = 0; gcb_method_at(&m, i); i++) {
        follows_the_recurrence(m.name);
        snprintf(spec, sizeof(spec), "%s:memory=ef", m.name);
        follows_the_recurrence(spec);
    }
    for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++)
        follows_the_recurrence(more[i]);
}

/* ---- tensors that the memory must not take ---- */

static void nonfinite_leaves_the_memory(void **state)
{
    static const char *const specs[] = {"topk:memory=ef", "dgc:clip-norm=1", "sbc:delay=2",
                                        "demo:chunk=64"};
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    struct saved before;
    uint8_t message[ROOM];
    struct gcb_diag diag;
    float g[N], back[N];
    size_t length;

    for (size_t i = 0; i < 12; i++) {
        struct gcb_encoder *strict = encoder_of(specs[i / 3], &plain);
        struct gcb_encoder *e = encoder_of(specs[i / 3], &raw);
        struct gcb_decoder *d = NULL;

        gradient(g, 0);
        encode(e, 0, g, message);
        encode(strict, 0, g, message);
        save(&before, e);
        g[77] = bad[i % 3];
        length = encode(e, 1, g, message);
        assert_int_equal(gcb_decoder_open(&d, specs[i / 3], N, NULL, NULL), 0);
        assert_int_equal(gcb_decode(d, message, length, back, NULL), 0);
        assert_memory_equal(back, g, sizeof(g));
        same_state(&before, e);
        length = 5;
        assert_int_equal(gcb_encode(strict, 1, 0, g, message, ROOM, &length, &diag),
                         GCB_E_NONFINITE);
        assert_non_null(strstr(diag.text, "tensor contains"));
        assert_int_equal(length, 5);
        same_state(&before, strict);
        gcb_decoder_close(d);
        gcb_encoder_close(strict);
        gcb_encoder_close(e);
    }
}

/* A memory with an infinity would never send a valid message again. */
static void nobody_is_trusted_with_a_memory(void **state)
{
    static const char *const specs[] = {"qsgd:memory=ef", "sbc", "terngrad:memory=ef",
                                        "dgc:clip-norm=1", "topk:memory=ef"};
    const struct gcb_options trusted = {.size = sizeof(trusted),
                                        .nonfinite = GCB_NONFINITE_TRUSTED};
    struct saved before;
    uint8_t message[ROOM];
    struct gcb_diag diag;
    float g[N];
    size_t length;

    for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
        struct gcb_encoder *e = encoder_of(specs[i], &trusted);

        gradient(g, 0);
        encode(e, 0, g, message);
        save(&before, e);
        g[5] = INFINITY;
        assert_int_equal(gcb_encode(e, 1, 0, g, message, ROOM, &length, &diag), GCB_E_NONFINITE);
        assert_non_null(strstr(diag.text, "tensor contains"));
        same_state(&before, e);
        gradient(g, 1);
        encode(e, 1, g, message);
        gcb_encoder_close(e);
    }
}

/* The gradient is finite, but its sum with the memory is not. */
static void overflow_leaves_the_memory(void **state)
{
    static const char *const specs[] = {"topk:memory=ef,theta=0.99", "dgc:theta=0.99",
                                        "topk:memory=dgc,momentum=0.9,nesterov=yes,theta=0.99",
                                        "sbc:delay=100"};
    struct saved before;
    uint8_t message[ROOM];
    struct gcb_message_info info = {.size = sizeof(info)};
    struct gcb_diag diag;
    float g[N];
    size_t length;

    for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
        struct gcb_encoder *strict = encoder_of(specs[i], &plain);
        struct gcb_encoder *e = encoder_of(specs[i], &raw);

        for (int k = 0; k < N; k++)
            g[k] = 1.2e38f;
        encode(e, 0, g, message);
        encode(strict, 0, g, message);
        g[N - 1] = 3.3e38f; /* the last of equals was not sent */
        save(&before, e);
        length = encode(e, 1, g, message);
        assert_int_equal(gcb_message_info(&info, message, length, NULL), 0);
        assert_true(info.stored);
        same_state(&before, e);
        assert_int_equal(gcb_encode(strict, 1, 0, g, message, ROOM, &length, &diag),
                         GCB_E_NONFINITE);
        assert_non_null(strstr(diag.text, "overflows"));
        same_state(&before, strict);
        gcb_encoder_close(strict);
        gcb_encoder_close(e);
    }
}

static void too_little_room_leaves_the_memory(void **state)
{
    struct gcb_encoder *e = encoder_of("dgc", NULL);
    const size_t bound = gcb_encoder_bound(e);
    struct saved before;
    uint8_t message[ROOM];
    struct gcb_diag diag;
    float g[N];
    size_t length;

    gradient(g, 0);
    encode(e, 0, g, message);
    save(&before, e);
    for (size_t cap = 0; cap < bound; cap++)
        assert_int_equal(gcb_encode(e, 1, 0, g, message, cap, &length, &diag), GCB_E_NOSPACE);
    assert_non_null(strstr(diag.text, "gcb_encoder_bound"));
    same_state(&before, e);
    assert_int_equal(gcb_encode(e, 1, 0, g, message, bound, &length, &diag), 0);
    gcb_encoder_close(e);
}

/* ---- types, threads, shapes ---- */

static void takes_16_bit_tensors(void **state)
{
    static const enum gcb_dtype types[] = {GCB_F16, GCB_BF16};
    struct gcb_kernels k;
    uint8_t narrow[2 * N], a[ROOM], b[ROOM];
    struct gcb_message_info info = {.size = sizeof(info)};
    float g[N], wide[N];

    gcb_kernels_init(&k, 0);
    gradient(g, 0);
    for (int i = 0; i < 2; i++) {
        const struct gcb_options in = {.size = sizeof(in), .input = types[i]};
        const struct gcb_options source = {.size = sizeof(source), .source = types[i]};
        struct gcb_encoder *e = encoder_of("topk:memory=ef", &in);
        struct gcb_encoder *f = encoder_of("topk:memory=ef", &source);
        size_t length;

        (i ? k.convert.to_bf16 : k.convert.to_fp16)(narrow, g, N);
        (i ? k.convert.from_bf16 : k.convert.from_fp16)(wide, narrow, N);
        for (uint64_t step = 0; step < 3; step++) {
            assert_int_equal(gcb_encode(e, step, 0, narrow, a, ROOM, &length, NULL), 0);
            assert_int_equal(encode(f, step, wide, b), length);
            assert_memory_equal(a, b, length);
        }
        assert_int_equal(gcb_message_info(&info, a, length, NULL), 0);
        assert_int_equal(info.source, types[i]);
        gcb_encoder_close(e);
        gcb_encoder_close(f);
    }
}

/* Raw 16-bit tensors keep their bits, except that a signalling NaN may become quiet. */
static void raw_16_bit_tensors(void **state)
{
    static const uint16_t rows[][5] = {
        {GCB_F16, 0x7c00, 0xfc00, 0x7e01, 0x7d01},
        {GCB_BF16, 0x7f80, 0xff80, 0x7fc1, 0x7f81},
    };
    struct gcb_message_info info = {.size = sizeof(info)};
    uint16_t x[N] = {0}, back[N];
    uint8_t message[ROOM];
    size_t length;

    for (int i = 0; i < 2; i++) {
        const struct gcb_options o = {
            .size = sizeof(o), .input = (enum gcb_dtype)rows[i][0], .nonfinite = GCB_NONFINITE_RAW};
        struct gcb_encoder *e = encoder_of("qsgd", &o);
        const uint16_t quiet = rows[i][3] ^ rows[i][4]; /* the bit that makes a NaN quiet */

        memcpy(x, rows[i] + 1, 4 * sizeof(x[0]));
        assert_int_equal(gcb_encode(e, 0, 0, x, message, ROOM, &length, NULL), 0);
        assert_int_equal(gcb_message_info(&info, message, length, NULL), 0);
        assert_true(info.stored);
        memcpy(back, message + info.header_bytes, sizeof(back));
        assert_int_equal(back[3] & ~quiet, x[3] & ~quiet);
        x[3] = back[3];
        assert_memory_equal(x, back, sizeof(x));
        gcb_encoder_close(e);
    }
}

static void empty_tensors(void **state)
{
    static const char *const specs[] = {"topk:memory=ef", "dgc", "fft", "sbc:delay=2"};
    struct gcb_memory_state s = {.size = sizeof(s)};
    const struct gcb_memory_view nothing = {.size = sizeof(nothing)};
    uint8_t message[ROOM];
    size_t length;

    for (size_t i = 0; i < 4; i++) {
        struct gcb_encoder *e = NULL;

        assert_int_equal(gcb_encoder_open(&e, specs[i], 0, NULL, NULL), 0);
        for (uint64_t step = 0; step < 3; step++)
            assert_int_equal(gcb_encode(e, step, 0, NULL, message, ROOM, &length, NULL), 0);
        assert_int_equal(gcb_encoder_save(e, &s, NULL), 0);
        assert_int_equal(gcb_encoder_restore(e, &nothing, NULL), 0);
        gcb_encoder_close(e);
    }
    gcb_encoder_close(NULL);
}

RUN_TESTS(cmocka_unit_test(every_method_has_its_memory),
          cmocka_unit_test(nonfinite_leaves_the_memory),
          cmocka_unit_test(nobody_is_trusted_with_a_memory),
          cmocka_unit_test(overflow_leaves_the_memory),
          cmocka_unit_test(too_little_room_leaves_the_memory),
          cmocka_unit_test(takes_16_bit_tensors), cmocka_unit_test(raw_16_bit_tensors),
          cmocka_unit_test(empty_tensors))
