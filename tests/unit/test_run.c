/*
 * Runs over a source that lives in memory: these definitions stand in for src/data/source.c, so that
 * every policy can be shown what it is for.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "src/bench/groups.h"
#include "src/bench/losses.h"
#include "src/bench/rows.h"
#include "src/report/sink.h"

#define STEPS 2
#define WORKERS 2
#define NAMES 3
#define TENSORS (STEPS * WORKERS * NAMES)
#define LARGEST 9000

struct gcb_source {
    struct gcb_tensor tensor[TENSORS];
    float data[TENSORS][LARGEST];
};

static struct gcb_source source;

size_t gcb_source_count(const struct gcb_source *s)
{
    (void)s;
    return TENSORS;
}

const struct gcb_tensor *gcb_source_tensor(const struct gcb_source *s, size_t i)
{
    return &s->tensor[i];
}

int gcb_source_read(struct gcb_source *s, size_t i, float *out, struct gcb_diag *diag)
{
    (void)diag;
    if (s->tensor[i].count)
        memcpy(out, s->data[i], s->tensor[i].count * sizeof(*out));
    return 0;
}

static void fill_source(void)
{
    static const char *const names[NAMES] = {"empty", "large", "small"};
    static const uint64_t counts[NAMES] = {0, LARGEST, 120};
    uint32_t seed = 1;

    for (size_t i = 0; i < TENSORS; i++) {
        source.tensor[i] = (struct gcb_tensor){
            .path = names[i % NAMES],
            .dataset = names[i % NAMES],
            .file = "memory",
            .step = 100 * (i / (NAMES * WORKERS)),
            .worker = (uint32_t)(i / NAMES % WORKERS),
            .rank = 1,
            .dims = {counts[i % NAMES]},
            .count = counts[i % NAMES],
            .index = -1,
        };
        for (size_t k = 0; k < LARGEST; k++) {
            seed = seed * 1664525u + 1013904223u;
            source.data[i][k] = ((float)(seed >> 8) * 0x1p-24f - 0.5f) * 0.01f;
        }
    }
}

struct seen {
    size_t trials;
    size_t stop_after; /* trials; 0: never */
    struct gcb_tally sum[4];
    uint64_t elements[4];
    double lost[4]; /* squared error, summed plainly */
    double shown;   /* last progress */
    struct gcb_groups *groups;
    struct gcb_losses *losses;
    const struct gcb_trial_config *trial;
};

static int on_trial(void *ctx, const struct gcb_run_trial *t, struct gcb_diag *diag)
{
    struct seen *s = ctx;

    s->trials++;
    gcb_tally_merge(&s->sum[t->method], &t->tally);
    s->elements[t->method] += t->plan->count;
    for (uint64_t i = 0; i < t->plan->count; i++) {
        const double d = (double)t->input[i] - (double)t->decoded[i];

        if (isfinite(t->input[i]))
            s->lost[t->method] += d * d;
    }
    if (s->groups)
        assert_int_equal(gcb_groups_add(s->groups, t, diag), 0);
    if (s->losses)
        assert_int_equal(gcb_losses_add(s->losses, &source, t, s->trial, diag), 0);
    return 0;
}

static void on_progress(void *ctx, double done)
{
    struct seen *s = ctx;

    assert_true(done >= s->shown && done <= 1.0 + 1e-12);
    s->shown = done;
}

static bool on_stop(void *ctx)
{
    const struct seen *s = ctx;

    return s->stop_after && s->trials >= s->stop_after;
}

/* One run with everything it needs. */
struct setup {
    struct gcb_kernels kernels;
    struct gcb_queue queue;
    struct gcb_layout_config layout;
    struct gcb_layout plan;
    struct gcb_method methods[4];
    struct gcb_run_config config;
    struct seen seen;
    struct gcb_run_result result;
    struct gcb_diag diag;
};

static int setup(void **state)
{
    struct setup *s = test_calloc(1, sizeof(*s));

    fill_source();
    gcb_kernels_init(&s->kernels, gcb_cpu_detect());
    s->queue.threads = 1;
    s->config.source = &source;
    s->config.methods = s->methods;
    s->config.trial = (struct gcb_trial_config){
        .kernels = &s->kernels, .queue = &s->queue, .seed = 1, .timing = {.repeat = 1}};
    s->seen.trial = &s->config.trial;
    *state = s;
    return 0;
}

static int teardown(void **state)
{
    struct setup *s = *state;

    gcb_run_result_fini(&s->result);
    gcb_layout_fini(&s->plan);
    test_free(s);
    return 0;
}

static void use(struct setup *s, const char *spec)
{
    assert_int_equal(gcb_method_parse(&s->methods[s->config.method_count++], spec, NULL), 0);
}

static int run(struct setup *s)
{
    const struct gcb_run_observer observer = {on_trial, on_progress, on_stop, &s->seen};

    assert_int_equal(gcb_layout_init(&s->plan, &source, &s->layout, &s->diag), 0);
    s->config.layout = &s->plan;
    return gcb_run(&s->result, &s->config, &observer, &s->diag);
}

static void assert_totals(const struct setup *s)
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
    struct setup *s = *state;

    use(s, "topk:theta=0.9");
    use(s, "qsgd");
    use(s, "fp16");
    assert_int_equal(run(s), 0);
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
    struct setup *s = *state;

    s->layout.scope = GCB_SCOPE_MODEL;
    use(s, "topk:theta=0.8");
    assert_int_equal(run(s), 0);
    assert_int_equal(s->seen.trials, STEPS * WORKERS);
    assert_totals(s);
}

/* A message has the same bytes whatever runs beside it and however often. */
static void test_repeats_change_nothing(void **state)
{
    struct setup *s = *state;
    struct gcb_tally before;

    use(s, "terngrad");
    assert_int_equal(run(s), 0);
    before = s->result.totals[0].tally;
    gcb_run_result_fini(&s->result);
    gcb_layout_fini(&s->plan);
    memset(&s->seen.sum, 0, sizeof(s->seen.sum));
    s->seen.shown = 0.0;
    s->config.trial.timing = (struct gcb_timing){.warmup = 2, .repeat = 5};
    use(s, "qsgd");
    assert_int_equal(run(s), 0);
    assert_int_equal(s->result.totals[0].tally.wire_bytes, before.wire_bytes);
    assert_true(s->result.totals[0].tally.fidelity.dd == before.fidelity.dd);
    assert_int_equal(s->result.totals[0].encode.count, 5);
    assert_false(isnan(gcb_sample_sums_mad(&s->result.totals[0].encode)));
}

static void test_error_names_tensors(void **state)
{
    struct setup *s = *state;

    source.data[1][5] = NAN;
    source.data[8][7] = INFINITY;
    source.data[8][8] = -INFINITY;
    use(s, "topk");
    assert_int_equal(run(s), GCB_E_NONFINITE);
    assert_int_equal(s->seen.trials, 0);
    assert_non_null(strstr(s->diag.text, "2 tensors"));
    assert_non_null(strstr(s->diag.text, "step 0 worker 0 large (1 of 9000)"));
    assert_non_null(strstr(s->diag.text, "step 100 worker 0 small (2 of 120)"));
}

static void test_error_is_short(void **state)
{
    struct setup *s = *state;

    for (size_t i = 1; i < TENSORS; i += NAMES)
        source.data[i][0] = NAN;
    use(s, "topk");
    assert_int_equal(run(s), GCB_E_NONFINITE);
    assert_non_null(strstr(s->diag.text, "4 tensors"));
    assert_non_null(strstr(s->diag.text, ", ...;"));
    assert_null(strstr(s->diag.text, "step 100 worker 1"));
}

static void test_skip_leaves_the_step_out(void **state)
{
    struct setup *s = *state;

    source.data[4][0] = source.data[2][1] = NAN; /* step 0, workers 1 and 0 */
    s->config.nonfinite = GCB_POLICY_SKIP;
    use(s, "topk");
    assert_int_equal(run(s), 0);
    assert_int_equal(s->seen.trials, TENSORS / STEPS);
    assert_int_equal(s->result.skipped_steps, 1);
    assert_int_equal(s->result.skipped_messages, TENSORS / STEPS);
}

static void test_skip_of_everything(void **state)
{
    struct setup *s = *state;

    source.data[1][0] = source.data[10][0] = NAN;
    s->config.nonfinite = GCB_POLICY_SKIP;
    use(s, "topk");
    assert_int_equal(run(s), GCB_E_NONFINITE);
}

static void test_zero(void **state)
{
    struct setup *s = *state;

    source.data[1][5] = NAN;
    source.data[1][6] = INFINITY;
    s->config.nonfinite = GCB_POLICY_ZERO;
    use(s, "identity");
    assert_int_equal(run(s), 0);
    assert_int_equal(s->result.zeroed, 2);
    assert_int_equal(s->result.totals[0].tally.nonfinite, 2);
    assert_int_equal(s->result.totals[0].tally.fidelity.nonfinite, 0);
    assert_true(s->result.totals[0].tally.fidelity.dd == 0.0);
}

static void test_raw(void **state)
{
    struct setup *s = *state;

    source.data[1][5] = NAN;
    source.data[1][6] = INFINITY;
    s->config.nonfinite = GCB_POLICY_RAW;
    use(s, "topk");
    assert_int_equal(run(s), 0);
    assert_int_equal(s->result.totals[0].tally.stored, 1);
    assert_int_equal(s->result.totals[0].tally.fidelity.nonfinite_kept, 2);
    assert_true(isfinite(s->result.totals[0].tally.fidelity.dd));
    assert_totals(s);
}

static void test_dense(void **state)
{
    struct setup *s = *state;

    s->layout.min_elements = 1000;
    use(s, "topk:theta=0.99");
    assert_int_equal(run(s), 0);
    assert_int_equal(s->result.totals[0].tally.dense, 2 * STEPS * WORKERS);
    assert_int_equal(s->result.totals[0].tally.asked_of, STEPS * WORKERS * LARGEST);
    assert_int_equal(s->result.totals[0].tally.value_bytes,
                     STEPS * WORKERS * (120 * 4 + LARGEST / 100 * 4));
}

static void test_interruption(void **state)
{
    struct setup *s = *state;

    s->seen.stop_after = 3;
    use(s, "topk");
    use(s, "fp16");
    assert_int_equal(run(s), 0);
    assert_true(s->result.interrupted);
    assert_int_equal(s->seen.trials, 3);
    assert_totals(s);
}

static void test_losses(void **state)
{
    struct setup *s = *state;
    double small = 0.0;

    for (int scope = GCB_SCOPE_TENSOR; scope <= GCB_SCOPE_MODEL; scope++) {
        struct gcb_loss top[5];

        fill_source();
        memset(source.data[2], 0, sizeof(source.data[2])); /* one of the small ones */
        s->layout.scope = (enum gcb_scope)scope;
        assert_int_equal(gcb_losses_create(&s->seen.losses, 1, NULL), 0);
        s->config.method_count = 0;
        s->seen.shown = 0.0;
        use(s, "fp16"); /* loses the same whatever the scope */
        assert_int_equal(run(s), 0);
        assert_int_equal(gcb_losses_top(s->seen.losses, 0, top, 5), 2);
        assert_string_equal(top[0].path, "large");
        assert_string_equal(top[1].path, "small");
        assert_true(fabs(top[0].share + top[1].share - 1.0) < 1e-12);
        assert_true(top[1].share > 0.001 && top[1].share < 0.02);
        if (scope == GCB_SCOPE_TENSOR)
            small = top[1].share;
        assert_true(fabs(top[1].share - small) < 1e-12);
        assert_int_equal(gcb_losses_top(s->seen.losses, 0, top, 1), 1);
        assert_string_equal(top[0].path, "large");
        gcb_losses_destroy(s->seen.losses);
        gcb_run_result_fini(&s->result);
        gcb_layout_fini(&s->plan);
    }
}

static void test_groups(void **state)
{
    static const size_t expected[] = {TENSORS, NAMES, STEPS, WORKERS};
    struct setup *s = *state;

    use(s, "topk");
    use(s, "fp16");
    for (int per = GCB_PER_MESSAGE; per <= GCB_PER_WORKER; per++) {
        struct gcb_groups groups;
        struct gcb_tally sum = {0};

        gcb_groups_init(&groups, (enum gcb_per)per, 2);
        s->seen.groups = &groups;
        s->seen.shown = 0.0;
        assert_int_equal(run(s), 0);
        assert_int_equal(groups.count, expected[per]);
        for (size_t i = 0; i < groups.count; i++)
            gcb_tally_merge(&sum, &groups.items[i].tallies[0]);
        assert_int_equal(sum.wire_bytes, s->result.totals[0].tally.wire_bytes);
        gcb_groups_sort(&groups, gcb_tally_figure("wire_bytes"));
        for (size_t i = 1; i < groups.count; i++)
            assert_true(groups.items[i - 1].tallies[0].wire_bytes >=
                        groups.items[i].tallies[0].wire_bytes);
        gcb_groups_fini(&groups);
        gcb_run_result_fini(&s->result);
        gcb_layout_fini(&s->plan);
    }
    s->seen.groups = NULL;
    assert_null(gcb_tally_figure("no_such_field"));
}

static void assert_has_all_columns(const struct gcb_row *row)
{
    assert_false(row->failed);
    for (size_t i = 0; gcb_result_columns.names[i]; i++) {
        const char *name = gcb_result_columns.names[i];
        const bool summary =
            strcmp(json_string_value(json_object_get(row->json, "record")), "summary") == 0;

        if (!json_object_get(row->json, name) && !(summary && strcmp(name, "tensor") == 0))
            fail_msg("a row lacks '%s'", name);
    }
    assert_true(json_is_object(json_object_get(row->json, "params")));
}

static int rows_of_trial(void *ctx, const struct gcb_run_trial *t, struct gcb_diag *diag)
{
    const struct setup *s = ctx;
    const struct gcb_rows_setting setting = {.scope = "tensor",
                                             .order = "name",
                                             .device = "cpu",
                                             .isa = "c",
                                             .threads = 1,
                                             .read_gbps = 10.0,
                                             .fill_gbps = 5.0};
    struct gcb_row row;

    (void)diag;
    gcb_rows_result(&row, &setting, &s->methods[t->method], t);
    assert_has_all_columns(&row);
    assert_string_equal(json_string_value(json_object_get(row.json, "tensor")), t->first->path);
    gcb_row_fini(&row);
    return 0;
}

static void test_rows(void **state)
{
    struct setup *s = *state;
    const struct gcb_rows_setting setting = {.scope = "tensor",
                                             .order = "name",
                                             .device = "cpu",
                                             .isa = "c",
                                             .threads = 1,
                                             .read_gbps = NAN,
                                             .fill_gbps = NAN};
    const struct gcb_run_observer observer = {.trial = rows_of_trial, .ctx = s};
    struct gcb_row row;

    use(s, "topk");
    use(s, "range");
    assert_int_equal(gcb_layout_init(&s->plan, &source, &s->layout, NULL), 0);
    s->config.layout = &s->plan;
    assert_int_equal(gcb_run(&s->result, &s->config, &observer, &s->diag), 0);
    for (size_t m = 0; m < 2; m++) {
        gcb_rows_summary(&row, &setting, &s->methods[m], &s->result.totals[m], "memory", false);
        assert_has_all_columns(&row);
        assert_true(json_is_null(json_object_get(row.json, "encode_bandwidth_share")));
        assert_int_equal(json_is_null(json_object_get(row.json, "kept")), m == 1);
        gcb_row_fini(&row);
    }
}

/* A codec that cannot take the tensors: without carry_on the run's end, with it the method's alone. */
static int refuse(void *state, const struct gcb_codec_env *env, struct gcb_diag *diag)
{
    (void)state;
    (void)env;
    return gcb_diag_set(diag, GCB_E_UNSUPPORTED, "not for such tensors");
}

static void test_carry_on(void **state)
{
    static const struct gcb_codec_ops ops = {.state_size = 8, .init = refuse};
    static const struct gcb_codec codec = {.name = "picky", .ops = &ops};
    struct setup *s = *state;
    const struct gcb_rows_setting setting = {.scope = "tensor", .order = "name", .device = "cpu"};
    struct gcb_row row;

    use(s, "topk");
    s->methods[s->config.method_count++] = (struct gcb_method){.name = "picky", .codec = &codec};
    assert_int_equal(run(s), GCB_E_UNSUPPORTED);
    assert_non_null(strstr(s->diag.text, "not for such tensors"));
    gcb_layout_fini(&s->plan);
    gcb_run_result_fini(&s->result);
    s->seen = (struct seen){.trial = &s->config.trial};
    s->config.carry_on = true;
    assert_int_equal(run(s), 0);
    assert_int_equal(s->seen.trials, gcb_source_count(&source)); /* of topk alone */
    assert_int_equal(s->result.totals[0].failure.status, 0);
    assert_int_equal(s->result.totals[0].tally.messages, gcb_source_count(&source));
    assert_int_equal(s->result.totals[1].failure.status, GCB_E_UNSUPPORTED);
    gcb_rows_summary(&row, &setting, &s->methods[1], &s->result.totals[1], "memory", false);
    assert_string_equal(json_string_value(json_object_get(row.json, "status")), "failed");
    assert_non_null(strstr(json_string_value(json_object_get(row.json, "reason")), "picky, step"));
    assert_true(json_is_null(json_object_get(row.json, "rel_l2")));
    gcb_row_fini(&row);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_every_message_and_method, setup, teardown),
        cmocka_unit_test_setup_teardown(test_scope_model, setup, teardown),
        cmocka_unit_test_setup_teardown(test_repeats_change_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(test_error_names_tensors, setup, teardown),
        cmocka_unit_test_setup_teardown(test_error_is_short, setup, teardown),
        cmocka_unit_test_setup_teardown(test_skip_leaves_the_step_out, setup, teardown),
        cmocka_unit_test_setup_teardown(test_skip_of_everything, setup, teardown),
        cmocka_unit_test_setup_teardown(test_zero, setup, teardown),
        cmocka_unit_test_setup_teardown(test_raw, setup, teardown),
        cmocka_unit_test_setup_teardown(test_dense, setup, teardown),
        cmocka_unit_test_setup_teardown(test_interruption, setup, teardown),
        cmocka_unit_test_setup_teardown(test_losses, setup, teardown),
        cmocka_unit_test_setup_teardown(test_groups, setup, teardown),
        cmocka_unit_test_setup_teardown(test_rows, setup, teardown),
        cmocka_unit_test_setup_teardown(test_carry_on, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
