/*
 * The contract of exchanges, for every method with every collective that it can use, several
 * numbers of workers, and tensors of many lengths.
 *
 *   test_contract_exchange [NAME]    only the methods whose full spec contains NAME
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/contract/cases.h"
#include "tests/contract/exchange_checks.h"
#include "tests/kernels/check.h"
#include "tests/support/test.h"

#define LONGEST 5000

enum input { IN_NOISE, IN_TIES, IN_ZERO, IN_TINY, IN_HUGE, IN_HOSTILE, INPUTS };

static const char *const input_names[INPUTS] = {"noise", "ties", "zero", "tiny", "huge", "hostile"};

static float noise(uint64_t *state)
{
    const uint64_t r = check_random(state);

    return ((float)(r % 2001) - 1000.0f) * 0.001f / (float)(1u << (r >> 40) % 12);
}

/* Worker w's tensor. In a tie the workers of a pair disagree about every second element. */
static void fill(float *x, size_t n, enum input in, unsigned w)
{
    uint64_t common = 5, own = 100 + w;

    if (in == IN_HOSTILE)
        check_fill(x, n, FILL_HOSTILE, w + 1);
    for (size_t i = 0; in != IN_HOSTILE && i < n; i++)
        switch (in) {
        case IN_NOISE:
            x[i] = noise(&common) + noise(&own);
            break;
        case IN_TIES:
            x[i] = (i % 2 ? i / 2 + w : i / 2) % 2 ? 0.5f : -0.5f;
            break;
        case IN_ZERO:
            x[i] = i % 2 ? 0.0f : -0.0f;
            break;
        default: /* denormals; values whose sum overflows */
            x[i] = (float)((int)((i + w) % 5) - 2) * (in == IN_TINY ? 1e-42f : 1.6e38f);
        }
}

/* Equal weights, which make ties; or different ones. */
static void set_weights(float *weights, unsigned workers, bool equal)
{
    static const float unequal[TEAM_MOST] = {0.5f, 0.25f, 0.3f, 2.0f, -0.75f,
                                             1.0f, 0.1f,  0.6f, 0.9f};

    for (unsigned w = 0; w < workers; w++)
        weights[w] = equal ? 0.25f : unequal[w];
}

/* Returns a bit for each check that fails. Prints those that fail in a test of the library. */
static unsigned failures(const struct team_case *c, enum input in, bool slow)
{
    unsigned failed = 0;

    for (unsigned i = 0; exchange_checks[i].name; i++) {
        const enum exchange_cost cost = exchange_checks[i].cost;

        snprintf(team_why, sizeof(team_why), "the values differ");
        if ((cost == EXCHANGE_SLOW && !slow) || (cost != EXCHANGE_ALWAYS && in >= IN_TINY) ||
            exchange_checks[i].holds(c))
            continue;
        failed |= 1u << i;
        print_error("not so: %s (%u workers, %llu elements, %s): %s\n", exchange_checks[i].name,
                    c->workers, (unsigned long long)c->n, input_names[in], team_why);
    }
    return failed;
}

struct extent {
    unsigned workers;
    uint64_t n;
    uint64_t shape[2]; /* 0: unknown */
};

static unsigned check_extent(const struct gcb_method *m, const struct extent *extent, enum input in,
                             bool slow)
{
    static float x[TEAM_MOST][LONGEST];
    struct gcb_method whole = *m; /* with two levels, if the workers are 4 or 9 */
    struct team_case c = {.method = &whole,
                          .workers = extent->workers,
                          .n = extent->n,
                          .rank = extent->shape[0] ? 2 : 0};

    if (gcb_method_value(m, "inner", NULL) && (extent->workers == 4 || extent->workers == 9))
        assert_int_equal(gcb_method_assign(&whole, "inner", extent->workers == 4 ? 2 : 3, NULL), 0);
    c.shape = c.rank ? extent->shape : NULL;
    for (unsigned w = 0; w < extent->workers; w++) {
        fill(x[w], extent->n, in, w);
        c.x[w] = x[w];
    }
    set_weights(c.weights, extent->workers, in == IN_TIES);
    return failures(&c, in, slow);
}

static void exchanges_keep_contract(void **state)
{
    static const struct extent extents[] = {
        {1, 1000, {0}}, {2, 1000, {20, 50}},  {3, 1000, {1000, 1}}, {4, 1000, {0}}, {7, 400, {0}},
        {9, 400, {0}},  {3, 5000, {50, 100}}, {2, 0, {0}},          {5, 0, {0}},    {2, 1, {0}},
        {9, 1, {0}},    {3, 2, {1, 2}},       {9, 8, {2, 4}},       {4, 3, {0}},
    };
    static const struct extent brief = {3, 37, {0}};
    const struct contract_case *c = *state;
    /* with levels, two of them with four workers */
    const size_t slow = gcb_method_value(&c->method, "inner", NULL) ? 4 : 3;
    unsigned failed = 0;

    contract_need_fftw(c);
    if (c->brief)
        failed = check_extent(&c->method, &brief, IN_NOISE, false);
    for (size_t i = 0; !c->brief && i < sizeof(extents) / sizeof(*extents); i++)
        for (int in = 0; in < INPUTS; in++)
            if (in <= IN_TIES || extents[i].workers == 2 || extents[i].n == 5000)
                failed |= check_extent(
                    &c->method, &extents[i], (enum input)in,
                    in == IN_NOISE && (i < slow || (extents[i].workers == 2 && extents[i].n == 1)));
    assert_int_equal(failed, 0);
}

/* ---- the program ---- */

/* Adds a case for each collective that the method can use. */
static size_t add_collectives(struct contract_case *out, const struct contract_case *c)
{
    size_t count = 0;

    for (int i = 0; i < GCB_COLLECTIVES; i++) {
        struct contract_case *next = &out[count];

        *next = *c;
        if (gcb_method_collectives(&c->method) & GCB_COLLECTIVE_BIT(i) &&
            !gcb_method_change(&next->method, "collective", gcb_collective_names[i], NULL))
            count++;
    }
    return count;
}

int main(int argc, char **argv)
{
    const char *filter = argc > 1 ? argv[1] : "";
    struct contract_case *cases;
    struct CMUnitTest *tests;
    size_t count = 0, kept = 0;
    int failed;

    contract_generate(NULL, false);
    cases = calloc(contract_count * GCB_COLLECTIVES + 1, sizeof(*cases));
    for (size_t i = 0; i < contract_count; i++)
        count += add_collectives(&cases[count], &contract_cases[i]);
    tests = calloc(count + 1, sizeof(*tests));
    for (size_t i = 0; i < count; i++) {
        char *spec = malloc(256);

        gcb_method_spec(spec, 256, &cases[i].method, GCB_SPEC_FULL);
        if (strstr(spec, filter))
            tests[kept++] = (struct CMUnitTest){
                .name = spec, .test_func = exchanges_keep_contract, .initial_state = &cases[i]};
        else
            free(spec);
    }
    failed = _cmocka_run_group_tests("contract of exchanges", tests, kept, NULL, NULL);
    for (size_t i = 0; i < kept; i++)
        free((void *)(uintptr_t)tests[i].name);
    free(tests);
    free(cases);
    return failed;
}
