#ifndef TESTS_SUPPORT_CUDA_HOST_SWITCH_H
#define TESTS_SUPPORT_CUDA_HOST_SWITCH_H

/*
 * Switches stacks. Threads of a block meet so often that swapcontext, which makes a system call for
 * the signal mask each time, took most of the tests' time. On x86-64 a switch is a dozen
 * instructions instead.
 */
#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__)
extern "C" void gcb_host_switch(void **from, void *to);
#else
#include <ucontext.h>
#endif

namespace gcb_host
{

#if defined(__x86_64__)

/* Pushes the registers that a function must preserve; a call may change the others anyway. */
__asm__(".text\n"
        ".hidden gcb_host_switch\n"
        ".globl gcb_host_switch\n"
        ".type gcb_host_switch, @function\n"
        "gcb_host_switch:\n"
        "    pushq %rbp\n"
        "    pushq %rbx\n"
        "    pushq %r12\n"
        "    pushq %r13\n"
        "    pushq %r14\n"
        "    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15\n"
        "    popq %r14\n"
        "    popq %r13\n"
        "    popq %r12\n"
        "    popq %rbx\n"
        "    popq %rbp\n"
        "    ret\n"
        ".size gcb_host_switch, . - gcb_host_switch\n");

struct context {
    void *sp;
};

/* A context that begins with entry(), which never returns. The end of the stack is aligned to
 * 16. */
inline void context_start(context *c, unsigned char *stack, size_t size, void (*entry)())
{
    uint64_t *sp = reinterpret_cast<uint64_t *>(stack + size) - 8;

    for (unsigned i = 0; i < 8; i++)
        sp[i] = 0;
    sp[6] = reinterpret_cast<uint64_t>(entry); /* above the six registers that are popped */
    c->sp = sp;
}

inline void context_switch(context *from, context *to)
{
    gcb_host_switch(&from->sp, to->sp);
}

#else

struct context {
    ucontext_t u;
};

inline void context_start(context *c, unsigned char *stack, size_t size, void (*entry)())
{
    getcontext(&c->u);
    c->u.uc_stack.ss_sp = stack;
    c->u.uc_stack.ss_size = size;
    c->u.uc_link = nullptr;
    makecontext(&c->u, entry, 0);
}

inline void context_switch(context *from, context *to)
{
    swapcontext(&from->u, &to->u);
}

#endif

} /* namespace gcb_host */

#endif
