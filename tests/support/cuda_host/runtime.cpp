/*
 * Memory, streams and events of the stand-in for a device. Each allocation of device memory ends at
 * a page that cannot be accessed; outside kernels and copies none of it can. Within them, an
 * allocation becomes accessible when it is first touched. Work stays in its stream until the host
 * waits for it.
 */
#include <algorithm>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

#include "emulate.h"
#include "host.h"
#include "sanitize.h"

struct gcb_host_stream {
    std::deque<std::function<void()>> work;
};

struct gcb_host_event {
    cudaStream_t stream;
    uint64_t asked, reached; /* records queued, and records run */
    double seconds;
};

namespace gcb_host
{
namespace
{

constexpr unsigned char kFresh = 0xcb; /* content of memory that was not written */
constexpr size_t kAlign = 256;         /* as in cudaMalloc */
constexpr double kSeconds =
    1e-5; /* what a kernel, a copy or a memset takes, by the device's clock */
/* Bytes of pinned memory that are filled: staging memory of 16 MiB took most of the time of the
 * tests. */
constexpr size_t kFilled = 1 << 16;

constexpr size_t kFence =
    1 << 20; /* addresses before and after an allocation that are never accessible */

/* The pages [base, base + mapped), accessible to kernels and copies. The data are at their end, up
 * to alignment to kAlign. */
struct piece {
    unsigned char *base;
    size_t mapped, offset, size;
};

std::map<uintptr_t, piece> pieces; /* by address of the data */
std::map<uintptr_t, size_t> pinned;
std::string fault_text;
bool fault_seen;
bool idle; /* work is dropped instead of run */
double device_clock;
struct gcb_host_counts counts;
uint64_t limit_bytes;
thread_local int used_device;

size_t page_size()
{
    return static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

size_t slack(const piece &p)
{
    return p.mapped - p.offset - p.size;
}

piece *piece_with(uintptr_t address)
{
    auto after = pieces.upper_bound(address);
    const auto has = [address](const piece &p) {
        return address - reinterpret_cast<uintptr_t>(p.base) < p.mapped;
    };

    if (after != pieces.end() && has(after->second))
        return &after->second;
    return after != pieces.begin() && has((--after)->second) ? &after->second : nullptr;
}

unsigned opened; /* open_memory calls without a close_memory */
std::vector<piece *> touched;
struct sigaction host_action; /* what a fault does outside of work */

void protect(const piece *p, int how)
{
    if (mprotect(p->base, p->mapped, how) != 0)
        abort();
}

/* Gives the work on the device the allocation that it touches. Any other access is a fault. */
void touch(int number, siginfo_t *info, void *)
{
    piece *p = piece_with(reinterpret_cast<uintptr_t>(info->si_addr));

    if (p) {
        protect(p, PROT_READ | PROT_WRITE);
        touched.push_back(p); /* has room: see cudaMalloc */
    } else {
        sigaction(number, &host_action, nullptr);
    }
}

/* For work on the device. Calls may be nested: only the outermost one opens and closes. */
void open_memory()
{
    struct sigaction action = {};

    if (opened++ > 0)
        return;
    action.sa_sigaction = touch;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(SIGSEGV, &action, &host_action);
}

void close_memory()
{
    if (--opened > 0)
        return;
    sigaction(SIGSEGV, &host_action, nullptr);
    for (const piece *p : touched)
        protect(p, PROT_NONE);
    touched.clear();
}

/* True if the bytes are as they were when they were allocated. They may be accessed only here. */
bool fresh(const unsigned char *p, size_t size)
{
    bool same;

    sanitize_allow(p, size);
    same = size == 0 || (*p == kFresh && memcmp(p, p + 1, size - 1) == 0);
    sanitize_forbid(p, size);
    return same;
}

void check_edges()
{
    for (const piece *p : touched)
        if (!fresh(p->base, p->offset) || !fresh(p->base + p->offset + p->size, slack(*p)))
            report_fault("device memory is written outside an allocation of " +
                         std::to_string(p->size) + " bytes");
}

void run_one(cudaStream_t stream)
{
    const std::function<void()> work = std::move(stream->work.front());

    stream->work.pop_front();
    work();
}

void run_all(cudaStream_t stream)
{
    if (stream->work.empty())
        return;
    open_memory();
    while (!stream->work.empty())
        run_one(stream);
    close_memory();
}

void run_to(cudaEvent_t event, uint64_t record)
{
    if (event->reached >= record)
        return;
    open_memory();
    while (event->reached < record && !event->stream->work.empty())
        run_one(event->stream);
    close_memory();
}

bool mapped(uintptr_t address)
{
    const uintptr_t page = address - address % page_size();
    unsigned char present;

    return mincore(reinterpret_cast<void *>(page), 1, &present) == 0;
}

bool on_device(uintptr_t address)
{
    auto after = pieces.upper_bound(address);

    if (after == pieces.begin())
        return false;
    --after;
    return address <= after->first + after->second.size;
}

bool is_pinned(const void *p, size_t bytes)
{
    const uintptr_t address = reinterpret_cast<uintptr_t>(p);
    auto after = pinned.upper_bound(address);

    if (after == pinned.begin())
        return false;
    --after;
    return address + bytes <= after->first + after->second;
}

cudaError_t state()
{
    return fault_seen ? cudaErrorLaunchFailure : cudaSuccess;
}

/* For commands: after as many kernels as GCB_HOST_BREAK says, one fails, and so does everything
 * after it. */
void maybe_break()
{
    static const char *const after = getenv("GCB_HOST_BREAK");
    static unsigned long ran;

    if (after && ran++ == strtoul(after, nullptr, 10))
        fault_seen = true;
}

/* For commands: with GCB_HOST_COPY=damaged the last bit of each copy to the host is inverted,
 * except for copies of results, which are small. */
void bring_back(void *to, const void *from, size_t bytes)
{
    const char *how = getenv("GCB_HOST_COPY");

    memcpy(to, from, bytes);
    if (how && strcmp(how, "damaged") == 0 && bytes >= 512)
        static_cast<unsigned char *>(to)[bytes - 1] ^= 1;
}

} /* namespace */

void report_fault(const std::string &text)
{
    if (fault_seen)
        return;
    fault_seen = true;
    fault_text = text;
    fprintf(stderr, "cuda_host: %s\n", text.c_str());
}

bool failed()
{
    return fault_seen;
}

void enqueue(cudaStream_t stream, std::function<void()> work)
{
    static gcb_host_stream first; /* the default stream, whose work runs at once, on any thread */
    static std::recursive_mutex one_thread;
    cudaStream_t into = stream ? stream : &first;
    std::unique_lock<std::recursive_mutex> turn(one_thread, std::defer_lock);

    if (!stream)
        turn.lock();

    into->work.push_back([work] {
        if (fault_seen || idle) /* events are reached all the same */
            return;
        device_clock += kSeconds;
        open_memory();
        maybe_break();
        if (!fault_seen)
            work();
        check_edges();
        close_memory();
    });
    if (!stream)
        run_one(into);
}

/* Programs, libraries, heaps and stacks are above 2^45. Below it, pairs of small numbers would look
 * like addresses too. With GCB_HOST_MEMORY=all the host's memory is the device's too, for programs
 * that allocate it themselves. */
void check_arguments(const void *bytes, size_t size)
{
    static const char *const memory = getenv("GCB_HOST_MEMORY");

    for (size_t i = 0; !memory && i + sizeof(uintptr_t) <= size; i += sizeof(uintptr_t)) {
        uintptr_t word;

        memcpy(&word, static_cast<const unsigned char *>(bytes) + i, sizeof(word));
        if (word >> 45 != 0 && word >> 48 == 0 && !on_device(word) && mapped(word))
            report_fault("a kernel is given an address of the host");
    }
}

} /* namespace gcb_host */

using namespace gcb_host;

/* ---- for tests ---- */

void gcb_host_schedule(enum gcb_host_order order, uint64_t seed)
{
    set_order(order, seed);
}

void gcb_host_idle(bool on)
{
    idle = on;
}

const char *gcb_host_fault(void)
{
    static std::string last;

    last = fault_text;
    fault_text.clear();
    fault_seen = false;
    return last.c_str();
}

void gcb_host_count(struct gcb_host_counts *out)
{
    *out = counts;
}

void gcb_host_limit(uint64_t bytes)
{
    limit_bytes = bytes;
}

/* ---- the runtime ---- */

cudaError_t cudaGetDeviceCount(int *count)
{
    *count = 1;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device)
{
    if (fault_seen)
        return refused(state());
    if (device != 0 && device != 1) /* 1 is not counted: it stands for the caller's own device */
        return refused(cudaErrorInvalidDevice);
    used_device = device;
    return cudaSuccess;
}

cudaError_t cudaGetDevice(int *device)
{
    *device = used_device;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *out, int device)
{
    memset(out, 0, sizeof(*out));
    snprintf(out->name, sizeof(out->name), "a stand-in on the CPU, for tests");
    out->totalGlobalMem = size_t(1) << 32;
    out->major = 8;
    out->multiProcessorCount = 4;
    out->l2CacheSize = 1 << 20;
    return device == 0 ? cudaSuccess : refused(cudaErrorInvalidDevice);
}

cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr what, int device)
{
    *value = 1980000; /* kHz */
    return device == 0 && what == cudaDevAttrClockRate ? cudaSuccess
                                                       : refused(cudaErrorInvalidValue);
}

cudaError_t cudaDeviceGetPCIBusId(char *out, int size, int device)
{
    snprintf(out, static_cast<size_t>(size), "0000:3B:00.0");
    return device == 0 ? cudaSuccess : refused(cudaErrorInvalidDevice);
}

cudaError_t cudaDriverGetVersion(int *version)
{
    *version = 13000;
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    *version = 13000;
    return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total)
{
    *total = size_t(1) << 32;
    *free_bytes = (limit_bytes ? limit_bytes : *total) - counts.bytes;
    return cudaSuccess;
}

cudaError_t cudaMalloc(void **out, size_t bytes)
{
    const size_t page = page_size();
    piece p = {nullptr, (bytes + kAlign + page - 1) / page * page, 0, bytes};
    void *base;

    *out = nullptr;
    if (fault_seen)
        return refused(state());
    if (limit_bytes && counts.bytes + bytes > limit_bytes)
        return refused(cudaErrorMemoryAllocation);
    base = mmap(nullptr, p.mapped + 2 * kFence, PROT_NONE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED)
        return refused(cudaErrorMemoryAllocation);
    p.offset = (p.mapped - bytes) / kAlign * kAlign;
    p.base = static_cast<unsigned char *>(base) + kFence;
    /* keeps the kernel from joining these pages with those around them, only to cut them out
     * again */
    madvise(p.base, p.mapped, MADV_DONTDUMP);
    mprotect(p.base, p.mapped, PROT_READ | PROT_WRITE);
    memset(p.base, kFresh, p.mapped);
    mprotect(p.base, p.mapped, PROT_NONE);
    sanitize_forbid(p.base, p.offset);
    sanitize_forbid(p.base + p.offset + p.size, slack(p));
    *out = p.base + p.offset;
    pieces[reinterpret_cast<uintptr_t>(*out)] = p;
    touched.reserve(pieces.size());
    counts.bytes += bytes;
    counts.allocations++;
    counts.most_bytes = counts.bytes > counts.most_bytes ? counts.bytes : counts.most_bytes;
    return state();
}

cudaError_t cudaFree(void *p)
{
    const auto found = pieces.find(reinterpret_cast<uintptr_t>(p));

    if (!p)
        return cudaSuccess;
    if (found == pieces.end())
        return refused(cudaErrorInvalidValue);
    counts.bytes -= found->second.size;
    sanitize_allow(found->second.base, found->second.mapped);
    munmap(found->second.base - kFence, found->second.mapped + 2 * kFence);
    pieces.erase(found);
    return state();
}

cudaError_t cudaMallocHost(void **out, size_t bytes)
{
    *out = fault_seen ? nullptr : sanitize_malloc(bytes ? bytes : 1);
    if (!*out)
        return refused(fault_seen ? state() : cudaErrorMemoryAllocation);
    memset(*out, kFresh, std::min(bytes, kFilled));
    pinned[reinterpret_cast<uintptr_t>(*out)] = bytes;
    counts.allocations++;
    return state();
}

cudaError_t cudaFreeHost(void *p)
{
    const auto found = pinned.find(reinterpret_cast<uintptr_t>(p));

    if (!p)
        return cudaSuccess;
    if (found == pinned.end())
        return refused(cudaErrorInvalidValue);
    sanitize_free(p, found->second ? found->second : 1);
    pinned.erase(found);
    return state();
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *out, unsigned)
{
    *out = fault_seen ? nullptr : new gcb_host_stream();
    return fault_seen ? refused(state()) : cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    if (stream && !stream->work.empty())
        report_fault("a stream is destroyed while work is in it");
    delete stream;
    return state();
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    counts.waits++;
    run_all(stream);
    return state();
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned)
{
    const uint64_t record = event->asked;

    stream->work.push_back([event, record] {
        if (!fault_seen && !idle)
            run_to(event, record);
    });
    return state();
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    if (kind == cudaMemcpyHostToDevice && !is_pinned(from, bytes))
        report_fault("an asynchronous copy from memory that is not pinned");
    if (kind == cudaMemcpyDeviceToHost && !is_pinned(to, bytes))
        report_fault("an asynchronous copy to memory that is not pinned");
    if (bytes && (!to || !from))
        return refused(cudaErrorInvalidValue);
    if (bytes)
        enqueue(stream, [=] {
            if (kind == cudaMemcpyDeviceToHost)
                bring_back(to, from, bytes);
            else
                memcpy(to, from, bytes);
        });
    return state();
}

cudaError_t cudaMemsetAsync(void *p, int value, size_t bytes, cudaStream_t stream)
{
    if (bytes)
        enqueue(stream, [=] { memset(p, value, bytes); });
    return state();
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *out, unsigned)
{
    *out = fault_seen ? nullptr : new gcb_host_event();
    return fault_seen ? refused(state()) : cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    if (event)
        run_to(event, event->asked);
    delete event;
    return state();
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    event->stream = stream;
    event->asked++;
    stream->work.push_back([event] {
        event->reached++;
        event->seconds = device_clock;
    });
    return state();
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    counts.waits++;
    if (event->stream)
        run_to(event, event->asked);
    return state();
}

cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t from, cudaEvent_t to)
{
    *milliseconds = 0.0f;
    if (from->reached < from->asked || to->reached < to->asked)
        return refused(cudaErrorNotReady);
    *milliseconds = static_cast<float>(1e3 * (to->seconds - from->seconds));
    return state();
}
