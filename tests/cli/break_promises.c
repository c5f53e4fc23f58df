/* Linked into a copy of the command for the test of `verify`: the error of each message is larger
 * than any method may make. The linker sends every call of gcb_promise_distance here (--wrap). */
#include <stdint.h>

double __wrap_gcb_promise_distance(const float *x, const float *y, uint64_t n);

double __wrap_gcb_promise_distance(const float *x, const float *y, uint64_t n)
{
    return n > 0 ? 1e300 : 0.0;
}
