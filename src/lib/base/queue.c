#include "src/lib/base/queue.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/cpu_flags.h"
#include "src/lib/base/fork.h"

#define STACK_BYTES (1 << 20) /* stack of a thread; FFTW uses up to 64 KiB of it at a time */
#define ROOM_LEFT (16 << 20)  /* bytes that must be left to allocate after a thread was started */
#define SPINS 2000            /* checks of a counter before a thread sleeps: tens of microseconds */

/* One call of gcb_parallel. It lives on the caller's stack. */
struct job {
    void (*task)(void *ctx, uint64_t i);
    void *ctx;
    uint64_t tasks;
    _Atomic uint64_t next;   /* the first task that no thread has taken */
    _Atomic unsigned inside; /* number of threads working on this job, except the caller */
    unsigned wanted;         /* number of threads that may still join */
    struct job *later;       /* the next job in the pool's list */
};

/* The library's threads in this process. `lock` protects all fields, but `offers` may be read
 * without it, and `threads` too after the last thread was started. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t work, done;
    struct job *first;       /* jobs that want threads */
    _Atomic unsigned offers; /* sum of `wanted` over these jobs */
    unsigned busy, count;    /* number of threads that work on a job; number of threads */
    bool stop;
    pthread_t threads[GCB_THREADS_MOST];
} pool = {
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .work = PTHREAD_COND_INITIALIZER,
    .done = PTHREAD_COND_INITIALIZER,
};

static void run_tasks(struct job *job)
{
    uint64_t i;

    while ((i = atomic_fetch_add_explicit(&job->next, 1, memory_order_relaxed)) < job->tasks)
        job->task(job->ctx, i);
}

/* Removes the job from the list, if it is still there. The caller holds the lock. */
static void withdraw(struct job *job)
{
    struct job **at = &pool.first;

    while (*at && *at != job)
        at = &(*at)->later;
    if (!*at)
        return;
    *at = job->later;
    pool.offers -= job->wanted;
    job->wanted = 0;
}

/* Waits for a job and joins it. Returns NULL if the process is ending or the library is being
 * unloaded. The caller holds the lock; the function releases it while it waits. */
static struct job *join_job(void)
{
    struct job *job;

    while (!pool.first && !pool.stop) {
        pthread_mutex_unlock(&pool.lock);
        for (int i = 0; i < SPINS && !atomic_load_explicit(&pool.offers, memory_order_relaxed); i++)
            gcb_cpu_relax();
        pthread_mutex_lock(&pool.lock);
        if (!pool.first && !pool.stop)
            pthread_cond_wait(&pool.work, &pool.lock);
    }
    job = pool.stop ? NULL : pool.first;
    if (!job)
        return NULL;
    pool.busy++;
    job->inside++;
    pool.offers--;
    if (--job->wanted == 0)
        pool.first = job->later;
    return job;
}

/* Each thread of the pool runs this function until end_threads stops it. */
static void *serve(void *unused)
{
    struct job *job;

    pthread_mutex_lock(&pool.lock);
    while ((job = join_job())) {
        pthread_mutex_unlock(&pool.lock);
        run_tasks(job);
        pthread_mutex_lock(&pool.lock);
        pool.busy--;
        if (--job->inside == 0)
            pthread_cond_broadcast(&pool.done);
    }
    pthread_mutex_unlock(&pool.lock);
    return NULL;
}

/* ---- what happens to the threads at fork and at exit ---- */

static void before_fork(void)
{
    pthread_mutex_lock(&pool.lock);
}

static void after_fork_in_parent(void)
{
    pthread_mutex_unlock(&pool.lock);
}

/* The child process has none of the pool's threads, only the thread that called fork. That thread
 * is not running a job. */
static void after_fork_in_child(void)
{
    pthread_mutex_init(&pool.lock, NULL);
    pthread_cond_init(&pool.work, NULL);
    pthread_cond_init(&pool.done, NULL);
    pool.first = NULL;
    pool.offers = 0;
    pool.busy = pool.count = 0;
}

__attribute__((constructor)) static void watch_fork(void)
{
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    /* Handlers that run before a fork run in the reverse order of their registration. So a fork
     * waits for the sections of src/lib/base/fork.h before it takes pool.lock, because a thread in
     * a section may need the pool. */
    gcb_fork_watch();
}

/* Runs at exit and when the library is unloaded, because no thread may run the library's code after
 * that. */
__attribute__((destructor)) static void end_threads(void)
{
    unsigned count;

    pthread_mutex_lock(&pool.lock);
    pool.stop = true;
    count = pool.count;
    pool.count = pool.busy = GCB_THREADS_MOST; /* so that no thread is started any more */
    pthread_cond_broadcast(&pool.work);
    pthread_mutex_unlock(&pool.lock);
    for (unsigned i = 0; i < count; i++)
        pthread_join(pool.threads[i], NULL);
}

/* ---- running a job ---- */

/* Starts threads until as many are idle as the waiting jobs want, the pool is full, or the system
 * allows no more. Leaves ROOM_LEFT bytes of a limited address space, because the work itself
 * allocates. The caller holds the lock. */
static void start_threads(void)
{
    sigset_t all, before;
    pthread_attr_t how;

    if (pool.count - pool.busy >= pool.offers || pool.count >= GCB_THREADS_MOST ||
        pthread_attr_init(&how))
        return;
    pthread_attr_setstacksize(&how, STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (pool.count - pool.busy < pool.offers && pool.count < GCB_THREADS_MOST &&
           gcb_has_room(1, STACK_BYTES + ROOM_LEFT) &&
           !pthread_create(&pool.threads[pool.count], &how, serve, NULL))
        pool.count++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&how);
}

/* Appends the job to the list, starts threads that are missing, and wakes idle ones. */
static void offer(struct job *job)
{
    struct job **end = &pool.first;

    pthread_mutex_lock(&pool.lock);
    while (*end)
        end = &(*end)->later;
    *end = job;
    pool.offers += job->wanted;
    start_threads();
    if (job->wanted == 1)
        pthread_cond_signal(&pool.work);
    else
        pthread_cond_broadcast(&pool.work);
    pthread_mutex_unlock(&pool.lock);
}

static void wait_until_done(struct job *job)
{
    pthread_mutex_lock(&pool.lock);
    withdraw(job);
    pthread_mutex_unlock(&pool.lock);
    for (int i = 0; i < SPINS && atomic_load_explicit(&job->inside, memory_order_acquire); i++)
        gcb_cpu_relax();
    pthread_mutex_lock(&pool.lock);
    while (job->inside)
        pthread_cond_wait(&pool.done, &pool.lock);
    pthread_mutex_unlock(&pool.lock);
}

/* Not inlined, so that gcb_parallel uses stack space for a job only if it needs more than one
 * thread. */
__attribute__((noinline)) static void run_job(unsigned threads, uint64_t tasks,
                                              void (*task)(void *ctx, uint64_t i), void *ctx)
{
    struct job job = {.task = task, .ctx = ctx, .tasks = tasks, .wanted = threads - 1};

    offer(&job);
    run_tasks(&job);
    wait_until_done(&job);
}

void gcb_parallel(const struct gcb_queue *queue, uint64_t tasks,
                  void (*task)(void *ctx, uint64_t i), void *ctx)
{
    if (queue->threads <= 1 || tasks <= 1)
        for (uint64_t i = 0; i < tasks; i++)
            task(ctx, i);
    else
        run_job(tasks < (uint64_t)queue->threads ? (unsigned)tasks : (unsigned)queue->threads,
                tasks, task, ctx);
    /* The tasks of the calling thread may have stored past the caches; this fence orders these
     * stores. For the other threads, taking and releasing pool.lock has done so. */
    atomic_thread_fence(memory_order_seq_cst);
}
