/*
 * The contract of sums, for every method, pair of stages and hostile tensor, with and
 * without a raw message among the others.
 *
 *   test_contract_sum [NAME]    only the methods whose full spec contains NAME
 */
#include <stdlib.h>
#include <string.h>

#include "tests/contract/cases.h"
#include "tests/contract/sum_checks.h"
#include "tests/kernels/check.h"
#include "tests/support/test.h"

#define LONGEST 4097

enum input { IN_NOISE, IN_HOSTILE, IN_TIES, IN_ZERO, IN_TINY, IN_HUGE, INPUTS };

static const char *const input_names[INPUTS] = {"noise", "hostile", "ties", "zero", "tiny", "huge"};

static void fill(float *x, size_t n, enum input in, uint64_t seed)
{
    static const enum check_fill fills[] = {FILL_NOISE, FILL_HOSTILE, FILL_TIES, FILL_ZERO};

    if (in <= IN_ZERO)
        check_fill(x, n, fills[in], seed);
    for (size_t i = 0; in > IN_ZERO && i < n; i++) /* denormals; values whose sum overflows */
        x[i] = (float)((int)(i % 5) - 2) * (in == IN_TINY ? 1e-42f : 1.6e38f);
}

/* Runs all checks, or those that are not slow. Returns a bit for each check that fails. */
static unsigned failures(const struct sum_case *c, bool slow)
{
    unsigned failed = 0;

    for (unsigned i = 0; sum_checks[i].name; i++)
        if ((slow || !sum_checks[i].slow) && !sum_checks[i].holds(c))
            failed |= 1u << i;
    return failed;
}

static void check_tensor(const struct gcb_method *m, size_t n, enum input in, bool mixture)
{
    float x[LONGEST];
    struct sum_case c;
    unsigned failed;

    fill(x, n, in, n * 31 + (size_t)in);
    sum_case_open(&c, m, x, n, mixture);
    failed = failures(&c, n == 37 && in == IN_NOISE);
    for (unsigned i = 0; sum_checks[i].name; i++)
        if (failed >> i & 1)
            fail_msg("not so: %s (%zu elements, %s%s)", sum_checks[i].name, n, input_names[in],
                     mixture ? ", a raw message among them" : "");
    sum_case_close(&c);
}

/* A brief case: hostile tensors of 37 elements, and a hostile tensor of each other size, with a raw
 * message. */
static void sums_keep_contract(void **state)
{
    static const size_t sizes[] = {0, 1, 37, LONGEST};
    const struct contract_case *c = *state;

    contract_need_fftw(c);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
        for (int in = 0; in < INPUTS; in++)
            for (int mixture = c->brief; mixture < 2; mixture++)
                if (!c->brief || in == IN_HOSTILE || sizes[i] == 37)
                    check_tensor(&c->method, sizes[i], (enum input)in, mixture);
}

int main(int argc, char **argv)
{
    struct CMUnitTest *tests;
    int failed;

    contract_generate(argc > 1 ? argv[1] : NULL, false);
    tests = calloc(contract_count, sizeof(*tests));
    for (size_t i = 0; i < contract_count; i++) {
        char *spec = malloc(256);

        tests[i] = (struct CMUnitTest){
            .name = gcb_method_spec(spec, 256, &contract_cases[i].method, GCB_SPEC_FULL),
            .test_func = sums_keep_contract,
            .initial_state = &contract_cases[i],
        };
    }
    failed = _cmocka_run_group_tests("contract of sums", tests, contract_count, NULL, NULL);
    for (size_t i = 0; i < contract_count; i++)
        free((void *)(uintptr_t)tests[i].name);
    free(tests);
    return failed;
}
