#include <string.h>

#include "kernels/bitpack/bitpack.h"
#include "tests/kernels/check.h"

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

/* Every code of every width comes back. */
static void check_round_trip(const char *isa, const struct gcb_bitpack_fns *fns)
{
    uint16_t code[1000], back[1000];
    uint8_t bytes[2000];
    uint64_t state = 1;

    for (unsigned width = 1; width <= 16; width++) {
        for (size_t i = 0; i < 1000; i++)
            code[i] = (uint16_t)(check_random(&state) >> 20 & ((1u << width) - 1));
        memset(bytes, 0, sizeof(bytes));
        fns->pack(bytes, code, 1000, width);
        fns->unpack(back, bytes, 1000, width);
        check_equal("pack, unpack", isa, width, FILL_NOISE, code, back, sizeof(code));
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

static void check_table(const char *isa, unsigned flags)
{
    struct gcb_bitpack_fns fns;

    gcb_bitpack_init(&fns, flags);
    check_golden_bytes(isa, &fns);
    check_round_trip(isa, &fns);
    check_golden_trits(isa, &fns);
    check_every_byte(isa, &fns);
}

static void body(void)
{
    check_table("c", 0);
    for (const struct check_isa *isa = check_isas(); isa->name; isa++)
        check_table(isa->name, isa->flags);
}

int main(void)
{
    return check_main("bitpack", body);
}
