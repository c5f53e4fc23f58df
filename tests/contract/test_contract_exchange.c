/*
 * The contract of exchanges, for every method with every collective that it can use, several numbers of workers, and
 * tensors of many lengths. The last test shows that the checks find exchanges with defects.
 *
 *   test_contract_exchange [NAME]    only the methods whose full spec contains NAME
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/contract/cases.h"
#include "tests/contract/exchange_checks.h"
#include "tests/contract/lax_exchange.h"
#include "tests/kernels/check.h"

static const struct exchange_fns library = {
    gcb_exchange_create,   gcb_exchange_begin, gcb_exchange_next,  gcb_exchange_receive,
    gcb_exchange_conclude, gcb_exchange_learn, gcb_exchange_close,
};

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
static unsigned failures(const struct exchange_fns *f, const struct team_case *c, enum input in,
                         bool slow)
{
    unsigned failed = 0;

    for (unsigned i = 0; exchange_checks[i].name; i++) {
        const enum exchange_cost cost = exchange_checks[i].cost;

        snprintf(team_why, sizeof(team_why), "the values differ");
        if ((cost == EXCHANGE_SLOW && !slow) || (cost != EXCHANGE_ALWAYS && in >= IN_TINY) ||
            exchange_checks[i].holds(f, c))
            continue;
        failed |= 1u << i;
        if (f == &library)
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

static unsigned check_extent(const struct exchange_fns *f, const struct gcb_method *m,
                             const struct extent *extent, enum input in, bool slow)
{
    static float x[TEAM_MOST][LONGEST];
    struct team_case c = {
        .method = m, .workers = extent->workers, .n = extent->n, .rank = extent->shape[0] ? 2 : 0};

    c.shape = c.rank ? extent->shape : NULL;
    for (unsigned w = 0; w < extent->workers; w++) {
        fill(x[w], extent->n, in, w);
        c.x[w] = x[w];
    }
    set_weights(c.weights, extent->workers, in == IN_TIES);
    return failures(f, &c, in, slow);
}

static void exchanges_keep_contract(void **state)
{
    static const struct extent extents[] = {
        {1, 1000, {0}},      {2, 1000, {20, 50}}, {3, 1000, {1000, 1}}, {4, 1000, {0}},
        {5, 1000, {50, 20}}, {7, 1000, {0}},      {9, 1000, {0}},       {3, 5000, {50, 100}},
        {2, 0, {0}},         {5, 0, {0}},         {2, 1, {0}},          {9, 1, {0}},
        {3, 2, {1, 2}},      {9, 2, {0}},         {9, 8, {2, 4}},       {4, 3, {0}},
    };
    static const struct extent brief = {3, 37, {0}};
    const struct contract_case *c = *state;
    unsigned failed = 0;

    if (c->brief)
        failed = check_extent(&library, &c->method, &brief, IN_NOISE, false);
    for (size_t i = 0; !c->brief && i < sizeof(extents) / sizeof(*extents); i++)
        for (int in = 0; in < INPUTS; in++)
            if (in <= IN_TIES || extents[i].workers == 2 || extents[i].n == 5000)
                failed |= check_extent(&library, &c->method, &extents[i], (enum input)in,
                                       extents[i].n == 1 || i < 3);
    assert_int_equal(failed, 0);
}

/* ---- the checks themselves ---- */

/* The defect makes the check `name` fail, and no other. */
static void must_fail_only(const struct exchange_fns *f, const struct gcb_method *m,
                           const char *name)
{
    static const struct extent extent = {4, 1000, {20, 50}};
    const unsigned failed =
        check_extent(f, m, &extent, IN_TIES, true) | check_extent(f, m, &extent, IN_NOISE, true);

    for (unsigned i = 0; exchange_checks[i].name; i++) {
        const bool expected = name && strcmp(exchange_checks[i].name, name) == 0;

        if ((failed >> i & 1) != expected)
            fail_msg("%s, defect %d: the check \"%s\" %s", m->name, (int)lax_exchange_defect,
                     exchange_checks[i].name, expected ? "holds" : "fails");
    }
    assert_true(!failed == !name); /* the name is in the list */
}

static void each_defect_of_a_method_is_found(void **state)
{
    static const char *const rows[][2] = {
        {"vote", NULL},
        {"linear", "a linear method gives the sum of its decoded messages"},
        {"forgetful", "each tensor counts with its weight"},
        {"ranked", "the numbers of the workers do not matter"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct gcb_method m;

        assert_true(lax_method(&m, rows[i][0]));
        must_fail_only(&library, &m, rows[i][1]);
    }
}

static void each_defect_of_an_exchange_is_found(void **state)
{
    static const char *const names[] = {
        [LAX_EXCHANGE_NONE] = NULL,
        [LAX_EXCHANGE_UPDATE] = "all workers get the same update",
        [LAX_EXCHANGE_THREADS] = "threads do not change the update",
        [LAX_EXCHANGE_SUM] = "an all-gather gives the sum of the messages",
        [LAX_EXCHANGE_OWN] = "what arrived adds up to the update",
        [LAX_EXCHANGE_MEMORY] = "a memory keeps what did not arrive",
        [LAX_EXCHANGE_NAN] = "a NaN reaches all workers but no memory",
        [LAX_EXCHANGE_LEFT] = "a step that is left leaves no trace",
        [LAX_EXCHANGE_DAMAGE] = "hostile bytes do no harm",
    };
    struct gcb_method m;

    (void)state;
    assert_int_equal(gcb_method_parse(&m, "topk:theta=0.9", NULL), 0);
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        lax_exchange_defect = (enum lax_exchange_defect)i;
        must_fail_only(&lax_exchange, &m, names[i]);
    }
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
    tests = calloc(count + 2, sizeof(*tests));
    for (size_t i = 0; i < count; i++) {
        char *spec = malloc(256);

        gcb_method_spec(spec, 256, &cases[i].method, GCB_SPEC_FULL);
        if (strstr(spec, filter))
            tests[kept++] = (struct CMUnitTest){
                .name = spec, .test_func = exchanges_keep_contract, .initial_state = &cases[i]};
        else
            free(spec);
    }
    tests[kept] = (struct CMUnitTest)cmocka_unit_test(each_defect_of_a_method_is_found);
    tests[kept + 1] = (struct CMUnitTest)cmocka_unit_test(each_defect_of_an_exchange_is_found);
    failed = _cmocka_run_group_tests("contract of exchanges", tests, kept + 2, NULL, NULL);
    for (size_t i = 0; i < kept; i++)
        free((void *)(uintptr_t)tests[i].name);
    free(tests);
    free(cases);
    return failed;
}
