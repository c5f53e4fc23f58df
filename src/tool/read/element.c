/* Formats of elements: their names and sizes, and how they become float32. */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "kernels/convert/convert.h"
#include "src/lib/base/cpu_flags.h"
#include "src/tool/read/child.h"

enum { BOUNCE = 2048 }; /* elements or scales in a buffer on the stack */

const char *const gcb_element_names[] = {"bf16", "fp16", "fp8_e4m3", "fp8_e5m2", NULL};

enum gcb_element gcb_element_of(const char *name)
{
    static const struct {
        const char *name;
        enum gcb_element element;
    } others[] = {
        {"bfloat16", GCB_ELEMENT_BF16},      {"float16", GCB_ELEMENT_FP16},
        {"half", GCB_ELEMENT_FP16},          {"float8_e4m3", GCB_ELEMENT_E4M3},
        {"float8_e4m3fn", GCB_ELEMENT_E4M3}, {"float8_e5m2", GCB_ELEMENT_E5M2},
    };

    if (strncmp(name, "torch.", strlen("torch.")) == 0)
        name += strlen("torch.");
    for (int i = 0; gcb_element_names[i]; i++)
        if (strcmp(name, gcb_element_names[i]) == 0)
            return (enum gcb_element)(GCB_ELEMENT_BF16 + i);
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (strcmp(name, others[i].name) == 0)
            return others[i].element;
    return GCB_ELEMENT_NONE;
}

/* The results of gcb_element_size and gcb_element_dtype. */
static const struct {
    size_t size;
    enum gcb_dtype dtype;
} rows[GCB_ELEMENTS] = {
    [GCB_ELEMENT_BF16] = {2, GCB_BF16}, [GCB_ELEMENT_FP16] = {2, GCB_F16},
    [GCB_ELEMENT_E4M3] = {1, GCB_F16},  [GCB_ELEMENT_E5M2] = {1, GCB_F16},
    [GCB_ELEMENT_FP32] = {4, GCB_F32},  [GCB_ELEMENT_FP64] = {8, GCB_F64},
    [GCB_ELEMENT_BYTE] = {1, GCB_F32},
};

size_t gcb_element_size(enum gcb_element element)
{
    return rows[element].size;
}

enum gcb_dtype gcb_element_dtype(enum gcb_element element)
{
    return rows[element].dtype;
}

void gcb_reading_use(struct gcb_reading *reading, enum gcb_element element)
{
    *(gcb_element_size(element) == 2 ? &reading->words : &reading->bytes) = element;
}

/* Returns the value of a byte in the format E4M3 or E5M2. */
static float decode_fp8(unsigned byte, enum gcb_element format)
{
    const int fraction = format == GCB_ELEMENT_E4M3 ? 3 : 2; /* bits of the fraction */
    const int bias = format == GCB_ELEMENT_E4M3 ? 7 : 15;
    const unsigned magnitude = byte & 0x7f, low = magnitude & ((1u << fraction) - 1);
    const int exponent = (int)(magnitude >> fraction);
    float x;

    if (exponent == 0)
        x = ldexpf((float)low, 1 - bias - fraction);
    else if (format == GCB_ELEMENT_E4M3 ? magnitude == 0x7f : exponent == 31)
        x = low ? NAN : INFINITY; /* e4m3 has no infinity: its 0x7f has all fraction bits set */
    else
        x = ldexpf((float)(low | 1u << fraction), exponent - bias - fraction);
    return byte & 0x80 ? -x : x;
}

size_t gcb_tensor_wide(const struct gcb_tensor *t)
{
    return t->element == GCB_ELEMENT_BYTE ? 1 : sizeof(float);
}

/* Converts n doubles to float32. Fails if a finite double is beyond the range of float32. The first
 * double is element `from` of the tensor. */
static int narrow(const struct gcb_infile *file, const struct gcb_tensor *t, uint64_t from,
                  const double *in, size_t n, float *out, struct gcb_diag *diag)
{
    for (size_t i = 0; i < n; i++) {
        out[i] = (float)in[i];
        if (isinf(out[i]) && !isinf(in[i]))
            return gcb_infile_fail(file, t->dataset, GCB_E_CORRUPT, diag,
                                   "element %" PRIu64 " is %g, but methods work in float32, which "
                                   "ends at %g; --exclude leaves the tensor out",
                                   from + i, in[i], (double)FLT_MAX);
    }
    return 0;
}

int gcb_tensor_convert(const struct gcb_infile *file, const struct gcb_tensor *t, uint64_t from,
                       const void *in, uint64_t n, void *to, struct gcb_diag *diag)
{
    const size_t size = gcb_element_size(t->element);
    double bounce[BOUNCE]; /* a block is copied away, so writing never overtakes reading */
    struct gcb_convert_fns convert;
    float fp8[256], *out = to;
    int err = 0;

    if (t->element == GCB_ELEMENT_FP32 || t->element == GCB_ELEMENT_BYTE) {
        if (in != to)
            memcpy(to, in, n * size);
        return 0;
    }
    gcb_convert_init(&convert, gcb_cpu_detect());
    for (unsigned i = 0; i < 256 && size == 1; i++)
        fp8[i] = decode_fp8(i, t->element);
    for (uint64_t i = 0; i < n && !err; i += BOUNCE) {
        const size_t m = n - i < BOUNCE ? (size_t)(n - i) : BOUNCE;
        const uint8_t *bytes = memcpy(bounce, (const uint8_t *)in + i * size, m * size);

        if (t->element == GCB_ELEMENT_FP64)
            err = narrow(file, t, from + i, bounce, m, out + i, diag);
        else if (t->element == GCB_ELEMENT_BF16)
            convert.from_bf16(out + i, bytes, m);
        else if (t->element == GCB_ELEMENT_FP16)
            convert.from_fp16(out + i, bytes, m);
        else
            for (size_t k = 0; k < m; k++)
                out[i + k] = fp8[bytes[k]];
    }
    return err;
}

static uint64_t blocks_of(uint64_t n)
{
    return n / GCB_SCALE_BLOCK + (n % GCB_SCALE_BLOCK != 0);
}

uint64_t gcb_tensor_scales(const struct gcb_tensor *t)
{
    return t->blocked ? blocks_of(t->dims[0]) * blocks_of(t->dims[1]) : 1;
}

/* Multiplies `count` elements of the tensor, from element `from` on, by their scales. */
static int apply_scales(const struct gcb_infile *file, int descriptor, const struct gcb_tensor *t,
                        uint64_t from, uint64_t count, float *out, struct gcb_diag *diag)
{
    const uint64_t all = gcb_tensor_scales(t), width = t->blocked ? t->dims[1] : t->count;
    const uint64_t side = t->blocked ? GCB_SCALE_BLOCK : t->count;
    float scales[BOUNCE]; /* the tensor's scales from number `begin` to before `end` */
    uint64_t begin = 0, end = 0;
    int err = 0;

    for (uint64_t i = 0, n; i < count && !err; i += n) {
        const uint64_t row = (from + i) / width, column = (from + i) % width;
        const uint64_t at = row / side * blocks_of(t->blocked ? width : 1) + column / side;

        n = side - column % side; /* elements of the row that have this scale */
        n = n < width - column ? n : width - column;
        n = n < count - i ? n : count - i;
        if (at < begin || at >= end) {
            begin = at;
            end = all - at < BOUNCE ? all : at + BOUNCE;
            err = gcb_infile_read(file, descriptor, t->dataset, t->scale + begin * sizeof(*scales),
                                  scales, (end - begin) * sizeof(*scales), diag);
        }
        for (uint64_t k = 0; k < n && !err; k++)
            out[i + k] *= scales[at - begin];
    }
    return err;
}

int gcb_tensor_read_stored(const struct gcb_infile *file, int descriptor,
                           const struct gcb_tensor *t, uint64_t from, uint64_t count, void *out,
                           struct gcb_diag *diag)
{
    const size_t size = gcb_element_size(t->element), wide = gcb_tensor_wide(t);
    const uint64_t most = size > wide ? BOUNCE : count; /* elements that are read at a time */
    double block[BOUNCE];
    int err = gcb_infile_check(file, descriptor, t->dataset, diag);

    for (uint64_t i = 0; i < count && !err; i += most) {
        const uint64_t n = count - i < most ? count - i : most;
        uint8_t *to = (uint8_t *)out + i * wide;
        void *raw = size > wide ? (void *)block : to + n * (wide - size);

        err = gcb_infile_read(file, descriptor, t->dataset, t->offset + (from + i) * size, raw,
                              n * size, diag);
        if (!err)
            err = gcb_tensor_convert(file, t, from + i, raw, n, to, diag);
    }
    if (!err && t->scale)
        err = apply_scales(file, descriptor, t, from, count, out, diag);
    return err;
}
