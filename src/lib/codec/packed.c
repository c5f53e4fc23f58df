#include "src/lib/codec/packed.h"

#include <stdlib.h>

#include "src/lib/base/alloc.h"

static int compare_codes(const void *a, const void *b)
{
    return (int)*(const uint16_t *)a - (int)*(const uint16_t *)b;
}

/* The entropy of at most GCB_TILE codes. Sorts the codes, because a table of all possible codes would take longer. */
static double entropy_of_few(uint16_t *code, size_t n)
{
    uint64_t histogram[GCB_TILE];
    size_t runs = 0;

    qsort(code, n, sizeof(*code), compare_codes);
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || code[i] != code[i - 1])
            histogram[runs++] = 0;
        histogram[runs - 1]++;
    }
    return gcb_entropy0(histogram, runs);
}

int gcb_packed_entropy(double *bits, const uint8_t *packed, uint64_t count, unsigned width,
                       const struct gcb_kernels *kernels)
{
    uint64_t *histogram;
    uint16_t code[GCB_TILE];

    if (count <= GCB_TILE) {
        kernels->bitpack.unpack(code, packed, (size_t)count, width);
        *bits = entropy_of_few(code, (size_t)count);
        return 0;
    }
    histogram = gcb_alloc_zero(UINT64_C(1) << width, sizeof(*histogram));
    if (!histogram)
        return GCB_E_NOMEM;
    for (uint64_t i = 0; i < count; i += GCB_TILE) {
        const size_t n = count - i < GCB_TILE ? count - i : GCB_TILE;

        kernels->bitpack.unpack(code, packed + i / 8 * width, n, width);
        for (size_t j = 0; j < n; j++)
            histogram[code[j]]++;
    }
    *bits = gcb_entropy0(histogram, (size_t)1 << width);
    gcb_free(histogram);
    return 0;
}

int gcb_packed_describe(struct gcb_parts *parts, struct gcb_rbuf *in, uint64_t scale_bytes,
                        unsigned width, const struct gcb_codec_env *env)
{
    const uint8_t *codes;

    gcb_rbuf_take(in, scale_bytes);
    codes = gcb_rbuf_take(in, gcb_packed_bytes(env->count, width));
    if (!codes)
        return GCB_E_CORRUPT;
    parts->scale_bytes = scale_bytes;
    parts->value_bytes = gcb_packed_bytes(env->count, width);
    parts->kept = parts->positions = env->count;
    return gcb_packed_entropy(&parts->entropy0_bits, codes, env->count, width, env->kernels);
}

uint64_t gcb_span_count(uint64_t count)
{
    return (count + GCB_SPAN - 1) / GCB_SPAN;
}

uint64_t gcb_span_length(uint64_t count, uint64_t i)
{
    const uint64_t left = count - i * GCB_SPAN;

    return left < GCB_SPAN ? left : GCB_SPAN;
}

void gcb_addition_add(const struct gcb_addition *to, uint64_t at, const float *tile, size_t n,
                      const struct gcb_kernels *kernels)
{
    kernels->accumulate.add(to->acc + at, tile, n, to->weight);
    for (size_t i = 0; to->mask && i < n; i++)
        if (tile[i] != 0.0f)
            to->mask[at + i] = 0.0f;
}
