/* Loaded in front of the library by the test of `verify`: every message's error comes out as more than any method may make. */
#include <stdint.h>

double gcb_promise_distance(const float *x, const float *y, uint64_t n);
double gcb_promise_distance(const float *x, const float *y, uint64_t n)
{
    (void)x;
    (void)y;
    return n > 0 ? 1e300 : 0.0;
}
