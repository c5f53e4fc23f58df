#ifndef TESTS_SUPPORT_COUNTED_ALLOC_H
#define TESTS_SUPPORT_COUNTED_ALLOC_H

#include "src/lib/base/alloc.h"

/* The library's allocator, which counts and can fail. A test program that has this file uses it
 * instead of the library's. */
struct counted {
    size_t calls;   /* of gcb_alloc */
    size_t live;    /* blocks that were not freed */
    size_t fail_at; /* the call that fails, from 1; 0: none */
};
extern struct counted counted;

#endif
