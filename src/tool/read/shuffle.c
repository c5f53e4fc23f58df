#include "src/tool/read/shuffle.h"

#include <string.h>

#include "kernels/philox/philox_elem.h"

const char *const gcb_shuffles[] = {"none",   "elements", "rows", "columns",
                                    "rowcol", "channels", NULL};

/* Permutes the middle axis of x, which has outer x n x inner elements (Fisher-Yates). The
 * permutation depends only on n, `seed` and `axis`, the stream of random numbers. */
static void permute(float *x, uint64_t outer, uint64_t n, uint64_t inner, uint64_t seed,
                    uint64_t axis)
{
    __extension__ typedef unsigned __int128 wide;

    for (uint64_t i = n; i-- > 1;) {
        const struct gcb_philox_block draw = gcb_philox(seed, i / 2, axis);
        const uint64_t word = (uint64_t)draw.word[i % 2 * 2 + 1] << 32 | draw.word[i % 2 * 2];
        const uint64_t j = (uint64_t)((wide)word * (i + 1) >> 64);

        for (uint64_t k = 0; k < outer * inner && i != j; k++) {
            float *at = x + k / inner * n * inner + k % inner, *a = at + i * inner, kept = *a;

            *a = at[j * inner];
            at[j * inner] = kept;
        }
    }
}

void gcb_shuffle(float *x, const struct gcb_tensor *t, enum gcb_shuffle how, uint64_t seed)
{
    const uint64_t rows = t->rank < 2 || how == GCB_SHUFFLE_ELEMENTS ? t->count : t->dims[0];
    const uint64_t cols = t->count ? t->count / rows : 0;
    const uint64_t moved = how == GCB_SHUFFLE_CHANNELS && cols > 1 ? t->dims[1] : cols;

    if (how == GCB_SHUFFLE_NONE || cols == 0)
        return;
    if (how != GCB_SHUFFLE_COLUMNS || cols == 1)
        permute(x, 1, rows, cols, seed, 0);
    if (how != GCB_SHUFFLE_ROWS)
        permute(x, rows, moved, cols / moved, seed, 1);
}
