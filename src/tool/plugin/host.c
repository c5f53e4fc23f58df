#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "src/tool/base/clock.h"
#include "src/tool/plugin/peer.h"

/*
 * The process of a shared object: answers requests until its input ends. A write of the object
 * past its output is found by a page that cannot be accessed, or by bytes that have changed.
 */

#define ALIGN 64    /* alignment of buffers, in bytes */
#define CANARY 0xa5 /* value of the bytes around a buffer */

/* Memory that ends at a page which cannot be accessed. */
struct room {
    uint8_t *map, *end; /* end: the first byte of that page */
    uint8_t *data;
    size_t bytes; /* of data */
};

static struct {
    int port; /* the socket */
    unsigned (*version)(void);
    int (*params)(const char *text);
    size_t (*bound)(uint64_t n);
    int (*encode)(const struct gcbench_at *at, const float *x, uint64_t n, void *message,
                  size_t *length);
    int (*decode)(const void *message, size_t length, float *x, uint64_t n);
    struct room in, out;
    char overrun[120]; /* what to say if the object writes past `out` */
} host;

/* Sends n bytes through the socket if `out`, else receives n bytes. Returns false if the socket is
 * closed or fails. */
static bool move(void *data, size_t n, bool out)
{
    for (size_t at = 0; at < n;) {
        const ssize_t moved = out ? write(host.port, (char *)data + at, n - at)
                                  : read(host.port, (char *)data + at, n - at);

        if (moved == 0 || (moved < 0 && errno != EINTR))
            return false;
        at += moved > 0 ? (size_t)moved : 0;
    }
    return true;
}

static void answer(uint64_t status, uint64_t nanoseconds, const void *bytes, size_t length)
{
    struct gcbench_answer a = {status, nanoseconds, length};

    if (!move(&a, sizeof(a), true) || !move((void *)(uintptr_t)bytes, length, true))
        _exit(1);
}

/* Ends the process. The last line of its standard error says why. */
static _Noreturn void give_up(const char *why)
{
    (void)!write(2, "\n", 1);
    (void)!write(2, why, strlen(why));
    _exit(1);
}

/* Ends the process. A fault in the page after the output says that the object wrote past it; any
 * other fault ends the process with its signal. */
static void on_fault(int number, siginfo_t *info, void *context)
{
    const uint8_t *at = info->si_addr;

    if (host.out.end && at >= host.out.end && at < host.out.end + sysconf(_SC_PAGESIZE))
        give_up(host.overrun);
    signal(number, SIG_DFL);
    raise(number);
}

/* Makes room for `bytes` bytes, with ALIGN bytes of CANARY before them and fewer after them. Keeps
 * memory that is large enough; without memory, ends the process. */
static void take_room(struct room *r, uint64_t bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);

    if (bytes > SIZE_MAX / 4)
        give_up("out of memory");
    if (!r->map || (size_t)(r->end - r->map) < bytes + 2 * ALIGN) {
        const size_t size = (bytes + 2 * ALIGN + page - 1) / page * page;

        if (r->map)
            munmap(r->map, (size_t)(r->end - r->map) + page);
        r->map =
            mmap(NULL, size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (r->map == MAP_FAILED)
            give_up("out of memory");
        r->end = r->map + size;
        mprotect(r->end, page, PROT_NONE);
    }
    r->bytes = bytes;
    r->data = r->end - (bytes + ALIGN - 1) / ALIGN * ALIGN;
    memset(r->data - ALIGN, CANARY, ALIGN);
    memset(r->data + bytes, CANARY, (size_t)(r->end - r->data) - bytes);
}

/* True if no byte around the buffer has changed. */
static bool is_whole(const struct room *r)
{
    bool whole = true;

    for (const uint8_t *p = r->data - ALIGN; p < r->data; p++)
        whole &= *p == CANARY;
    for (const uint8_t *p = r->data + r->bytes; p < r->end; p++)
        whole &= *p == CANARY;
    return whole;
}

/* Runs the object's encode or decode function on the bytes in host.in, and answers. */
static void run(const struct gcbench_request *r)
{
    const struct gcbench_at at = {r->seed, r->step, r->worker};
    const bool encodes = r->verb == GCBENCH_ENCODE;
    size_t length = 0;
    char text[40];
    double begin, took;
    int status;

    take_room(&host.out, encodes ? host.bound(r->elements) : r->elements * sizeof(float));
    snprintf(host.overrun, sizeof(host.overrun), "it wrote beyond the %zu bytes %s", host.out.bytes,
             encodes ? "that it gave as its bound" : "of the tensor");
    memset(host.out.data, 0xff, host.out.bytes); /* NaNs, so that elements left out are found */
    begin = gcb_clock();
    status =
        encodes ? host.encode(&at, (const float *)(void *)host.in.data, r->elements, host.out.data,
                              &length)
                : host.decode(host.in.data, r->length, (float *)(void *)host.out.data, r->elements);
    took = gcb_clock() - begin;
    if (!is_whole(&host.out))
        give_up(host.overrun);
    if (!status && length > host.out.bytes)
        give_up("it gave more bytes than its bound as the length");
    snprintf(text, sizeof(text), "it returned %d", status);
    if (status)
        answer(1, 0, text, strlen(text));
    else
        answer(0, (uint64_t)(1e9 * took), host.out.data, encodes ? length : host.out.bytes);
}

/* Returns a function of the object. Ends the process if the object has no such function, or if
 * `object` is NULL because dlopen failed. */
static void *find(void *object, const char *name)
{
    void *function = object ? dlsym(object, name) : NULL;

    if (!function)
        give_up(dlerror());
    return function;
}

static void open_object(const char *path, const char *params)
{
    void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);

    *(void **)&host.version = find(object, "gcbench_plugin_version");
    *(void **)&host.params = find(object, "gcbench_plugin_params");
    *(void **)&host.bound = find(object, "gcbench_plugin_bound");
    *(void **)&host.encode = find(object, "gcbench_plugin_encode");
    *(void **)&host.decode = find(object, "gcbench_plugin_decode");
    if (host.version() != GCBENCH_PLUGIN_VERSION)
        give_up("it was built for another version of gcbench-plugin.h");
    if (host.params(params))
        give_up("it refuses these parameters");
}

/* Moves the socket away from standard input and output, which the object may use. Sets on_fault as
 * the handler of faults. The process ends with its parent, and dumps no core. */
static void prepare_process(void)
{
    const struct rlimit none = {0, 0};
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER};

    host.port = fcntl(0, F_DUPFD_CLOEXEC, 3);
    close(0);
    open("/dev/null", O_RDONLY);
    dup2(2, 1);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setrlimit(RLIMIT_CORE, &none);
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
}

int gcb_plugin_host(int argc, char *const *argv)
{
    struct gcbench_request r;
    uint64_t bound;

    if (argc != 4)
        return 2;
    prepare_process();
    open_object(argv[2], argv[3]);
    while (move(&r, sizeof(r), false)) {
        take_room(&host.in, r.length);
        if (!move(host.in.data, r.length, false))
            return 1;
        if (r.verb == GCBENCH_BOUND) {
            bound = host.bound(r.elements);
            answer(0, 0, &bound, sizeof(bound));
        } else {
            run(&r);
        }
    }
    return 0;
}
