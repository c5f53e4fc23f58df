/*
 * Damaged messages in a sum. A message that is cut, or has a changed byte, is refused, and the sum
 * is the one without it; or it is accepted, and counts as what it decodes to.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/lib/sum/sum.h"
#include "tests/support/sums.h"
#include "tests/support/test.h"
#include "tests/support/trip.h"

#define N 300
#define SAMPLE 400 /* places of a long message that are damaged */

static const float weights[3] = {0.25f, -1.5f, 0.7f};

/* A sum and its messages: before the damaged message, the damaged message itself, and after it. */
struct scene {
    const char *spec; /* the sum is opened with it; NULL: from `raw` */
    struct trip t[3], raw;
    bool canvas;         /* the sum's method has a transform */
    struct gcb_sum *sum; /* used for all damaged messages, one after the other */
    float without[N];    /* the sum without the damaged message */
    unsigned refused, accepted;
};

static struct gcb_sum *open_sum(const struct scene *s)
{
    const struct gcb_coder_config config = {.env = {.count = N}};
    struct gcb_method method;
    struct gcb_sum *sum = NULL;

    if (!s->spec) {
        assert_int_equal(
            gcb_sum_create_like(&sum, s->raw.message, s->raw.length, NULL, &config, NULL), 0);
        return sum;
    }
    assert_int_equal(gcb_method_parse(&method, s->spec, NULL), 0);
    assert_int_equal(gcb_sum_create(&sum, &method, NULL, &config, NULL), 0);
    return sum;
}

static void add(struct gcb_sum *sum, const struct trip *t, float weight)
{
    assert_int_equal(gcb_sum_add(sum, t->message, t->length, weight, NULL), 0);
}

static void must_equal(const float *got, const float *want, const struct scene *s, const char *what,
                       size_t at)
{
    const uint64_t i = sums_first_difference(got, want, N);

    if (i < N)
        fail_msg("%s, damaged at byte %zu, %s: element %llu is %.9g, not %.9g",
                 s->spec ? s->spec : "opened from a raw message", at, what, (unsigned long long)i,
                 (double)got[i], (double)want[i]);
}

/* A new sum in which the damaged message follows other messages, or is the first of all. */
static void fresh_sum(float *x, const struct scene *s, const uint8_t *message, size_t length,
                      bool first)
{
    struct gcb_sum *sum = open_sum(s);

    if (!first)
        add(sum, &s->t[0], weights[0]);
    if (message)
        assert_int_equal(gcb_sum_add(sum, message, length, weights[1], NULL), 0);
    add(sum, &s->t[2], weights[2]);
    assert_int_equal(gcb_sum_finish(sum, x, NULL), 0);
    gcb_sum_close(sum);
}

/* An accepted message decodes. Without a transform, the sum is also the decoded message added. */
static void check_accepted(struct scene *s, const uint8_t *message, size_t length, const float *got,
                           int decodes, const float *back, size_t at)
{
    float want[N];

    s->accepted++;
    if (decodes)
        fail_msg("a sum accepts a message, damaged at byte %zu, that does not decode", at);
    fresh_sum(want, s, message, length, false);
    must_equal(got, want, s, "a new sum", at);
    if (s->canvas)
        return;
    memset(want, 0, sizeof(want));
    sums_add(want, s->t[0].back, N, weights[0]);
    sums_add(want, back, N, weights[1]);
    sums_add(want, s->t[2].back, N, weights[2]);
    must_equal(got, want, s, "decoded and added", at);
}

static void try_message(struct scene *s, const uint8_t *message, size_t length, size_t at)
{
    uint8_t *copy = malloc(length ? length : 1); /* exact size: sanitizers see every overrun */
    struct gcb_sum *first = s->spec ? s->sum : open_sum(s);
    float got[N], want[N], back[N];
    struct gcb_diag diag = {0};
    int decodes, added;

    memcpy(copy, message, length);
    decodes = sums_decode(back, copy, length, N, 0);
    /* the damaged message in the middle */
    add(s->sum, &s->t[0], weights[0]);
    added = gcb_sum_add(s->sum, copy, length, weights[1], &diag);
    add(s->sum, &s->t[2], weights[2]);
    assert_int_equal(gcb_sum_finish(s->sum, got, NULL), 0);
    if (added) {
        s->refused++;
        assert_int_equal(diag.status, added);
        assert_true(diag.text[0]);
        if (!decodes)
            fail_msg("byte %zu: a sum refuses a message that decodes: %s", at, diag.text);
        must_equal(got, s->without, s, "refused", at);
    } else {
        check_accepted(s, copy, length, got, decodes, back, at);
    }
    /* the damaged message first */
    assert_int_equal(gcb_sum_add(first, copy, length, weights[1], NULL), added);
    add(first, &s->t[2], weights[2]);
    assert_int_equal(gcb_sum_finish(first, got, NULL), 0);
    fresh_sum(want, s, added ? NULL : copy, length, true);
    must_equal(got, want, s, "first of all", at);
    if (first != s->sum)
        gcb_sum_close(first);
    free(copy);
}

static void damage(struct scene *s)
{
    const size_t length = s->t[1].length, stride = length / SAMPLE + 1;
    uint8_t *m = s->t[1].message;

    for (size_t at = 0; at < length; at += at < 64 ? 1 : stride) {
        const uint8_t old = m[at];

        try_message(s, m, at, at);
        for (int k = 0; k < 4; k++) {
            m[at] = k == 0 ? (uint8_t)~old : k == 1 ? 0xff : k == 2 ? old ^ 1 : old ^ 0x10;
            try_message(s, m, length, at);
        }
        m[at] = old;
    }
}

/* The messages of a scene. `sum`: the method of the sum; NULL: the sum is opened from a raw
 * message. */
struct cast {
    const char *sum, *damaged, *others;
};

static void open_scene(struct scene *s, const struct cast *c)
{
    const char *const specs[3] = {c->others, c->damaged, c->others};
    struct trip own = {0};
    float *x = trip_tensor(N, TRIP_STUDENT3, 9);

    *s = (struct scene){.spec = c->sum};
    trip_encode(&s->raw, "topk:theta=0", x, N, NULL);
    trip_encode(&own, c->sum ? c->sum : c->others, x, N, NULL);
    s->canvas = sums_has_canvas(own.message, own.length);
    trip_free(&own);
    for (uint32_t i = 0; i < 3; i++) {
        const struct trip_options o = {.worker = i};

        trip_fill(x, N, TRIP_STUDENT3, i + 1);
        trip_run(&s->t[i], specs[i], x, N, &o);
    }
    free(x);
    s->sum = open_sum(s);
    fresh_sum(s->without, s, NULL, 0, false);
}

static void close_scene(struct scene *s)
{
    gcb_sum_close(s->sum);
    for (int i = 0; i < 3; i++)
        trip_free(&s->t[i]);
    trip_free(&s->raw);
}

static void damage_each(const struct cast *c)
{
    struct scene s;

    open_scene(&s, c);
    damage(&s);
    assert_true(s.refused > s.t[1].length / (s.t[1].length / SAMPLE + 1) / 2); /* each cut */
    assert_true(s.accepted > 0);
    close_scene(&s);
}

/* The damaged message, or the others, are of another method than the sum. */
static void among_others(void **state)
{
    static const struct cast casts[] = {
        {"fft:chunk=64", "topk:index=golomb", "fft:chunk=64"},
        {"topk", "fft", "topk"},
        {"fft", "topk:theta=0", "fft"},
        {"qsgd", "fft", "qsgd"},
        {"natural", "qsgd:coding=elias", "natural"},
        {"fft", "fft:theta=0.5,values=fp16", "fft"},
        {"sparse:transform=hadamard", "qsgd", "sparse:transform=hadamard"},
        {"sparse:transform=dct,tile=4x4", "qsgd", "sparse:transform=dct,tile=4x4"},
        /* after damaged parameters, the sum still has no canvas */
        {"qsgd", "qsgd:bits=7", "fft"},
        {"terngrad", "terngrad:packing=base3", "fft:chunk=64"},
        {"topk", "topk:index=golomb", "fft"},
    };

    for (size_t i = 0; i < sizeof(casts) / sizeof(*casts); i++)
        damage_each(&casts[i]);
}

/* A sum that is opened from a raw message does not take its method from a damaged message. */
static void the_method_is_not_known(void **state)
{
    static const struct cast casts[] = {
        {NULL, "topk", "fft:chunk=64"}, {NULL, "fft", "topk"},         {NULL, "qsgd", "fft"},
        {NULL, "fft", "qsgd"},          {NULL, "fft:chunk=64", "fft"},
    };

    for (size_t i = 0; i < sizeof(casts) / sizeof(*casts); i++)
        damage_each(&casts[i]);
}

RUN_TESTS(cmocka_unit_test(among_others), cmocka_unit_test(the_method_is_not_known))
