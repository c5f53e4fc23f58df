/* Exchanges between steps: checkpoints, other parameters, the norm of a worker; and steps that send
 * nothing. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/party.h"
#include "tests/support/test.h"
#include "tests/support/trip.h"

enum { N = 3000 };

static void step_of(struct party *p, uint64_t step)
{
    party_fill(p, step + 1, 1.0f);
    party_step(p, step);
}

/* ---- checkpoints ---- */

/* A saved state, with room for its arrays. */
struct saved {
    float residual[N], momentum[N];
    uint8_t kept[16384];
    struct gcb_memory_view view;
};

static void save(struct saved *s, const struct gcb_exchange *e)
{
    struct gcb_memory_state state = {
        .size = sizeof(state),
        .residual = s->residual,
        .momentum = s->momentum,
        .kept = s->kept,
        .kept_bytes = sizeof(s->kept),
    };

    assert_int_equal(gcb_exchange_save(e, &state, NULL), 0);
    assert_int_equal(state.kept_bytes, gcb_exchange_kept_bytes(e));
    s->view = (struct gcb_memory_view){
        .size = sizeof(s->view),
        .residual = s->residual,
        .momentum = s->momentum,
        .kept = s->kept,
        .kept_bytes = state.kept_bytes,
    };
    memcpy(s->view.counters, state.counters, sizeof(state.counters));
}

/* Copies what worker w of p keeps into worker w of q. */
static void hand_over(struct party *p, struct party *q, unsigned w)
{
    static struct saved s;

    save(&s, p->e[w]);
    assert_int_equal(gcb_exchange_restore(q->e[w], &s.view, NULL), 0);
}

/* Runs six steps. Another party takes the state after step `at` and must get the same updates from
 * there on. It also writes them over the tensors, which must not change them. */
static void resume(const char *spec, uint64_t at)
{
    static const uint64_t shape[] = {60, N / 60};
    struct party_options o = {.workers = 3, .shape = shape, .rank = 2};
    struct party p, q;

    party_open(&p, spec, N, &o);
    o.in_place = true;
    party_open(&q, spec, N, &o);
    step_of(&q, 9); /* which restoring undoes */
    for (uint64_t step = 0; step < 6; step++) {
        if (step == at)
            for (unsigned w = 0; w < 3; w++)
                hand_over(&p, &q, w);
        step_of(&p, step);
        if (step < at)
            continue;
        step_of(&q, step);
        if (q.rounds != p.rounds || memcmp(q.update[0], p.update[0], N * sizeof(float)) ||
            memcmp(q.own[2], p.own[2], N * sizeof(float)))
            fail_msg("%s: step %u differs after step %u was restored", spec, (unsigned)step,
                     (unsigned)at);
    }
    party_close(&p);
    party_close(&q);
}

/* A raw tensor among others, with one sum in place; and the order of calls. */
static void a_sum_in_place(void **state)
{
    struct party_options o = {.workers = 3, .nonfinite = GCB_NONFINITE_RAW};
    struct gcb_round round = {.size = sizeof(round)};
    struct party p, q;

    party_open(&p, "fft:theta=0.9", N, &o);
    o.in_place = true;
    party_open(&q, "fft:theta=0.9", N, &o);
    for (uint64_t step = 0; step < 4; step++) {
        party_fill(&p, step + 1, 1.0f);
        party_fill(&q, step + 1, 1.0f);
        q.in_place = step != 2; /* the array of the step before must not be used again */
        if (step == 1 || step == 2)
            p.x[1][5] = q.x[1][5] = INFINITY;
        party_step(&p, step);
        party_step(&q, step);
        assert_memory_equal(q.update[0], p.update[0], N * sizeof(float));
        if (!q.in_place)
            assert_memory_equal(q.x[0], p.x[0], N * sizeof(float));
    }
    assert_int_equal(gcb_exchange_sum_into(p.e[0], p.x[0], NULL),
                     GCB_E_INVALID); /* no step was begun */
    assert_int_equal(gcb_exchange_begin(p.e[0], 4, p.x[0], NULL), 0);
    assert_int_equal(gcb_exchange_next(p.e[0], &round, NULL), 1);
    assert_int_equal(gcb_exchange_sum_into(p.e[0], p.x[0], NULL), 1);
    assert_int_equal(gcb_exchange_receive(p.e[0], 0, round.data, round.bytes, NULL), 0);
    assert_int_equal(gcb_exchange_sum_into(p.e[0], p.x[0], NULL), GCB_E_INVALID);
    party_close(&p);
    party_close(&q);
    party_open(&p, "identity:collective=allreduce", N, NULL);
    assert_int_equal(gcb_exchange_begin(p.e[0], 0, p.x[0], NULL), 0);
    assert_int_equal(gcb_exchange_sum_into(p.e[0], p.x[0], NULL), 0);
    assert_int_equal(gcb_exchange_sum_into(p.e[0], NULL, NULL), GCB_E_INVALID);
    assert_int_equal(gcb_exchange_sum_into(NULL, p.x[0], NULL), GCB_E_INVALID);
    party_close(&p);
}

/* Every method with every collective and every memory that they can have. */
static void a_restored_exchange_goes_on(void **state)
{
    static const char *const memories[] = {"none", "ef", "dgc", "delay", "demo", "gmc", "ef21"};
    unsigned resumed = 0;
    struct gcb_method m;

    for (size_t i = 0; gcb_method_at(&m, i); i++)
        for (int c = 0; c < GCB_COLLECTIVES; c++)
            for (size_t k = 0; k < sizeof(memories) / sizeof(*memories); k++) {
                struct gcb_method one = m;
                char spec[256];

                gcb_method_forget(&one);
                if (!(gcb_method_collectives(&m) & GCB_COLLECTIVE_BIT(c)) ||
                    gcb_method_change(&one, "collective", gcb_collective_names[c], NULL) ||
                    gcb_method_change(&one, "memory", memories[k], NULL))
                    continue;
                resume(gcb_method_spec(spec, sizeof(spec), &one, GCB_SPEC_FULL), 3);
                resumed++;
            }
    assert_true(resumed > 150);
    resume("redsync:dense-below=0,trimmed-below=0", 2);
    resume("redsync:dense-below=0,trimmed-below=0,collective=oktopk", 2);
    resume("topk:memory=ef,collective=oktopk", 0);
    resume("powersgd:memory=ef", 0);
    resume("powersgd:tile=8x8,rank=1,factor-bits=5,memory=ef", 0);
    resume("identity:memory=delay,delay=3,momentum=0.5", 2);
}

/* Without the array `kept`, all workers begin anew together. */
static void workers_may_begin_anew_together(void **state)
{
    static const char *const specs[] = {"powersgd:memory=ef", "topk:memory=ef,collective=oktopk"};

    for (size_t i = 0; i < 2; i++) {
        const uint64_t shape[] = {60, N / 60};
        const struct party_options o = {.shape = shape, .rank = 2};
        static struct saved s;
        struct party p;

        party_open(&p, specs[i], N, &o);
        step_of(&p, 0);
        for (unsigned w = 0; w < 2; w++) {
            save(&s, p.e[w]);
            assert_true(s.view.kept_bytes > 0);
            s.view.kept = NULL;
            s.view.kept_bytes = 0;
            assert_int_equal(gcb_exchange_restore(p.e[w], &s.view, NULL), 0);
        }
        step_of(&p, 1);
        party_close(&p);
    }
}

/* Any bytes are refused or safe, and a refused state changes nothing. */
static void kept_bytes_may_be_hostile(void **state)
{
    static const struct {
        const char *spec;
        size_t at; /* of the last byte of a number that cannot be kept */
    } rows[] = {
        {"powersgd:memory=ef", 12 + 3},               /* whether a step was begun */
        {"powersgd:memory=ef", 16 + 3},               /* a NaN */
        {"powersgd:collective=allgather", 16 + 3},    /* the same */
        {"topk:memory=ef,collective=oktopk", 16 + 3}, /* a threshold */
        {"topk:memory=ef,collective=oktopk", 20 + 3}, /* flags */
        {"topk:memory=ef,collective=oktopk", 24 + 7}, /* a boundary */
    };
    static struct saved s, kept;

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const uint64_t shape[] = {60, N / 60};
        const struct party_options o = {.shape = shape, .rank = 2};
        struct gcb_memory_state small = {.size = sizeof(small), .kept = kept.kept};
        struct party p;

        party_open(&p, rows[i].spec, N, &o);
        step_of(&p, 0);
        save(&kept, p.e[1]);
        s = kept;
        s.view.kept = s.kept;
        memset(s.kept + rows[i].at - 1, 0xff, 2);
        assert_int_equal(gcb_exchange_restore(p.e[1], &s.view, NULL), GCB_E_MISMATCH);
        s = kept;
        s.view.kept_bytes--;
        assert_int_equal(gcb_exchange_restore(p.e[1], &s.view, NULL), GCB_E_MISMATCH);
        s.view.kept_bytes += 2;
        assert_int_equal(gcb_exchange_restore(p.e[1], &s.view, NULL), GCB_E_MISMATCH);
        small.kept_bytes = gcb_exchange_kept_bytes(p.e[1]) - 1;
        assert_int_equal(gcb_exchange_save(p.e[1], &small, NULL), GCB_E_NOSPACE);
        step_of(&p, 1); /* both workers still agree */
        party_close(&p);
    }
}

static void only_possible_states_are_restored(void **state)
{
    struct gcb_memory_view view = {.size = sizeof(view)};
    float *residual = calloc(N, sizeof(*residual));
    struct party p, q;

    residual[5] = 1.0f;
    party_open(&p, "identity", N, NULL);
    view.residual = residual;
    assert_int_equal(gcb_exchange_restore(p.e[0], &view, NULL), GCB_E_MISMATCH);
    view.residual = NULL;
    view.counters[0] = 1;
    assert_int_equal(gcb_exchange_restore(p.e[0], &view, NULL), GCB_E_MISMATCH);
    view.counters[0] = 0;
    view.counters[7] = 1;
    assert_int_equal(gcb_exchange_restore(p.e[0], &view, NULL), GCB_E_MISMATCH);
    view.size = 1;
    assert_int_equal(gcb_exchange_restore(p.e[0], &view, NULL), GCB_E_INVALID);
    party_close(&p);

    /* a refused state changes nothing */
    party_open(&p, "topk:memory=ef", N, NULL);
    party_open(&q, "topk:memory=ef", N, NULL);
    step_of(&p, 0);
    step_of(&q, 0);
    residual[5] = NAN;
    view = (struct gcb_memory_view){.size = sizeof(view), .residual = residual};
    assert_int_equal(gcb_exchange_restore(p.e[1], &view, NULL), GCB_E_NONFINITE);
    step_of(&p, 1);
    step_of(&q, 1);
    assert_memory_equal(q.update[0], p.update[0], N * sizeof(float));
    party_close(&p);
    party_close(&q);
    free(residual);
}

/* ---- parameters ---- */

static void set_all(struct party *p, const char *key, const char *value, int want)
{
    for (unsigned w = 0; w < p->workers; w++)
        assert_int_equal(gcb_exchange_set(p->e[w], key, value, NULL), want);
}

static void parameters_change_between_steps(void **state)
{
    static const char *const rows[][4] = {
        {"topk", "theta", "0.5", "topk:theta=0.5"},
        {"fft", "bits", "12", "fft:bits=12"},
        {"qsgd:collective=twoshot", "bits", "7", "qsgd:bits=7,collective=twoshot"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct party p, q;

        party_open(&p, rows[i][0], N, NULL);
        party_open(&q, rows[i][3], N, NULL);
        step_of(&p, 0);
        set_all(&p, "memory", "ef", GCB_E_INVALID);
        set_all(&p, "collective", "allgather", GCB_E_INVALID);
        set_all(&p, "thet", "0.5", GCB_E_INVALID);
        set_all(&p, rows[i][1], rows[i][2], 0);
        step_of(&p, 1);
        step_of(&q, 1);
        assert_memory_equal(p.update[0], q.update[0], N * sizeof(float));
        party_close(&p);
        party_close(&q);
    }
}

/* The norm that the caller gives counts as in an encoder, for one step. */
static void a_given_norm_limits_the_gradient(void **state)
{
    static const char spec[] = "topk:theta=0,memory=dgc,momentum=0,clip-norm=1";
    const struct party_options o = {.workers = 1};
    struct gcb_encoder *encoder;
    struct gcb_decoder *decoder;
    struct party p;
    float *want = malloc(N * sizeof(*want));
    uint8_t *message;
    size_t length;

    party_open(&p, spec, N, &o);
    assert_int_equal(gcb_encoder_open(&encoder, spec, N, NULL, NULL), 0);
    assert_int_equal(gcb_decoder_open(&decoder, spec, N, NULL, NULL), 0);
    message = malloc(gcb_encoder_bound(encoder));
    for (uint64_t step = 0; step < 3; step++) {
        party_fill(&p, step + 1, 0.0f);
        if (step == 1) {
            assert_int_equal(gcb_encoder_set_norm(encoder, 1e4, NULL), 0);
            assert_int_equal(gcb_exchange_set_norm(p.e[0], 1e4, NULL), 0);
        }
        party_step(&p, step);
        assert_int_equal(gcb_encode(encoder, step, 0, p.x[0], message, gcb_encoder_bound(encoder),
                                    &length, NULL),
                         0);
        assert_int_equal(gcb_decode(decoder, message, length, want, NULL), 0);
        assert_memory_equal(want, p.update[0], N * sizeof(float));
        assert_true(step != 1 || trip_norm(want, N) < 0.1); /* squared; else it is 1 */
    }
    assert_int_equal(gcb_exchange_set_norm(p.e[0], -1.0, NULL), GCB_E_INVALID);
    assert_int_equal(gcb_exchange_set_norm(p.e[0], NAN, NULL), 0);
    assert_int_equal(gcb_exchange_begin(p.e[0], 3, p.x[0], NULL), GCB_E_NONFINITE);
    assert_int_equal(gcb_exchange_begin(p.e[0], 3, p.x[0], NULL), 0);
    gcb_encoder_close(encoder);
    gcb_decoder_close(decoder);
    free(message);
    free(want);
    party_close(&p);
}

/* ---- steps that send nothing ---- */

RUN_TESTS(cmocka_unit_test(a_sum_in_place), cmocka_unit_test(a_restored_exchange_goes_on),
          cmocka_unit_test(workers_may_begin_anew_together),
          cmocka_unit_test(kept_bytes_may_be_hostile),
          cmocka_unit_test(only_possible_states_are_restored),
          cmocka_unit_test(parameters_change_between_steps),
          cmocka_unit_test(a_given_norm_limits_the_gradient))
