/* What a training loop does with an encoder between two steps. */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "tests/lib/api/encoders.h"
#include "tests/support/test.h"
#include "tests/support/trip.h"

/* ---- saving and restoring ---- */

static void restored_encoders_go_on(void **state)
{
    static const char *const specs[] = {
        "topk",          "topk:memory=ef",
        "dgc",           "sbc:delay=3",
        "demo:chunk=64", "redsync:dense-below=0,trimmed-below=0,density=0.05,interval=4",
        "powersgd",      "powersgd:start=cold,memory=ef",
    };
    static struct saved s;
    uint8_t a[ROOM], b[ROOM];
    float g[N];

    for (size_t i = 0; i < sizeof(specs) / sizeof(*specs); i++) {
        for (uint64_t stop = 0; stop < 5; stop++) {
            struct gcb_encoder *whole = encoder_of(specs[i], NULL), *second;

            for (uint64_t step = 0; step < stop; step++) {
                gradient(g, step);
                encode(whole, step, g, a);
            }
            save(&s, whole);
            second = encoder_of(specs[i], NULL);
            gradient(g, 7);
            encode(second, 7, g, a); /* restoring replaces all */
            assert_int_equal(restore(second, &s, NULL), 0);
            same_state(&s, second);
            /* the last step may come again */
            for (uint64_t step = stop ? stop - 1 : 0; step < 9; step++) {
                size_t length;

                gradient(g, step);
                length = encode(whole, step, g, a);
                assert_int_equal(encode(second, step, g, b), length);
                assert_memory_equal(a, b, length);
            }
            gcb_encoder_close(whole);
            gcb_encoder_close(second);
        }
    }
}

static void restoring_may_fail(void **state)
{
    static const struct {
        const char *from, *to;
    } rows[] = {
        {"topk:memory=ef", "topk"},
        {"dgc", "topk:memory=ef"},
        {"sbc:delay=3", "sbc:delay=1"},
        {"redsync:dense-below=0,trimmed-below=0", "dgc"},
    };
    static struct saved s, before;
    uint8_t message[ROOM];
    float g[N];

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct gcb_encoder *from = encoder_of(rows[i].from, NULL);
        struct gcb_encoder *to = encoder_of(rows[i].to, NULL);

        for (uint64_t step = 0; step < 2; step++) {
            gradient(g, step);
            encode(from, step, g, message);
            encode(to, step, g, message);
        }
        save(&s, from);
        save(&before, to);
        assert_int_equal(restore(to, &s, NULL), GCB_E_MISMATCH);
        same_state(&before, to);
        s.residual[3] = NAN;
        assert_int_equal(restore(from, &s, NULL), GCB_E_NONFINITE);
        gcb_encoder_close(from);
        gcb_encoder_close(to);
    }
}

/* Counters that no encoder can have saved. */
static void counters_may_be_hostile(void **state)
{
    static const struct {
        const char *spec;
        uint64_t counters[8];
    } rows[] = {
        {"topk", {1}},
        {"topk:memory=ef", {1}},
        {"sbc:delay=3", {4}},
        {"sbc:delay=3", {UINT64_MAX}},
        {"topk", {0, 0, 1}},
        {"qsgd", {0, 0, 0, 1}},
        {"topk:memory=ef", {0, 0, 0, 0, 1}},
        {"redsync", {0, 0, 0, 0, 0, 0, 0, 1}},
        {"redsync", {0, 5, 0, 0}},
        {"redsync", {0, 5, UINT64_C(2) << 32, 0}},
        {"redsync", {0, 5, UINT64_C(1) << 32, UINT64_C(1) << 32}},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct gcb_encoder *e = encoder_of(rows[i].spec, NULL);
        struct gcb_memory_view s = {.size = sizeof(s)};

        memcpy(s.counters, rows[i].counters, sizeof(s.counters));
        if (gcb_encoder_restore(e, &s, NULL) != GCB_E_MISMATCH)
            fail_msg("row %zu is taken", i);
        gcb_encoder_close(e);
    }
}

/* All zeros is the state of a new encoder of any method. */
static void a_new_state_is_zero(void **state)
{
    static const struct saved zero;
    const struct gcb_memory_view nothing = {.size = sizeof(nothing)};
    struct gcb_method m;

    for (size_t i = 0; gcb_method_at(&m, i); i++) {
        struct gcb_encoder *e = encoder_of(m.name, NULL);

        same_state(&zero, e);
        assert_int_equal(gcb_encoder_restore(e, &nothing, NULL), 0);
        gcb_encoder_close(e);
    }
}

/* ---- lengths ---- */

/* ---- parameters that change ---- */

/* After a change, an encoder with the residual of the old one gives the bytes of a new encoder with
 * that residual. */
static void changes_keep_the_memory(void **state)
{
    static const struct {
        const char *first, *key, *value, *then;
    } rows[] = {
        {"topk:theta=0.5,memory=ef", "theta", "0.9", "topk:theta=0.9,memory=ef"},
        {"topk:theta=0.9,memory=ef", "density", "0.5", "topk:theta=0.5,memory=ef"},
        {"topk:memory=ef", "values", "fp16", "topk:values=fp16,memory=ef"},
        {"fft:chunk=100,memory=ef", "chunk", "150", "fft:chunk=150,memory=ef"},
        {"topk:memory=ef", "transform", "fft", "topk:transform=fft,memory=ef"},
        {"fft:memory=ef", "input", "fp16", "fft:input=fp16,memory=ef"},
        {"fft:memory=ef", "pad", "smooth", "fft:pad=smooth,memory=ef"},
        {"fft:pad=smooth,memory=ef", "pad", "none", "fft:memory=ef"},
        {"demo:chunk=64,pad=smooth", "theta", "0.5", "demo:chunk=64,pad=smooth,theta=0.5"},
        {"fft:input=fp16,memory=ef", "theta", "0.5", "fft:theta=0.5,input=fp16,memory=ef"},
        {"fft:input=fp16,memory=ef", "input", "fp32", "fft:memory=ef"},
        {"qsgd:memory=ef", "bits", "8", "qsgd:bits=8,memory=ef"},
        {"redsync:dense-below=0,quant=asq,theta=0.9", "theta", "0.5",
         "redsync:dense-below=0,quant=asq,theta=0.5"},
        {"topk:select=chunk,chunk=64,memory=ef", "chunk", "32",
         "topk:select=chunk,chunk=32,memory=ef"},
        {"dgc", "momentum", "0.5", "dgc:momentum=0.5"},
        {"sbc:delay=4", "delay", "2", "sbc:delay=2"},
        {"redsync:dense-below=0,trimmed-below=0,density=0.1", "density", "0.02",
         "redsync:dense-below=0,trimmed-below=0,density=0.02"},
    };
    static struct saved s;
    uint8_t a[ROOM], b[ROOM];
    float g[N];

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct gcb_encoder *e = encoder_of(rows[i].first, NULL);
        struct gcb_encoder *other = encoder_of(rows[i].then, NULL);
        struct gcb_diag diag;

        for (uint64_t step = 0; step < 2; step++) {
            gradient(g, step);
            encode(e, step, g, a);
        }
        if (gcb_encoder_set(e, rows[i].key, rows[i].value, &diag))
            fail_msg("%s: %s", rows[i].first, diag.text);
        save(&s, e);
        assert_int_equal(restore(other, &s, &diag), 0);
        assert_int_equal(gcb_encoder_bound(e), gcb_encoder_bound(other));
        assert_int_equal(gcb_encoder_length(e), gcb_encoder_length(other));
        for (uint64_t step = 2; step < 5; step++) {
            size_t length;

            gradient(g, step);
            length = encode(e, step, g, a);
            assert_int_equal(encode(other, step, g, b), length);
            assert_memory_equal(a, b, length);
        }
        gcb_encoder_close(e);
        gcb_encoder_close(other);
    }
}

static void changes_may_be_refused(void **state)
{
    static const struct {
        const char *key, *value;
    } rows[] = {{"tehta", "0.5"},      {"theta", "1.5"},     {"memory", "none"},
                {"memory", "dgc"},     {"memory", "ef"},     {"momentum", "0.5"},
                {"chunk", "-1"},       {"chunk", "100"},     {"values", "mean"},
                {"select", "fastest"}, {"threshold", "0.1"}, {"collective", "oktopk"}};
    struct gcb_encoder *e = encoder_of("topk:memory=ef", NULL),
                       *twin = encoder_of("topk:memory=ef", NULL);
    uint8_t a[ROOM], b[ROOM];
    struct gcb_diag diag;
    float g[N];

    for (uint64_t step = 0; step < 2; step++) {
        size_t length;

        gradient(g, step);
        length = encode(e, step, g, a);
        assert_int_equal(encode(twin, step, g, b), length);
        assert_memory_equal(a, b, length);
        for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
            if (gcb_encoder_set(e, rows[i].key, rows[i].value, &diag) != GCB_E_INVALID)
                fail_msg("%s=%s is taken", rows[i].key, rows[i].value);
    }
    gcb_encoder_close(e);
    gcb_encoder_close(twin);
}

/* ---- clipping by the norm of all tensors ---- */

static void clips_by_the_given_norm(void **state)
{
    const struct gcb_options four = {.size = sizeof(four), .workers = 4};
    struct gcb_encoder *e = encoder_of("dgc:clip-norm=2,theta=0.9999", &four);
    struct gcb_encoder *own = encoder_of("dgc:clip-norm=2,theta=0.9999", &four);
    uint8_t message[ROOM];
    struct gcb_diag diag;
    struct saved s;
    float g[N];
    size_t length;
    double norm;

    gradient(g, 0);
    norm = sqrt(trip_norm(g, N));
    assert_true(norm > 2.0);
    assert_int_equal(gcb_encoder_set_norm(e, 10.0 * norm, NULL), 0);
    encode(e, 0, g, message);
    save(&s, e);
    for (int i = 0; i < N; i++) /* clipped to 2 / sqrt(4 workers), if it was not sent */
        assert_true(s.residual[i] == 0.0f || s.residual[i] == g[i] * (float)(1.0 / (10.0 * norm)));
    encode(own, 0, g, message);
    save(&s, own);
    assert_true(s.residual[0] == g[0] * (float)(1.0 / norm));
    assert_int_equal(gcb_encoder_set_norm(e, -1.0, &diag), GCB_E_INVALID);
    save(&s, e);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(gcb_encoder_set_norm(e, i ? NAN : INFINITY, NULL), 0);
        assert_int_equal(gcb_encode(e, 1, 0, g, message, ROOM, &length, &diag), GCB_E_NONFINITE);
        assert_non_null(strstr(diag.text, "norm"));
        same_state(&s, e);
    }
    gcb_encoder_close(e);
    gcb_encoder_close(own);
}

static bool is_raw(struct gcb_encoder *e, uint64_t step, const float *g)
{
    struct gcb_message_info info = {.size = sizeof(info)};
    uint8_t message[ROOM];

    assert_int_equal(gcb_message_info(&info, message, encode(e, step, g, message), NULL), 0);
    return info.stored;
}

/* A given norm is for one tensor only, and only for a method that clips. */
static void forgets_the_given_norm(void **state)
{
    static const struct gcb_options raw = {.size = sizeof(raw), .nonfinite = GCB_NONFINITE_RAW};
    struct gcb_encoder *e = encoder_of("dgc:clip-norm=2", &raw);
    struct gcb_encoder *strict = encoder_of("dgc:clip-norm=2", NULL);
    uint8_t message[ROOM];
    float g[N];

    gradient(g, 0);
    for (uint64_t i = 0; i < 2; i++) {
        assert_int_equal(gcb_encoder_set_norm(e, i ? NAN : INFINITY, NULL), 0);
        assert_true(is_raw(e, 2 * i, g));
        assert_false(is_raw(e, 2 * i + 1, g));
    }
    assert_int_equal(gcb_encoder_set_norm(strict, INFINITY, NULL), 0);
    assert_int_equal(gcb_encoder_set(strict, "clip-norm", "0", NULL), 0);
    encode(strict, 0, g, message);
    assert_int_equal(gcb_encoder_set(strict, "clip-norm", "2", NULL), 0);
    encode(strict, 1, g, message);
    gcb_encoder_close(e);
    gcb_encoder_close(strict);
}

RUN_TESTS(cmocka_unit_test(restored_encoders_go_on), cmocka_unit_test(restoring_may_fail),
          cmocka_unit_test(counters_may_be_hostile), cmocka_unit_test(a_new_state_is_zero),
          cmocka_unit_test(changes_keep_the_memory), cmocka_unit_test(changes_may_be_refused),
          cmocka_unit_test(clips_by_the_given_norm), cmocka_unit_test(forgets_the_given_norm))
