/* Runs: scopes, repetitions, infinities and NaNs, dense tensors, interruptions, methods that
 * fail. */
#include <math.h>

#include "src/tool/base/host.h"
#include "src/tool/rows/sink.h"
#include "src/tool/run/rows.h"
#include "tests/tool/run/run_source.h"

static void assert_totals(const struct run_setup *s)
{
    for (size_t m = 0; m < s->config.method_count; m++) {
        const struct gcb_tally *t = &s->result.totals[m].tally;

        assert_int_equal(t->wire_bytes, s->seen.sum[m].wire_bytes);
        assert_int_equal(t->elements, s->seen.elements[m]);
        assert_int_equal(t->wire_bytes,
                         t->header_bytes + t->scale_bytes + t->value_bytes + t->index_bytes);
        assert_true(fabs(t->fidelity.dd - s->seen.lost[m]) <= 1e-12 * s->seen.lost[m]);
    }
}

static void test_every_message_and_method(void **state)
{
    struct run_setup *s = *state;

    run_use(s, "topk:theta=0.9");
    run_use(s, "qsgd");
    run_use(s, "fp16");
    assert_int_equal(run_all(s), 0);
    assert_int_equal(s->seen.trials, TENSORS * 3);
    assert_int_equal(s->result.totals[0].tally.messages, TENSORS);
    assert_int_equal(s->seen.elements[0], STEPS * WORKERS * (LARGEST + 120));
    assert_int_equal(s->result.totals[0].tally.kept, STEPS * WORKERS * (LARGEST + 120) / 10);
    assert_true(fabs(gcb_tally_density_asked(&s->result.totals[0].tally) - 0.1) < 1e-12);
    assert_true(isnan(gcb_tally_density(&s->result.totals[2].tally)));
    assert_true(fabs(s->seen.shown - 1.0) < 1e-9);
    assert_false(s->result.interrupted);
    assert_totals(s);
}

static void test_scope_model(void **state)
{
    struct run_setup *s = *state;

    s->layout.scope = GCB_SCOPE_MODEL;
    run_use(s, "topk:theta=0.8");
    assert_int_equal(run_all(s), 0);
    assert_int_equal(s->seen.trials, STEPS * WORKERS);
    assert_totals(s);
}

/* A message has the same bytes, whatever other methods run and how often it is measured. */
static void test_repeats_change_nothing(void **state)
{
    struct run_setup *s = *state;
    struct gcb_tally before;

    run_use(s, "terngrad");
    assert_int_equal(run_all(s), 0);
    before = s->result.totals[0].tally;
    gcb_run_result_fini(&s->result);
    gcb_layout_fini(&s->plan);
    memset(&s->seen.sum, 0, sizeof(s->seen.sum));
    s->seen.shown = 0.0;
    s->config.trial.timing = (struct gcb_timing){.warmup = 2, .repeat = 5};
    run_use(s, "qsgd");
    assert_int_equal(run_all(s), 0);
    assert_int_equal(s->result.totals[0].tally.wire_bytes, before.wire_bytes);
    assert_true(s->result.totals[0].tally.fidelity.dd == before.fidelity.dd);
    assert_int_equal(s->result.totals[0].samples[GCB_TIMED_ENCODE].count, 5);
    assert_false(isnan(gcb_sample_sums_mad(&s->result.totals[0].samples[GCB_TIMED_ENCODE])));
}

/* Each tensor is read once, although infinities and NaNs are an error. Known times are not single
 * times. */
static void test_reads_once(void **state)
{
    struct run_setup *s = *state;

    run_source.reads = 0;
    s->config.trial.timing = (struct gcb_timing){.precision = 0.1, .strict = true};
    s->config.seconds = 1e-6;
    run_use(s, "topk");
    run_use(s, "qsgd");
    assert_int_equal(run_all(s), 0);
    assert_int_equal(run_source.reads, TENSORS);
    for (size_t m = 0; m < 2; m++) {
        assert_int_equal(s->result.totals[m].samples[GCB_TIMED_ENCODE].count, 2);
        assert_true(gcb_tally_gbps(&s->result.totals[m].tally, &s->result.totals[m].tally.encode) >
                    0.0);
    }
}

/* A speed is not known from a single time. */
static void test_single_time(void **state)
{
    struct run_setup *s = *state;
    const struct gcb_tally *t;

    s->config.trial.timing = (struct gcb_timing){.repeat = 1};
    run_use(s, "topk");
    assert_int_equal(run_all(s), 0);
    t = &s->result.totals[0].tally;
    assert_true(t->encode.seconds > 0.0);
    assert_int_equal(t->encode.single, TENSORS);
    assert_true(isnan(gcb_tally_gbps(t, &t->encode)));
    assert_true(isnan(gcb_tally_figure(t, GCB_FIELD_DECODE_GBPS)));
}

static void test_error_names_tensors(void **state)
{
    struct run_setup *s = *state;

    run_source.data[1][5] = NAN;
    run_source.data[8][7] = INFINITY;
    run_source.data[8][8] = -INFINITY;
    run_use(s, "topk");
    assert_int_equal(run_all(s), GCB_E_NONFINITE);
    assert_int_equal(s->seen.trials, 1); /* of the empty tensor before */
    assert_non_null(strstr(s->diag.text, "2 tensors"));
    assert_non_null(strstr(s->diag.text, "step 0 worker 0 large (1 of 9000)"));
    assert_non_null(strstr(s->diag.text, "step 100 worker 0 small (2 of 120)"));
}

/* The run ends too if a second look finds only finite values. */
static void test_error_that_goes_away(void **state)
{
    struct run_setup *s = *state;

    run_source.data[1][5] = NAN;
    run_use(s, "topk");
    run_source.heals = run_source.reads + 2; /* of the empty tensor, and of this one */
    assert_int_equal(run_all(s), GCB_E_IO);
    run_source.heals = 0;
    assert_non_null(strstr(s->diag.text, "the file changed while it was read"));
}

static void test_error_is_short(void **state)
{
    struct run_setup *s = *state;

    for (size_t i = 1; i < TENSORS; i += NAMES)
        run_source.data[i][0] = NAN;
    run_use(s, "topk");
    assert_int_equal(run_all(s), GCB_E_NONFINITE);
    assert_non_null(strstr(s->diag.text, "4 tensors"));
    assert_non_null(strstr(s->diag.text, ", ...;"));
    assert_null(strstr(s->diag.text, "step 100 worker 1"));
}

static void test_skip_leaves_the_step_out(void **state)
{
    struct run_setup *s = *state;

    run_source.data[4][0] = run_source.data[2][1] = NAN; /* step 0, workers 1 and 0 */
    s->config.nonfinite = GCB_POLICY_SKIP;
    run_use(s, "topk");
    assert_int_equal(run_all(s), 0);
    assert_int_equal(s->seen.trials, TENSORS / STEPS);
    assert_int_equal(s->result.skipped_steps, 1);
    assert_int_equal(s->result.skipped_messages, TENSORS / STEPS);
}

static void test_skip_of_everything(void **state)
{
    struct run_setup *s = *state;

    run_source.data[1][0] = run_source.data[10][0] = NAN;
    s->config.nonfinite = GCB_POLICY_SKIP;
    run_use(s, "topk");
    assert_int_equal(run_all(s), GCB_E_NONFINITE);
}

static void test_zero(void **state)
{
    struct run_setup *s = *state;

    run_source.data[1][5] = NAN;
    run_source.data[1][6] = INFINITY;
    s->config.nonfinite = GCB_POLICY_ZERO;
    run_use(s, "identity");
    assert_int_equal(run_all(s), 0);
    assert_int_equal(s->result.zeroed, 2);
    assert_int_equal(s->result.totals[0].tally.nonfinite, 2);
    assert_int_equal(s->result.totals[0].tally.fidelity.nonfinite, 0);
    assert_true(s->result.totals[0].tally.fidelity.dd == 0.0);
}

static void test_raw(void **state)
{
    struct run_setup *s = *state;

    run_source.data[1][5] = NAN;
    run_source.data[1][6] = INFINITY;
    s->config.nonfinite = GCB_POLICY_RAW;
    run_use(s, "topk");
    assert_int_equal(run_all(s), 0);
    assert_int_equal(s->result.totals[0].tally.stored, 1);
    assert_int_equal(s->result.totals[0].tally.fidelity.nonfinite_kept, 2);
    assert_true(isfinite(s->result.totals[0].tally.fidelity.dd));
    assert_totals(s);
}

static void test_dense(void **state)
{
    struct run_setup *s = *state;

    s->layout.min_elements = 1000;
    run_use(s, "topk:theta=0.99");
    assert_int_equal(run_all(s), 0);
    assert_int_equal(s->result.totals[0].tally.dense, 2 * STEPS * WORKERS);
    assert_int_equal(s->result.totals[0].tally.asked_of, STEPS * WORKERS * LARGEST);
    assert_int_equal(s->result.totals[0].tally.value_bytes,
                     STEPS * WORKERS * (120 * 4 + LARGEST / 100 * 4));
}

static void test_interruption(void **state)
{
    struct run_setup *s = *state;

    s->seen.stop_after = 3;
    run_use(s, "topk");
    run_use(s, "fp16");
    assert_int_equal(run_all(s), 0);
    assert_true(s->result.interrupted);
    assert_int_equal(s->seen.trials, 3);
    assert_totals(s);
}

/* Runs topk, qsgd and identity with messages of at least `in_place` elements decoded in place;
 * lost[] receives what each tensor lost with qsgd. */
static void run_in_place(struct run_setup *s, uint64_t in_place, struct gcb_tally totals[3],
                         struct gcb_loss lost[NAMES])
{
    struct gcb_groups losses;

    gcb_run_result_fini(&s->result);
    gcb_layout_fini(&s->plan);
    s->seen = (struct run_seen){.trial = &s->config.trial};
    gcb_groups_init(&losses, GCB_PER_TENSOR, 3);
    s->seen.losses = &losses;
    s->config.in_place = in_place;
    assert_int_equal(run_all(s), 0);
    for (size_t m = 0; m < 3; m++)
        totals[m] = s->result.totals[m].tally;
    gcb_losses_top(s->seen.losses, 1, lost, NAMES);
    gcb_groups_fini(&losses);
    s->seen.losses = NULL;
}

/* Errors and sizes are the same bits, whether the input stays in memory or is read again. */
static void test_in_place(void **state)
{
    static const enum gcb_nonfinite_policy policies[] = {GCB_POLICY_ERROR, GCB_POLICY_ZERO,
                                                         GCB_POLICY_RAW};
    static const enum gcb_scope scopes[] = {GCB_SCOPE_TENSOR, GCB_SCOPE_MODEL};
    struct run_setup *s = *state;

    run_use(s, "topk:theta=0.9");
    run_use(s, "qsgd");
    run_use(s, "identity");
    for (size_t i = 0; i < 6; i++) {
        struct gcb_tally kept[3], again[3];
        struct gcb_loss lost_kept[NAMES] = {{0}}, lost_again[NAMES] = {{0}};
        uint64_t zeroed;

        s->config.nonfinite = policies[i / 2];
        s->layout.scope = scopes[i % 2];
        run_source.data[4][8000] = policies[i / 2] == GCB_POLICY_ERROR ? 1.0f : INFINITY;
        run_in_place(s, 0, kept, lost_kept);
        assert_int_equal(run_source.parts, 0);
        zeroed = s->result.zeroed;
        run_in_place(s, 1000, again, lost_again);
        assert_true(run_source.parts > 0);
        assert_int_equal(s->result.zeroed, zeroed);
        for (size_t m = 0; m < 3; m++) {
            assert_memory_equal(&again[m].fidelity, &kept[m].fidelity, sizeof(kept[m].fidelity));
            assert_int_equal(again[m].wire_bytes, kept[m].wire_bytes);
        }
        for (size_t n = 0; n < NAMES; n++)
            assert_true(lost_again[n].share == lost_kept[n].share);
        run_source.parts = 0;
    }
}

/* A codec that cannot encode the tensors ends the run, or with carry_on only its method. */
static int refuse(void *state, const struct gcb_codec_env *env, struct gcb_diag *diag)
{
    return gcb_diag_set(diag, GCB_E_UNSUPPORTED, "not for such tensors");
}

static void test_carry_on(void **state)
{
    static const struct gcb_codec_ops ops = {.state_size = sizeof(struct gcb_codec_base),
                                             .init = refuse};
    static const struct gcb_codec codec = {.name = "picky", .ops = &ops};
    struct run_setup *s = *state;
    const struct gcb_rows_setting setting = {.scope = "tensor", .order = "name", .device = "cpu"};
    struct gcb_row row;

    run_use(s, "topk");
    s->methods[s->config.method_count++] = (struct gcb_method){.name = "picky", .codec = &codec};
    assert_int_equal(run_all(s), GCB_E_UNSUPPORTED);
    assert_non_null(strstr(s->diag.text, "not for such tensors"));
    gcb_layout_fini(&s->plan);
    gcb_run_result_fini(&s->result);
    s->seen = (struct run_seen){.trial = &s->config.trial};
    s->config.carry_on = true;
    assert_int_equal(run_all(s), 0);
    assert_int_equal(s->seen.trials, gcb_source_count(&run_source)); /* only those of topk */
    assert_int_equal(s->result.totals[0].failure.status, 0);
    assert_int_equal(s->result.totals[0].tally.messages, gcb_source_count(&run_source));
    assert_int_equal(s->result.totals[1].failure.status, GCB_E_UNSUPPORTED);
    gcb_rows_summary(&row, &setting, &s->methods[1], &s->result.totals[1], "memory", false);
    assert_string_equal(json_string_value(json_object_get(row.json, "status")), "unsupported");
    assert_non_null(strstr(json_string_value(json_object_get(row.json, "reason")), "picky, step"));
    assert_true(json_is_null(json_object_get(row.json, "rel_l2")));
    gcb_row_fini(&row);
    gcb_layout_fini(&s->plan);
    gcb_run_result_fini(&s->result);
    assert_int_equal(gcb_method_parse(&s->methods[1], "range:bits=8", NULL), 0);
    assert_int_equal(gcb_method_set(&s->methods[1], "mantissa", "8", NULL), 0);
    s->seen = (struct run_seen){.trial = &s->config.trial};
    assert_int_equal(run_all(s), 0); /* contradicting parameters */
    assert_int_equal(s->result.totals[1].failure.status, GCB_E_UNSUPPORTED);
    assert_non_null(strstr(s->result.totals[1].failure.text, "does not fit 8 bits"));
    assert_int_equal(s->result.totals[0].tally.messages, gcb_source_count(&run_source));
    s->result.totals[1].failure.status = GCB_E_BACKEND; /* a library is missing */
    gcb_rows_summary(&row, &setting, &s->methods[1], &s->result.totals[1], "memory", false);
    assert_string_equal(json_string_value(json_object_get(row.json, "status")), "unsupported");
    gcb_row_fini(&row);
    s->result.totals[1].failure.status = GCB_E_INTERNAL; /* any other error */
    gcb_rows_summary(&row, &setting, &s->methods[1], &s->result.totals[1], "memory", false);
    assert_string_equal(json_string_value(json_object_get(row.json, "status")), "failed");
    gcb_row_fini(&row);
}

/* A message is in the cache if three times its size fits, unless the bandwidth was measured with as
 * little. */
static void test_in_cache(void **state)
{
    const uint64_t room = gcb_host_cache() / 12;
    struct gcb_layout layout = {.largest = room};

    assert_true(gcb_run_in_cache(&layout, 24 * room));
    assert_false(gcb_run_in_cache(&layout, room ? 24 * room - 1 : 0) && room);
    layout.largest = room + 1;
    assert_false(gcb_run_in_cache(&layout, UINT64_MAX));
}

RUN_TESTS(RUN_CASE(test_every_message_and_method), RUN_CASE(test_scope_model),
          RUN_CASE(test_repeats_change_nothing), RUN_CASE(test_reads_once),
          RUN_CASE(test_single_time), RUN_CASE(test_error_names_tensors),
          RUN_CASE(test_error_is_short), RUN_CASE(test_error_that_goes_away),
          RUN_CASE(test_skip_leaves_the_step_out), RUN_CASE(test_skip_of_everything),
          RUN_CASE(test_zero), RUN_CASE(test_raw), RUN_CASE(test_dense),
          cmocka_unit_test(test_in_cache), RUN_CASE(test_in_place), RUN_CASE(test_interruption),
          RUN_CASE(test_carry_on))
