/* Exchanges between steps: checkpoints, other parameters, the norm of a worker; and steps that send nothing. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/party.h"
#include "tests/support/trip.h"

enum { N = 3000, STEPS = 8 };

static void step_of(struct party *p, uint64_t step)
{
    party_fill(p, step + 1, 1.0f);
    party_step(p, step);
}

/* ---- checkpoints ---- */

/* Copies what worker w of p keeps into worker w of q. */
static void hand_over(struct party *p, struct party *q, unsigned w)
{
    float *residual = malloc(N * sizeof(float)), *momentum = malloc(N * sizeof(float));
    struct gcb_memory_state state = {
        .size = sizeof(state), .residual = residual, .momentum = momentum};
    struct gcb_memory_view view = {
        .size = sizeof(view), .residual = residual, .momentum = momentum};

    assert_int_equal(gcb_exchange_save(p->e[w], &state, NULL), 0);
    memcpy(view.counters, state.counters, sizeof(view.counters));
    assert_int_equal(gcb_exchange_restore(q->e[w], &view, NULL), 0);
    free(residual);
    free(momentum);
}

static void a_restored_exchange_goes_on(void **state)
{
    static const char *const specs[] = {
        "topk:memory=ef",
        "topk:memory=dgc,momentum=0.9",
        "identity:memory=delay,delay=3,momentum=0.5",
        "redsync:dense-below=0,trimmed-below=0",
        "qsgd:memory=ef,collective=twoshot",
        "fp16",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(specs) / sizeof(*specs); i++)
        for (uint64_t at = 2; at < 5; at++) {
            const struct party_options o = {.workers = 3};
            struct party p, q;

            party_open(&p, specs[i], N, &o);
            party_open(&q, specs[i], N, &o);
            step_of(&q, 9); /* which restoring undoes */
            for (uint64_t step = 0; step < STEPS; step++) {
                if (step == at)
                    for (unsigned w = 0; w < 3; w++)
                        hand_over(&p, &q, w);
                step_of(&p, step);
                if (step < at)
                    continue;
                step_of(&q, step);
                assert_int_equal(q.rounds, p.rounds);
                assert_memory_equal(q.update[0], p.update[0], N * sizeof(float));
            }
            party_close(&p);
            party_close(&q);
        }
}

static void only_possible_states_are_restored(void **state)
{
    struct gcb_memory_view view = {.size = sizeof(view)};
    float *residual = calloc(N, sizeof(*residual));
    struct party p, q;

    (void)state;
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

    (void)state;
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

static void a_change_keeps_the_memory(void **state)
{
    float *owed = calloc(N, sizeof(*owed));
    struct party p;

    (void)state;
    party_open(&p, "topk:memory=ef", N, NULL);
    for (uint64_t step = 0; step < 4; step++) {
        set_all(&p, "theta", step % 2 ? "0.9" : "0.99", 0);
        step_of(&p, step);
        for (uint64_t i = 0; i < N; i++)
            owed[i] += 0.5f * (p.x[0][i] + p.x[1][i]) - p.update[0][i];
    }
    for (uint64_t i = 0; i < N; i++) {
        const float rest = 0.5f * (gcb_memory_residual(gcb_exchange_memory(p.e[0]))[i] +
                                   gcb_memory_residual(gcb_exchange_memory(p.e[1]))[i]);

        assert_true(fabsf(rest - owed[i]) < 1e-4f);
    }
    free(owed);
    party_close(&p);
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

    (void)state;
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

/*
 * A NaN in a step that sends nothing is left out, and all workers still send in the same steps. An all-reduce that is
 * spoilt is due again; an all-gather is not.
 */
static void a_nan_keeps_the_workers_in_step(void **state)
{
    static const struct {
        const char *spec;
        uint64_t sends[4];
    } rows[] = {
        {"topk:memory=delay,delay=3,momentum=0", {2, 5, 8, 11}},
        {"identity:memory=delay,delay=3,momentum=0", {2, 5, 6, 9}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const struct party_options o = {.workers = 3, .nonfinite = GCB_NONFINITE_RAW};
        unsigned sent = 0;
        struct party p;

        party_open(&p, rows[i].spec, N, &o);
        for (uint64_t step = 0; step < 12; step++) {
            bool finite = true;

            party_fill(&p, step + 1, 0.0f);
            if (step == 1 || step == 5)
                p.x[1][17] = NAN;
            party_step(&p, step);
            for (uint64_t k = 0; k < N; k++)
                finite &= isfinite(p.update[0][k]) != 0;
            assert_int_equal(finite, step != 5);
            assert_int_equal(p.rounds, sent < 4 && rows[i].sends[sent] == step);
            sent += p.rounds;
        }
        party_close(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_restored_exchange_goes_on),
        cmocka_unit_test(only_possible_states_are_restored),
        cmocka_unit_test(parameters_change_between_steps),
        cmocka_unit_test(a_change_keeps_the_memory),
        cmocka_unit_test(a_given_norm_limits_the_gradient),
        cmocka_unit_test(a_nan_keeps_the_workers_in_step),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
