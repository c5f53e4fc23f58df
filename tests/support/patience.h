#ifndef TESTS_SUPPORT_PATIENCE_H
#define TESTS_SUPPORT_PATIENCE_H

#include <stdlib.h>

/* How many times as long as usual a test waits: ./dev sets it from the machine's load and
 * processors. */
static inline unsigned patience(void)
{
    const char *text = getenv("GCBENCH_TEST_PATIENCE");
    const int factor = text ? atoi(text) : 1;

    return factor > 1 ? (unsigned)factor : 1;
}

/* The seconds after which a test may call something a hang. */
static inline unsigned hang_seconds(void)
{
    return 60 * patience();
}

#endif
