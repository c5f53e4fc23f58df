/*
 * Runs the threads of a block on one CPU thread. Each thread of the block is a fiber. It runs until
 * it comes to a meeting point, and continues when all threads that must be there have arrived.
 */
#include <algorithm>
#include <memory>
#include <string.h>
#include <sys/mman.h>
#include <vector>

#include "emulate.h"
#include "host.h"
#include "sanitize.h"
#include "switch.h"

gcb_host_place gcb_host_here;

namespace gcb_host
{
namespace
{

constexpr size_t kStack = 256 * 1024;
constexpr unsigned kWarp = 32;
constexpr unsigned kMostThreads = 1024;
constexpr unsigned char kPoison = 0xcb;
constexpr size_t kGuard = 64;

enum fiber_state { READY, WAITING, DONE };

struct fiber {
    struct context context;
    unsigned char *stack; /* NULL: not started */
    void *fake_stack;     /* the address sanitizer's */
    fiber_state state;
    /* where it waits */
    meeting kind;
    const char *file;
    int line;
    /* meetings so far; a value brought to a meeting stays until the next meeting but one */
    unsigned block_meetings, warp_meetings;
    uint64_t to_block[2], to_warp[2];
};

struct block {
    std::vector<fiber> fibers;
    std::vector<unsigned char *> free_stacks;
    std::vector<unsigned char> shared;
    size_t smem;
    const std::function<void()> *thread;
    struct context home;
    const void *home_stack;
    size_t home_size;
    void *home_fake;
    unsigned current, done, at_block;
} now;

int chosen_order = GCB_HOST_FORWARD;
uint64_t chosen_seed = 1;

uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* Puts 0..n - 1 in the chosen order. Only a shuffled one differs from the last. */
void put_in_order(std::vector<uint32_t> &order, size_t n, uint64_t *random)
{
    if (order.size() == n && chosen_order != GCB_HOST_SHUFFLED)
        return;
    order.resize(n);
    for (size_t i = 0; i < n; i++)
        order[i] = static_cast<uint32_t>(chosen_order == GCB_HOST_BACKWARD ? n - 1 - i : i);
    for (size_t i = n; chosen_order == GCB_HOST_SHUFFLED && i > 1; i--)
        std::swap(order[i - 1], order[next_random(random) % i]);
}

unsigned char *take_stack()
{
    unsigned char *stack;
    void *p;

    if (!now.free_stacks.empty()) {
        stack = now.free_stacks.back();
        now.free_stacks.pop_back();
    } else {
        p = mmap(nullptr, kStack, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p == MAP_FAILED)
            abort();
        stack = static_cast<unsigned char *>(p);
    }
    sanitize_allow(stack, kStack);
    return stack;
}

/* Returns to the loop in run_block. Does not return if the fiber is done. */
void leave(fiber *f)
{
    sanitize_leave(f->state == DONE ? nullptr : &f->fake_stack, now.home_stack, now.home_size);
    context_switch(&f->context, &now.home);
    sanitize_arrive(f->fake_stack, &now.home_stack, &now.home_size);
}

void fiber_main()
{
    fiber *f = &now.fibers[now.current];

    sanitize_arrive(nullptr, &now.home_stack, &now.home_size);
    (*now.thread)();
    f->state = DONE;
    now.done++;
    leave(f);
}

void resume(unsigned id)
{
    fiber *f = &now.fibers[id];

    now.current = id;
    gcb_host_here.thread = dim3(id, 0, 0);
    if (!f->stack) {
        f->stack = take_stack();
        context_start(&f->context, f->stack, kStack, fiber_main);
    }
    sanitize_leave(&now.home_fake, f->stack, kStack);
    context_switch(&now.home, &f->context);
    sanitize_arrive(now.home_fake, nullptr, nullptr);
    if (f->state == DONE && f->stack) {
        now.free_stacks.push_back(f->stack);
        f->stack = nullptr;
    }
}

std::string where(const fiber &f)
{
    const char *slash = strrchr(f.file, '/');

    return std::string(slash ? slash + 1 : f.file) + ":" + std::to_string(f.line);
}

std::string place_of(unsigned id)
{
    return "block " + std::to_string(gcb_host_here.block.x) + ", thread " + std::to_string(id);
}

void report_deadlock()
{
    std::string text = "deadlock: nobody can go on";

    for (unsigned i = 0; i < now.fibers.size(); i++)
        if (now.fibers[i].state == WAITING) {
            text += "; " + place_of(i) + " waits at " + where(now.fibers[i]);
            break;
        }
    for (unsigned i = 0; i < now.fibers.size(); i++)
        if (now.fibers[i].state == DONE) {
            text += "; " + place_of(i) + " has ended";
            break;
        }
    report_fault(text);
}

/* Lets threads [first, first + count) continue if all of them wait at the same place. */
void release_if_all(unsigned first, unsigned count)
{
    const fiber &mine = now.fibers[now.current];

    if (mine.kind <= MEET_COUNT && ++now.at_block < count)
        return;
    for (unsigned i = first; i < first + count; i++) {
        const fiber &f = now.fibers[i];

        if (f.state != WAITING || (f.kind <= MEET_COUNT) != (mine.kind <= MEET_COUNT))
            return;
    }
    for (unsigned i = first; i < first + count; i++) {
        const fiber &f = now.fibers[i];

        if (f.kind != mine.kind || f.line != mine.line || strcmp(f.file, mine.file) != 0) {
            report_fault("divergence: " + place_of(now.current) + " waits at " + where(mine) +
                         ", thread " + std::to_string(i) + " at " + where(f));
            return;
        }
    }
    for (unsigned i = first; i < first + count; i++)
        now.fibers[i].state = READY;
    if (mine.kind <= MEET_COUNT)
        now.at_block = 0;
}

void check_shared()
{
    for (size_t i = 0; i < kGuard; i++)
        if (now.shared[now.smem + i] != kPoison) {
            report_fault("shared memory is written past its end, block " +
                         std::to_string(gcb_host_here.block.x));
            return;
        }
}

/* Runs the threads of one block until they are done. */
void run_block(std::vector<uint32_t> &order, uint64_t *random)
{
    memset(now.shared.data(), kPoison, now.smem + kGuard);
    sanitize_forbid(now.shared.data() + now.smem, kGuard);
    now.done = now.at_block = 0;
    for (fiber &f : now.fibers) {
        if (f.stack) /* abandoned after a fault */
            now.free_stacks.push_back(f.stack);
        f = fiber();
    }
    while (now.done < now.fibers.size() && !failed()) {
        bool moved = false;

        put_in_order(order, now.fibers.size(), random);
        for (uint32_t id : order)
            if (now.fibers[id].state == READY && !failed()) {
                resume(id);
                moved = true;
            }
        if (!moved)
            report_deadlock();
    }
    sanitize_allow(now.shared.data() + now.smem, kGuard);
    if (!failed())
        check_shared();
}

} /* namespace */

void set_order(int order, uint64_t seed)
{
    chosen_order = order;
    chosen_seed = seed;
}

void run_grid(uint64_t grid, unsigned threads, size_t smem, const std::function<void()> &thread)
{
    std::vector<uint32_t> blocks, order;
    uint64_t random = chosen_seed;

    put_in_order(blocks, grid, &random);
    now.fibers.resize(threads);
    now.shared.assign(smem + kGuard, kPoison);
    now.smem = smem;
    now.thread = &thread;
    gcb_host_here.grid = dim3(static_cast<unsigned>(grid));
    gcb_host_here.threads = dim3(threads);
    for (uint32_t b : blocks) {
        if (failed())
            break;
        gcb_host_here.block = dim3(b, 0, 0);
        run_block(order, &random);
    }
}

void *shared_bytes(size_t needed)
{
    if (needed > now.smem) {
        report_fault("a kernel uses " + std::to_string(needed) +
                     " bytes of shared memory and was given " + std::to_string(now.smem));
        leave(&now.fibers[now.current]); /* does not return here */
    }
    return now.shared.data();
}

void meet(enum meeting kind, uint64_t brought, const char *file, int line)
{
    const unsigned id = now.current, first = id - id % kWarp;
    fiber *f = &now.fibers[id];

    f->state = WAITING;
    f->kind = kind;
    f->file = file;
    f->line = line;
    if (kind <= MEET_COUNT) {
        f->to_block[f->block_meetings++ % 2] = brought;
        release_if_all(0, static_cast<unsigned>(now.fibers.size()));
    } else {
        f->to_warp[f->warp_meetings++ % 2] = brought;
        release_if_all(first, kWarp);
    }
    /* The last to arrive leaves too, so that the scheduler decides the order after a meeting. */
    leave(f);
}

uint64_t brought_to_block(unsigned index)
{
    return now.fibers[index].to_block[(now.fibers[now.current].block_meetings - 1) % 2];
}

uint64_t brought_to_warp(unsigned index)
{
    return now.fibers[index].to_warp[(now.fibers[now.current].warp_meetings - 1) % 2];
}

} /* namespace gcb_host */
