/* Tables of verdicts and of payoff stay within 80 columns, whatever the results. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/payoff/payoff_show.h"
#include "cli/regress/regress_show.h"
#include "tests/cli/printed.h"

static void test_regress(void **state)
{
    static char label[] = "topk:theta=0.85 model, 4 threads, cold", text[] = "x";
    const struct gcb_case of = {.label = label, .method = text};
    struct gcb_verdict v[GCB_QUANTITIES];
    const struct gcb_verdicts all = {.items = v, .count = GCB_QUANTITIES};

    (void)state;
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

static void show_payoff(double v, double w, size_t bandwidths)
{
    static struct gcb_payoff_case of;
    struct gcb_payoff_point points[8];
    const struct payoff_view view = {points, 8 / bandwidths, bandwidths};
    const struct gcb_payoff_times e = {.encode = v,
                                       .wire = w,
                                       .decode = v,
                                       .add = w,
                                       .cost = v,
                                       .seconds = w,
                                       .collective = "allreduce",
                                       .algorithm = "pairwise"};
    struct printed p;

    memcpy(of.label, "powersgd:rank=2", 16);
    of.path = (char[]){"r.json"};
    of.scope = of.device = of.isa = of.cache = (char[]){"tensor"};
    of.copy = fabs(w);
    of.load1 = 12345.6;
    of.cpus = 2.0;
    for (size_t i = 0; i < 8; i++)
        points[i] = (struct gcb_payoff_point){
            .c = &of,
            .group = &of,
            .rel_l2 = v,
            .link = {.bandwidth = 1.25e6 * (double)(1 + i), .latency = fabs(v), .workers = 8},
            .scale = {.bytes = fabs(v),
                      .messages = fabs(w),
                      .transfers = fabs(w),
                      .extrapolated = true},
            .loads = {.method = {{.compute = v}}},
            .verdict = {
                .method = {e, e, e},
                .baselines = {e, e, e},
                .speedups = {v, w, v},
                .least_speedup = w,
                .most_speedup = v,
                .answer = (enum gcb_payoff_answer)(i % 3),
                .least_ratio = v,
                .ranges = {{{{0.0, fabs(w)}}, 1}, {{{0.0, fabs(v)}}, 1}, {{{0.0, fabs(v)}}, 1}}}};
    begin(&p);
    assert_int_equal(payoff_show(&p.report, &view, NULL), 0);
    payoff_show_notes(&p.report, &view, false);
    end(&p);
}

static void test_payoff(void **state)
{
    (void)state;
    for (size_t i = 0; i < VALUES; i++)
        for (size_t j = 0; j < VALUES; j++)
            for (size_t bandwidths = 1; bandwidths <= 4; bandwidths *= 4)
                show_payoff(values[i], values[j], bandwidths);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_regress),
        cmocka_unit_test(test_payoff),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
