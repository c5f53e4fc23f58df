#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/hd.h"
#include "kernels/select/select.h"
#include "kernels/select/select_elem.h"
#include "tests/kernels/check.h"

#define GUARD 0xa5
#define GUARDS 16

/* Room for n entries with guards on both sides. */
static uint32_t *alloc_guarded(size_t n)
{
    uint32_t *memory = malloc((n + 2 * GUARDS) * sizeof(*memory));

    memset(memory, GUARD, (n + 2 * GUARDS) * sizeof(*memory));
    return memory;
}

static void check_guards(const char *kernel, const char *isa, const void *memory, size_t n)
{
    const unsigned char *byte = memory;
    const size_t bytes = GUARDS * sizeof(uint32_t);
    bool intact = true;

    for (size_t i = 0; i < bytes; i++)
        intact = intact && byte[i] == GUARD && byte[bytes + 4 * n + i] == GUARD;
    check_that(intact, "%s/%s: n %zu: wrote outside its room", kernel, isa, n);
}

static size_t simple_collect(uint32_t *pos, const float *x, size_t n, uint32_t first,
                             uint32_t threshold)
{
    size_t have = 0;

    for (size_t i = 0; i < n; i++)
        if (gcb_magnitude(x[i]) >= threshold)
            pos[have++] = first + (uint32_t)i;
    return have;
}

/* Checks the values that were collected from x at n positions. Position `first` is x[0]. */
static void check_values(const char *isa, const float *x, size_t n, const uint32_t *pos,
                         const uint32_t *got, uint32_t first)
{
    bool same = true;

    for (size_t j = 0; j < n; j++)
        same = same && memcmp(got + j, x + (pos[j] - first), sizeof(*x)) == 0;
    check_that(same, "collect/%s: n %zu: wrong value", isa, n);
}

static void check_collect(const char *isa, const struct gcb_select_fns *f, const float *x, size_t n,
                          enum check_fill fill, uint32_t threshold)
{
    /* First positions with four different bytes, and some arrays that end at the largest
     * position. */
    const uint32_t first = n % 4 == 0 ? (uint32_t)0 - (uint32_t)n : 0x12345678u;
    uint32_t *want = alloc_guarded(n), *got = alloc_guarded(n), *value = alloc_guarded(n);
    uint32_t *pos = got + GUARDS;
    float *values = (float *)(void *)(value + GUARDS);
    const size_t count = simple_collect(want + GUARDS, x, n, first, threshold);
    size_t collected = f->collect(pos, values, NULL, x, n, first, threshold);
    const size_t counted = f->count(x, n, threshold);

    check_equal("collect count", isa, n, fill, &count, &collected, sizeof(count));
    check_equal("collect", isa, n, fill, want + GUARDS, pos, count * sizeof(*want));
    check_values(isa, x, count, pos, value + GUARDS, first);
    check_equal("count", isa, n, fill, &count, &counted, sizeof(count));
    /* the same from a list of all positions, in place and three entries further to the front */
    for (size_t before = 0; before <= 3 && before <= n; before += 3) {
        const size_t m = n - before;
        const size_t wanted = simple_collect(want + GUARDS, x, m, first, threshold);

        for (size_t i = 0; i < m; i++)
            pos[before + i] = first + (uint32_t)i;
        memcpy(values + before, x, m * sizeof(*x));
        collected = f->collect(pos, values, pos + before, values + before, m, 0, threshold);
        check_equal("collect from a list, count", isa, n, fill, &wanted, &collected,
                    sizeof(wanted));
        check_equal("collect from a list", isa, n, fill, want + GUARDS, pos,
                    collected * sizeof(*want));
        check_values(isa, x, collected, pos, value + GUARDS, first);
    }
    check_guards("collect", isa, got, n);
    check_guards("collect", isa, value, n);
    free(want);
    free(got);
    free(value);
}

/* Takes the pairs at the positions of the large elements in the first half of x. */
static void check_gather2(const char *isa, const struct gcb_select_fns *f, const float *x, size_t n)
{
    uint32_t *pos = calloc(n + 1, sizeof(*pos)), *got = alloc_guarded(n);
    const size_t count = simple_collect(pos, x, n / 2, 0, gcb_bits_of(0.1f));
    bool same = true;

    f->gather2((float *)(void *)(got + GUARDS), x, pos, count);
    for (size_t j = 0; j < count; j++)
        same = same && memcmp(got + GUARDS + 2 * j, x + 2 * (size_t)pos[j], 2 * sizeof(*x)) == 0;
    check_that(same, "gather2/%s: n %zu: wrong pair", isa, n);
    check_guards("gather2", isa, got, 2 * count);
    free(pos);
    free(got);
}

/* Stores to volatile variables make the compiler round each operation to float. */
static float simple_power(float re, float im, float scale, float weight)
{
    volatile float a = re * scale, b = im * scale, aa, bb, sum, power;

    aa = a * a;
    bb = b * b;
    sum = aa + bb;
    power = sum * weight;
    return power;
}

static void check_power(const char *isa, const struct gcb_select_fns *f, const float *z, size_t n,
                        enum check_fill fill, float scale, float weight)
{
    uint32_t *want = alloc_guarded(n), *got = alloc_guarded(n);

    for (size_t i = 0; i < n; i++)
        want[GUARDS + i] = gcb_bits_of(simple_power(z[2 * i], z[2 * i + 1], scale, weight));
    f->power((float *)(void *)(got + GUARDS), z, n, scale, weight);
    check_equal("power", isa, n, fill, want, got, (n + 2 * GUARDS) * sizeof(*want));
    free(want);
    free(got);
}

/* ---- the order of bins at another scale ---- */

enum { BINS = 24, KEPT = 9 };

/* The number of bins before bin i in the order, at the scale of a part with this exponent. */
static int rank_at(const float *z, int i, uint32_t exponent)
{
    const float scale = gcb_select_power_scale(exponent << 23);
    const float mine = gcb_select_power(z[2 * i], z[2 * i + 1], scale, 1.0f);
    int before = 0;

    for (int j = 0; j < BINS; j++) {
        const float other = gcb_select_power(z[2 * j], z[2 * j + 1], scale, 1.0f);

        before += other > mine || (other == mine && j < i);
    }
    return before;
}

/* Bins between the largest and 2^-60 of it; some equal the bin before, or differ in the last
 * bit. */
static void fill_bins(float *z, uint64_t *state)
{
    const int top = (int)(check_random(state) % 200) - 100;
    const int spread = (int)(check_random(state) % 60) + 1;

    for (int i = 0; i < 2 * BINS; i++) {
        const uint64_t r = check_random(state);

        z[i] = ldexpf((float)(int32_t)(r >> 32) * 0x1p-31f, top - (int)(r >> 8 & 0xffff) % spread);
        if (i > 1 && r % 4 < 2)
            z[i] = r % 4 ? z[i - 2] : nextafterf(z[i - 2], 0.0f);
    }
}

/* Checks that the same bins are kept at every exponent up to gcb_select_power_reach. Counts in
 * *further how often that is beyond the bins' own exponent, and in *changed how often other bins
 * are kept after it. */
static void check_reach(const float *z, int *further, int *changed)
{
    uint32_t top = 0, least = UINT32_MAX, reach, own;
    bool kept[BINS], changes = false;

    for (int i = 0; i < 2 * BINS; i++)
        top = gcb_magnitude(z[i]) > top ? gcb_magnitude(z[i]) : top;
    own = top >> 23 ? top >> 23 : 1;
    for (int i = 0; i < BINS; i++) {
        const float power =
            gcb_select_power(z[2 * i], z[2 * i + 1], gcb_select_power_scale(top), 1.0f);

        kept[i] = rank_at(z, i, own) < KEPT;
        least = kept[i] && gcb_bits_of(power) < least ? gcb_bits_of(power) : least;
    }
    reach = gcb_select_power_reach(top, least);
    for (uint32_t exponent = own; exponent < 255; exponent++)
        for (int i = 0; i < BINS; i++) {
            const bool same = kept[i] == (rank_at(z, i, exponent) < KEPT);

            changes = changes || !same;
            if (exponent <= reach)
                check_that(same, "reach: exponents %u to %u, bin %d at %u", own, reach, i,
                           exponent);
        }
    *further += reach > own;
    *changed += changes;
}

static void check_reaches(void)
{
    uint64_t state = 5;
    int further = 0, changed = 0;

    for (int round = 0; round < 300; round++) {
        float z[2 * BINS];

        fill_bins(z, &state);
        check_reach(z, &further, &changed);
    }
    check_that(further > 100 && changed > 100, "reach: %d are further, %d depend on it", further,
               changed);
}

static void check_one(const char *isa, const struct gcb_select_fns *f, const float *x, size_t n,
                      enum check_fill fill)
{
    const uint32_t thresholds[] = {
        0,
        1,
        0x00800000u,
        gcb_bits_of(0.1f),
        gcb_bits_of(0.5f),
        GCB_MAX_FINITE_BITS,
        GCB_INF_BITS,
        GCB_MAGNITUDE_MASK,
        0x80000000u,
        0x80000001u,
        UINT32_MAX,
    };

    for (size_t i = 0; i < sizeof(thresholds) / sizeof(thresholds[0]); i++)
        check_collect(isa, f, x, n, fill, thresholds[i]);
    check_gather2(isa, f, x, n);
    if (fill == FILL_NONFINITE)
        return; /* which NaN results is not promised */
    check_power(isa, f, x, n / 2, fill, 1.0f, 1.0f);
    check_power(isa, f, x, n / 2, fill, 0x1p-127f, 2.0f);
    check_power(isa, f, x, n / 2, fill, 0.3f, 0.7f);
    check_power(isa, f, x, n / 2, fill, 0x1p+60f, 2.0f);
}

static void check_sizes(const char *isa, const struct gcb_select_fns *f)
{
    for (size_t i = 0; i < CHECK_SIZES; i++) {
        const size_t n = check_size(i), offset = i % 16;
        float *memory = malloc((n + offset) * sizeof(*memory) + 1);

        for (enum check_fill fill = 0; fill < FILL_COUNT; fill++) {
            check_fill(memory + offset, n, fill, i);
            check_one(isa, f, memory + offset, n, fill);
        }
        free(memory);
    }
}

/* Every pattern of sixteen neighbouring elements. */
static void check_patterns(const char *isa, const struct gcb_select_fns *f)
{
    float x[16];

    for (unsigned pattern = 0; pattern < 1u << 16; pattern++) {
        for (int i = 0; i < 16; i++)
            x[i] = pattern >> i & 1 ? -1.0f : 0x1.fffffep-1f;
        check_collect(isa, f, x, 16, FILL_TIES, gcb_bits_of(1.0f));
    }
}

static void check_variant(const char *isa, unsigned flags)
{
    struct gcb_select_fns f;

    gcb_select_init(&f, flags);
    check_sizes(isa, &f);
    check_patterns(isa, &f);
}

static void body(void)
{
    check_reaches();
    check_variant("c", 0);
    for (const struct check_isa *isa = check_isas(); isa->name; isa++)
        check_variant(isa->name, isa->flags);
}

int main(void)
{
    return check_main("select", body);
}
