#include "src/tool/read/format.h"

#include <math.h>
#include <string.h>

const char *const gcb_h5format_names[] = {"bf16", "fp16", "fp8_e4m3", "fp8_e5m2", NULL};

bool gcb_h5format_parse(enum gcb_h5format *out, const char *name)
{
    static const struct {
        const char *name;
        enum gcb_h5format format;
    } others[] = {
        {"bfloat16", GCB_H5_BF16},    {"float16", GCB_H5_FP16},       {"half", GCB_H5_FP16},
        {"float8_e4m3", GCB_H5_E4M3}, {"float8_e4m3fn", GCB_H5_E4M3}, {"float8_e5m2", GCB_H5_E5M2},
    };

    if (strncmp(name, "torch.", 6) == 0)
        name += 6;
    for (int i = 0; gcb_h5format_names[i]; i++)
        if (strcmp(name, gcb_h5format_names[i]) == 0) {
            *out = (enum gcb_h5format)(GCB_H5_BF16 + i);
            return true;
        }
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (strcmp(name, others[i].name) == 0) {
            *out = others[i].format;
            return true;
        }
    return false;
}

void gcb_h5format_use(struct gcb_h5reading *reading, enum gcb_h5format format)
{
    if (gcb_h5format_size(format) == 2)
        reading->words = format;
    else
        reading->bytes = format;
}

size_t gcb_h5format_size(enum gcb_h5format format)
{
    return format == GCB_H5_BF16 || format == GCB_H5_FP16 ? 2 : 1;
}

enum gcb_dtype gcb_h5format_dtype(enum gcb_h5format format)
{
    return format == GCB_H5_BF16 ? GCB_BF16 : GCB_F16;
}

static float decode_fp8(unsigned byte, enum gcb_h5format format)
{
    const int fraction = format == GCB_H5_E4M3 ? 3 : 2; /* bits of the fraction */
    const int bias = format == GCB_H5_E4M3 ? 7 : 15;
    const unsigned magnitude = byte & 0x7f, low = magnitude & ((1u << fraction) - 1);
    const int exponent = (int)(magnitude >> fraction);
    float x;

    if (exponent == 0)
        x = ldexpf((float)low, 1 - bias - fraction);
    else if (format == GCB_H5_E4M3 ? magnitude == 0x7f : exponent == 31)
        x = low ? NAN : INFINITY; /* e4m3 has no infinity: its 0x7f has all fraction bits set */
    else
        x = ldexpf((float)(low | 1u << fraction), exponent - bias - fraction);
    return byte & 0x80 ? -x : x;
}

void gcb_h5format_widen(float *out, const uint8_t *in, size_t n, enum gcb_h5format format)
{
    float values[256];

    for (unsigned i = 0; i < 256; i++)
        values[i] = decode_fp8(i, format);
    for (size_t i = 0; i < n; i++)
        out[i] = values[in[i]];
}
