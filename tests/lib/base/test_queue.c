/* Threads of the library: every task runs once, whatever the system refuses, and over fork and
 * signals. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/lib/base/queue.h"
#include "tests/support/patience.h"
#include "tests/support/test.h"

#define TASKS 5000

static int allowed = 1 << 30; /* threads that may still be started */
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*start)(void *),
                          void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*start)(void *),
                          void *arg);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*start)(void *),
                          void *arg)
{
    if (allowed <= 0)
        return 11; /* EAGAIN */
    allowed--;
    return __real_pthread_create(thread, how, start, arg);
}

static void count(void *ctx, uint64_t i)
{
    atomic_fetch_add(&((_Atomic unsigned *)ctx)[i], 1);
}

/* Runs TASKS tasks on so many threads. Returns how many tasks did not run exactly once. */
static unsigned run(int threads)
{
    static _Thread_local _Atomic unsigned seen[TASKS];
    const struct gcb_queue queue = {.threads = threads};
    unsigned wrong = 0;

    memset(seen, 0, sizeof(seen));
    gcb_parallel(&queue, TASKS, count, seen);
    for (int i = 0; i < TASKS; i++)
        wrong += seen[i] != 1;
    return wrong;
}

/* First, because later tests leave threads behind. */
static void works_without_any_thread(void **state)
{
    allowed = 0;
    assert_int_equal(run(8), 0);
    allowed = 2; /* fewer than it wants */
    assert_int_equal(run(8), 0);
    assert_int_equal(allowed, 0);
    allowed = 1 << 30;
}

static void runs_each_task_once(void **state)
{
    const struct gcb_queue two = {.threads = 2};

    for (int round = 0; round < 200; round++)
        assert_int_equal(run(1 + round % 9), 0);
    assert_int_equal(run(GCB_THREADS_MOST), 0);
    gcb_parallel(&two, 0, count, NULL);
}

/* Two tasks that wait for each other need two threads at the same time. */
static void meet(void *ctx, uint64_t i)
{
    atomic_fetch_add((_Atomic unsigned *)ctx, 1);
    while (atomic_load((_Atomic unsigned *)ctx) < 4)
        ;
}

static void runs_tasks_at_the_same_time(void **state)
{
    const struct gcb_queue queue = {.threads = 4};

    for (int round = 0; round < 50; round++) {
        _Atomic unsigned there = 0;

        gcb_parallel(&queue, 4, meet, &there);
        assert_int_equal(there, 4);
    }
}

static void nest(void *ctx, uint64_t i)
{
    atomic_fetch_add((_Atomic unsigned *)ctx, run(3));
}

static void *call_from_thread(void *wrong)
{
    for (int round = 0; round < 20; round++)
        atomic_fetch_add((_Atomic unsigned *)wrong, run(3));
    return NULL;
}

static void serves_nested_and_concurrent_callers(void **state)
{
    const struct gcb_queue queue = {.threads = 4};
    _Atomic unsigned wrong = 0;
    pthread_t callers[6];

    gcb_parallel(&queue, 40, nest, &wrong);
    for (int i = 0; i < 6; i++)
        assert_int_equal(pthread_create(&callers[i], NULL, call_from_thread, &wrong), 0);
    for (int i = 0; i < 6; i++)
        pthread_join(callers[i], NULL);
    assert_int_equal(wrong, 0);
}

static void works_in_a_forked_child(void **state)
{
    assert_int_equal(run(4), 0); /* threads wait now */
    for (int round = 0; round < 20; round++) {
        const pid_t child = fork();
        int how;

        if (child == 0) {
            alarm(hang_seconds());
            exit(run(4) ? 1 : 0); /* exit also ends the child's own threads */
        }
        assert_int_equal(waitpid(child, &how, 0), child);
        assert_true(WIFEXITED(how));
        assert_int_equal(WEXITSTATUS(how), 0);
    }
}

static pthread_t caller;
static _Atomic unsigned elsewhere, handled;

static void on_signal(int number)
{
    handled++;
    elsewhere += !pthread_equal(pthread_self(), caller);
}

static void leaves_signals_to_the_caller(void **state)
{
    caller = pthread_self();
    signal(SIGUSR1, on_signal);
    for (int round = 0; round < 200; round++) {
        kill(getpid(), SIGUSR1);
        assert_int_equal(run(4), 0);
    }
    signal(SIGUSR1, SIG_DFL);
    assert_true(handled > 0);
    assert_int_equal(elsewhere, 0);
}

RUN_TESTS(cmocka_unit_test(works_without_any_thread), cmocka_unit_test(runs_each_task_once),
          cmocka_unit_test(runs_tasks_at_the_same_time),
          cmocka_unit_test(serves_nested_and_concurrent_callers),
          cmocka_unit_test(works_in_a_forked_child), cmocka_unit_test(leaves_signals_to_the_caller))
