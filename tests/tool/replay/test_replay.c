/* Replays: what is sent whole arrives whole, scopes, refusals, interruptions, staleness. */
#include <math.h>

#include "tests/tool/replay/replay_source.h"

/* What is sent whole arrives whole: nothing is left, nothing is wrong, nothing is late. */
static void lossless(void **state)
{
    static const char *const specs[] = {"identity",
                                        "identity:memory=ef",
                                        "identity:memory=demo",
                                        "identity:memory=dgc,momentum=0.9,masking=yes",
                                        "identity:memory=delay,delay=1",
                                        "topk:theta=0,memory=ef"};
    struct replay_setup *s = *state;

    for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
        assert_int_equal(replay_run(s, specs[i]), 0);
        assert_int_equal(s->total.steps, STEPS);
        assert_true(s->total.figures.alpha == 0.0 && s->total.figures.cumulative_error == 0.0);
        assert_true(s->total.contraction_min == 1.0 && s->total.figures.cosine > 1.0 - 1e-12);
        assert_int_equal(s->total.figures.staleness_max, 0);
        assert_true(i == 0 ? isnan(s->total.figures.residual_norm)
                           : s->total.figures.residual_norm == 0.0);
        assert_true(s->total.figures.union_density == 1.0);
    }
}

/* One worker alone sends element 0, another element 1; the third has nothing. */
static void constructed(void **state)
{
    struct replay_setup *s = *state;

    for (size_t i = 0; i < TENSORS; i++) {
        memset(replay_source.data[i], 0, sizeof(replay_source.data[i]));
        if (i / NAMES % WORKERS < 2)
            replay_source.data[i][i / NAMES % WORKERS] = 2.0f;
        if (i / NAMES % WORKERS == 0)
            replay_source.data[i][5] = 1.0f; /* never among the largest until it has added up */
    }
    assert_int_equal(replay_run(s, "topk:density=0.001,memory=ef"), 0);
    replay_expect(s->seen.step[0].figures.union_density, 4.0 / (LARGEST + 70), 1e-12);
    assert_int_equal(s->seen.step[0].figures.staleness_max, 1); /* element 5 of worker 0 */
    assert_int_equal(s->seen.step[0].figures.staleness_p99, 0); /* what is zero is not late */
    replay_expect(s->seen.step[0].figures.alpha, 1.0 / 3.0,
                  1e-6); /* 1 of (2, 2, 1), in both tensors */
    assert_int_equal(s->seen.step[1].figures.staleness_max, 2); /* a tie: the lower index goes */
    assert_int_equal(s->seen.step[2].figures.staleness_max, 1); /* 3 beats 2, which has to wait */
}

static void scopes_and_threads(void **state)
{
    struct replay_setup *s = *state;
    struct gcb_replay_total before;

    s->layout.scope = GCB_SCOPE_MODEL;
    assert_int_equal(replay_run(s, "topk:density=0.1,memory=ef"), 0);
    assert_int_equal(s->total.figures.sent.tally.messages, STEPS * WORKERS);
    before = s->total;
    s->queue.threads = 4;
    assert_int_equal(replay_run(s, "topk:density=0.1,memory=ef"), 0);
    assert_true(s->total.figures.alpha == before.figures.alpha &&
                s->total.figures.residual_norm == before.figures.residual_norm);
    assert_true(s->total.figures.cumulative_error == before.figures.cumulative_error);
    s->layout = (struct gcb_layout_config){.min_elements = 100};
    assert_int_equal(replay_run(s, "topk:density=0.1,memory=ef"), 0);
    assert_int_equal(s->total.figures.sent.tally.dense, STEPS * WORKERS);
}

/* Fewer workers are the first ones; repeated workers send what the others send; steps become
 * workers. */
static void other_workers(void **state)
{
    struct replay_setup *s = *state;
    const struct gcb_replay_figures *f = &s->total.figures;
    const struct gcb_replay_plan *plan;
    struct gcb_replay_total three;

    assert_int_equal(replay_run(s, "topk:density=0.1,memory=ef"), 0);
    three = s->total;
    assert_string_equal(gcb_replay_origin(&s->replay.plan), "recorded");
    s->config.order.workers = 2 * WORKERS;
    assert_int_equal(replay_run(s, "topk:density=0.1,memory=ef"), 0);
    plan = &s->replay.plan;
    assert_string_equal(gcb_replay_origin(plan), "repeated");
    assert_true(plan->workers == 2 * WORKERS && plan->step_count == STEPS);
    assert_int_equal(f->sent.tally.wire_bytes, 2 * three.figures.sent.tally.wire_bytes);
    assert_int_equal(f->sent.link_bytes, (2 * WORKERS - 1) * f->sent.tally.wire_bytes);
    replay_expect(f->alpha, three.figures.alpha, 1e-6);
    replay_expect(f->residual_norm, three.figures.residual_norm, 1e-12);
    assert_true(f->union_density == three.figures.union_density);
    assert_int_equal(replay_run(s, "dgc:density=0.1,clip-norm=0.001"), 0);
    three = s->total; /* all gradients are clipped, to another norm: errors are relative */
    s->config.order.workers = WORKERS;
    assert_int_equal(replay_run(s, "dgc:density=0.1,clip-norm=0.001"), 0);
    replay_expect(f->cumulative_error, three.figures.cumulative_error, 1e-5);
    replay_expect(f->residual_norm, three.figures.residual_norm * sqrt(2.0), 1e-5);
    s->config.order.workers = 2 * WORKERS;
    assert_int_equal(replay_run(s, "qsgd:bits=2"), 0); /* repeated workers draw apart */
    three = s->total;
    s->config.order.workers = WORKERS;
    assert_int_equal(replay_run(s, "qsgd:bits=2"), 0);
    assert_true(three.figures.alpha < 0.8 * f->alpha);
    s->config.order.workers = 1; /* the sum of one worker is its own tensor */
    assert_int_equal(replay_run(s, "fp16:collective=allgather"), 0);
    assert_int_equal(f->sent.link_bytes, 0);
    assert_int_equal(f->sent.tally.messages, STEPS * NAMES);
    s->config.order.workers = 2 * WORKERS;
    s->config.order.split_steps = true;
    assert_int_equal(replay_run(s, "identity"), 0);
    plan = &s->replay.plan;
    assert_string_equal(gcb_replay_origin(plan), "steps");
    assert_int_equal(s->total.steps, STEPS / 2);
    assert_true(s->seen.step[1].step == 12 && f->alpha == 0.0);
    assert_ptr_equal(gcb_replay_message_at(plan, 1, WORKERS + 2, 1),
                     &s->plan.messages[(3 * WORKERS + 2) * NAMES + 1]);
    s->config.order.workers = 4 * WORKERS; /* leaves two steps out */
    assert_int_equal(replay_run(s, "identity"), 0);
    assert_int_equal(s->total.steps, 1);
    s->config.order.workers = WORKERS + 1;
    assert_int_equal(replay_run(s, "identity"), GCB_E_INVALID);
    assert_non_null(strstr(s->diag.text, "must be a multiple of 3"));
    s->config.order.workers = 7 * WORKERS;
    assert_int_equal(replay_run(s, "identity"), GCB_E_INVALID);
    assert_non_null(strstr(s->diag.text, "21 workers need 7 steps of the dump, which has 6"));
}

/* Random draws differ between repetitions. */
static void repetitions_draw_apart(void **state)
{
    struct replay_setup *s = *state;

    s->config.loops = 2;
    assert_int_equal(replay_run(s, "qsgd:bits=2"), 0);
    for (size_t t = 0; t < STEPS; t++)
        assert_true(s->seen.step[t].figures.alpha != s->seen.step[t + STEPS].figures.alpha);
    assert_int_equal(replay_run(s, "topk"), 0);
    for (size_t t = 0; t < STEPS; t++)
        assert_true(s->seen.step[t].figures.alpha == s->seen.step[t + STEPS].figures.alpha);
}

static void refuses(void **state)
{
    struct replay_setup *s = *state;

    replay_source.data[3][7] = NAN;
    assert_int_equal(replay_run(s, "topk"), GCB_E_NONFINITE);
    assert_non_null(strstr(s->diag.text, "step 10 worker 1 small (1 of 70)"));
    s->config.nonfinite = GCB_POLICY_RAW;
    assert_int_equal(replay_run(s, "topk"), GCB_E_INVALID);
    s->config.nonfinite = GCB_POLICY_SKIP;
    assert_int_equal(replay_run(s, "topk:memory=ef"), 0);
    assert_int_equal(s->total.steps, STEPS - 1);
    assert_int_equal(s->seen.step[0].step, 11);
    assert_int_equal(s->replay.scan.step_count, 1);
    s->config.nonfinite = GCB_POLICY_ZERO;
    assert_int_equal(replay_run(s, "topk:memory=ef"), 0);
    assert_int_equal(s->total.steps, STEPS);
    for (size_t i = 4 * WORKERS * NAMES; i < TENSORS; i++)
        replay_source.tensor[i].step += 3;
    assert_int_equal(replay_run(s, "topk"), GCB_E_INVALID);
    assert_non_null(strstr(s->diag.text, "step 17 follows step 13: 3 between them are missing"));
    s->config.order.allow_gaps = true;
    assert_int_equal(replay_run(s, "topk"), 0);
    replay_source.tensor[TENSORS - 1].count = 69;
    assert_int_equal(replay_run(s, "topk"), GCB_E_INVALID);
    assert_non_null(strstr(s->diag.text, "step 18 worker 2 small"));
    replay_source.tensor[TENSORS - 1].count = 70;
    replay_source.tensor[TENSORS - 1].path = "other";
    assert_int_equal(replay_run(s, "topk"), GCB_E_INVALID);
}

/* Every allocation fails once: it is said, and (sanitizers see it) nothing is left behind. */
static void without_memory(void **state)
{
    struct replay_setup *s = *state;
    size_t failed = 0;
    int err;

    gcb_schedule_parse(&s->config.schedule, "0.9@3", NULL);
    do {
        s->diag.text[0] = '\0';
        gcb_replay_close(&s->replay);
        replay_calls = 0;
        replay_fail_at = 0;
        gcb_layout_fini(&s->plan);
        gcb_layout_init(&s->plan, &replay_source, &s->layout);
        replay_calls = 0;
        replay_fail_at = ++failed;
        err = replay_start(s, "topk:theta=0.8,values=range,memory=delay,momentum=0.5,delay=2");
        replay_fail_at = 0;
        if (err && (err != GCB_E_NOMEM || !strstr(s->diag.text, "out of memory")))
            fail_msg("allocation %zu: %d, '%s'", failed, err, s->diag.text);
    } while (err);
    assert_true(failed > 60);
}

static void stops(void **state)
{
    struct replay_setup *s = *state;

    s->seen.stop_after = 2;
    assert_int_equal(replay_run(s, "topk:memory=ef"), 0);
    assert_true(s->total.interrupted);
    assert_int_equal(s->total.steps, 2);
}

RUN_TESTS(REPLAY_CASE(lossless), REPLAY_CASE(constructed), REPLAY_CASE(scopes_and_threads),
          REPLAY_CASE(other_workers), REPLAY_CASE(repetitions_draw_apart), REPLAY_CASE(refuses),
          REPLAY_CASE(without_memory), REPLAY_CASE(stops))
