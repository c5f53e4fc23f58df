/* The time left that a progress bar shows. The clock is this test's. */
#include <stdlib.h>
#include <string.h>

#include "cli/base/progress.h"
#include "tests/support/test.h"

static double now = 1000.0;

double __wrap_gcb_clock(void);

double __wrap_gcb_clock(void)
{
    return now;
}

/* Checks what the bar says after 10 seconds, when a tenth is done. `budget`: seconds left of a time
 * budget; 0: none. */
static void check_left(double budget, const char *words)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    struct progress p = {.file = file, .started = now - 10.0, .since = now - 10.0};

    if (budget > 0.0)
        p.deadline = now + budget;
    progress_update(&p, 0.1);
    fclose(file);
    assert_non_null(strstr(text, words));
    free(text);
}

static void test_left(void **state)
{
    check_left(0.0, "  10 %  1:30 left");
    check_left(600.0, "  10 %  1:30 left");
    check_left(20.0, "  10 %  0:20 left");
}

RUN_TESTS(cmocka_unit_test(test_left))
