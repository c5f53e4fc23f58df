/* Losses, groups and rows of a run. */
#include <math.h>

#include "src/tool/rows/sink.h"
#include "src/tool/run/rows.h"
#include "tests/tool/run/run_source.h"

static void test_losses(void **state)
{
    struct run_setup *s = *state;
    double small = 0.0;

    for (int scope = GCB_SCOPE_TENSOR; scope <= GCB_SCOPE_MODEL; scope++) {
        struct gcb_groups losses;
        struct gcb_loss top[5];

        run_fill();
        memset(run_source.data[2], 0, sizeof(run_source.data[2])); /* one of the small tensors */
        s->layout.scope = (enum gcb_scope)scope;
        gcb_groups_init(&losses, GCB_PER_TENSOR, 1);
        s->seen.losses = &losses;
        s->config.method_count = 0;
        s->seen.shown = 0.0;
        run_use(s, "fp16"); /* has the same error in every scope */
        assert_int_equal(run_all(s), 0);
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
        gcb_groups_fini(&losses);
        gcb_run_result_fini(&s->result);
        gcb_layout_fini(&s->plan);
    }
}

static void test_groups(void **state)
{
    static const size_t expected[] = {TENSORS, NAMES, STEPS, WORKERS};
    struct run_setup *s = *state;

    run_use(s, "topk");
    run_use(s, "fp16");
    for (int per = GCB_PER_MESSAGE; per <= GCB_PER_WORKER; per++) {
        struct gcb_groups groups;
        struct gcb_tally sum = {0};

        gcb_groups_init(&groups, (enum gcb_per)per, 2);
        s->seen.groups = &groups;
        s->seen.shown = 0.0;
        assert_int_equal(run_all(s), 0);
        assert_int_equal(groups.count, expected[per]);
        for (size_t i = 0; i < groups.count; i++)
            gcb_tally_merge(&sum, &groups.items[i].tallies[0]);
        assert_int_equal(sum.wire_bytes, s->result.totals[0].tally.wire_bytes);
        gcb_groups_sort(&groups, GCB_FIELD_WIRE_BYTES);
        for (size_t i = 1; i < groups.count; i++)
            assert_true(groups.items[i - 1].tallies[0].wire_bytes >=
                        groups.items[i].tallies[0].wire_bytes);
        gcb_groups_fini(&groups);
        gcb_run_result_fini(&s->result);
        gcb_layout_fini(&s->plan);
    }
    s->seen.groups = NULL;
    assert_false(gcb_tally_has_figure(GCB_FIELD_SPEC));
}

static void assert_has_all_columns(const struct gcb_row *row)
{
    enum gcb_field columns[GCB_FIELDS];
    const size_t count = gcb_field_columns(columns, GCB_RESULT_RECORDS);
    const bool summary =
        strcmp(json_string_value(json_object_get(row->json, "record")), "summary") == 0;

    for (size_t i = 0; i < count; i++)
        if (!json_object_get(row->json, gcb_field_name(columns[i])) &&
            !(summary && columns[i] == GCB_FIELD_TENSOR))
            fail_msg("a row lacks '%s'", gcb_field_name(columns[i]));
    assert_true(json_is_object(json_object_get(row->json, "params")));
}

static int rows_of_trial(void *ctx, const struct gcb_run_trial *t, struct gcb_diag *diag)
{
    const struct run_setup *s = ctx;
    const struct gcb_rows_setting setting = {.scope = "tensor",
                                             .order = "name",
                                             .device = "cpu",
                                             .isa = "c",
                                             .threads = 1,
                                             .read_gbps = 10.0,
                                             .fill_gbps = 5.0};
    struct gcb_row row;

    gcb_rows_result(&row, &setting, &s->methods[t->method], t);
    assert_has_all_columns(&row);
    assert_string_equal(json_string_value(json_object_get(row.json, "tensor")), t->first->path);
    gcb_row_fini(&row);
    return 0;
}

static void test_rows(void **state)
{
    struct run_setup *s = *state;
    const struct gcb_rows_setting setting = {.scope = "tensor",
                                             .order = "name",
                                             .device = "cpu",
                                             .isa = "c",
                                             .threads = 1,
                                             .read_gbps = NAN,
                                             .fill_gbps = NAN};
    const struct gcb_run_observer observer = {.trial = rows_of_trial, .ctx = s};
    struct gcb_row row;

    run_use(s, "topk");
    run_use(s, "range");
    gcb_layout_init(&s->plan, &run_source, &s->layout);
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

RUN_TESTS(RUN_CASE(test_losses), RUN_CASE(test_groups), RUN_CASE(test_rows))
