#ifndef TESTS_SUPPORT_TEST_H
#define TESTS_SUPPORT_TEST_H

/* cmocka, with the headers that have to come before it, and the main function of a test program. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Defines main, which runs the tests; each is written cmocka_unit_test(FUNCTION). */
#define RUN_TESTS(...) RUN_TESTS_BETWEEN(NULL, NULL, __VA_ARGS__)
/* The same, after `setup` and before `teardown`; each may be NULL. */
#define RUN_TESTS_BETWEEN(setup, teardown, ...) \
    int main(void) \
    { \
        const struct CMUnitTest tests[] = {__VA_ARGS__}; \
\
        return cmocka_run_group_tests(tests, setup, teardown); \
    }

#endif
