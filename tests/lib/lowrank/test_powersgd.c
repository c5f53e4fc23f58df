/* powersgd: which tensors are sent whole, and what an encoder keeps. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/lib/wire/message.h"
#include "tests/support/party.h"
#include "tests/support/test.h"
#include "tests/support/trip.h"

enum { ROWS = 90, COLS = 70, COUNT = ROWS * COLS };

static const uint64_t shape[] = {ROWS, COLS};

static const struct {
    uint64_t shape[4];
    unsigned dims;
    bool known, dense;
} shapes[] = {
    {{1, 500}, 2, true, true},   {{500, 1}, 2, true, true},
    {{500}, 1, true, true},      {{6, 12}, 2, true, true}, /* 4 (6 + 12) >= 6 12 */
    {{12, 13}, 2, true, false},  {{32, 16, 3, 3}, 4, true, false},
    {{0, 7}, 2, true, true},     {{3, 2000}, 2, true, true}, /* rank 3 is all */
    {{5, 2000}, 2, true, false}, {{2000, 5}, 2, true, false},
    {{1009}, 1, false, false}, /* 32 rows of 32; the last one has 17 */
    {{64}, 1, false, true},      {{1}, 1, false, true},
    {{0}, 1, false, true},
};

/* Tensors that are sent whole come back exactly. The others come back as something finite and no
 * larger. */
static void shapes_decide_what_is_sent_whole(void **state)
{
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        struct party_options o = {.workers = 1};
        uint64_t n = 1;
        struct party p;

        for (unsigned d = 0; d < shapes[i].dims; d++)
            n *= shapes[i].shape[d];
        if (shapes[i].known) {
            o.shape = shapes[i].shape;
            o.rank = shapes[i].dims;
        }
        party_open(&p, "powersgd", n, &o);
        party_fill(&p, i + 1, 0.0f);
        party_step(&p, 0);
        assert_int_equal(p.rounds, shapes[i].dense ? 1 : 2);
        if (shapes[i].dense)
            assert_memory_equal(p.update[0], p.x[0], n * sizeof(float));
        else
            assert_true(party_distance(p.update[0], p.x[0], n) < 1.0);
        party_close(&p);
    }
}

/* Of a matrix of low rank, written down without its shape and with a last row that is not full. */
static void the_last_row_may_be_short(void **state)
{
    enum { SIDE = 41, N = SIDE * SIDE - 17 };
    float *x = calloc(N, sizeof(*x)), *u = trip_tensor(2 * SIDE, TRIP_GAUSS, 1),
          *v = trip_tensor(2 * SIDE, TRIP_GAUSS, 2);
    struct party p;

    for (int i = 0; i < N; i++)
        x[i] = u[i / SIDE] * v[i % SIDE] + u[SIDE + i / SIDE] * v[SIDE + i % SIDE];
    party_open(&p, "powersgd:rank=6", N, &(struct party_options){.workers = 1});
    memcpy(p.x[0], x, sizeof(*x) * N);
    party_step(&p, 0);
    assert_true(party_distance(p.update[0], x, N) < 1e-5);
    assert_true(trip_error("powersgd:rank=6", x, N, NULL) < 1e-10);
    party_close(&p);
    free(x);
    free(u);
    free(v);
}

/* Encoding a step again gives the same bytes; the next step begins with the Q of this one; another
 * worker begins anew. */
static void starts_warm(const char *spec)
{
    static const struct gcb_step steps[] = {{0, 0}, {0, 0}, {1, 0}, {2, 0}, {2, 1}, {0, 0}};
    struct gcb_coder_config config;
    struct gcb_kernels kernels;
    struct gcb_queue queue;
    struct gcb_method method;
    struct gcb_coder *c;
    float *x = trip_tensor(COUNT, TRIP_GAUSS, 1);
    uint8_t *bytes[6];
    size_t length = 0;

    trip_configure(&config, &queue, &kernels, &(struct trip_options){.path = "w"}, COUNT);
    config.env.shape = shape;
    config.env.rank = 2;
    assert_int_equal(gcb_method_parse(&method, spec, NULL), 0);
    assert_int_equal(gcb_coder_create(&c, &method, &config, NULL), 0);
    for (int i = 0; i < 6; i++) {
        struct gcb_wbuf w = {.cap = gcb_coder_bound(c)};
        const struct gcb_view in = {.data = x, .count = COUNT};

        w.data = bytes[i] = calloc(1, w.cap);
        assert_int_equal(gcb_coder_encode(c, &steps[i], &in, &w, NULL), 0);
        assert_true(i == 0 || w.len == length);
        length = w.len;
    }
    assert_memory_equal(bytes[0], bytes[1], length);
    assert_memory_not_equal(bytes[1], bytes[2], length);
    assert_memory_not_equal(bytes[2], bytes[3], length);
    assert_memory_equal(bytes[4], bytes[0], length);
    assert_memory_equal(bytes[5], bytes[0], length);
    for (int i = 0; i < 6; i++)
        free(bytes[i]);
    free(x);
    gcb_coder_destroy(c);
}

static void an_encoder_starts_warm(void **state)
{
    starts_warm("powersgd");
    starts_warm("powersgd:tile=16x16,rank=2");
}

/* The update is the mean of the tensors themselves, and all of each tensor arrived. */
static void expect_whole(const struct party *p, unsigned rounds)
{
    float *mean = party_sum(p->x, p->workers, COUNT, NULL);

    assert_int_equal(p->rounds, rounds);
    assert_int_equal(p->round[rounds - 1].bytes, COUNT * sizeof(float));
    assert_true(party_distance(p->update[0], mean, COUNT) < 1e-6);
    for (unsigned w = 0; w < p->workers; w++)
        assert_memory_equal(p->own[w], p->x[w], COUNT * sizeof(float));
    free(mean);
}

/* If the factors of one worker would overflow, all workers add up whole tensors in that step. */
static void huge_tensors_are_not_approximated(void **state)
{
    static const unsigned workers[] = {1, 2, 3, 5};
    static const float sizes[] = {1e31f, 1e34f, 1e37f};
    float *x = trip_tensor(COUNT, TRIP_GAUSS, 1);

    for (uint64_t i = 0; i < COUNT; i++)
        x[i] *= 1e34f;
    assert_true(trip_error("powersgd", x, COUNT, NULL) == 0.0);
    assert_true(trip_error("powersgd:tile=16x16", x, COUNT, NULL) == 0.0);
    free(x);
    for (size_t i = 0; i < 4; i++)
        for (unsigned huge = 1; huge < 1u << workers[i];
             huge += huge < 3 ? 1 : 4) /* a set of workers */
            for (size_t k = 0; k < 3; k++) {
                const struct party_options o = {.workers = workers[i], .shape = shape, .rank = 2};
                struct party p;

                party_open(&p, "powersgd:memory=ef", COUNT, &o);
                party_fill(&p, 1, 1.0f);
                party_step(&p, 0);
                assert_int_equal(p.rounds, 2);
                for (unsigned w = 0; w < p.workers;
                     w++) { /* so that nothing is left in the memory */
                    const float *left = gcb_memory_residual(gcb_exchange_memory(p.e[w]));

                    for (uint64_t j = 0; j < COUNT; j++)
                        p.x[w][j] = -left[j];
                }
                party_step(&p, 1);
                for (unsigned w = 0; w < p.workers; w++)
                    for (uint64_t j = 0; j < COUNT; j++)
                        p.x[w][j] = (huge >> w & 1 ? sizes[k] : 1.0f) * (float)((int)(j % 11) - 5);
                party_step(&p, 2);
                expect_whole(&p, 2);
                party_fill(&p, 3, 1.0f);
                party_step(&p, 3);
                assert_int_equal(p.rounds, 2);
                assert_true(party_distance(p.update[0], p.x[0], COUNT) < 2.0);
                party_close(&p);
            }
}

/* A tensor whose P is small, but not its Q: the workers learn it a round later. */
static void a_huge_q_is_found_late(void **state)
{
    struct party p;

    party_open(&p, "powersgd:rank=1", COUNT, &(struct party_options){.shape = shape, .rank = 2});
    for (uint64_t row = 0; row < ROWS; row++) /* the next step begins with Q = (1, 0, 0, ...) */
        p.x[0][row * COLS] = p.x[1][row * COLS] = 1.0f;
    party_step(&p, 0);
    for (uint64_t row = 0; row < ROWS; row++) {
        p.x[1][row * COLS] = 0.0f;
        p.x[1][row * COLS + 5] = 1e34f;
    }
    party_step(&p, 1);
    expect_whole(&p, 3);
    for (uint64_t row = 0; row < ROWS; row++)
        p.x[1][row * COLS + 5] = 0.0f;
    party_step(&p, 2);
    assert_int_equal(p.rounds, 2);
    assert_true(fabsf(p.update[0][0] - 0.5f) < 1e-6f);
    party_close(&p);
}

/* Infinities of one worker spoil the step, also if another worker's tensor is huge. */
static void huge_tensors_hide_no_infinity(void **state)
{
    const struct party_options o = {
        .shape = shape, .rank = 2, .nonfinite = GCB_NONFINITE_RAW, .workers = 3};
    struct party p;

    party_open(&p, "powersgd", COUNT, &o);
    party_fill(&p, 1, 1.0f);
    p.x[0][7] = 1e38f;
    p.x[2][9] = INFINITY;
    party_step(&p, 0);
    for (uint64_t i = 0; i < COUNT; i++)
        assert_true(isnan(p.update[0][i]));
    party_close(&p);
}

/* Threads share the blocks of a large matrix, and do not change a bit. */
static void threads_change_nothing(void **state)
{
    static const uint64_t large[] = {1100, 700};
    struct party p, q;

    party_open(&p, "powersgd", 770000, &(struct party_options){.shape = large, .rank = 2});
    party_open(&q, "powersgd", 770000,
               &(struct party_options){.threads = 5, .shape = large, .rank = 2});
    for (uint64_t step = 0; step < 2; step++) {
        party_fill(&p, step + 1, 1.0f);
        party_fill(&q, step + 1, 1.0f);
        party_step(&p, step);
        party_step(&q, step);
        assert_memory_equal(p.update[0], q.update[0], 770000 * sizeof(float));
    }
    party_close(&p);
    party_close(&q);
}

/* The tiles that get more vectors are those where a vector takes away most error, and the message
 * has at most as many bits as it may. */
static void a_budget_goes_where_it_helps(void **state)
{
    static const uint64_t joined[] = {2, 32, 32, 2, 32, 32};
    const struct gcb_options o = {.size = sizeof(o), .joined = joined, .joined_length = 6};
    float *x = trip_tensor(2048, TRIP_GAUSS, 1), y[2048];
    struct gcb_encoder *e;
    struct gcb_decoder *d;
    uint8_t message[16384];
    size_t bytes;

    for (int i = 0; i < 1024; i++)
        x[i] *= 0.01f;
    assert_int_equal(gcb_encoder_open(&e,
                                      "powersgd:tile=16x16,rank=8,factor-bits=6,"
                                      "bits-per-element=1.5",
                                      2048, &o, NULL),
                     0);
    assert_int_equal(gcb_encode(e, 0, 0, x, message, sizeof(message), &bytes, NULL), 0);
    assert_in_range(bytes, 2048 * 1.5 / 8 - 32, 2048 * 1.5 / 8 + 64);
    assert_int_equal(gcb_decoder_open_like(&d, message, bytes, NULL, NULL), 0);
    assert_int_equal(gcb_decode(d, message, bytes, y, NULL), 0);
    for (int i = 0; i < 1024; i++)
        assert_true(y[i] == 0.0f);
    assert_true(party_distance(y + 1024, x + 1024, 1024) < 0.8);
    gcb_encoder_close(e);
    gcb_decoder_close(d);
    free(x);
}

/* Kernels of other tensors have one element, and such tiles are always sent. */
static void kernels_have_no_budget(void **state)
{
    struct gcb_method m;

    assert_int_equal(gcb_method_parse(&m, "powersgd:tile=kernel,bits-per-element=1", NULL),
                     GCB_E_INVALID);
}

/* Messages whose payload ends before what its first number tells of. */
static void describes_no_lies(void **state)
{
    static const struct {
        const char *spec;
        uint8_t most; /* byte of the length of the parts */
        uint64_t bytes;
    } lie[] = {
        {"powersgd:tile=16x16", 0xff, 100}, {"powersgd:tile=16x16", 0, 3}, {"powersgd", 0, 3}};
    float *x = trip_tensor(COUNT, TRIP_GAUSS, 1);

    for (size_t i = 0; i < 3; i++) {
        struct gcb_message_parts parts;
        struct gcb_rbuf payload;
        struct gcb_frame frame;
        struct trip t = {0};

        trip_run(&t, lie[i].spec, x, COUNT, NULL);
        assert_int_equal(gcb_frame_parse(&frame, &payload, t.message, t.length, NULL), 0);
        frame.payload_bytes = lie[i].bytes;
        gcb_frame_patch(&frame, t.message);
        t.message[t.parts.header_bytes + 3] |= lie[i].most;
        assert_int_equal(gcb_coder_describe(t.decoder, t.message,
                                            t.parts.header_bytes + lie[i].bytes, &parts, NULL),
                         GCB_E_CORRUPT);
        trip_free(&t);
    }
    free(x);
}

RUN_TESTS(cmocka_unit_test(shapes_decide_what_is_sent_whole),
          cmocka_unit_test(the_last_row_may_be_short), cmocka_unit_test(an_encoder_starts_warm),
          cmocka_unit_test(huge_tensors_are_not_approximated),
          cmocka_unit_test(a_huge_q_is_found_late), cmocka_unit_test(huge_tensors_hide_no_infinity),
          cmocka_unit_test(threads_change_nothing), cmocka_unit_test(a_budget_goes_where_it_helps),
          cmocka_unit_test(kernels_have_no_budget), cmocka_unit_test(describes_no_lies))
