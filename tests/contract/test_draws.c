/*
 * No random number is used twice: the draws of one worker in one step do not overlap. Two draws
 * with the same purpose (gcb_draw_stream) would.
 */
#include <stdlib.h>
#include <string.h>

#include "src/lib/exchange/exchange.h"
#include "tests/contract/cases.h"
#include "tests/support/test.h"

enum { ROWS = 20, COLUMNS = 35, N = ROWS * COLUMNS, MOST = 4096 };

/* Bytes [from, to) of a Philox stream. */
struct drawn {
    uint64_t key, stream, from, to;
};
static struct drawn drawn[MOST];
static size_t draws;
static struct gcb_philox_fns philox;

static void note(uint64_t key, uint64_t stream, uint64_t from, uint64_t to)
{
    assert_true(draws < MOST);
    drawn[draws++] = (struct drawn){key, stream, from, to};
}

static void noted_bytes(uint8_t *out, size_t n, uint64_t key, uint64_t from, uint64_t stream)
{
    note(key, stream, from, from + n);
    philox.bytes(out, n, key, from, stream);
}

/* Kernels of a rounding draw from its second stream themselves. */
struct gcb_rounding_draw __real_gcb_rounding_draw(const struct gcb_codec_env *env,
                                                  const struct gcb_step *at);
struct gcb_rounding_draw __wrap_gcb_rounding_draw(const struct gcb_codec_env *env,
                                                  const struct gcb_step *at);
struct gcb_rounding_draw __wrap_gcb_rounding_draw(const struct gcb_codec_env *env,
                                                  const struct gcb_step *at)
{
    const struct gcb_rounding_draw draw = __real_gcb_rounding_draw(env, at);

    note(env->seed, draw.fine, 0, UINT64_MAX);
    return draw;
}

static void never_twice(const struct gcb_method *m)
{
    char spec[256];

    for (size_t i = 0; i < draws; i++)
        for (size_t j = 0; j < i; j++) {
            const struct drawn *a = &drawn[i], *b = &drawn[j];

            if (a->key == b->key && a->stream == b->stream && a->from < b->to && b->from < a->to)
                fail_msg("%s draws bytes %llu to %llu of a stream, and bytes %llu to %llu of the "
                         "same stream",
                         gcb_method_spec(spec, sizeof(spec), m, GCB_SPEC_FULL),
                         (unsigned long long)b->from, (unsigned long long)b->to,
                         (unsigned long long)a->from, (unsigned long long)a->to);
        }
}

static void draws_do_not_overlap(void **state)
{
    static const uint64_t shape[] = {ROWS, COLUMNS};
    struct gcb_queue queue = {.threads = 1};
    struct gcb_kernels kernels;
    size_t drawing = 0;
    float x[N];

    gcb_kernels_init(&kernels, 0);
    philox = kernels.philox;
    kernels.philox.bytes = noted_bytes;
    for (size_t i = 0; i < N; i++)
        x[i] = (float)((i * 7919) % 1000) / 999.0f - 0.5f;
    contract_generate(NULL, false);
    for (size_t i = 0; i < contract_count; i++) {
        const struct gcb_exchange_config config = {
            .coder = {.env = {.count = N,
                              .shape = shape,
                              .rank = 2,
                              .seed = 7,
                              .path = "a/b",
                              .kernels = &kernels,
                              .queue = &queue}},
            .workers = 2,
        };
        struct gcb_round round = {.size = sizeof(round)};
        struct gcb_exchange *e = NULL;
        struct gcb_diag diag = {0};

        draws = 0;
        if (gcb_exchange_create(&e, &contract_cases[i].method, &config, &diag) == 0) {
            assert_int_equal(gcb_exchange_begin(e, 3, x, &diag), 0);
            assert_true(gcb_exchange_next(e, &round, &diag) >= 0);
        }
        gcb_exchange_close(e);
        never_twice(&contract_cases[i].method);
        drawing += draws > 1;
    }
    assert_true(drawing > 50);
}

RUN_TESTS(cmocka_unit_test(draws_do_not_overlap))
