/* Rules for the tensors of a network: each tensor gets its method, and alike tensors share a
 * glob. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/tool/search/policy_search.h"
#include "tests/support/test.h"

#define MOST 40
#define METHODS 3

static struct gcb_method methods[METHODS];

/* Checks that every tensor gets its method, and returns the number of rules. */
static size_t write_rules(const char *const *paths, const size_t *chosen, size_t count)
{
    struct gcb_policy policy = {0};
    size_t rules;

    assert_int_equal(gcb_policy_write(&policy, paths, chosen, count, methods, NULL), 0);
    for (size_t i = 0; i < count; i++) {
        const struct gcb_rule *rule = gcb_policy_rule(&policy, paths[i]);

        assert_non_null(rule);
        assert_string_equal(rule->method.name, methods[chosen[i]].name);
    }
    assert_null(policy.rules[policy.count - 1].glob);
    rules = policy.count;
    gcb_policy_fini(&policy);
    return rules;
}

static void test_any_choice_is_exact(void **state)
{
    static char names[MOST][32];
    const char *paths[MOST];
    size_t chosen[MOST];

    srand(3);
    for (size_t i = 0; i < MOST; i++) {
        snprintf(names[i], sizeof(names[i]), "layers.%zu.%s%zu.%s", i / 4, i % 4 < 2 ? "c" : "b",
                 i % 2, i % 3 ? "weight" : "bias");
        paths[i] = names[i];
    }
    for (int round = 0; round < 200; round++) {
        for (size_t i = 0; i < MOST; i++)
            chosen[i] = (size_t)rand() % METHODS;
        assert_in_range(write_rules(paths, chosen, MOST), 2, MOST);
    }
}

static void test_alike_tensors_share_a_glob(void **state)
{
    static const char *const paths[] = {"conv1.bias",   "conv1.weight", "conv2.bias",
                                        "conv2.weight", "fc.bias",      "fc.weight"};
    static const size_t by_kind[] = {1, 0, 1, 0, 1, 2}, by_layer[] = {0, 0, 1, 1, 2, 2},
                        all[] = {1, 1, 1, 1, 1, 1};

    assert_int_equal(write_rules(paths, by_kind, 6), 3);
    assert_int_equal(write_rules(paths, by_layer, 6), 3);
    assert_int_equal(write_rules(paths, all, 6), 1);
}

/* Characters of globs in names are literal; a '=' would end the glob on the command line. What rows
 * and tables escape is not in the glob, so that the printed options can be copied. */
static void test_odd_names(void **state)
{
    static const char *const paths[] = {"*", "[ab]", "a",   "a=b",      "a\\",
                                        "b", "?",    "a\n", "-\xc3\xa4"};
    static const size_t chosen[] = {1, 1, 0, 2, 1, 0, 2, 1, 2};
    const struct gcb_rule quoted = {.glob = (char[]){"it's*"}, .method = methods[0]};
    struct gcb_policy policy = {0};
    char text[100];

    write_rules(paths, chosen, 9);
    assert_int_equal(gcb_policy_write(&policy, paths, chosen, 9, methods, NULL), 0);
    for (size_t i = 0; i + 1 < policy.count; i++)
        for (const char *c = policy.rules[i].glob; *c; c++)
            assert_true(!strchr("=\\", *c) && *c >= ' ' && *c <= '~' &&
                        (c > policy.rules[i].glob || *c != '-'));
    gcb_policy_fini(&policy);
    assert_string_equal(gcb_policy_option(text, sizeof(text), &quoted),
                        "--method-for 'it'\"'\"'s*=fp16'");
}

static void test_what_globs_cannot_tell_apart(void **state)
{
    static const char *const paths[] = {"a=b", "aab", "b"};
    static const size_t chosen[] = {1, 2, 0};
    static const size_t alone[] = {1, 0, 0};
    char longest[GCB_RULE_GLOB + 1] = "";
    struct gcb_policy policy = {0};

    write_rules(paths, chosen, 3); /* the rule for "aab" comes first */
    assert_int_equal(gcb_policy_write(&policy, paths, alone, 3, methods, NULL), 0);
    assert_int_equal(policy.count, 0);
    memset(longest, '*', GCB_RULE_GLOB);
    assert_int_equal(gcb_policy_add(&policy, longest, &methods[0], NULL), GCB_E_INVALID);
    longest[GCB_RULE_GLOB - 1] = '\0';
    assert_int_equal(gcb_policy_add(&policy, longest, &methods[0], NULL), 0);
    gcb_policy_fini(&policy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_choice_is_exact),
        cmocka_unit_test(test_alike_tensors_share_a_glob),
        cmocka_unit_test(test_odd_names),
        cmocka_unit_test(test_what_globs_cannot_tell_apart),
    };

    assert_int_equal(gcb_method_parse(&methods[0], "fp16", NULL), 0);
    assert_int_equal(gcb_method_parse(&methods[1], "bf16", NULL), 0);
    assert_int_equal(gcb_method_parse(&methods[2], "topk", NULL), 0);
    return cmocka_run_group_tests_name("policy_rules", tests, NULL, NULL);
}
