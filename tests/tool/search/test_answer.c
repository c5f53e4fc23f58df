/* The last line of compress, bench and replay. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "src/tool/search/answer.h"

static const struct gcb_answer_words words = {"an error", ": see replay"};
static char text[2000];

static const char *answer(const struct gcb_answer_method m[], size_t n, bool speeds)
{
    return gcb_answer(text, sizeof(text), m, n, 200.0, speeds, &words);
}

static void test_levels(void **state)
{
    const struct gcb_answer_method m[] = {{"range", 0.02, 100.0, false, false, 9.0, 8.5, 9.5},
                                          {"qsgd", 0.25, 50.0, false, false, 11.0, 10.0, 12.0},
                                          {"topk", 0.35, 60.0, false, false, 6.0, 5.0, 7.0},
                                          {"fft", 0.4, 25.0, false, false, 2.0, 1.9, 2.1},
                                          {"fp16", 2e-4, 200.0, true, false, 30.0, 29.0, 31.0}};

    (void)state;
    assert_string_equal(
        answer(m, 5, true),
        "up to an error of 0.05 range sends the fewest bytes, 2 times fewer than fp16 (error "
        "0.020);"
        " up to 0.3 qsgd, 2 times fewer than range, 4 times fewer than"
        " fp16 (error 0.250); up to 0.7 fft, 2 times fewer than qsgd, 8"
        " times fewer than fp16 (error 0.400); of these qsgd encodes fastest: 11.0 GB/s; training"
        " was not tested");
    assert_null(strstr(answer(m, 5, false), "GB/s"));
}

/* Intervals that overlap decide nothing; without a speed nothing is said about it. */
static void test_speeds(void **state)
{
    struct gcb_answer_method m[] = {{"range", 0.02, 100.0, false, false, 9.0, 8.0, 10.0},
                                    {"qsgd", 0.25, 50.0, false, false, 11.0, 9.5, 12.0}};

    (void)state;
    assert_non_null(strstr(answer(m, 2, true), "intervals do not decide which of these encodes"));
    assert_string_equal(answer(m, 1, true),
                        "range sends 2 times fewer bytes than fp16, with an error"
                        " of 0.020; it encodes 9.00 GB/s; training was not tested");
    m[1].slow = m[1].fast = NAN; /* too few runs for an interval */
    assert_non_null(strstr(answer(m, 2, true), "intervals do not decide"));
    m[1].speed = NAN;
    assert_null(strstr(answer(m, 2, true), "encodes"));
}

/* A ratio of 2000 at an error of 0.9 is not recommended. */
static void test_extremes(void **state)
{
    const struct gcb_answer_method m[] = {{"sbc", 0.9, 0.1, false, false, 9.0, 8.0, 10.0},
                                          {"dgc", 0.97, 0.2, false, false, 9.0, 8.0, 10.0},
                                          {"none", NAN, 0.1, false, false, 9.0, 8.0, 10.0}};

    (void)state;
    assert_string_equal(answer(m, 3, true),
                        "sbc and dgc have an error above 0.7: see replay; training was not tested");
    assert_non_null(strstr(answer(m, 1, true), "sbc has an error"));
}

/* A method that lives on error feedback is not ranked by the error of one message. */
static void test_feedback(void **state)
{
    const struct gcb_answer_method m[] = {{"redsync", 0.4, 0.1, false, true, 9.0, 8.0, 10.0},
                                          {"signsgd", 280.0, 6.0, false, false, 9.0, 8.0, 10.0},
                                          {"natural", 0.2, 300.0, false, false, 9.0, 8.0, 10.0}};

    (void)state;
    assert_string_equal(
        answer(m, 3, true),
        "up to an error of 0.7 nothing here sends fewer bytes than fp16; redsync and"
        " signsgd live on error feedback or have an error above 0.7: see replay;"
        " training was not tested");
}

/* A method that failed is not named, even if it lives on error feedback. */
static void test_failed(void **state)
{
    const struct gcb_answer_method m[] = {{"dgc", NAN, 0.0, false, true, NAN, NAN, NAN},
                                          {"redsync", 0.4, 0.1, false, true, 9.0, 8.0, 10.0}};

    (void)state;
    assert_string_equal(answer(m, 2, true),
                        "redsync lives on error feedback: see replay; training was not tested");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_levels),   cmocka_unit_test(test_speeds),
        cmocka_unit_test(test_extremes), cmocka_unit_test(test_feedback),
        cmocka_unit_test(test_failed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
