/* Tables of verdicts and of payoff stay within 80 columns, whatever the results. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/payoff/payoff.h"
#include "cli/regress/regress.h"
#include "tests/cli/printed.h"
#include "tests/support/test.h"

static void test_regress(void **state)
{
    static char label[] = "topk:theta=0.85 model, 4 threads, cold", text[] = "x";
    const struct gcb_case of = {.label = label, .method = text};
    struct gcb_verdict v[GCB_QUANTITIES];
    const struct gcb_verdicts all = {.items = v, .count = GCB_QUANTITIES};

    for (size_t i = 0; i < VALUES; i++)
        for (size_t k = 0; k < GCB_VERDICT_KINDS; k++) {
            struct printed p;

            for (size_t q = 0; q < GCB_QUANTITIES; q++)
                v[q] = (struct gcb_verdict){.pair = {&of, &of},
                                            .quantity = (enum gcb_quantity)q,
                                            .kind = (enum gcb_verdict_kind)k,
                                            .base = fabs(values[i]),
                                            .next = fabs(values[(i + q) % VALUES]),
                                            .ratio = values[(i + 1) % VALUES],
                                            .low = values[(i + 2) % VALUES],
                                            .high = values[(i + q + 3) % VALUES],
                                            .accepted = i % 2};
            begin(&p);
            p.report.verbose = 1;
            assert_int_equal(regress_show(&p.report, &all, true, NULL), 0);
            end(&p);
        }
}

static void show_payoff(double v, double w)
{
    struct gcb_way ways[8];
    struct gcb_judged items[8];
    struct gcb_judgement places[2];
    const struct gcb_setting setting = {
        .network = {.bandwidth = fabs(v), .latency = fabs(w), .workers = 65536, .per_node = 1},
        .elements = fabs(w),
        .compute = w,
        .inner_steps = fabs(v)};
    const struct payoff_plan plan = {.cluster = "ethernet-10g"};
    struct gcb_judgement j = {
        .setting = setting, .items = items, .count = 8, .answer = {.bar = "fp16", .times = true}};
    struct printed p;

    for (size_t i = 0; i < 8; i++) {
        ways[i] = (struct gcb_way){.baseline = i == 0, .workers = 1};
        strcpy(ways[i].label, "sparse:transform=dct,chunk=4096,values=range,bits=5 allgather");
        items[i] = (struct gcb_judged){
            .way = &ways[i],
            .kind = (enum gcb_error_kind)(i % GCB_ERROR_KINDS),
            .item = {.error = fabs(v),
                     .lasting = fabs(w),
                     .gain = w,
                     .low = i % 2 ? fabs(v) : NAN,
                     .high = fabs(w),
                     .step = w},
            .times =
                {.coding = v, .network = w, .adding = v, .seconds = w, .cost = v, .link_bytes = v},
            .limit = v,
            .shown = true};
    }
    j.answer.best = j.answer.noisy = j.answer.trained = SIZE_MAX;
    places[0] = places[1] = j;
    places[1].answer.best = 1;
    begin(&p);
    payoff_show_setting(&p.report, &plan, &setting, false);
    payoff_show_setting(&p.report, &plan, &setting, true);
    assert_int_equal(payoff_show_ways(&p.report, &j, NULL), 0);
    assert_int_equal(payoff_show_places(&p.report, places, 2, NULL), 0);
    end(&p);
}

static void test_payoff(void **state)
{
    for (size_t i = 0; i < VALUES; i++)
        for (size_t j = 0; j < VALUES; j++)
            show_payoff(values[i], values[j]);
}

RUN_TESTS(cmocka_unit_test(test_regress), cmocka_unit_test(test_payoff))
