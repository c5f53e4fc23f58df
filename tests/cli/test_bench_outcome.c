/* What a bench returns when some of its methods did not do what they should: the gravest, and its
 * words. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/output.h"
#include "src/lib/base/diag.h"
#include "tests/support/test.h"

#define MOST 4

/* The totals of a case whose methods ended with `statuses`, ended by 1. */
static void add(struct bench_outcome *o, const int *statuses)
{
    struct gcb_run_total totals[MOST] = {0};
    struct gcb_run_result result = {.totals = totals};

    for (; statuses[result.method_count] != 1; result.method_count++)
        if (statuses[result.method_count])
            gcb_diag_set(&totals[result.method_count].failure, statuses[result.method_count],
                         "method %zu", o->methods + result.method_count);
    bench_outcome_add(o, &result);
}

/* Judges `statuses`, each half of them a case of its own; what is said, and where, must be
 * `words`. */
static void ends(const int *first, const int *second, int want, const char *words)
{
    struct bench_outcome o = {0};
    struct gcb_diag diag = {0};
    char *said = NULL;
    size_t size = 0;
    FILE *err = open_memstream(&said, &size);

    add(&o, first);
    add(&o, second);
    assert_int_equal(bench_outcome_judge(&o, err, &diag), want);
    fclose(err);
    if (want < 0) {
        assert_string_equal(said, "");
        assert_int_equal(diag.status, want);
        assert_string_equal(diag.text, words);
    } else {
        assert_string_equal(said, words);
    }
    free(said);
}

static void test_nothing_wrong(void **state)
{
    ends((const int[]){0, 0, 1}, (const int[]){0, 1}, CMD_DONE, "");
    ends((const int[]){GCB_E_UNSUPPORTED, 0, 1}, (const int[]){1}, CMD_DONE, "");
}

static void test_gravest_first(void **state)
{
    ends((const int[]){0, GCB_E_BACKEND, 1}, (const int[]){GCB_E_UNSUPPORTED, 1}, GCB_E_BACKEND,
         "method 1");
    ends((const int[]){GCB_E_BACKEND, 0, 1}, (const int[]){GCB_E_NOMEM, 1}, CMD_FAILED,
         "gcbench: 1 of 3 methods failed: method 2\n");
    ends((const int[]){GCB_E_DEVICE, GCB_E_CORRUPT, 1}, (const int[]){GCB_E_UNVERIFIED, 1},
         CMD_NOT_VERIFIED, "gcbench: 3 of 3 methods failed; the first: method 2\n");
    ends((const int[]){GCB_E_UNVERIFIED, GCB_E_BACKEND, 1},
         (const int[]){GCB_E_DEVICE, GCB_E_UNVERIFIED, 1}, CMD_NOT_VERIFIED,
         "gcbench: 3 of 4 methods failed; the first: method 0\n");
}

RUN_TESTS(cmocka_unit_test(test_nothing_wrong), cmocka_unit_test(test_gravest_first))
