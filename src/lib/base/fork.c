#include "src/lib/base/fork.h"

#include <pthread.h>

/* A fork waits until `inside` is 0, and then holds `lock` until its last handler, so that no
 * section begins. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned inside;  /* number of threads in a section */
    unsigned waiting; /* number of forks that wait until no thread is in a section */
} gate = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

/* Number of calls of before_fork in this thread that no handler after the fork has matched yet. It
 * may exceed 1, because the handlers may be registered several times. Then only the first call
 * before the fork and the last call after it do something. */
static _Thread_local unsigned depth;

void gcb_fork_hold(void)
{
    pthread_mutex_lock(&gate.lock);
    while (gate.waiting)
        pthread_cond_wait(&gate.changed, &gate.lock);
    gate.inside++;
    pthread_mutex_unlock(&gate.lock);
}

void gcb_fork_release(void)
{
    pthread_mutex_lock(&gate.lock);
    if (--gate.inside == 0)
        pthread_cond_broadcast(&gate.changed);
    pthread_mutex_unlock(&gate.lock);
}

static void before_fork(void)
{
    if (depth++)
        return;
    pthread_mutex_lock(&gate.lock);
    gate.waiting++;
    while (gate.inside)
        pthread_cond_wait(&gate.changed, &gate.lock);
    gate.waiting--;
}

static void after_fork_in_parent(void)
{
    if (--depth)
        return;
    pthread_cond_broadcast(&gate.changed);
    pthread_mutex_unlock(&gate.lock);
}

static void after_fork_in_child(void)
{
    if (--depth)
        return;
    pthread_mutex_init(&gate.lock, NULL);
    pthread_cond_init(&gate.changed, NULL);
    gate.waiting = 0; /* another thread may have wanted to fork */
}

void gcb_fork_watch(void)
{
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}
