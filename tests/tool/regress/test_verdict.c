/* Verdicts from intervals of a ratio; swapping the builds mirrors them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/tool/regress/counts.h"
#include "src/tool/regress/verdict.h"
#include "tests/support/test.h"

static void test_rule(void **state)
{
    assert_int_equal(gcb_verdict_judge(0.99, 1.02, 0.05), GCB_SAME);
    assert_int_equal(gcb_verdict_judge(1.06, 1.2, 0.05), GCB_SLOW);
    assert_int_equal(gcb_verdict_judge(0.8, 0.9, 0.05), GCB_FAST);
    assert_int_equal(gcb_verdict_judge(0.9, 1.2, 0.05), GCB_AMBIGUOUS);
    assert_int_equal(gcb_verdict_judge(1.04, 1.2, 0.05), GCB_AMBIGUOUS);
    assert_int_equal(gcb_verdict_judge(0.9, 0.96, 0.05), GCB_AMBIGUOUS);
    /* a ratio of exactly 1 + delta is the same */
    assert_int_equal(gcb_verdict_judge(1.25, 1.25, 0.25), GCB_SAME);
    assert_int_equal(gcb_verdict_judge(0.8, 0.8, 0.25), GCB_SAME);
    assert_int_equal(gcb_verdict_judge(0.799, 0.799, 0.25), GCB_FAST);
    /* FAST is possible with a delta above 1 */
    assert_int_equal(gcb_verdict_judge(0.3, 0.4, 1.0), GCB_FAST);
    assert_int_equal(gcb_verdict_judge(NAN, NAN, 0.05), GCB_AMBIGUOUS);
    assert_int_equal(gcb_verdict_judge(1.0, INFINITY, 0.05), GCB_AMBIGUOUS);
}

static enum gcb_verdict_kind mirrored(enum gcb_verdict_kind k)
{
    return k == GCB_SLOW ? GCB_FAST : k == GCB_FAST ? GCB_SLOW : k;
}

static void test_swapped(void **state)
{
    static const double deltas[] = {0.01, 0.05, 0.10, 0.4, 2.0};
    size_t kinds[GCB_VERDICT_KINDS] = {0};

    for (size_t d = 0; d < 5; d++)
        for (double low = 0.2; low < 4.0; low *= 1.013)
            for (double width = 1.0; width < 1.3; width *= 1.07) {
                const enum gcb_verdict_kind k = gcb_verdict_judge(low, low * width, deltas[d]);

                assert_int_equal(gcb_verdict_judge(1.0 / (low * width), 1.0 / low, deltas[d]),
                                 mirrored(k));
                kinds[k]++;
            }
    for (enum gcb_verdict_kind k = GCB_SAME; k <= GCB_AMBIGUOUS; k++)
        assert_true(kinds[k] > 10);
}

/* Two files are judged by the same rule. */
static void one(struct gcb_cases *cases, double seconds)
{
    struct gcb_case *c = gcb_cases_add(cases);

    assert_non_null(c);
    gcb_case_set(cases, &c->text[GCB_CASE_SPEC], "topk");
    gcb_case_finish(cases, c);
    for (size_t i = 0; i < 2; i++)
        c->time[i] = (struct gcb_case_time){seconds, seconds, seconds, seconds};
    cases->environment = json_object();
}

/* The interval of the last row does not contain its time. */
static void test_files(void **state)
{
    static const double ratios[] = {1.0, 1.104, 1.0 / 1.104, 1.096, 1.0 / 1.096, 1.0};
    static const enum gcb_verdict_kind wanted[] = {GCB_SAME, GCB_SLOW, GCB_FAST,
                                                   GCB_SAME, GCB_SAME, GCB_NOT_COMPARED};

    for (size_t i = 0; i < 6; i++) {
        struct gcb_runs runs = {.base = {.items = NULL}};
        struct gcb_verdicts verdicts = {.items = NULL};

        one(&runs.base, 1e-3);
        one(&runs.next, 1e-3 * ratios[i]);
        runs.next.items[0].time[0].seconds *= i == 5 ? 2.0 : 1.0;
        assert_int_equal(gcb_compare_runs(&verdicts, &runs, GCB_RUNS_DELTA, NULL), 0);
        assert_int_equal(verdicts.count, 4);
        assert_int_equal(verdicts.items[2].quantity, GCB_QUANTITY_ENCODE);
        assert_int_equal(verdicts.items[2].kind, wanted[i]);
        gcb_verdicts_fini(&verdicts);
        gcb_cases_fini(&runs.base);
        gcb_cases_fini(&runs.next);
    }
}

/* A case with this spec and instruction set, on the cpu. */
static const struct gcb_case *add_case(struct gcb_cases *cases, const char *spec, const char *isa)
{
    struct gcb_case *c = gcb_cases_add(cases);

    assert_non_null(c);
    gcb_case_set(cases, &c->text[GCB_CASE_SPEC], spec);
    gcb_case_set(cases, &c->text[GCB_CASE_ISA], isa);
    gcb_case_set(cases, &c->text[GCB_CASE_DEVICE], "cpu");
    return c;
}

/* A change of time is doubted only if the same method with the same operation and instruction set
 * counts the same. */
static void test_settled_by_counts(void **state)
{
    static const struct {
        const char *spec, *isa;
        enum gcb_quantity quantity;
        enum gcb_verdict_kind before, after;
    } rows[] = {
        {"topk", "avx2", GCB_QUANTITY_ENCODE, GCB_SLOW, GCB_AMBIGUOUS},
        {"topk", "avx2", GCB_QUANTITY_DECODE, GCB_SLOW, GCB_SLOW}, /* more instructions */
        {"topk", "avx512", GCB_QUANTITY_ENCODE, GCB_SLOW, GCB_SLOW},
        {"qsgd", "avx2", GCB_QUANTITY_ENCODE, GCB_SLOW, GCB_SLOW}, /* not counted */
        {"topk", "avx2", GCB_QUANTITY_ENCODE, GCB_FAST, GCB_AMBIGUOUS},
        {"topk", "avx2", GCB_QUANTITY_ENCODE, GCB_SAME, GCB_SAME},
        {"topk", "avx2", GCB_QUANTITY_SIZE, GCB_SLOW, GCB_SLOW},
    };
    struct gcb_verdicts times = {.items = NULL}, counts = {.items = NULL};
    struct gcb_cases cases = {.items = NULL};
    struct gcb_case_pair pair;

    /* verdicts borrow cases, which move while they are added */
    add_case(&cases, "topk", "avx2");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        add_case(&cases, rows[i].spec, rows[i].isa);
    pair = (struct gcb_case_pair){.base = &cases.items[0], .next = &cases.items[0]};
    gcb_verdicts_add(&counts, &pair, GCB_QUANTITY_ENCODE_COUNT, GCB_SAME);
    gcb_verdicts_add(&counts, &pair, GCB_QUANTITY_DECODE_COUNT, GCB_SLOW);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        pair.base = pair.next = &cases.items[1 + i];
        gcb_verdicts_add(&times, &pair, rows[i].quantity, rows[i].before);
    }
    gcb_counts_settle(&times, &counts, "avx2");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_int_equal(times.items[i].kind, rows[i].after);
    assert_non_null(strstr(times.items[0].reason, "layout"));
    gcb_verdicts_fini(&times);
    gcb_verdicts_fini(&counts);
    gcb_cases_fini(&cases);
}

RUN_TESTS(cmocka_unit_test(test_rule), cmocka_unit_test(test_swapped), cmocka_unit_test(test_files),
          cmocka_unit_test(test_settled_by_counts))
