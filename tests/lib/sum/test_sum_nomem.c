/*
 * Each allocation of a sum fails once: while it opens, adds or finishes. The call says so, the sum
 * is as before, and the same call then succeeds. The test's own allocator takes the library's place
 * (src/lib/base/alloc.h).
 */
#include <stdlib.h>
#include <string.h>

#include "src/lib/sum/sum.h"
#include "tests/support/counted_alloc.h"
#include "tests/support/sums.h"
#include "tests/support/test.h"
#include "tests/support/trip.h"

#define N 5000
#define MESSAGES 4

/* ---- sums ---- */

struct scene {
    const char *spec;              /* NULL: the sum is opened from the first message */
    const char *message[MESSAGES]; /* specs */
    bool into;
};

static const struct scene scenes[] = {
    {"fft:chunk=500", {"fft:chunk=500", "topk", "fft:chunk=500,index=golomb", "qsgd"}, true},
    {"fft", {"fft:theta=0.5", "topk:theta=0", "fft:chunk=100", "sbc"}, false},
    {"sparse:transform=hadamard",
     {"qsgd:coding=elias", "sparse:transform=hadamard", "fft", "qsgd:coding=elias-sparse"},
     true},
    {"topk", {"topk", "topk:index=golomb", "sparse:transform=dct", "natural"}, false},
    /* the decoder of the sum's own method is replaced: after a failure the sum still has no
     * canvas */
    {"qsgd", {"qsgd:coding=elias", "fft", "qsgd:bits=7", "fft"}, false},
    {"terngrad", {"terngrad:packing=base3", "fft:chunk=64", "terngrad", "fft:chunk=64"}, true},
    {"sparse:transform=haar,tile=4x4",
     {"fft", "sparse:transform=haar,tile=4x4", "topk", "sparse:transform=haar,tile=4x4"},
     true},
    {NULL, {"topk:theta=0", "fft", "topk", "fft:theta=0.5"}, false},
    {NULL, {"topk:theta=0", "qsgd", "fft", "qsgd:bits=8"}, true},
};

/* Calls that met a failure, by what they did. */
static struct {
    unsigned open, add, finish;
} failed;

static void must_be_nomem(int err, const struct gcb_diag *diag, unsigned *count)
{
    if (err != GCB_E_NOMEM || diag->status != GCB_E_NOMEM || !diag->text[0])
        fail_msg("allocation %zu: %d (%s)", counted.fail_at, err, diag->text);
    ++*count;
}

static struct gcb_sum *open_sum(const struct scene *scene, const struct trip *t, float *into)
{
    const struct gcb_coder_config config = {.env = {.count = N}};
    struct gcb_sum *s = NULL;
    struct gcb_method method;
    int err;

    if (scene->spec)
        assert_int_equal(gcb_method_parse(&method, scene->spec, NULL), 0);
    for (;;) {
        struct gcb_diag diag = {0};
        const size_t before = counted.live;

        err = scene->spec ? gcb_sum_create(&s, &method, into, &config, &diag)
                          : gcb_sum_create_like(&s, t->message, t->length, into, &config, &diag);
        if (!err)
            return s;
        assert_null(s);
        assert_int_equal(counted.live, before);
        must_be_nomem(err, &diag, &failed.open);
    }
}

/* One sum, in which each call that fails is repeated. */
static void sum_up(float *x, const struct scene *scene, const struct trip *t)
{
    struct gcb_sum *s = open_sum(scene, t, scene->into ? x : NULL);
    struct gcb_diag diag = {0};
    int err;

    for (unsigned i = 0; i < MESSAGES; i++) {
        const float weight = 0.3f * (float)(i + 1);

        while ((err = gcb_sum_add(s, t[i].message, t[i].length, weight, &diag)))
            must_be_nomem(err, &diag, &failed.add);
    }
    while ((err = gcb_sum_finish(s, scene->into ? NULL : x, &diag)))
        must_be_nomem(err, &diag, &failed.finish);
    gcb_sum_close(s);
}

static void each_allocation_may_fail(void **state)
{
    float *want = malloc(N * sizeof(float)), *got = malloc(N * sizeof(float));

    for (size_t i = 0; i < sizeof(scenes) / sizeof(*scenes); i++) {
        struct trip t[MESSAGES] = {0};
        size_t before;

        for (uint32_t w = 0; w < MESSAGES; w++) {
            trip_fill(got, N, TRIP_GAUSS, w + 1);
            trip_encode(&t[w], scenes[i].message[w], got, N, NULL);
        }
        before = counted.live;
        sum_up(want, &scenes[i], t);
        for (size_t n = 1;; n++) {
            counted.calls = 0;
            counted.fail_at = n;
            sum_up(got, &scenes[i], t);
            counted.fail_at = 0;
            assert_int_equal(counted.live, before);
            if (sums_first_difference(got, want, N) < N)
                fail_msg("sum %zu: another result after allocation %zu failed", i, n);
            if (counted.calls < n) /* nothing was left to fail */
                break;
        }
        for (unsigned w = 0; w < MESSAGES; w++)
            trip_free(&t[w]);
        assert_int_equal(counted.live, 0);
    }
    free(want);
    free(got);
    assert_true(failed.open >= 20 && failed.add >= 20 && failed.finish >= 2);
}

RUN_TESTS(cmocka_unit_test(each_allocation_may_fail))
