#include "kernels/philox/philox.h"
#include "kernels/philox/philox_elem.h"
#include "tests/kernels/check.h"

struct vector {
    uint64_t key, block, stream;
    uint32_t want[4];
};

/* The published known-answer vectors of philox4x32 with 10 rounds. */
static const struct vector known[] = {
    {0, 0, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {UINT64_MAX, UINT64_MAX, UINT64_MAX, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {UINT64_C(0x299f31d0a4093822),
     UINT64_C(0x85a308d3243f6a88),
     UINT64_C(0x0370734413198a2e),
     {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
};

static void check_known_answers(void)
{
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        const struct vector *v = &known[i];
        const struct gcb_philox_block b = gcb_philox(v->key, v->block, v->stream);

        check_equal("elem", "known answer", i, FILL_NOISE, v->want, b.word, sizeof(b.word));
    }
}

/* The message format promises the order of bytes in a block: low bytes first, on every machine. */
static void check_known_bytes(const char *isa, const struct gcb_philox_fns *fns)
{
    static const uint8_t want[16] = {0xd5, 0xe8, 0x27, 0x66, 0x8d, 0xc5, 0x69, 0xe1,
                                     0x4c, 0xac, 0x57, 0xbc, 0xd8, 0xdb, 0x00, 0x9b};
    uint8_t got[16];

    fns->bytes(got, sizeof(got), 0, 0, 0);
    check_equal("bytes", isa, sizeof(got), FILL_NOISE, want, got, sizeof(got));
}

/* Four elements share a block for draws of 24 bits; each uses the top bits of a word. */
static void check_known_24(void)
{
    for (uint64_t i = 0; i < 4; i++)
        check_that(gcb_philox_24(0, i, 0) == known[0].want[i] >> 8,
                   "element %d draws other 24 bits", (int)i);
    for (uint64_t i = 0, state = 1; i < 1000; i++) {
        const uint64_t key = check_random(&state), at = check_random(&state), stream = i << 30;
        const struct gcb_philox_keys keys = gcb_philox_keys_of(key);
        const struct gcb_philox_block want = gcb_philox(key, at, stream);
        const struct gcb_philox_block got = gcb_philox_by(&keys, at, stream);

        check_equal("elem", "keys", i, FILL_NOISE, want.word, got.word, sizeof(want.word));
        check_that(gcb_philox_24(key, at, stream) == gcb_philox_24_by(&keys, at, stream),
                   "24 bits by keys");
    }
    check_that(gcb_philox_24(0, 4, 0) == gcb_philox(0, 1, 0).word[0] >> 8,
               "element 4 is not of block 1");
}

static void check_elements(const char *isa, const struct gcb_philox_fns *fns)
{
    const uint64_t first = UINT64_C(0xfffffffe) * 16;
    uint8_t got[200];

    fns->bytes(got, sizeof(got), 7, first, 9);
    for (size_t i = 0; i < sizeof(got); i++)
        check_that(got[i] == gcb_philox_byte(7, first + i, 9), "%s: byte %zu is not its element's",
                   isa, i);
}

static void body(void)
{
    struct gcb_philox_fns ref;

    gcb_philox_init(&ref, 0);
    check_known_answers();
    check_known_24();
    check_known_bytes("c", &ref);
    check_elements("c", &ref);
    for (const struct check_isa *isa = check_isas(); isa->name; isa++) {
        struct gcb_philox_fns fns;

        gcb_philox_init(&fns, isa->flags);
        check_known_bytes(isa->name, &fns);
        check_elements(isa->name, &fns);
    }
}

int main(void)
{
    return check_main("philox", body);
}
