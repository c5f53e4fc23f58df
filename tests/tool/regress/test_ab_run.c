/* A/B runs of programs whose times are known: the order, the verdicts, and every way in which a
 * build can fail. The clock is this test's: it moves only by the time that a program says it
 * takes. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/tool/base/clock.h"
#include "src/tool/regress/ab_run.h"
#include "tests/support/test.h"

static const char *fake; /* tests/support/fake_bench.py */
static char folder[] = "/tmp/gcbench-ab-XXXXXX";
static char paths[2][64], log_path[64], clock_path[64];

double __wrap_gcb_clock(void);
pid_t __real_wait4(pid_t pid, int *how, int options, struct rusage *used);
pid_t __wrap_wait4(pid_t pid, int *how, int options, struct rusage *used);

double __wrap_gcb_clock(void)
{
    static double now;
    FILE *f = fopen(clock_path, "r");
    double read;

    if (f && fscanf(f, "%lf", &read) == 1 && read > now) /* not while a program writes it */
        now = read;
    if (f)
        fclose(f);
    return now;
}

/* No program has to wait for a processor. */
pid_t __wrap_wait4(pid_t pid, int *how, int options, struct rusage *used)
{
    const pid_t ended = __real_wait4(pid, how, options, used);

    used->ru_utime.tv_sec = 1000000;
    return ended;
}

/* An A/B run and its outcome. */
struct trial {
    struct gcb_ab_config config;
    struct gcb_ab_result result;
    struct gcb_verdicts verdicts;
    struct gcb_diag diag;
    int err;
    unsigned stop_after; /* pairs */
};

static void write_build(int which, const char *cases, const char *rest)
{
    char name[140];
    FILE *f;

    snprintf(name, sizeof(name), "%s.json", paths[which]);
    f = fopen(name, "w");
    assert_non_null(f);
    fprintf(f, "{\"cases\": [%s], \"log\": \"%s\", \"clock\": \"%s\"%s%s}", cases, log_path,
            clock_path, rest[0] ? ", " : "", rest);
    fclose(f);
}

static void write_builds(const char *base, const char *next, const char *rest)
{
    unlink(log_path);
    write_build(0, base, rest);
    write_build(1, next, rest);
}

static char *command[] = {NULL, (char[]){"bench"}, (char[]){"--repeat"}, (char[GCB_AB_WORD]){""},
                          NULL};

static int failure(int exit_status)
{
    return exit_status == 2 ? GCB_E_INVALID : exit_status == 3 ? GCB_E_BACKEND : GCB_E_IO;
}

static struct trial trial(void)
{
    return (struct trial){.config = {.exe = {paths[0], paths[1]},
                                     .command = {command, command[3], failure},
                                     .budget = 60.0,
                                     .pairs = 20,
                                     .floor = -1.0}};
}

static void go(struct trial *t)
{
    t->err = gcb_ab_run(&t->result, &t->config, &t->diag);
    if (!t->err)
        gcb_ab_judge(&t->verdicts, &t->result, &t->config);
}

static void end(struct trial *t)
{
    gcb_verdicts_fini(&t->verdicts);
    gcb_ab_result_fini(&t->result);
}

/* The verdict on a quantity of the case with this spec. */
static const struct gcb_verdict *find(const struct trial *t, const char *spec, enum gcb_quantity of)
{
    for (size_t i = 0; i < t->verdicts.count; i++)
        if (t->verdicts.items[i].quantity == of &&
            strcmp(gcb_verdict_case(&t->verdicts.items[i])->text[GCB_CASE_SPEC], spec) == 0)
            return &t->verdicts.items[i];
    fail_msg("no verdict on %s of %s", gcb_quantities[of].name, spec);
    return NULL;
}

static void judged(const struct trial *t, const char *spec, enum gcb_quantity of,
                   enum gcb_verdict_kind kind)
{
    const struct gcb_verdict *v = find(t, spec, of);

    if (v->kind != kind)
        fail_msg("%s of %s is %s, not %s (ratio %g, %g to %g)", gcb_quantities[of].name, spec,
                 gcb_verdict_names[v->kind], gcb_verdict_names[kind], v->ratio, v->low, v->high);
}

#define FP16 "fp16:rounding=nearest"
#define NATURAL "{\"spec\": \"natural\"}"

/* base new, new base, ... with the number of calls in the command line. */
static void test_order(void **state)
{
    struct trial t = trial();
    char line[200], want[200];
    FILE *f;

    write_builds(NATURAL, NATURAL, "");
    go(&t);
    assert_int_equal(t.err, 0);
    assert_int_equal(t.result.pairs, 20);
    f = fopen(log_path, "r");
    assert_non_null(f);
    for (unsigned i = 0; i < 42; i++) {
        const unsigned pair = i / 2 - 1; /* after the first process of each */
        const bool next = i < 2 ? i == 1 : i % 2 != pair % 2;

        assert_non_null(fgets(line, sizeof(line), f));
        snprintf(want, sizeof(want), "%s bench --repeat %u\n", next ? "new" : "base",
                 i < 2 ? 1 : t.result.repeat);
        assert_string_equal(line, want);
    }
    assert_null(fgets(line, sizeof(line), f));
    fclose(f);
    /* chosen to fill nine tenths of the budget of 60 s: 40 processes, with calls of 1.5 ms and one
     * more to warm up */
    assert_int_equal(t.result.repeat, 899);
    judged(&t, "natural", GCB_QUANTITY_ENCODE, GCB_SAME);
    judged(&t, "natural", GCB_QUANTITY_SIZE, GCB_SAME);
    assert_string_equal(gcb_ab_same_build(&t.result), "aa");
    end(&t);
}

/* A machine that becomes slower all the time, or whose speed jumps, makes neither build SLOW. */
static void test_noise(void **state)
{
    static const char *const noises[] = {"\"drift\": 0.01", "\"noise\": 0.3, \"jitter\": 0.02",
                                         "\"noise\": 0.05, \"seed\": 7"};

    for (size_t i = 0; i < 3; i++) {
        struct trial t = trial();

        write_builds(NATURAL, NATURAL, noises[i]);
        go(&t);
        assert_int_equal(t.err, 0);
        assert_true(find(&t, "natural", GCB_QUANTITY_ENCODE)->kind != GCB_SLOW);
        assert_true(find(&t, "natural", GCB_QUANTITY_ENCODE)->kind != GCB_FAST);
        if (i == 0) /* drift cancels in the order base new, new base */
            judged(&t, "natural", GCB_QUANTITY_ENCODE, GCB_SAME);
        end(&t);
    }
}

static void test_verdicts(void **state)
{
    struct trial t = trial();

    write_builds(NATURAL ", {\"spec\": \"fp16\"}, {\"spec\": \"tiny\", \"encode_seconds\": 1e-5}, "
                         "{\"spec\": \"gone\"}, {\"spec\": \"grown\", \"encode_seconds\": 1e-5}",
                 "{\"spec\": \"natural\", \"encode_seconds\": 1.2e-3, \"decode_seconds\": 4e-4}, "
                 "{\"spec\": \"fp16\", \"wire_bytes\": 1001, \"rel_l2\": 0.3}, "
                 "{\"spec\": \"tiny\", \"encode_seconds\": 1.5e-5}, {\"spec\": \"new\"}, "
                 "{\"spec\": \"grown\", \"encode_seconds\": 5e-5}",
                 "\"jitter\": 0.02");
    go(&t);
    assert_int_equal(t.err, 0);
    judged(&t, "natural", GCB_QUANTITY_ENCODE, GCB_SLOW);
    judged(&t, "natural", GCB_QUANTITY_DECODE, GCB_FAST);
    judged(&t, FP16, GCB_QUANTITY_ENCODE, GCB_SAME);
    judged(&t, FP16, GCB_QUANTITY_SIZE, GCB_LARGER);
    judged(&t, FP16, GCB_QUANTITY_ERROR, GCB_WORSE);
    judged(&t, "tiny", GCB_QUANTITY_ENCODE, GCB_NOT_COMPARED);
    judged(&t, "grown", GCB_QUANTITY_ENCODE, GCB_SLOW); /* base is too short to judge, new is not */
    judged(&t, "gone", GCB_QUANTITY_CASE, GCB_GONE);
    judged(&t, "new", GCB_QUANTITY_CASE, GCB_NEW);
    assert_true(fabs(find(&t, "natural", GCB_QUANTITY_ENCODE)->ratio - 1.2) < 0.05);
    assert_true(find(&t, "natural", GCB_QUANTITY_ENCODE)->p < 0.01);
    assert_int_equal(find(&t, "natural", GCB_QUANTITY_ENCODE)->pairs, 20);
    end(&t);
}

/* The calibration raises delta to the noise of the build itself. */
static void test_calibration(void **state)
{
    struct trial aa = trial(), t = trial();

    write_builds(NATURAL, NATURAL, "\"jitter\": 0.5");
    go(&aa);
    assert_int_equal(aa.err, 0);
    write_builds(NATURAL, "{\"spec\": \"natural\", \"encode_seconds\": 1.08e-3}",
                 "\"jitter\": 0.005");
    t.config.calibration = &aa.result;
    go(&t);
    assert_int_equal(t.err, 0);
    assert_true(find(&t, "natural", GCB_QUANTITY_ENCODE)->delta > 0.1);
    judged(&t, "natural", GCB_QUANTITY_ENCODE, GCB_SAME);
    end(&t);
    t = trial();
    go(&t);
    judged(&t, "natural", GCB_QUANTITY_ENCODE, GCB_SLOW);
    assert_true(find(&t, "natural", GCB_QUANTITY_ENCODE)->delta == GCB_AB_DELTA);
    end(&t);
    end(&aa);
}

/* The plan uses what a call really takes on a busy machine, and adapts when that changes. */
static void test_budget(void **state)
{
    struct trial t = trial();

    write_builds(NATURAL, NATURAL,
                 "\"call\": 0.003, \"slowed\": 10"); /* 4 times what is timed; later 40 times */
    t.config.budget = 12.0;
    go(&t);
    assert_int_equal(t.err, 0);
    if (t.result.pairs != 20 || t.result.seconds > 1.4 * t.config.budget)
        fail_msg("%u pairs of %u calls, %g s", t.result.pairs, t.result.repeat, t.result.seconds);
    judged(&t, "natural", GCB_QUANTITY_ENCODE, GCB_SAME);
    end(&t);
}

/* A difference that would be significant for one case is not significant among a hundred cases. */
static void test_many(void **state)
{
    static char cases[20000];
    struct trial t = trial();
    size_t used = 0, slow = 0;

    for (unsigned i = 0; i < 100; i++)
        used += (size_t)snprintf(cases + used, sizeof(cases) - used, "%s{\"spec\": \"m%u\"}",
                                 i ? ", " : "", i);
    write_builds(cases, cases, "\"jitter\": 0.15");
    t.config.delta = 0.001; /* any deviation by chance exceeds it */
    go(&t);
    assert_int_equal(t.err, 0);
    for (size_t i = 0; i < t.verdicts.count; i++) {
        const struct gcb_verdict *v = &t.verdicts.items[i];

        slow += v->kind == GCB_SLOW || v->kind == GCB_FAST;
        if (v->kind == GCB_AMBIGUOUS && v->low > 1.0 + v->delta)
            assert_non_null(strstr(v->reason, "so many comparisons"));
    }
    assert_int_equal(slow, 0);
    end(&t);
}

static void fails(const char *what, int status, const char *words)
{
    struct trial t = trial();
    char rest[64];

    snprintf(rest, sizeof(rest), "\"do\": \"%s\"", what);
    write_builds(NATURAL, NATURAL, rest);
    write_build(0, NATURAL, "");
    t.config.timeout = 3.0;
    go(&t);
    assert_int_equal(t.err, status);
    if (!strstr(t.diag.text, words) || !strstr(t.diag.text, "new"))
        fail_msg("%s: \"%s\" lacks \"%s\"", what, t.diag.text, words);
    end(&t);
}

static void test_failures(void **state)
{
    struct trial t = trial();

    fails("hang", GCB_E_IO, "did not end within 3 s");
    fails("exit", GCB_E_IO, "exit status 1: gcbench: out of \\x1b[31mluck");
    fails("stop-after:9", GCB_E_IO, "exit status 1");
    fails("no-bench", GCB_E_IO, "unknown command 'bench'");
    fails("garbage", GCB_E_CORRUPT, "line 1: not JSON");
    fails("empty", GCB_E_CORRUPT, "no results in the file");
    fails("abort", GCB_E_IO, "ended by signal 6");
    write_builds(NATURAL, NATURAL, "");
    t.config.exe[0] = "/nonexistent/gcbench";
    go(&t);
    assert_int_equal(t.err, GCB_E_IO);
    assert_non_null(strstr(t.diag.text, "/nonexistent/gcbench: cannot be run: No such file"));
    end(&t);
    write_builds(NATURAL, NATURAL, "\"sleep\": 0.1");
    t = trial();
    t.config.budget = 1.0;
    go(&t);
    assert_int_equal(t.err, GCB_E_INVALID);
    assert_non_null(strstr(t.diag.text, "--budget"));
    end(&t);
}

/* A method that fails in some processes of the new build is GONE, even if it works in the
 * others. */
static void test_fails_once(void **state)
{
    struct trial t = trial();

    write_builds(NATURAL ", {\"spec\": \"fp16\"}", NATURAL ", {\"spec\": \"fp16\"}", "");
    write_build(1, NATURAL ", {\"spec\": \"fp16\"}",
                "\"do\": \"fail-at:8\""); /* the ninth process of both builds */
    go(&t);
    assert_int_equal(t.err, 0);
    judged(&t, "natural", GCB_QUANTITY_CASE, GCB_GONE);
    assert_string_equal(
        find(&t, "natural", GCB_QUANTITY_CASE)->reason,
        "it failed in 1 of 20 processes, and in none of the base: it did not decode");
    judged(&t, "natural", GCB_QUANTITY_SIZE, GCB_SAME);
    judged(&t, "natural", GCB_QUANTITY_ENCODE, GCB_NOT_COMPARED);
    judged(&t, FP16, GCB_QUANTITY_ENCODE, GCB_SAME);
    end(&t);
}

/* If rows explain the failure, they are judged in spite of the exit status. */
static void test_failed_rows(void **state)
{
    struct trial t = trial();

    write_builds(NATURAL ", {\"spec\": \"fp16\"}", NATURAL ", {\"spec\": \"fp16\"}", "");
    write_build(
        1, NATURAL ", {\"spec\": \"fp16\", \"status\": \"failed\", \"reason\": \"a wrong byte\"}",
        "\"status\": 5");
    go(&t);
    assert_int_equal(t.err, 0);
    judged(&t, FP16, GCB_QUANTITY_CASE, GCB_GONE);
    assert_non_null(strstr(find(&t, FP16, GCB_QUANTITY_CASE)->reason, "a wrong byte"));
    judged(&t, "natural", GCB_QUANTITY_ENCODE, GCB_SAME);
    end(&t);
    /* but not if all rows are ok */
    write_build(1, NATURAL, "\"status\": 5");
    t = trial();
    go(&t);
    assert_int_equal(t.err, GCB_E_IO);
    assert_non_null(strstr(t.diag.text, "exit status 5"));
    end(&t);
}

static int setup(void **state)
{
    if (!mkdtemp(folder))
        return -1;
    snprintf(paths[0], sizeof(paths[0]), "%s/base", folder);
    snprintf(paths[1], sizeof(paths[1]), "%s/new", folder);
    snprintf(log_path, sizeof(log_path), "%s/log", folder);
    snprintf(clock_path, sizeof(clock_path), "%s/clock", folder);
    return symlink(fake, paths[0]) || symlink(fake, paths[1]);
}

static int teardown(void **state)
{
    char name[140];

    for (int i = 0; i < 2; i++) {
        snprintf(name, sizeof(name), "%s.json", paths[i]);
        unlink(name);
        unlink(paths[i]);
    }
    unlink(log_path);
    unlink(clock_path);
    return rmdir(folder);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),      cmocka_unit_test(test_noise),
        cmocka_unit_test(test_verdicts),   cmocka_unit_test(test_calibration),
        cmocka_unit_test(test_many),       cmocka_unit_test(test_failures),
        cmocka_unit_test(test_fails_once), cmocka_unit_test(test_failed_rows),
        cmocka_unit_test(test_budget),
    };

    if (argc < 2 || access("/usr/bin/python3", X_OK))
        return 77;
    fake = argv[1];
    return cmocka_run_group_tests(tests, setup, teardown);
}
