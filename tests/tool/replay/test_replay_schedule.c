/* Replays whose theta or range changes from step to step. */
#include <math.h>

#include "tests/tool/replay/replay_source.h"

static void schedules(void **state)
{
    struct replay_setup *s = *state;

    assert_int_equal(gcb_schedule_parse(&s->config.schedule, "0.9@1,0.7@2,0@4", &s->diag), 0);
    assert_int_equal(replay_run(s, "topk:theta=0.8,memory=ef"), 0);
    replay_expect(s->seen.step[0].figures.density, 0.2, 1e-9);
    replay_expect(s->seen.step[1].figures.density, 0.1, 1e-9);
    replay_expect(s->seen.step[2].figures.density, 0.3, 1e-9);
    replay_expect(s->seen.step[3].theta, 0.7, 0.0);
    replay_expect(s->seen.step[4].figures.density, 1.0, 0.0);
    assert_true(s->seen.step[3].figures.residual_norm > 0.0);
    assert_true(s->seen.step[4].figures.residual_norm == 0.0); /* memory outlives the encoders */
    assert_true(s->seen.step[4].figures.cumulative_error < 1e-6);
    assert_int_equal(replay_run(s, "qsgd"), 0);
    assert_true(isnan(s->seen.step[1].theta));
}

static void schedules_explain_themselves(void **state)
{
    static const char *const bad[][2] = {
        {"", "is not VALUE@STEP"},
        {"0.9@", "'0.9@' is not"},
        {"x@0", "'x@0' is not"},
        {"0.9@0,", "is not VALUE@STEP"},
        {"0.9@0,0.5", "'0.5' is not"},
        {"0.9@4,0.5@4", "steps must ascend"},
        {"1@0", "theta must be in [0, 1)"},
        {"nan@0", "'nan@0' is not"},
        {"sqrt-lr", "is not VALUE@STEP"},
    };
    struct gcb_schedule schedule;
    struct gcb_diag diag;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        memset(&schedule, 0, sizeof(schedule));
        assert_int_equal(gcb_schedule_parse(&schedule, bad[i][0], &diag), GCB_E_INVALID);
        if (!strstr(diag.text, bad[i][1]))
            fail_msg("'%s' says '%s'", bad[i][0], diag.text);
    }
}

RUN_TESTS(REPLAY_CASE(schedules), cmocka_unit_test(schedules_explain_themselves))
