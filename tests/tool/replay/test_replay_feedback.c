/* Replays with feedback, momentum and delay: the bound of the residual, and what is owed. */
#include <math.h>

#include "tests/tool/replay/replay_source.h"

static bool is_kept(const double *p, uint64_t n, uint64_t i, uint64_t k)
{
    uint64_t before = 0;

    for (uint64_t j = 0; j < n; j++)
        before += fabs(p[j]) > fabs(p[i]) || (fabs(p[j]) == fabs(p[i]) && j < i);
    return before < k;
}

/* ||e||^2 <= 4 (1 - d) / d^2 max ||g||^2, and the ratio is of these very figures. */
static void bound(void **state)
{
    static const char *const specs[] = {"topk:density=0.05,memory=ef",
                                        "sbc:p=0.1",
                                        "stc:p=0.1",
                                        "dgc:density=0.1,momentum=0",
                                        "demo:density=0.1,chunk=64",
                                        "fft:theta=0.8,memory=ef",
                                        "topk:density=0.05,memory=ef,decay=0.9",
                                        "topk:density=0.2,memory=delay,delay=3",
                                        "range:bits=4,memory=ef",
                                        "fp16:memory=ef"};
    struct replay_setup *s = *state;

    s->config.loops = 20;
    for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
        double d = 1.0;

        assert_int_equal(replay_run(s, specs[i]), 0);
        assert_true(s->total.feedback);
        assert_true(s->total.bound_ratio <= 1.0);
        for (size_t t = 0; t < s->seen.steps; t++)
            if (!isnan(s->seen.step[t].contraction))
                d = fmin(d, s->seen.step[t].contraction);
        replay_expect(s->total.contraction_min, d, 1e-15);
    }
    assert_int_equal(replay_run(s, "dgc:density=0.1"), 0); /* momentum */
    assert_true(!s->total.feedback && isnan(s->total.bound_ratio));
    assert_int_equal(replay_run(s, "topk"), 0); /* no memory */
    assert_true(!s->total.feedback && isnan(s->total.bound_ratio));
}

static void delay_counts_its_input(void **state)
{
    struct replay_setup *s = *state;
    const uint64_t step_bytes = WORKERS * (LARGEST + 70) * sizeof(float);

    assert_int_equal(replay_run(s, "identity:memory=delay,delay=4"), 0);
    assert_int_equal(s->total.silent_steps, 5);
    assert_int_equal(s->total.unsent_steps, 2);
    assert_int_equal(s->total.figures.sent.input_bytes, STEPS * step_bytes);
    assert_int_equal(s->total.figures.sent.tally.input_bytes, 4 * step_bytes);
    replay_expect(s->total.figures.ratio,
                  4.0 * (double)step_bytes / (double)s->total.figures.sent.tally.wire_bytes, 1e-12);
    assert_true(isnan(s->seen.step[0].figures.alpha) && isnan(s->seen.step[0].figures.ratio));
    assert_int_equal(s->seen.step[0].figures.sent.tally.wire_bytes, 0);
    assert_true(s->seen.step[0].figures.cumulative_error == 1.0);
    replay_expect(s->seen.step[3].figures.ratio, s->total.figures.ratio, 1e-12);
    assert_true(s->seen.step[3].figures.alpha < 1e-6 &&
                s->seen.step[3].figures.cumulative_error < 1e-6);
    assert_int_equal(s->seen.step[2].figures.staleness_median, 3);
    assert_int_equal(s->seen.step[3].figures.staleness_max, 0);
    assert_int_equal(s->total.figures.staleness_median, 2);
    assert_int_equal(replay_run(s, "identity:memory=delay,delay=2"), 0);
    assert_int_equal(s->total.figures.sent.tally.input_bytes, STEPS * step_bytes);
    assert_true(s->total.figures.alpha < 1e-6 && s->total.figures.cumulative_error < 1e-6);
}

/* Workers that are alike have the norms that rows show; with a delay g is as large as its parts
 * together. */
static void bound_is_of_these_figures(void **state)
{
    struct replay_setup *s = *state;
    double gradient = 0.0, window = 0.0, residual = 0.0, d;

    for (size_t i = 0; i < TENSORS; i++)
        memcpy(replay_source.data[i],
               replay_source.data[i / (NAMES * WORKERS) * NAMES * WORKERS + i % NAMES],
               sizeof(replay_source.data[i]));
    for (size_t k = 0; k < LARGEST; k++) /* the largest come first, and are not the last */
        for (size_t i = 0; i < NAMES * WORKERS; i++)
            replay_source.data[i][k] *= 4.0f;
    s->config.loops = 3;
    assert_int_equal(replay_run(s, "topk:density=0.2,memory=delay,delay=3"), 0);
    d = s->total.contraction_min;
    for (size_t t = 0; t < s->seen.steps; t++) {
        gradient += s->seen.step[t].figures.gradient_norm;
        window = fmax(window, gradient);
        if (t % 3 != 2)
            continue;
        gradient = 0.0;
        residual = fmax(residual, s->seen.step[t].figures.residual_norm);
    }
    replay_expect(s->total.bound_ratio,
                  residual * residual / (4.0 * (1.0 - d) / (d * d) * window * window), 1e-9);
}

/* Momentum: what is owed is what entered the memory, so that what is missing is what is still in
 * it. */
static void momentum_owes_what_it_added(void **state)
{
    struct replay_setup *s = *state;

    assert_int_equal(replay_run(s, "identity:memory=dgc,momentum=0.5,masking=no"), 0);
    assert_true(s->total.figures.alpha < 1e-6 && s->total.figures.cumulative_error < 1e-6);
    assert_int_equal(replay_run(s, "identity:memory=dgc,momentum=0.5,nesterov=yes,masking=no"), 0);
    assert_true(s->total.figures.alpha < 1e-6 && s->total.figures.cumulative_error < 1e-6);
    assert_int_equal(replay_run(s, "identity:memory=dgc,momentum=0.5,clip-norm=0.001"), 0);
    assert_true(s->total.figures.alpha < 1e-6 && s->total.figures.cumulative_error < 1e-6);
    assert_int_equal(replay_run(s, "identity:memory=dgc,momentum=0.5,nesterov=yes,clip-norm=0.001"),
                     0);
    assert_true(s->total.figures.alpha < 1e-6 && s->total.figures.cumulative_error < 1e-6);
    assert_int_equal(replay_run(s, "topk:density=0.1,memory=dgc,momentum=0.5"), 0);
    assert_true(s->total.figures.alpha > 0.1 && s->total.figures.cumulative_error > 0.1);
}

/* The worker's gradient over all messages is clipped: what is left of the first step, worked out
 * again. */
static void clips_the_whole_gradient(void **state)
{
    const double limit = 0.01 / sqrt((double)WORKERS);
    struct replay_setup *s = *state;
    double left = 0.0;

    for (size_t w = 0; w < WORKERS; w++) {
        double sum = 0.0, scale;

        for (size_t j = 0; j < NAMES; j++)
            for (size_t i = 0; i < replay_source.tensor[j].count; i++)
                sum += pow((double)replay_source.data[w * NAMES + j][i], 2);
        assert_true(sqrt(sum) > limit);
        scale = limit / sqrt(sum);
        for (size_t j = 0; j < NAMES; j++) {
            const uint64_t n = replay_source.tensor[j].count, k = (uint64_t)rint(0.1 * (double)n);
            double p[LARGEST];

            for (size_t i = 0; i < n; i++)
                p[i] = (double)replay_source.data[w * NAMES + j][i] * scale;
            for (size_t i = 0; i < n; i++)
                left += is_kept(p, n, i, k) ? 0.0 : p[i] * p[i] / WORKERS;
        }
    }
    assert_int_equal(replay_run(s, "topk:density=0.1,memory=dgc,clip-norm=0.01"), 0);
    replay_expect(s->seen.step[0].figures.residual_norm, sqrt(left), 1e-5);
}

RUN_TESTS(REPLAY_CASE(bound), REPLAY_CASE(delay_counts_its_input),
          REPLAY_CASE(bound_is_of_these_figures), REPLAY_CASE(momentum_owes_what_it_added),
          REPLAY_CASE(clips_the_whole_gradient))
