#include "src/tool/read/child.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "src/tool/gcb_build.h"

/* The filter of system calls is written for these processors. */
#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#define RESULT_OF_CALL(context) (context)->uc_mcontext.gregs[REG_RAX]
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#define RESULT_OF_CALL(context) (context)->uc_mcontext.regs[0]
#else
#define ARCHITECTURE 0
#define RESULT_OF_CALL(context) *(int *)(context)
#endif

/* True if this is a build with AddressSanitizer, ThreadSanitizer or MemorySanitizer. They map
 * terabytes, and must be able to write their reports. */
static bool is_sanitized(void)
{
    return strstr(GCB_BUILD_SANITIZE, "address") || strstr(GCB_BUILD_SANITIZE, "thread") ||
           strstr(GCB_BUILD_SANITIZE, "memory");
}

/* ---- signals, descriptors and limits ---- */

/* Replaces the parent's signal handlers, which would remove the parent's temporary files. Ignores
 * SIGTERM and the signals of a terminal, which the parent handles. Unblocks all signals, because
 * the parent blocks them while it forks. */
static void reset_signals(void)
{
    static const int terminal[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP};
    sigset_t none;

    for (int i = 1; i < NSIG; i++)
        signal(i, SIG_DFL); /* fails for signals that cannot be caught, which is fine */
    for (size_t i = 0; i < sizeof(terminal) / sizeof(terminal[0]); i++)
        signal(terminal[i], SIG_IGN);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Closes all descriptors except `keep`, which is at least 3, and opens /dev/null as standard input,
 * output and error. A sanitizer keeps standard error for its report. */
static void close_descriptors(int keep)
{
    const int null = open("/dev/null", O_RDWR);
    const int last = is_sanitized() ? STDOUT_FILENO : STDERR_FILENO;
    bool closed;

    for (int i = STDIN_FILENO; i <= last; i++)
        if (null < 0)
            close(i);
        else
            dup2(null, i);
    /* close_range fails before Linux 5.9, or if it is not permitted */
    closed = (keep == 3 || close_range(3, (unsigned)keep - 1, 0) == 0) &&
             close_range((unsigned)keep + 1, ~0u, 0) == 0;
    for (int i = 3; !closed && i < (int)sysconf(_SC_OPEN_MAX); i++)
        if (i != keep)
            close(i);
}

/* Lowers the soft limit of a resource to `most`, if it is higher. */
static void lower_limit(int resource, rlim_t most)
{
    struct rlimit limit;

    if (getrlimit(resource, &limit) != 0 || limit.rlim_cur <= most)
        return;
    limit.rlim_cur = most;
    setrlimit(resource, &limit);
}

/* Lets this process map at most `more` bytes in addition to what it has mapped. Does nothing if
 * /proc cannot be read. */
static void limit_address_space(uint64_t more)
{
    FILE *file = fopen("/proc/self/statm", "r");
    unsigned long pages = 0;

    if (!file)
        return;
    if (fscanf(file, "%lu", &pages) == 1)
        lower_limit(RLIMIT_AS, (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + more);
    fclose(file);
}

/* ---- system calls ---- */

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define RETURN(action) BPF_STMT(BPF_RET | BPF_K, action)
#define REFUSE RETURN(SECCOMP_RET_TRAP) /* note_refused handles the signal */

/*
 * Rules for the system call `call`. They expect in the accumulator the number of the call that the
 * process makes, and leave the number there if the process makes another call. `argument` counts
 * from 0. Only the low 32 bits of an argument are checked; the kernel uses no other bits of these
 * arguments.
 */
/* Permits the call. */
#define ALLOW(call) \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_##call, 0, 1), RETURN(SECCOMP_RET_ALLOW)
/* Permits the call only if the argument has none of these bits. */
#define ALLOW_WITHOUT(call, argument, bits) \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_##call, 0, 4), LOAD(args[argument]), \
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, 1, 0), RETURN(SECCOMP_RET_ALLOW), REFUSE
/* Permits the call only if the argument has this value. */
#define ALLOW_EQUAL(call, argument, value) \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_##call, 0, 4), LOAD(args[argument]), \
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1), RETURN(SECCOMP_RET_ALLOW), REFUSE
/* Lets the call fail as if it were refused, without a note. */
#define FAIL(call) \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_##call, 0, 1), RETURN(SECCOMP_RET_ERRNO | EPERM)
#define FORBID(call) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_##call, 0, 1), REFUSE

static struct gcb_trace *refused_trace; /* where note_refused writes; NULL: nowhere */

/* Handles the signal of a refused system call: notes which call was the first, and lets it fail. */
static void note_refused(int number, siginfo_t *info, void *context)
{
    if (refused_trace && !refused_trace->refused)
        refused_trace->refused = info->si_syscall + 1;
    RESULT_OF_CALL((ucontext_t *)context) = -EPERM;
}

const char *gcb_sandbox_refused(const struct gcb_trace *trace)
{
    static const struct {
        int number;
        const char *name;
    } calls[] = {
#define CALL(call) {__NR_##call, #call},
#include "src/tool/gcb_calls.h"
#undef CALL
    };
    const int refused = __atomic_load_n(&trace->refused, __ATOMIC_RELAXED);

    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
        if (calls[i].number + 1 == refused)
            return calls[i].name;
    return refused ? "unknown" : NULL;
}

/* Adds a filter of system calls, if this build can have one and the kernel supports it. */
static void add_filter(struct sock_filter *code, size_t count)
{
    const struct sock_fprog program = {.len = (unsigned short)count, .filter = code};

    if (!is_sanitized() && ARCHITECTURE != 0)
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

/* Forbids all system calls except those that reading a file needs. */
static void limit_calls(void)
{
    const int writing = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC;
    struct sock_filter code[] = {
        LOAD(arch),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0),
        RETURN(SECCOMP_RET_KILL_PROCESS),
        LOAD(nr),
        /* for reading the file, and for packets to and from the parent */
        ALLOW(pread64),
        ALLOW(recvfrom),
        ALLOW(sendto),
        ALLOW(read),
        ALLOW(readv),
        ALLOW(lseek),
        ALLOW(fstat),
        ALLOW(newfstatat),
        ALLOW(statx),
        ALLOW(flock),
        ALLOW_EQUAL(fcntl, 1, F_GETFL), /* F_SETOWN and O_ASYNC could let a packet send a signal */
        ALLOW(close),
        ALLOW(getcwd),
        ALLOW_WITHOUT(openat, 2, (unsigned)writing),
#ifdef __NR_open /* older forms of these calls, which some C libraries make */
        ALLOW_WITHOUT(open, 1, (unsigned)writing),
        ALLOW(stat),
        ALLOW(lstat),
#endif
        /* for memory, which must not be executable */
        ALLOW(brk),
        ALLOW(munmap),
        ALLOW(mremap),
        ALLOW(madvise),
        ALLOW_WITHOUT(mmap, 2, PROT_EXEC),
        ALLOW_WITHOUT(mprotect, 2, PROT_EXEC),
        /* for calls that the C library makes on its own, and for abort() */
        ALLOW(futex),
        ALLOW(getrandom),
        ALLOW(clock_gettime),
        ALLOW(gettimeofday),
        ALLOW(getpid),
        ALLOW(gettid),
        ALLOW(rt_sigaction),
        ALLOW(rt_sigprocmask),
        ALLOW(rt_sigreturn),
        ALLOW_EQUAL(tgkill, 0, (unsigned)getpid()),
        ALLOW_EQUAL(tkill, 0, (unsigned)getpid()),
        ALLOW_EQUAL(write, 0, STDERR_FILENO), /* /dev/null */
        ALLOW_EQUAL(writev, 0, STDERR_FILENO),
        ALLOW(exit_group),
        FAIL(clock_nanosleep), /* HDF5 sleeps before it reads damaged metadata again */
        /* for gcb_sandbox_close_files, and harmless, because another filter can only forbid more */
        ALLOW_EQUAL(prctl, 0, PR_SET_SECCOMP),
        REFUSE,
    };

    add_filter(code, sizeof(code) / sizeof(code[0]));
}

void gcb_sandbox_close_files(void)
{
    struct sock_filter code[] = {
        LOAD(nr),
        FORBID(openat),
#ifdef __NR_open
        FORBID(open),
#endif
        RETURN(SECCOMP_RET_ALLOW),
    };

    add_filter(code, sizeof(code) / sizeof(code[0]));
}

bool gcb_sandbox_filters(void)
{
    return !is_sanitized() && ARCHITECTURE != 0 && prctl(PR_GET_SECCOMP, 0, 0, 0, 0) >= 0;
}

int gcb_sandbox_part(int keep, pid_t parent)
{
    if (keep < 3) /* this is possible if the parent has no standard error */
        keep = fcntl(keep, F_DUPFD, 3);
    reset_signals();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) /* the parent ended before the line above */
        _exit(1);
    prctl(PR_SET_NAME, "gcbench-read");
    close_descriptors(keep);
    lower_limit(RLIMIT_CORE, 0);
    return keep;
}

void gcb_sandbox_enter(uint64_t address_space, struct gcb_trace *trace)
{
    const struct sigaction refusal = {.sa_sigaction = note_refused, .sa_flags = SA_SIGINFO};

    refused_trace = trace;
    sigaction(SIGSYS, &refusal, NULL);
    if (!is_sanitized()) {
        lower_limit(RLIMIT_FSIZE, 0);
        limit_address_space(address_space);
    }
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    limit_calls();
}
