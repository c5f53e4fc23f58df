/* Children of a process whose other threads use the library at that moment: each of them can use it
 * too. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/gcbench.h"
#include "tests/support/test.h"

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED true
#else
#define SANITIZED false
#endif

#define N 4096
#define THREADS 3
#define CHILDREN 120
#define DEADLINE 200 /* seconds for one child, which needs a few milliseconds */

static const char *spec;
static atomic_bool stop;
static float x[N];

/* Opens, encodes and closes. Returns whether all of it worked. */
static bool use_library(unsigned messages)
{
    static const struct gcb_options two = {.size = sizeof(two), .threads = 2};
    char *message = malloc(8 * N);
    struct gcb_encoder *e = NULL;
    size_t length;
    bool works = message && !gcb_encoder_open(&e, spec, N, &two, NULL);

    for (unsigned i = 0; i < messages && works; i++)
        works = !gcb_encode(e, i, 0, x, message, 8 * N, &length, NULL);
    gcb_encoder_close(e);
    free(message);
    return works;
}

static void *keep_using(void *unused)
{
    bool works = true;

    while (works && !stop)
        works = use_library(2);
    return works ? unused : NULL;
}

/* Forks a child, and returns its exit status. The alarm ends a child that hangs. */
static int run_child(void)
{
    const pid_t child = fork();
    int status = -1;

    if (child == 0) {
        alarm(DEADLINE);
        _exit(use_library(1) ? 0 : 1);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void children_work(const char *method)
{
    pthread_t thread[THREADS];
    void *worked;
    int status = 0;

    spec = method;
    stop = false;
    for (unsigned i = 0; i < N; i++)
        x[i] = (float)(i % 17) - 8.0f;
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, keep_using, x), 0);
    for (unsigned i = 0; i < CHILDREN && status == 0; i++)
        status = run_child();
    stop = true;
    for (unsigned i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(thread[i], &worked), 0);
        assert_non_null(worked);
    }
    if (WIFSIGNALED(status))
        fail_msg("%s: a child hung or died of signal %d", method, WTERMSIG(status));
    assert_int_equal(status, 0);
}

/* The planner of FFTW. */
static void while_threads_plan(void **state)
{
    children_work("fft");
}

/* OpenBLAS, which the threads load while the first children start. */
static void while_threads_multiply(void **state)
{
    children_work("powersgd");
}

/* Two threads fork at once, while others plan and multiply. */
static void *keep_forking(void *status)
{
    for (unsigned i = 0; i < CHILDREN / 4 && *(int *)status == 0; i++)
        *(int *)status = run_child();
    return NULL;
}

static void while_threads_fork(void **state)
{
    pthread_t user, forker[2];
    int status[2] = {0, 0};

    spec = "powersgd";
    stop = false;
    assert_int_equal(pthread_create(&user, NULL, keep_using, x), 0);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&forker[i], NULL, keep_forking, &status[i]), 0);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(pthread_join(forker[i], NULL), 0);
    stop = true;
    assert_int_equal(pthread_join(user, NULL), 0);
    assert_int_equal(status[0], 0);
    assert_int_equal(status[1], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(while_threads_plan),
        cmocka_unit_test(while_threads_multiply),
        cmocka_unit_test(while_threads_fork),
    };

    if (SANITIZED) {
        puts("skipped: the sanitizer's allocator may be locked in a child");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
