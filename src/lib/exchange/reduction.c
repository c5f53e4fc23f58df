#include "src/lib/exchange/exchange.h"

#include <float.h>
#include <math.h>

#include "kernels/base/hd.h"
#include "kernels/convert/convert.h"
#include "src/lib/base/cpu_flags.h"

/* The combinations of GCB_ROUND_REDUCE, for callers that have no all-reduce of their own. */

size_t gcb_reduction_size(enum gcb_reduction reduction)
{
    switch (reduction) {
    case GCB_SUM_I8:
        return 1;
    case GCB_SUM_F16:
    case GCB_SUM_BF16:
    case GCB_SUM_I16:
        return 2;
    default:
        return 4;
    }
}

#define TILE 1024 /* 16-bit floats that are widened at a time */

/* Returns a + b. If the sum of two finite values overflows, returns the largest float32 with its
 * sign. Sums of bfloat16 can overflow, because bfloat16 has float32's range. */
static float add_saturating(float a, float b)
{
    const float sum = a + b, limit = copysignf(FLT_MAX, sum);

    return isinf(sum) && isfinite(a) && isfinite(b) ? limit : sum;
}

/* acc[i] += one[i] for n 16-bit floats: widened, added in float32, and rounded. */
static void add_half(const struct gcb_convert_fns *f, bool bf16, uint8_t *acc, const uint8_t *one,
                     size_t n)
{
    float a[TILE], b[TILE];

    for (size_t at = 0; at < n; at += TILE) {
        const size_t m = n - at < TILE ? n - at : TILE;

        (bf16 ? f->from_bf16 : f->from_fp16)(a, acc + 2 * at, m);
        (bf16 ? f->from_bf16 : f->from_fp16)(b, one + 2 * at, m);
        for (size_t i = 0; i < m; i++)
            a[i] = add_saturating(a[i], b[i]);
        (bf16 ? f->to_bf16 : f->to_fp16)(acc + 2 * at, a, m);
    }
}

void gcb_reduction_combine(enum gcb_reduction reduction, void *acc, const void *one, size_t bytes)
{
    const size_t n = bytes / gcb_reduction_size(reduction);
    struct gcb_convert_fns convert;
    const float *one_f32 = one;
    float *f32 = acc;

    if (!acc || !one)
        return;
    switch (reduction) {
    case GCB_SUM_F32:
        for (size_t i = 0; i < n; i++)
            f32[i] += one_f32[i];
        break;
    case GCB_MAX_F32:
        for (size_t i = 0; i < n; i++)
            f32[i] = one_f32[i] > f32[i] ? one_f32[i] : f32[i];
        break;
    case GCB_SUM_I8:
        for (size_t i = 0; i < n; i++)
            ((int8_t *)acc)[i] = (int8_t)(((int8_t *)acc)[i] + ((const int8_t *)one)[i]);
        break;
    case GCB_SUM_I16:
        for (size_t i = 0; i < n; i++)
            ((int16_t *)acc)[i] = (int16_t)(((int16_t *)acc)[i] + ((const int16_t *)one)[i]);
        break;
    case GCB_SUM_F16:
    case GCB_SUM_BF16:
        gcb_convert_init(&convert, gcb_cpu_detect());
        add_half(&convert, reduction == GCB_SUM_BF16, acc, one, n);
        break;
    }
}
