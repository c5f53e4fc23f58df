#include "kernels/fft/dct.h"

#include <math.h>

void gcb_dct_turns(float *turn, size_t n, double scale)
{
    const double step = acos(-1.0) / (2.0 * (double)n);

    for (size_t k = 0; k <= n / 2; k++) {
        turn[2 * k] = (float)(scale * cos(step * (double)k));
        turn[2 * k + 1] = (float)(scale * sin(step * (double)k));
    }
}

/* Two loops instead of one, because compilers vectorise each of the two. */
void gcb_dct_fold(float *restrict v, const float *restrict x, size_t n)
{
    for (size_t j = 0; j < n / 2; j++)
        v[j] = x[2 * j];
    for (size_t j = 0; j < n / 2; j++)
        v[n - 1 - j] = x[2 * j + 1];
    if (n % 2)
        v[n / 2] = x[n - 1];
}

void gcb_dct_turn(float *restrict y, const float *restrict bins, const float *restrict turn,
                  size_t n)
{
    y[0] = turn[0] * bins[0];
    for (size_t k = 1; k <= n / 2; k++) {
        const float re = bins[2 * k], im = bins[2 * k + 1];
        const float c = turn[2 * k], s = turn[2 * k + 1];

        y[n - k] = re * s - im * c;
        y[k] = re * c + im * s;
    }
}

void gcb_dct_turn_back(float *restrict bins, const float *restrict y, const float *restrict turn,
                       size_t n)
{
    bins[0] = turn[0] * y[0];
    bins[1] = 0.0f;
    for (size_t k = 1; k <= n / 2; k++) {
        const float a = y[k], b = y[n - k];
        const float c = turn[2 * k], s = turn[2 * k + 1];

        bins[2 * k] = c * a + s * b;
        bins[2 * k + 1] = s * a - c * b;
    }
}

void gcb_dct_unfold(float *restrict x, const float *restrict v, size_t n)
{
    for (size_t j = 0; j < n / 2; j++) {
        x[2 * j] = v[j];
        x[2 * j + 1] = v[n - 1 - j];
    }
    if (n % 2)
        x[n - 1] = v[n / 2];
}
