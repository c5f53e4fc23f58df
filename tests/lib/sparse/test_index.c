#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/index/golomb_elem.h"
#include "src/lib/sparse/stages.h"
#include "tests/support/test.h"

#define GUARD 64

static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);

    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

/* An encoded segment in memory of exactly its size. */
struct coded {
    uint8_t *bytes;
    size_t length;
};

static struct coded encode(const struct gcb_index *ix, const uint32_t *pos, uint64_t kept,
                           uint64_t n)
{
    const uint64_t bound = ix->bound(n, kept);
    struct coded c;
    struct gcb_wbuf w = {.cap = bound, .data = malloc(bound + GUARD)};

    assert_non_null(w.data);
    memset(w.data, 0xa5, bound + GUARD);
    ix->encode(&w, pos, kept, n);
    if (w.failed || w.len > bound)
        fail_msg("%zu bytes for %llu of %llu, bound %llu", w.len, (unsigned long long)kept,
                 (unsigned long long)n, (unsigned long long)bound);
    for (int i = 0; i < GUARD; i++)
        assert_int_equal(w.data[bound + (unsigned)i], 0xa5);
    c.length = w.len;
    c.bytes = malloc(w.len ? w.len : 1); /* so that sanitizers see an overrun */
    memcpy(c.bytes, w.data, w.len);
    free(w.data);
    return c;
}

/* Decodes tile by tile. Returns 0 or an error; all bytes must have been read. */
static int decode(const struct gcb_index *ix, const struct coded *c, uint32_t *pos, uint64_t kept,
                  uint64_t n)
{
    struct gcb_rbuf in = {.data = c->bytes, .len = c->length};
    struct gcb_index_cursor cursor = {.n = n, .kept = kept};
    int err = ix->open(&cursor, &in);

    for (uint64_t i = 0; i < kept && !err; i += GCB_TILE)
        err = ix->next(&cursor, pos + i, kept - i < GCB_TILE ? kept - i : GCB_TILE);
    if (!err && (in.failed || gcb_rbuf_left(&in)))
        err = GCB_E_CORRUPT;
    return err;
}

static void round_trip(const uint32_t *pos, uint64_t kept, uint64_t n, uint64_t most)
{
    uint32_t *back = malloc((kept + 1) * sizeof(*back));
    const struct gcb_index *ix;

    for (int id = 0; id < GCB_INDEX_BLOOM; id++) { /* a filter finds other positions too */
        struct coded c;

        ix = gcb_indices[id];
        if (ix->bound(n, kept) > most)
            continue;
        c = encode(ix, pos, kept, n);
        back[kept] = 12345;
        assert_int_equal(decode(ix, &c, back, kept, n), 0);
        assert_memory_equal(back, pos, kept * sizeof(*pos));
        assert_int_equal(back[kept], 12345);
        free(c.bytes);
    }
    free(back);
}

#define ANY_SIZE UINT64_MAX

/* Fills the positions of a random subset with density p. Returns their number. */
static uint64_t draw(uint32_t *pos, uint64_t n, double p, uint64_t seed)
{
    uint64_t state = seed, kept = 0;

    for (uint64_t i = 0; i < n; i++)
        if ((double)(next_random(&state) >> 11) * 0x1p-53 < p)
            pos[kept++] = (uint32_t)i;
    return kept;
}

static void random_positions(void **state)
{
    static const uint64_t sizes[] = {1, 2, 7, 8, 9, 63, 64, 65, 500, 4096, 20000, 100001};
    static const double densities[] = {0.0005, 0.01, 0.15, 0.5, 0.9, 0.999, 1.0};
    uint32_t *pos = malloc(100001 * sizeof(*pos));

    for (size_t s = 0; s < sizeof(sizes) / sizeof(*sizes); s++) {
        for (size_t d = 0; d < sizeof(densities) / sizeof(*densities); d++) {
            uint64_t kept = draw(pos, sizes[s], densities[d], s * 31 + d);

            if (kept == 0)
                pos[kept++] = (uint32_t)(sizes[s] - 1);
            round_trip(pos, kept, sizes[s], ANY_SIZE);
        }
    }
    free(pos);
}

/* Positions that cost a coder most: all at the front, all at the end, both with one far away, and
 * evenly spaced. */
static void adversarial_gaps(void **state)
{
    enum { N = 200000 };
    static const uint64_t kept_of[] = {1, 2, 3, 100, 4095, 4096, 4097, 8192, 8193, 50000, N - 1, N};
    uint32_t *pos = malloc(N * sizeof(*pos));

    for (size_t k = 0; k < sizeof(kept_of) / sizeof(*kept_of); k++) {
        const uint64_t kept = kept_of[k];

        for (uint64_t i = 0; i < kept; i++)
            pos[i] = (uint32_t)i;
        round_trip(pos, kept, N, ANY_SIZE);
        pos[kept - 1] = N - 1;
        round_trip(pos, kept, N, ANY_SIZE);
        for (uint64_t i = 0; i < kept; i++)
            pos[i] = (uint32_t)(N - kept + i);
        round_trip(pos, kept, N, ANY_SIZE);
        for (uint64_t i = 0; i < kept; i++)
            pos[i] = (uint32_t)((i + 1) * N / kept - 1);
        round_trip(pos, kept, N, ANY_SIZE);
    }
    free(pos);
}

/* Runs of each length at each place of a stream's end. A run of 63 ones that filled the reader's
 * word was once reported as damage. */
static void runs_to_the_end(void **state)
{
    uint32_t pos[160];

    for (uint32_t lead = 40; lead < 140; lead++) {
        for (uint32_t i = 0; i < lead; i++)
            pos[i] = i;
        for (uint32_t run = 0; run < 140; run += run < 56 || run > 72 ? 7 : 1) {
            pos[lead] = lead + run;
            round_trip(pos, lead + 1, lead + run + 1, ANY_SIZE);
        }
    }
}

static void whole_segments(void **state)
{
    const uint64_t n = UINT64_C(1) << 31;
    uint32_t pos[] = {0, 1, 127, 128, 16383, 1u << 20, (1u << 21) + 7, 1u << 30, 0x7fffffffu};

    round_trip(pos, 9, n, 1 << 20);
    round_trip(pos + 8, 1, n, 1 << 20);
    round_trip(pos, 1, n, 1 << 20);
}

/* ---- Golomb ---- */

/* b* by the papers' formula, or 0 if that is negative. */
static unsigned formula(uint64_t kept, uint64_t n)
{
    const double p = (double)kept / (double)n, phi = 1.618033988749894848;
    const double b = 1.0 + floor(log2(log(phi - 1.0) / log1p(-p)));

    return b > 0.0 ? (unsigned)b : 0;
}

static void parameter_by_formula(void **state)
{
    uint64_t random = 5;

    for (uint64_t n = 2; n < 2000; n += 1 + n / 64)
        for (uint64_t kept = 1; kept < n; kept++)
            assert_int_equal(gcb_golomb_parameter(kept, n), formula(kept, n));
    for (int i = 0; i < 200000; i++) {
        const uint64_t n = 2 + next_random(&random) % ((UINT64_C(1) << (1 + i % 31)) - 1);
        const uint64_t kept = 1 + (next_random(&random) >> next_random(&random) % 40) % (n - 1);

        assert_int_equal(gcb_golomb_parameter(kept, n), formula(kept, n));
    }
    assert_int_equal(gcb_golomb_parameter(1, UINT64_C(1) << 31), formula(1, UINT64_C(1) << 31));
    assert_int_equal(gcb_golomb_parameter(5, 5), 0);
    assert_int_equal(gcb_golomb_parameter(0, 0), 0);
}

/* A segment with fewer than k kept positions never needs more than the bound for k. */
static void bounds_grow_with_kept(void **state)
{
    for (int id = 0; gcb_index_names[id]; id++)
        for (uint64_t n = 1; n < 3000; n += 1 + n / 16)
            for (uint64_t kept = 1; kept < n; kept++)
                assert_true(gcb_indices[id]->bound(n, kept) <= gcb_indices[id]->bound(n, kept + 1));
}

/* ---- hostile bytes ---- */

/* The block directory must agree with the stream, or threads would decode other positions. */
static void directory_is_checked(void **state)
{
    enum { N = 100000, KEPT = 3 * GCB_TILE };
    uint32_t *pos = malloc(KEPT * sizeof(*pos)), *back = malloc(KEPT * sizeof(*back));

    for (uint32_t i = 0; i < KEPT; i++)
        pos[i] = i * 8 + i % 3;
    for (int id = 2; id < 4; id++) { /* varint, golomb */
        const struct gcb_index *ix = gcb_indices[id];
        struct coded c = encode(ix, pos, KEPT, N);

        for (size_t at = 0; at < 4 + 16; at++) { /* length and two entries */
            for (int bit = 0; bit < 8; bit++) {
                c.bytes[at] ^= (uint8_t)(1 << bit);
                assert_int_equal(decode(ix, &c, back, KEPT, N), GCB_E_CORRUPT);
                c.bytes[at] ^= (uint8_t)(1 << bit);
            }
        }
        assert_int_equal(decode(ix, &c, back, KEPT, N), 0);
        free(c.bytes);
    }
    free(pos);
    free(back);
}

/* Cut anywhere or with any bit changed, a stream is refused, or gives as many ascending positions
 * below n as declared. */
static void damage_never_leaves_the_segment(void **state)
{
    enum { N = 1000, KEPT = 150 };
    uint32_t pos[N], back[KEPT];
    const uint64_t found = draw(pos, N, 0.25, 3);

    assert_true(found >= KEPT);
    for (int id = 0; id < GCB_INDEX_BLOOM; id++) { /* a filter finds other positions too */
        const struct gcb_index *ix = gcb_indices[id];
        struct coded c = encode(ix, pos, KEPT, N);
        const size_t length = c.length;

        for (c.length = 0; c.length < length; c.length++) {
            struct coded cut = {.bytes = malloc(c.length + 1), .length = c.length};

            memcpy(cut.bytes, c.bytes, c.length);
            assert_int_equal(decode(ix, &cut, back, KEPT, N), GCB_E_CORRUPT);
            free(cut.bytes);
        }
        for (size_t bit = 0; bit < 8 * length; bit++) {
            c.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
            if (decode(ix, &c, back, KEPT, N) == 0)
                for (size_t i = 0; i < KEPT; i++)
                    assert_true(back[i] < N && (i == 0 || back[i] > back[i - 1]));
            c.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        }
        free(c.bytes);
    }
}

/* A position that is not below n, a flag too many, a repeated position. */
static void refuses_bad_positions(void **state)
{
    const uint32_t twice[] = {3, 3}, beyond[] = {3, 10}, good[] = {3, 9};
    uint8_t flags[2] = {0x08, 0x02}, stray[2] = {0x08, 0x06}, extra[2] = {0x18, 0x02};
    uint32_t back[2];
    const struct coded cases[] = {{(uint8_t *)(uintptr_t)twice, 8},
                                  {(uint8_t *)(uintptr_t)beyond, 8},
                                  {(uint8_t *)(uintptr_t)good, 8}};

    assert_int_equal(decode(gcb_indices[GCB_INDEX_U32], &cases[0], back, 2, 10), GCB_E_CORRUPT);
    assert_int_equal(decode(gcb_indices[GCB_INDEX_U32], &cases[1], back, 2, 10), GCB_E_CORRUPT);
    assert_int_equal(decode(gcb_indices[GCB_INDEX_U32], &cases[2], back, 2, 10), 0);
    assert_int_equal(decode(gcb_indices[GCB_INDEX_BITMAP], &(struct coded){flags, 2}, back, 2, 10),
                     0);
    assert_int_equal(decode(gcb_indices[GCB_INDEX_BITMAP], &(struct coded){stray, 2}, back, 2, 10),
                     GCB_E_CORRUPT);
    assert_int_equal(decode(gcb_indices[GCB_INDEX_BITMAP], &(struct coded){extra, 2}, back, 2, 10),
                     GCB_E_CORRUPT);
}

RUN_TESTS(cmocka_unit_test(random_positions), cmocka_unit_test(adversarial_gaps),
          cmocka_unit_test(whole_segments), cmocka_unit_test(runs_to_the_end),
          cmocka_unit_test(parameter_by_formula), cmocka_unit_test(bounds_grow_with_kept),
          cmocka_unit_test(directory_is_checked), cmocka_unit_test(damage_never_leaves_the_segment),
          cmocka_unit_test(refuses_bad_positions))
