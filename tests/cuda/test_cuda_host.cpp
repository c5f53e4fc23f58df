/*
 * Tests that the stand-in for a device (tests/support/cuda_host) finds mistakes. Each mistake is
 * made once, in a small kernel; the same kernel without the mistake must pass.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern "C" {
#include <cmocka.h>
}

#include "host.h"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/warp.cuh"

namespace
{

constexpr unsigned kThreads = 128;

struct neighbours {
    uint32_t value[kThreads];
};

/* Each thread passes its number to the previous thread. */
__global__ void hand_over(uint32_t *out, bool with_barrier)
{
    neighbours &s = gcb::shared<neighbours>();
    const unsigned t = threadIdx.x;

    s.value[t] = t;
    if (with_barrier)
        gcb::sync_block();
    out[blockIdx.x * blockDim.x + t] = s.value[(t + 1) % blockDim.x];
}

/* Blocks pass numbers through device memory, which is wrong within a launch. */
__global__ void between_blocks(uint32_t *out)
{
    if (threadIdx.x == 0)
        out[blockIdx.x] = blockIdx.x == 0 ? 7 : out[blockIdx.x - 1];
}

__global__ void some_leave(uint32_t *out)
{
    if (threadIdx.x == 5)
        return;
    gcb::sync_block();
    out[threadIdx.x] = 1;
}

__global__ void two_places(uint32_t *out)
{
    if (threadIdx.x < 64)
        gcb::sync_block();
    else
        gcb::sync_block();
    out[threadIdx.x] = 1;
}

__global__ void half_a_warp(uint32_t *out)
{
    uint32_t bits = 0;

    if (gcb::lane() < 16)
        bits = gcb::ballot(true);
    out[threadIdx.x] = bits;
}

__global__ void warp_work(uint32_t *out)
{
    uint32_t v = threadIdx.x;

    for (unsigned by = gcb::kWarp / 2; by > 0; by /= 2)
        v += gcb::shfl_xor(v, by);
    v += gcb::shfl_down(threadIdx.x, 1u) + gcb::shfl_up(threadIdx.x, 1u) + gcb::shfl(v, 3u);
    v += gcb::ballot(threadIdx.x % 3 == 0) + gcb::count_block(threadIdx.x % 5 == 0);
    out[threadIdx.x] = v;
}

__global__ void store_at(uint32_t *out, uint64_t at)
{
    if (threadIdx.x == 0)
        out[at] = 1;
}

__global__ void past_shared(uint32_t *out, unsigned at)
{
    neighbours &s = gcb::shared<neighbours>();
    uint32_t *value = s.value;

    if (threadIdx.x == 0)
        value[at] = 1;
    gcb::sync_block();
    out[threadIdx.x] = value[0];
}

__global__ void add_up(uint64_t *sum)
{
    gcb::atomic_add(sum, static_cast<uint64_t>(threadIdx.x));
}

/* A stream, and memory of both kinds. */
struct bench {
    gcb_device_stream stream;
    uint32_t *dev, *host;
};

void open_bench(bench *b)
{
    void *p = nullptr;

    gcb_host_fault();
    memset(b, 0, sizeof(*b));
    assert_int_equal(cudaStreamCreateWithFlags(&b->stream.handle, cudaStreamNonBlocking), 0);
    assert_int_equal(cudaMalloc(&p, 4 * kThreads * sizeof(uint32_t)), 0);
    b->dev = static_cast<uint32_t *>(p);
    assert_int_equal(cudaMallocHost(&p, 4 * kThreads * sizeof(uint32_t)), 0);
    b->host = static_cast<uint32_t *>(p);
}

void close_bench(bench *b)
{
    gcb_host_fault();
    cudaStreamDestroy(b->stream.handle);
    cudaFree(b->dev);
    cudaFreeHost(b->host);
    gcb_host_schedule(GCB_HOST_FORWARD, 1);
}

/* Waits for the kernels and copies n words to the host. */
const uint32_t *fetch(bench *b, size_t n)
{
    cudaMemcpyAsync(b->host, b->dev, n * sizeof(uint32_t), cudaMemcpyDeviceToHost,
                    b->stream.handle);
    cudaStreamSynchronize(b->stream.handle);
    return b->host;
}

/* Number of orders, of eight, in which hand_over gives the right result. */
int right_orders(bool with_barrier)
{
    int right = 0;
    bench b;

    open_bench(&b);
    for (int i = 0; i < 8; i++) {
        bool good = true;

        gcb_host_schedule(i == 0   ? GCB_HOST_FORWARD
                          : i == 1 ? GCB_HOST_BACKWARD
                                   : GCB_HOST_SHUFFLED,
                          static_cast<uint64_t>(i));
        gcb::launch(hand_over, 2, kThreads, sizeof(neighbours), &b.stream, b.dev, with_barrier);
        const uint32_t *got = fetch(&b, 2 * kThreads);
        for (unsigned k = 0; k < 2 * kThreads; k++)
            good = good && got[k] == (k + 1) % kThreads;
        right += good;
    }
    assert_string_equal(gcb_host_fault(), "");
    close_bench(&b);
    return right;
}

void a_missing_barrier_changes_the_result(void **)
{
    assert_int_equal(right_orders(true), 8);
    assert_int_equal(right_orders(false), 0);
}

void the_order_of_blocks_is_open(void **)
{
    bench b;
    uint32_t first[3][4];

    open_bench(&b);
    for (int i = 0; i < 3; i++) {
        gcb_host_schedule(static_cast<gcb_host_order>(i), 3);
        cudaMemsetAsync(b.dev, 0, 4 * sizeof(uint32_t), b.stream.handle);
        gcb::launch(between_blocks, 4, 32, 0, &b.stream, b.dev);
        memcpy(first[i], fetch(&b, 4), sizeof(first[i]));
    }
    assert_int_equal(first[0][3], 7);
    assert_int_equal(first[1][3], 0);
    assert_memory_not_equal(first[0], first[1], sizeof(first[0]));
    close_bench(&b);
}

/* Runs a kernel that must fail, and looks for a word in the message. */
void expect_fault(void (*kernel)(uint32_t *), const char *word)
{
    for (int i = 0; i < 3; i++) {
        bench b;
        const char *said;

        open_bench(&b);
        gcb_host_schedule(static_cast<gcb_host_order>(i), 1);
        assert_int_equal(gcb::launch(kernel, 1, kThreads, 0, &b.stream, b.dev), 0);
        assert_int_not_equal(cudaStreamSynchronize(b.stream.handle), 0);
        said = gcb_host_fault();
        if (!strstr(said, word))
            fail_msg("'%s' does not say '%s'", said, word);
        close_bench(&b);
    }
}

void threads_that_do_not_come_are_a_deadlock(void **)
{
    expect_fault(some_leave, "deadlock");
    expect_fault(half_a_warp, "deadlock");
}

void meeting_at_two_places_is_reported(void **)
{
    expect_fault(two_places, "divergence");
}

void warps_exchange_what_they_should(void **)
{
    for (int order = 0; order < 3; order++) {
        const uint32_t *got;
        bench b;

        open_bench(&b);
        gcb_host_schedule(static_cast<gcb_host_order>(order), 9);
        gcb::launch(warp_work, 1, kThreads, 0, &b.stream, b.dev);
        got = fetch(&b, kThreads);
        for (uint32_t t = 0; t < kThreads; t++) {
            const uint32_t warp = t / 32 * 32;
            uint32_t sum = 0, bits = 0;

            for (uint32_t i = warp; i < warp + 32; i++) {
                sum += i;
                bits |= static_cast<uint32_t>(i % 3 == 0) << (i - warp);
            }
            assert_int_equal(got[t], static_cast<uint32_t>(2 * sum + (t % 32 == 31 ? t : t + 1) +
                                                           (t % 32 == 0 ? t : t - 1) + bits + 26));
        }
        assert_string_equal(gcb_host_fault(), "");
        close_bench(&b);
    }
}

void atomics_add_up(void **)
{
    bench b;

    open_bench(&b);
    cudaMemsetAsync(b.dev, 0, sizeof(uint64_t), b.stream.handle);
    gcb::launch(add_up, 3, kThreads, 0, &b.stream, reinterpret_cast<uint64_t *>(b.dev));
    assert_int_equal(fetch(&b, 2)[0], 3 * kThreads * (kThreads - 1) / 2);
    close_bench(&b);
}

/* Runs `run` in a child process. True if it crashed or reported a fault. */
bool is_found(void (*run)(bench *b))
{
    int status = 0;
    const pid_t child = fork();

    if (child == 0) {
        bench b;

        signal(SIGSEGV, SIG_DFL); /* otherwise cmocka would catch the signal and continue */
        signal(SIGBUS, SIG_DFL);
        if (!freopen("/dev/null", "w", stderr))
            _exit(0);
        open_bench(&b);
        run(&b);
        cudaStreamSynchronize(b.stream.handle);
        _exit(gcb_host_fault()[0] != '\0');
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

constexpr uint64_t kEnd = 4 * kThreads;

void accesses_outside_are_found(void **)
{
    assert_false(
        is_found([](bench *b) { gcb::launch(store_at, 1, 32, 0, &b->stream, b->dev, kEnd - 1); }));
    assert_true(
        is_found([](bench *b) { gcb::launch(store_at, 1, 32, 0, &b->stream, b->dev, kEnd); }));
    assert_true(is_found([](bench *b) {
        gcb::launch(store_at, 1, 32, 0, &b->stream, b->dev, ~UINT64_C(0)); /* index -1 */
    }));
    assert_true(is_found(
        [](bench *b) { gcb::launch(store_at, 1, 32, 0, &b->stream, b->dev, kEnd + 5000); }));
}

void shared_memory_ends_where_it_was_said_to(void **)
{
    constexpr size_t bytes = sizeof(neighbours);

    assert_false(is_found([](bench *b) {
        gcb::launch(past_shared, 1, kThreads, bytes, &b->stream, b->dev, kThreads - 1);
    }));
    assert_true(is_found([](bench *b) {
        gcb::launch(past_shared, 1, kThreads, bytes, &b->stream, b->dev, kThreads);
    }));
    assert_true(is_found([](bench *b) {
        gcb::launch(past_shared, 1, kThreads, bytes - 4, &b->stream, b->dev, 0u);
    }));
}

void the_host_cannot_touch_device_memory(void **)
{
    assert_true(is_found([](bench *b) { *static_cast<volatile uint32_t *>(b->dev) = 1; }));
    assert_false(is_found([](bench *b) { *static_cast<volatile uint32_t *>(b->host) = 1; }));
}

void a_kernel_cannot_be_given_host_memory(void **)
{
    struct both {
        uint64_t n;
        uint32_t *p;
    };

    assert_true(is_found([](bench *b) { gcb::launch(some_leave, 1, 32, 0, &b->stream, b->host); }));
    bench b;
    open_bench(&b);
    const both on_device = {5, b.dev}, on_host = {5, b.host};
    gcb_host::check_arguments(&on_device, sizeof(on_device));
    assert_string_equal(gcb_host_fault(), "");
    gcb_host::check_arguments(&on_host, sizeof(on_host));
    assert_non_null(strstr(gcb_host_fault(), "address of the host"));
    close_bench(&b);
}

void work_waits_until_it_is_waited_for(void **)
{
    bench b;

    open_bench(&b);
    memset(b.host, 0, 4);
    gcb::launch(hand_over, 1, kThreads, sizeof(neighbours), &b.stream, b.dev, true);
    cudaMemcpyAsync(b.host, b.dev, 4, cudaMemcpyDeviceToHost, b.stream.handle);
    assert_int_equal(b.host[0], 0);
    assert_int_equal(cudaStreamSynchronize(b.stream.handle), 0);
    assert_int_equal(b.host[0], 1);
    assert_int_equal(b.stream.launches, 1);
    close_bench(&b);
}

void streams_wait_for_events_alone(void **)
{
    cudaStream_t other;
    cudaEvent_t event;
    float ms;
    bench b;

    open_bench(&b);
    cudaStreamCreateWithFlags(&other, 0);
    cudaEventCreateWithFlags(&event, 0);
    memset(b.host, 0, 4);
    gcb::launch(hand_over, 1, kThreads, sizeof(neighbours), &b.stream, b.dev, true);
    /* the copy is not ordered after the kernel, so it sees memory as it was allocated */
    cudaMemcpyAsync(b.host, b.dev, 4, cudaMemcpyDeviceToHost, other);
    cudaStreamSynchronize(other);
    assert_int_equal(b.host[0], 0xcbcbcbcb);
    cudaEventRecord(event, b.stream.handle);
    assert_int_equal(cudaEventElapsedTime(&ms, event, event), cudaErrorNotReady);
    cudaStreamWaitEvent(other, event, 0);
    cudaMemcpyAsync(b.host, b.dev, 4, cudaMemcpyDeviceToHost, other);
    cudaStreamSynchronize(other);
    assert_int_equal(b.host[0], 1);
    assert_int_equal(cudaEventElapsedTime(&ms, event, event), 0);
    cudaEventDestroy(event);
    cudaStreamDestroy(other);
    close_bench(&b);
}

void streams_are_waited_for_before_they_go(void **)
{
    bench b;

    open_bench(&b);
    cudaMemcpyAsync(b.host, b.dev, 4, cudaMemcpyDeviceToHost, b.stream.handle);
    close_bench(&b);
    assert_non_null(strstr(gcb_host_fault(), "a stream is destroyed"));
    open_bench(&b);
    fetch(&b, 1);
    close_bench(&b);
    assert_string_equal(gcb_host_fault(), "");
}

void copies_want_pinned_memory(void **)
{
    uint32_t plain[4] = {0, 0, 0, 0};
    bench b;

    open_bench(&b);
    cudaMemcpyAsync(b.dev, plain, sizeof(plain), cudaMemcpyHostToDevice, b.stream.handle);
    assert_non_null(strstr(gcb_host_fault(), "not pinned"));
    cudaStreamSynchronize(b.stream.handle);
    cudaMemcpyAsync(b.dev, b.host, sizeof(plain), cudaMemcpyHostToDevice, b.stream.handle);
    cudaStreamSynchronize(b.stream.handle);
    assert_string_equal(gcb_host_fault(), "");
    close_bench(&b);
}

void launches_are_checked(void **)
{
    bench b;

    open_bench(&b);
    assert_int_equal(gcb::launch(warp_work, 0, 32, 0, &b.stream, b.dev), GCB_E_DEVICE);
    assert_string_equal(b.stream.fault.call, "cudaErrorInvalidConfiguration");
    assert_int_equal(gcb::launch(warp_work, 1, 33, 0, &b.stream, b.dev), GCB_E_DEVICE);
    assert_int_equal(gcb::launch(warp_work, 1, 32, 100 * 1024, &b.stream, b.dev), GCB_E_DEVICE);
    assert_int_equal(b.stream.launches, 0);
    close_bench(&b);
}

} /* namespace */

int main()
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_missing_barrier_changes_the_result),
        cmocka_unit_test(the_order_of_blocks_is_open),
        cmocka_unit_test(threads_that_do_not_come_are_a_deadlock),
        cmocka_unit_test(meeting_at_two_places_is_reported),
        cmocka_unit_test(warps_exchange_what_they_should),
        cmocka_unit_test(atomics_add_up),
        cmocka_unit_test(accesses_outside_are_found),
        cmocka_unit_test(shared_memory_ends_where_it_was_said_to),
        cmocka_unit_test(the_host_cannot_touch_device_memory),
        cmocka_unit_test(a_kernel_cannot_be_given_host_memory),
        cmocka_unit_test(work_waits_until_it_is_waited_for),
        cmocka_unit_test(streams_wait_for_events_alone),
        cmocka_unit_test(streams_are_waited_for_before_they_go),
        cmocka_unit_test(copies_want_pinned_memory),
        cmocka_unit_test(launches_are_checked),
    };

    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
