#include "src/tool/base/clock.h"

#include <math.h>
#include <time.h>

double gcb_clock(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double left_out;

void gcb_clock_leave_out(double seconds)
{
    left_out += seconds;
}

double gcb_clock_left_out(void)
{
    return left_out;
}

void gcb_clock_wait(double seconds)
{
    const double whole = floor(seconds);
    const struct timespec t = {(time_t)whole, (long)(1e9 * (seconds - whole))};

    nanosleep(&t, NULL);
}
