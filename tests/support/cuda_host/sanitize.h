#ifndef TESTS_SUPPORT_CUDA_HOST_SANITIZE_H
#define TESTS_SUPPORT_CUDA_HOST_SANITIZE_H

/* Tells AddressSanitizer about fibers, and about memory that must not be accessed. Without it, does
 * nothing. */
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
#define GCB_HOST_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define GCB_HOST_ASAN 1
#endif
#endif

#ifdef GCB_HOST_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace gcb_host
{
/* Call before switching to the stack [bottom, bottom + size). `fake` is NULL if this fiber is
 * done. */
inline void sanitize_leave(void **fake, const void *bottom, size_t size)
{
#ifdef GCB_HOST_ASAN
    __sanitizer_start_switch_fiber(fake, bottom, size);
#else
#endif
}

/* Call after a switch: `fake` as sanitize_leave set it; *bottom and *size become the stack that was
 * left. */
inline void sanitize_arrive(void *fake, const void **bottom, size_t *size)
{
#ifdef GCB_HOST_ASAN
    __sanitizer_finish_switch_fiber(fake, bottom, size);
#else
#endif
}

inline void sanitize_forbid(const void *p, size_t size)
{
#ifdef GCB_HOST_ASAN
    __asan_poison_memory_region(p, size);
#else
#endif
}

inline void sanitize_allow(const void *p, size_t size)
{
#ifdef GCB_HOST_ASAN
    __asan_unpoison_memory_region(p, size);
#else
#endif
}

/* Without a sanitizer, pages: malloc fills memory if MALLOC_PERTURB_ is set, as Meson does, and
 * most of a large piece is never used. */
inline void *sanitize_malloc(size_t size)
{
#ifdef GCB_HOST_ASAN
    return malloc(size);
#else
    void *p = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return p == MAP_FAILED ? nullptr : p;
#endif
}

inline void sanitize_free(void *p, size_t size)
{
#ifdef GCB_HOST_ASAN
    free(p);
#else
    munmap(p, size);
#endif
}

} /* namespace gcb_host */

#endif
