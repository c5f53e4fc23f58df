/*
 * Each allocation of an exchange fails once: while it opens, or in a step. The call says so and
 * nothing leaks. Afterwards the same step, done again, gives the update that it gives without the
 * failure. The test's own allocator takes the library's place (src/lib/base/alloc.h).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/lib/exchange/exchange.h"
#include "tests/support/counted_alloc.h"
#include "tests/support/test.h"
#include "tests/support/trip.h"

enum { N = 502, WORKERS = 4, ROUNDS = 64 };

/* ---- one worker, who gets the bytes of an earlier run ---- */

static float x[WORKERS][N];

/* What worker 0 received in a run without failures. */
static struct {
    unsigned rounds;
    struct {
        unsigned arrays;
        uint8_t *data[WORKERS];
        size_t length[WORKERS];
    } round[ROUNDS];
} tape;

static const float weights[WORKERS] = {0.5f, 0.25f, 2.0f, 1.0f};
static unsigned failures, late_failures; /* of all calls, and of gcb_exchange_finish */

static int open_worker(struct gcb_exchange **e, const char *spec, uint32_t worker,
                       struct gcb_diag *diag)
{
    const struct gcb_options o = {
        .size = sizeof(o), .workers = WORKERS, .worker = worker, .weights = weights, .path = "p"};

    return gcb_exchange_open(e, spec, N, &o, diag);
}

static void must_be_nomem(int err, const struct gcb_diag *diag)
{
    if (err != GCB_E_NOMEM || diag->status != GCB_E_NOMEM || !diag->text[0])
        fail_msg("allocation %zu: %d (%s)", counted.fail_at, err, diag->text);
    failures++;
}

static void keep(const void *data, size_t length)
{
    const unsigned r = tape.rounds, i = tape.round[r].arrays++;

    tape.round[r].data[i] = malloc(length + 1);
    tape.round[r].length[i] = length;
    if (length)
        memcpy(tape.round[r].data[i], data, length);
}

/* Hands all workers what the others send in a round, and keeps what worker 0 gets. */
static void deliver(struct gcb_exchange *const *e, struct gcb_round *sent)
{
    uint8_t *copy[WORKERS];

    for (unsigned w = 0; w < WORKERS; w++) {
        copy[w] = malloc(sent[w].bytes + 1);
        if (sent[w].bytes)
            memcpy(copy[w], sent[w].data, sent[w].bytes);
    }
    if (sent[0].kind == GCB_ROUND_REDUCE) {
        for (unsigned w = 1; w < WORKERS; w++)
            gcb_reduction_combine(sent[0].reduction, copy[0], copy[w], sent[w].bytes);
        keep(copy[0], sent[0].bytes);
        for (unsigned w = 0; w < WORKERS; w++)
            assert_int_equal(gcb_exchange_receive(e[w], 0, copy[0], sent[0].bytes, NULL), 0);
    }
    for (unsigned to = 0; sent[0].kind == GCB_ROUND_SHIFT && to < WORKERS; to++) {
        const uint32_t from = sent[to].from;
        const size_t length = from == to ? 0 : sent[from].bytes;

        if (to == 0)
            keep(copy[from], length);
        assert_int_equal(gcb_exchange_receive(e[to], from, copy[from], length, NULL), 0);
    }
    for (uint32_t from = 0; sent[0].kind < GCB_ROUND_REDUCE && from < WORKERS; from++) {
        size_t at = 0;

        for (unsigned to = 0; to < WORKERS; to++) {
            const bool scatter = sent[0].kind == GCB_ROUND_SCATTER;
            const size_t length = scatter ? sent[from].parts[to] : sent[from].bytes;

            if (to == 0)
                keep(copy[from], length);
            assert_int_equal(gcb_exchange_receive(e[to], from, copy[from] + at, length, NULL), 0);
            at += scatter ? length : 0;
        }
    }
    for (unsigned w = 0; w < WORKERS; w++)
        free(copy[w]);
}

/* A step of all workers. */
static void record(const char *spec, float *update)
{
    struct gcb_exchange *e[WORKERS];
    struct gcb_round sent[WORKERS];
    int more = 1;

    tape.rounds = 0;
    for (uint32_t w = 0; w < WORKERS; w++) {
        assert_int_equal(open_worker(&e[w], spec, w, NULL), 0);
        assert_int_equal(gcb_exchange_begin(e[w], 0, x[w], NULL), 0);
    }
    for (;; tape.rounds++) {
        for (uint32_t w = 0; w < WORKERS; w++) {
            sent[w] = (struct gcb_round){.size = sizeof(sent[w])};
            more = gcb_exchange_next(e[w], &sent[w], NULL);
        }
        if (!more)
            break;
        assert_true(tape.rounds < ROUNDS);
        tape.round[tape.rounds].arrays = 0;
        deliver(e, sent);
    }
    for (uint32_t w = WORKERS; w-- > 0;) {
        assert_int_equal(gcb_exchange_finish(e[w], update, NULL), 0);
        gcb_exchange_close(e[w]);
    }
}

/* Worker 0's step, from the tape. Ends at the first failure, except that gcb_exchange_finish is
 * called again. */
static int play(struct gcb_exchange *e, float *update)
{
    struct gcb_round sent = {.size = sizeof(sent)};
    struct gcb_diag diag = {0};
    int err = gcb_exchange_begin(e, 0, x[0], &diag);

    for (unsigned r = 0; !err && r < tape.rounds; r++) {
        err = gcb_exchange_next(e, &sent, &diag);
        if (err == 1)
            err = 0;
        for (unsigned i = 0; !err && i < tape.round[r].arrays; i++)
            err = gcb_exchange_receive(e, sent.kind == GCB_ROUND_SHIFT ? sent.from : i,
                                       tape.round[r].data[i], tape.round[r].length[i], &diag);
    }
    if (!err)
        err = gcb_exchange_next(e, &sent, &diag);
    if (err) {
        must_be_nomem(err, &diag);
        return err;
    }
    while ((err = gcb_exchange_finish(e, update, &diag))) {
        must_be_nomem(err, &diag);
        late_failures++;
    }
    return 0;
}

/* An exchange that lost its step and its memory's contents starts from a saved state. */
static void begin_anew(struct gcb_exchange *e)
{
    const struct gcb_memory_view nothing = {.size = sizeof(nothing)};
    struct gcb_diag diag = {0};
    int err;

    while ((err = gcb_exchange_restore(e, &nothing, &diag)))
        must_be_nomem(err, &diag);
}

static void play_all(const char *spec, float *update, float *rest)
{
    struct gcb_exchange *e = NULL;
    struct gcb_diag diag = {0};
    struct gcb_memory_state state = {.size = sizeof(state), .residual = rest};
    int err;

    while ((err = open_worker(&e, spec, 0, &diag))) {
        assert_null(e);
        must_be_nomem(err, &diag);
    }
    while (play(e, update))
        begin_anew(e);
    assert_int_equal(gcb_exchange_save(e, &state, NULL), 0);
    gcb_exchange_close(e);
}

static void each_allocation_fails(const char *spec)
{
    float want[N], got[N], rest[N], rest_want[N];

    record(spec, want);
    play_all(spec, got, rest_want);
    assert_memory_equal(got, want, sizeof(got));
    for (size_t n = 1;; n++) {
        const size_t before = counted.live;

        counted.calls = 0;
        counted.fail_at = n;
        play_all(spec, got, rest);
        counted.fail_at = 0;
        assert_int_equal(counted.live, before);
        if (memcmp(got, want, sizeof(got)) || memcmp(rest, rest_want, sizeof(rest)))
            fail_msg("%s: another result after allocation %zu failed", spec, n);
        if (counted.calls < n) /* nothing was left to fail */
            break;
    }
    for (unsigned r = 0; r < tape.rounds; r++)
        for (unsigned i = 0; i < tape.round[r].arrays; i++)
            free(tape.round[r].data[i]);
}

/* Every method with every collective, with feedback and without. */
static void every_allocation_may_fail(void **state)
{
    struct gcb_method m;

    for (unsigned w = 0; w < WORKERS; w++)
        trip_fill(x[w], N, TRIP_LAPLACE, w + 1);
    for (size_t i = 0; gcb_method_at(&m, i); i++)
        for (int c = 0; c < GCB_COLLECTIVES; c++)
            for (int fed = 0; fed < 2; fed++) {
                struct gcb_method one = m;
                char spec[256];

                if (!(gcb_method_collectives(&m) & GCB_COLLECTIVE_BIT(c)))
                    continue;
                gcb_method_forget(&one);
                if (gcb_method_change(&one, "collective", gcb_collective_names[c], NULL) ||
                    gcb_method_change(&one, "memory", fed ? "ef" : "none", NULL))
                    continue;
                each_allocation_fails(gcb_method_spec(spec, sizeof(spec), &one, GCB_SPEC_FULL));
                assert_int_equal(counted.live, 0);
            }
    /* memory is needed late, for shares of two lengths */
    each_allocation_fails("qsgd:coding=elias,memory=ef,second-error=drop,collective=twoshot");
    each_allocation_fails("qsgd:memory=ef,collective=hierarchical,inner=2");
    assert_int_equal(counted.live, 0);
    x[1][3] = 1e35f; /* memory is needed for a round of whole tensors */
    each_allocation_fails("powersgd:memory=ef");
    assert_int_equal(counted.live, 0);
    assert_true(failures > 500 && late_failures > 3);
}

/* A method that cannot change because no memory is left stays as it was. */
static void a_change_may_fail(void **state)
{
    static const char *const specs[] = {"fft:chunk=100,memory=ef", "qsgd:collective=twoshot"};
    static const char *const keys[] = {"chunk", "bits"};
    float want[N], got[N];

    for (size_t i = 0; i < 2; i++)
        for (size_t n = 1;; n++) {
            const size_t before = counted.live;
            struct gcb_diag diag = {0};
            struct gcb_exchange *e;
            int err;

            record(specs[i], want);
            assert_int_equal(open_worker(&e, specs[i], 0, NULL), 0);
            counted.calls = 0;
            counted.fail_at = n;
            err = gcb_exchange_set(e, keys[i], i ? "6" : "50", &diag);
            counted.fail_at = 0;
            if (err) {
                must_be_nomem(err, &diag);
                assert_int_equal(play(e, got), 0);
                assert_memory_equal(got, want, sizeof(got));
            }
            gcb_exchange_close(e);
            assert_int_equal(counted.live, before);
            for (unsigned r = 0; r < tape.rounds; r++)
                for (unsigned k = 0; k < tape.round[r].arrays; k++)
                    free(tape.round[r].data[k]);
            if (!err) {
                assert_true(n > 1);
                break;
            }
        }
}

/* A count that exceeds its segment is refused before anything is allocated for its elements. */
static void a_damaged_count_takes_no_memory(void **state)
{
    struct {
        uint8_t head[4];
        uint32_t count;
        uint8_t rest[2000];
    } message = {.count = N / WORKERS + 2};
    struct gcb_round sent = {.size = sizeof(sent)};
    struct gcb_exchange *e;

    assert_int_equal(open_worker(&e, "topk:collective=spardl", 0, NULL), 0);
    assert_int_equal(gcb_exchange_begin(e, 0, x[0], NULL), 0);
    assert_int_equal(gcb_exchange_next(e, &sent, NULL), 1);
    memcpy(message.head, sent.data, sizeof(message.head));
    assert_int_equal(gcb_exchange_receive(e, 0, NULL, 0, NULL), 0);
    counted.calls = 0;
    assert_int_equal(gcb_exchange_receive(e, 1, &message, sizeof(message), NULL), GCB_E_CORRUPT);
    assert_int_equal(counted.calls, 0);
    gcb_exchange_close(e);
}

/* A step whose update arrived, but that the memory could not learn, ends when the method
 * changes. */
static void a_change_ends_an_unlearnt_step(void **state)
{
    static const char spec[] = "qsgd:coding=elias,memory=ef,second-error=drop,collective=twoshot";
    float update[N];

    for (size_t n = 1;; n++) {
        struct gcb_round sent = {.size = sizeof(sent)};
        struct gcb_diag diag = {0};
        struct gcb_exchange *e;
        int err;

        record(spec, update);
        assert_int_equal(open_worker(&e, spec, 0, NULL), 0);
        assert_int_equal(gcb_exchange_begin(e, 0, x[0], NULL), 0);
        for (unsigned r = 0; r < tape.rounds; r++) {
            assert_int_equal(gcb_exchange_next(e, &sent, NULL), 1);
            for (unsigned i = 0; i < WORKERS; i++) {
                assert_int_equal(gcb_exchange_receive(e, i, tape.round[r].data[i],
                                                      tape.round[r].length[i], NULL),
                                 0);
                free(tape.round[r].data[i]);
            }
        }
        assert_int_equal(gcb_exchange_next(e, &sent, NULL), 0);
        counted.calls = 0;
        counted.fail_at = n;
        err = gcb_exchange_finish(e, update, &diag);
        counted.fail_at = 0;
        if (err) {
            must_be_nomem(err, &diag);
            assert_int_equal(gcb_exchange_set(e, "bits", "6", NULL), 0);
            assert_int_equal(gcb_exchange_finish(e, update, NULL), GCB_E_INVALID);
        }
        gcb_exchange_close(e);
        if (!err) {
            assert_true(n > 1);
            break;
        }
    }
}

RUN_TESTS(cmocka_unit_test(every_allocation_may_fail), cmocka_unit_test(a_change_may_fail),
          cmocka_unit_test(a_damaged_count_takes_no_memory),
          cmocka_unit_test(a_change_ends_an_unlearnt_step))
