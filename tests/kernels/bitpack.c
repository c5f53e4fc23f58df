#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/bitpack/bitpack.h"
#include "tests/kernels/check.h"

#define MAX_N (3 * 4096 + 16)
#define GUARD 32

struct golden {
    unsigned width;
    size_t n;
    uint16_t code[9];
    uint8_t bytes[18];
};

/* Written by hand from the definition: code i occupies bits [i*width, (i+1)*width), low bits
 * first. */
static const struct golden goldens[] = {
    {1, 9, {1, 0, 1, 1, 0, 0, 0, 1, 1}, {0x8d, 0x01}},
    {2, 5, {1, 2, 3, 0, 2}, {0x39, 0x02}},
    {3, 3, {5, 3, 6}, {0x9d, 0x01}},
    {4, 3, {1, 2, 15}, {0x21, 0x0f}},
    {5, 2, {31, 1}, {0x3f, 0x00}},
    {7, 2, {0x7f, 0x01}, {0xff, 0x00}},
    {8, 3, {1, 254, 16}, {0x01, 0xfe, 0x10}},
    {9, 2, {0x101, 0x0ff}, {0x01, 0xff, 0x01}},
    {10, 4, {0x3ff, 0, 0x155, 1}, {0xff, 0x03, 0x50, 0x55, 0x00}},
    {12, 2, {0xabc, 0x123}, {0xbc, 0x3a, 0x12}},
    {15, 2, {0x7fff, 1}, {0xff, 0xff, 0x00, 0x00}},
    {16, 2, {0x1234, 0xabcd}, {0x34, 0x12, 0xcd, 0xab}},
};

static void check_golden_bytes(const char *isa, const struct gcb_bitpack_fns *fns)
{
    for (size_t i = 0; i < sizeof(goldens) / sizeof(goldens[0]); i++) {
        const struct golden *g = &goldens[i];
        uint8_t bytes[18] = {0};
        uint16_t code[9] = {0};

        fns->pack(bytes, g->code, g->n, g->width);
        check_equal("golden pack", isa, g->width, FILL_NOISE, g->bytes, bytes, sizeof(bytes));
        fns->unpack(code, g->bytes, g->n, g->width);
        check_equal("golden unpack", isa, g->width, FILL_NOISE, g->code, code, sizeof(code));
    }
}

static void check_golden_trits(const char *isa, const struct gcb_bitpack_fns *fns)
{
    static const uint16_t code[12] = {0, 1, 2, 0, 1, 2, 2, 2, 2, 2, 1, 2};
    static const uint8_t want[3] = {0 + 3 + 18 + 0 + 81, 242, 1 + 6};
    uint8_t got[3];
    uint16_t back[12];

    fns->trits(got, code, 12);
    check_equal("golden trits", isa, 12, FILL_NOISE, want, got, sizeof(got));
    fns->untrits(back, want, 12);
    check_equal("golden untrits", isa, 12, FILL_NOISE, code, back, sizeof(back));
}

/* Every byte, also one above 242, decodes to its digits in base 3, and no code exceeds 2. */
static void check_every_byte(const char *isa, const struct gcb_bitpack_fns *fns)
{
    uint8_t in[256];
    uint16_t code[5 * 256];

    for (unsigned b = 0; b < 256; b++)
        in[b] = (uint8_t)b;
    fns->untrits(code, in, 5 * 256);
    for (unsigned b = 0; b < 256; b++) {
        const uint16_t *c = code + 5 * b;

        check_that(c[0] == b % 3 && c[1] == b / 3 % 3 && c[2] == b / 9 % 3 && c[3] == b / 27 % 3 &&
                       c[4] == b / 81 % 3,
                   "%s: byte %u has other trits", isa, b);
    }
}

struct pair {
    struct gcb_bitpack_fns ref, opt;
    char name[32];
};

static void fill_codes(uint16_t *code, size_t n, unsigned width, uint64_t seed)
{
    const uint64_t mask = (UINT64_C(1) << width) - 1;

    for (size_t i = 0; i < n; i++) {
        const uint64_t r = check_random(&seed);

        code[i] = (uint16_t)((r >> 60 ? r >> 8 : UINT64_MAX) & mask); /* all ones now and then */
    }
}

/* The input is at the end of its own allocation, so that a sanitizer detects a read past it. */
static void check_pack(const struct pair *p, size_t n, unsigned width, size_t skew)
{
    static uint8_t want[2 * MAX_N + 2 * GUARD], got[2 * MAX_N + 2 * GUARD];
    const size_t bytes = (n * width + 7) / 8;
    uint16_t *code = malloc(n * sizeof(*code) + 1), *back = malloc(n * sizeof(*code) + 1);
    uint8_t *packed = malloc(bytes + skew + 1);

    if (!code || !back || !packed)
        abort();
    fill_codes(code, n, width, n * 16 + width);
    memset(want, 0xA5, sizeof(want));
    memset(got, 0xA5, sizeof(got));
    p->ref.pack(want + GUARD + skew, code, n, width);
    p->opt.pack(got + GUARD + skew, code, n, width);
    check_equal("pack", p->name, n, FILL_NOISE, want, got, sizeof(want));
    memcpy(packed + skew + 1, got + GUARD + skew, bytes);
    p->opt.unpack(back, packed + skew + 1, n, width);
    check_equal("pack, unpack", p->name, n, FILL_NOISE, code, back, n * sizeof(*code));
    free(code);
    free(back);
    free(packed);
}

static void check_unpack(const struct pair *p, size_t n, unsigned width, size_t skew)
{
    static uint16_t want[MAX_N + 2 * GUARD], got[MAX_N + 2 * GUARD];
    const size_t bytes = (n * width + 7) / 8;
    uint8_t *in = malloc(bytes + skew + 1);
    uint64_t state = n + width;

    if (!in)
        abort();
    for (size_t i = 0; i < bytes + skew + 1; i++)
        in[i] = (uint8_t)check_random(&state);
    memset(want, 0xA5, sizeof(want));
    memset(got, 0xA5, sizeof(got));
    p->ref.unpack(want + GUARD + skew, in + skew + 1, n, width);
    p->opt.unpack(got + GUARD + skew, in + skew + 1, n, width);
    check_equal("unpack", p->name, n, FILL_NOISE, want, got, sizeof(want));
    free(in);
}

static void check_trits(const struct pair *p, size_t n, size_t skew)
{
    static uint8_t want[MAX_N + 2 * GUARD], got[MAX_N + 2 * GUARD];
    uint16_t *code = malloc(n * sizeof(*code) + 1);
    uint64_t state = n;

    if (!code)
        abort();
    for (size_t i = 0; i < n; i++)
        code[i] = (uint16_t)(check_random(&state) % 3);
    memset(want, 0xA5, sizeof(want));
    memset(got, 0xA5, sizeof(got));
    p->ref.trits(want + GUARD + skew, code, n);
    p->opt.trits(got + GUARD + skew, code, n);
    check_equal("trits", p->name, n, FILL_NOISE, want, got, sizeof(want));
    free(code);
}

static void check_untrits(const struct pair *p, size_t n, size_t skew)
{
    static uint16_t want[MAX_N + 2 * GUARD], got[MAX_N + 2 * GUARD];
    const size_t bytes = (n + 4) / 5;
    uint8_t *in = malloc(bytes + 1);
    uint64_t state = n;

    if (!in)
        abort();
    for (size_t i = 0; i < bytes + 1; i++)
        in[i] = (uint8_t)check_random(&state);
    memset(want, 0xA5, sizeof(want));
    memset(got, 0xA5, sizeof(got));
    p->ref.untrits(want + GUARD + skew, in + 1, n);
    p->opt.untrits(got + GUARD + skew, in + 1, n);
    check_equal("untrits", p->name, n, FILL_NOISE, want, got, sizeof(want));
    free(in);
}

static void check_against_c(const struct check_isa *isa)
{
    struct pair p;

    gcb_bitpack_init(&p.ref, 0);
    gcb_bitpack_init(&p.opt, isa->flags);
    for (size_t i = 0; i < CHECK_SIZES; i++) {
        const size_t n = check_size(i), skew = i % 5;

        for (unsigned width = 1; width <= 16; width++) {
            snprintf(p.name, sizeof(p.name), "%s/%u", isa->name, width);
            check_pack(&p, n, width, skew);
            check_unpack(&p, n, width, skew);
        }
        snprintf(p.name, sizeof(p.name), "%s", isa->name);
        check_trits(&p, n, skew);
        check_untrits(&p, n, skew);
    }
}

static void check_table(const char *isa, unsigned flags)
{
    struct gcb_bitpack_fns fns;

    gcb_bitpack_init(&fns, flags);
    check_golden_bytes(isa, &fns);
    check_golden_trits(isa, &fns);
    check_every_byte(isa, &fns);
}

static void body(void)
{
    check_table("c", 0);
    for (const struct check_isa *isa = check_isas(); isa->name; isa++) {
        check_against_c(isa);
        check_table(isa->name, isa->flags);
    }
}

int main(void)
{
    return check_main("bitpack", body);
}
