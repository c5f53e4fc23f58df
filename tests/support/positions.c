#include <stdlib.h>
#include <string.h>

#include "src/lib/base/status.h"
#include "tests/support/positions.h"
#include "tests/support/test.h"

static uint64_t draw(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static void begin(struct positions *p, uint64_t n)
{
    p->n = n;
    p->kept = 0;
}

static void add(struct positions *p, uint64_t at)
{
    if (at >= p->n)
        return;
    if (p->kept == p->room) {
        p->room = p->room ? 2 * p->room : 1024;
        p->pos = realloc(p->pos, p->room * sizeof(*p->pos));
        assert_non_null(p->pos);
    }
    p->pos[p->kept++] = (uint32_t)at;
}

void positions_random(struct positions *p, uint64_t n, double density, uint64_t seed)
{
    const uint64_t below = density >= 1 ? UINT64_MAX : (uint64_t)(density * 18446744073709551616.0);

    begin(p, n);
    for (uint64_t i = 0; i < n; i++)
        if (draw(&seed) <= below)
            add(p, i);
}

void positions_clustered(struct positions *p, uint64_t n, unsigned run, unsigned spread,
                         uint64_t seed)
{
    uint64_t at = 0;

    begin(p, n);
    while (at < n) {
        const uint64_t length = draw(&seed) % (2 * run) + 1;

        at += draw(&seed) % (2 * (uint64_t)run * spread);
        for (uint64_t i = 0; i < length; i++, at += 1 + (draw(&seed) % 4 == 0))
            add(p, at);
    }
}

void positions_every(struct positions *p, uint64_t n, uint64_t first, uint64_t step)
{
    begin(p, n);
    for (uint64_t at = first; at < n; at += step)
        add(p, at);
}

void positions_doubling(struct positions *p, uint64_t n)
{
    uint64_t at = 0;
    unsigned e = 0;

    begin(p, n);
    for (; at < n; at += UINT64_C(1) << (e < 20 ? e : 40 - e), e = (e + 1) % 41)
        add(p, at);
}

static int ascending(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

void positions_few(struct positions *p, uint64_t n, uint64_t kept, uint64_t seed)
{
    uint64_t unique = 0;

    begin(p, n);
    for (uint64_t i = 0; i < kept; i++)
        add(p, draw(&seed) % n);
    qsort(p->pos, p->kept, sizeof(*p->pos), ascending);
    for (uint64_t i = 0; i < p->kept; i++)
        if (i == 0 || p->pos[i] != p->pos[i - 1])
            p->pos[unique++] = p->pos[i];
    p->kept = unique;
}

/* A key that orders by magnitude; 0 if the sign is masked out. */
static uint32_t key_of(float x, bool positive, bool negative)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof(bits));
    return (bits >> 31 ? negative : positive) ? bits & 0x7fffffff : 0;
}

/* The k-th largest key, bit by bit. */
static uint32_t kth_key(const float *x, uint64_t n, uint64_t k, bool positive, bool negative)
{
    uint32_t key = 0;

    for (int bit = 30; bit >= 0; bit--) {
        const uint32_t next = key | UINT32_C(1) << bit;
        uint64_t above = 0;

        for (uint64_t i = 0; i < n; i++)
            above += key_of(x[i], positive, negative) >= next;
        key = above >= k ? next : key;
    }
    return key;
}

/* Returns the sum of the magnitudes. */
static double choose(struct positions *p, const float *x, uint64_t n, uint64_t k, bool positive,
                     bool negative)
{
    const uint32_t least = kth_key(x, n, k, positive, negative);
    uint64_t ties = k;
    double sum = 0.0;

    for (uint64_t i = 0; i < n; i++)
        ties -= key_of(x[i], positive, negative) > least;
    begin(p, n);
    for (uint64_t i = 0; i < n; i++) {
        const uint32_t key = key_of(x[i], positive, negative);

        if (key < least || (key == least && ties == 0))
            continue;
        ties -= key == least;
        add(p, i);
        sum += key ? (x[i] < 0 ? -x[i] : x[i]) : 0;
    }
    return sum;
}

void positions_largest(struct positions *p, const float *x, uint64_t n, uint64_t k)
{
    choose(p, x, n, k, true, true);
}

void positions_one_sided(struct positions *p, const float *x, uint64_t n, uint64_t k)
{
    const double negative = choose(p, x, n, k, false, true);

    if (choose(p, x, n, k, true, false) < negative)
        choose(p, x, n, k, false, true);
}

void positions_fini(struct positions *p)
{
    free(p->pos);
    memset(p, 0, sizeof(*p));
}

uint8_t *index_encode(const struct gcb_index *x, const struct positions *p, size_t *length)
{
    const uint64_t bound = x->bound(p->n, p->kept);
    uint8_t *data = malloc(bound ? bound : 1);
    struct gcb_wbuf out = {.data = data, .cap = bound};

    assert_non_null(data);
    x->encode(&out, p->pos, p->kept, p->n);
    assert_false(out.failed);
    assert_true(out.len <= bound);
    *length = out.len;
    return data;
}

int index_decode(const struct gcb_index *x, const uint8_t *data, size_t length, uint64_t kept,
                 uint64_t n, uint32_t *pos)
{
    struct gcb_rbuf in = {.data = data, .len = length};
    struct gcb_index_cursor c = {.n = n, .kept = kept};
    static uint64_t tables[8192]; /* shared by all calls, as by the messages of a codec */

    assert_true(x->table_bytes <= sizeof(tables));
    if (kept % 2) /* a coder that keeps tables must also work without memory for them */
        c.tables = tables;
    if (x->open(&c, &in))
        return GCB_E_CORRUPT;
    for (uint64_t done = 0; done < kept; done += GCB_TILE) {
        const size_t tile = kept - done < GCB_TILE ? kept - done : GCB_TILE;

        if (x->next(&c, pos + done, tile))
            return GCB_E_CORRUPT;
        for (uint64_t i = done; i < done + tile; i++)
            assert_true(pos[i] < n && (i == 0 || pos[i] > pos[i - 1]));
    }
    return gcb_rbuf_left(&in) ? GCB_E_CORRUPT : 0;
}

size_t index_trip(const struct gcb_index *x, const struct positions *p)
{
    uint32_t *back = malloc((p->kept + 1) * sizeof(*back));
    size_t length;
    uint8_t *data = index_encode(x, p, &length);

    assert_non_null(back);
    assert_int_equal(index_decode(x, data, length, p->kept, p->n, back), 0);
    if (p->kept)
        assert_memory_equal(back, p->pos, p->kept * sizeof(*back));
    free(back);
    free(data);
    return length;
}

static void trip_shapes(const struct gcb_index *x, struct positions *p, uint64_t n)
{
    static const double densities[] = {0.0001, 0.001, 0.01, 0.03, 0.1, 0.2, 0.382, 0.5, 0.9, 1};

    for (size_t d = 0; d < sizeof(densities) / sizeof(*densities); d++) {
        positions_random(p, n, densities[d], n + d);
        if (p->kept)
            index_trip(x, p);
    }
    for (unsigned run = 1; run <= 300; run = run * 3 + 1) {
        positions_clustered(p, n, run, 1 + run % 50, n + run);
        if (p->kept)
            index_trip(x, p);
    }
    for (uint64_t step = 1; step < n; step = 3 * step + 1) {
        positions_every(p, n, step % 3, step);
        if (p->kept)
            index_trip(x, p);
    }
    positions_doubling(p, n);
    index_trip(x, p);
    positions_every(p, n, n - 1, 1); /* only the last */
    index_trip(x, p);
}

void index_trip_all(const struct gcb_index *x)
{
    static const uint64_t sizes[] = {1,    2,    3,    15,   16,    17,    64,    100,
                                     4095, 4096, 4097, 8192, 65536, 65537, 300000};
    struct positions p = {0};

    for (size_t s = 0; s < sizeof(sizes) / sizeof(*sizes); s++)
        trip_shapes(x, &p, sizes[s]);
    for (uint64_t kept = 1; kept < 20000; kept = kept * 5 + 1) {
        positions_few(&p, UINT64_C(1) << 31, kept, kept);
        index_trip(x, &p);
        positions_few(&p, 1u << 20, kept, kept);
        index_trip(x, &p);
    }
    positions_every(&p, UINT64_C(1) << 31, (UINT64_C(1) << 31) - 3, 1);
    index_trip(x, &p);
    positions_fini(&p);
}

/* Changes a run of bytes. Decoded positions must ascend and be below n (index_decode checks). */
static void attack(const struct gcb_index *x, const struct positions *p, uint32_t *back)
{
    size_t length;
    uint8_t *data = index_encode(x, p, &length), *copy;
    uint64_t seed = p->kept;

    for (size_t cut = 0; cut < length; cut++) {
        copy = malloc(cut + 1); /* exact size, so that a memory checker sees a read past the end */
        assert_non_null(copy);
        memcpy(copy + 1, data, cut);
        assert_int_equal(index_decode(x, copy + 1, cut, p->kept, p->n, back), GCB_E_CORRUPT);
        free(copy);
    }
    copy = malloc(length);
    assert_non_null(copy);
    for (size_t round = 0; round < 40 * length; round++) {
        memcpy(copy, data, length);
        copy[round % length] ^= (uint8_t)(1u << round / length % 8);
        for (unsigned more = 0; more < round / length / 8; more++)
            copy[draw(&seed) % (more % 2 ? length : length / 8 + 1)] = (uint8_t)draw(&seed);
        index_decode(x, copy, length, p->kept, p->n, back);
        index_decode(x, copy, length, p->kept + 1 <= p->n ? p->kept + 1 : 0, p->n, back);
    }
    free(copy);
    free(data);
}

void index_hostile(const struct gcb_index *x)
{
    struct positions p = {0};
    uint32_t *back = malloc(10001 * sizeof(*back));

    assert_non_null(back);
    positions_clustered(&p, 20000, 8, 6, 1);
    attack(x, &p, back);
    positions_few(&p, 3000, 40, 2);
    attack(x, &p, back);
    positions_every(&p, 9000, 0, 2); /* two tiles */
    attack(x, &p, back);
    positions_few(&p, UINT64_C(1) << 17, 300, 3);
    attack(x, &p, back);
    positions_fini(&p);
    free(back);
}

double index_bits(const struct gcb_index *x, const struct positions *p)
{
    size_t length;

    free(index_encode(x, p, &length));
    return 8.0 * (double)(length - 4 - gcb_directory_bytes(p->kept)) / (double)p->kept;
}
