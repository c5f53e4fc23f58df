#include "src/tool/base/clock.h"

#include <math.h>
#include <time.h>

double gcb_clock(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void gcb_clock_wait(double seconds)
{
    const double whole = floor(seconds);
    const struct timespec t = {(time_t)whole, (long)(1e9 * (seconds - whole))};

    nanosleep(&t, NULL);
}
