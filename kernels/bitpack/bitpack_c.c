#include "kernels/bitpack/bitpack.h"
#include "src/lib/base/cpu_flags.h"

static void pack_c(uint8_t *out, const uint16_t *code, size_t n, unsigned width)
{
    uint32_t hold = 0; /* bits to write: at most 7 before a code is added */
    unsigned held = 0; /* number of bits in `hold` */

    for (size_t i = 0; i < n; i++) {
        hold |= (uint32_t)code[i] << held;
        for (held += width; held >= 8; held -= 8) {
            *out++ = (uint8_t)hold;
            hold >>= 8;
        }
    }
    if (held > 0)
        *out = (uint8_t)hold;
}

static void unpack_c(uint16_t *code, const uint8_t *in, size_t n, unsigned width)
{
    const uint32_t mask = (1u << width) - 1;
    uint32_t hold = 0;
    unsigned held = 0;

    for (size_t i = 0; i < n; i++) {
        for (; held < width; held += 8)
            hold |= (uint32_t)*in++ << held;
        code[i] = (uint16_t)(hold & mask);
        hold >>= width;
        held -= width;
    }
}

static void trits_c(uint8_t *out, const uint16_t *code, size_t n)
{
    size_t i;

    for (i = 0; i + 5 <= n; i += 5)
        *out++ = (uint8_t)(code[i] + 3u * code[i + 1] + 9u * code[i + 2] + 27u * code[i + 3] +
                           81u * code[i + 4]);
    if (i < n) {
        unsigned byte = 0, weight = 1;

        for (; i < n; i++, weight *= 3)
            byte += weight * code[i];
        *out = (uint8_t)byte;
    }
}

static void untrits_c(uint16_t *code, const uint8_t *in, size_t n)
{
    unsigned byte = 0;

    for (size_t i = 0; i < n; i++) {
        byte = i % 5 == 0 ? *in++ : byte / 3;
        code[i] = (uint16_t)(byte % 3);
    }
}

void gcb_bitpack_init(struct gcb_bitpack_fns *fns, unsigned cpu_flags)
{
    fns->pack = pack_c;
    fns->unpack = unpack_c;
    fns->trits = trits_c;
    fns->untrits = untrits_c;
#if defined(__x86_64__)
    if (cpu_flags & GCB_CPU_AVX2) {
        fns->pack = gcb_bitpack_pack_avx2;
        fns->unpack = gcb_bitpack_unpack_avx2;
        fns->trits = gcb_bitpack_trits_avx2;
        fns->untrits = gcb_bitpack_untrits_avx2;
    }
#endif
}
