/* A compressor of your own: blocks of 256 values share a scale (docs/adding-a-codec.md). */
#include <gcbench-plugin.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define SCALES(n) (((n) + 255) / 256) /* floats at the beginning of a message */
static unsigned bits = 3;

unsigned gcbench_plugin_version(void)
{
    return GCBENCH_PLUGIN_VERSION;
}
int gcbench_plugin_params(const char *text)
{
    return (*text && sscanf(text, "bits=%u", &bits) != 1) || bits < 2 || bits > 8;
}
size_t gcbench_plugin_bound(uint64_t n)
{
    return SCALES(n) * sizeof(float) + (n * bits + 7) / 8;
}
int gcbench_plugin_encode(const struct gcbench_at *at, const float *x, uint64_t n, void *message,
                          size_t *length)
{
    unsigned char *codes = (unsigned char *)message + SCALES(n) * sizeof(float);
    const float most = (float)((1 << (bits - 1)) - 1); /* codes of three bits: -3 to 3 */

    (void)at; /* seed, step and worker, for random draws */
    memset(message, 0, *length = gcbench_plugin_bound(n));
    for (uint64_t b = 0; b < SCALES(n); b++) {
        const uint64_t end = n < (b + 1) * 256 ? n : (b + 1) * 256;
        float scale = 0;
        for (uint64_t i = b * 256; i < end; i++)
            scale = fmaxf(scale, fabsf(x[i]) / most);
        memcpy((float *)message + b, &scale, sizeof(scale));
        for (uint64_t i = b * 256; i < end; i++) {
            const int code = (int)(scale > 0 ? rintf(x[i] / scale) + most : most);
            for (unsigned k = 0; k < bits; k++)
                codes[(i * bits + k) / 8] |= (unsigned char)((code >> k & 1) << (i * bits + k) % 8);
        }
    }
    return 0;
}
int gcbench_plugin_decode(const void *message, size_t length, float *x, uint64_t n)
{
    const unsigned char *codes = (const unsigned char *)message + SCALES(n) * sizeof(float);

    for (uint64_t i = 0; i < n && length == gcbench_plugin_bound(n); i++) {
        int code = 1 - (1 << (bits - 1));
        for (unsigned k = 0; k < bits; k++)
            code += (codes[(i * bits + k) / 8] >> (i * bits + k) % 8 & 1) << k;
        x[i] = (float)code * ((const float *)message)[i / 256];
    }
    return length != gcbench_plugin_bound(n);
}
