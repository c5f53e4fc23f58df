#define NAME gcb_block_fns_c
#include "kernels/block/block_body.h"
#include <stdbool.h>

#include "src/lib/base/cpu_flags.h"

/* True if the code nearest to t is the one after `code`, away from 0, and not `code` itself. The
 * caller knows that it is one of the two. */
static bool is_next(uint32_t code, float t)
{
    if (t > 0.0f)
        return code + 1 < GCB_BOOK &&
               gcb_dynamic_up(t, gcb_dynamic_value(code), gcb_dynamic_value(code + 1));
    return code > 0 && !gcb_dynamic_up(t, gcb_dynamic_value(code - 1), gcb_dynamic_value(code));
}

/* The least value of the GCB_CELL_BITS low bits with which a number in the cell of pattern t has
 * the code after `code`; 1 << GCB_CELL_BITS if there is none. The low bits of t are 0. */
static uint32_t begin_of_next(uint32_t code, uint32_t t)
{
    const uint32_t end = 1u << GCB_CELL_BITS;
    uint32_t begin = is_next(code, gcb_float_of(t + end - 1)) ? end - 1 : end;

    for (uint32_t step = end / 2; step && begin < end; step /= 2)
        begin -= is_next(code, gcb_float_of(t + begin - step)) ? step : 0;
    return begin;
}

void gcb_book_cells(uint32_t *cells)
{
    for (uint32_t sign = 0; sign < 2; sign++) {
        uint32_t code = GCB_BOOK_ZERO;

        for (uint32_t k = 0; k < GCB_CELLS; k++) {
            const uint32_t t = k ? (k + GCB_CELL_FIRST) << GCB_CELL_BITS : 0;
            const uint32_t begin = begin_of_next(code, t | sign << 31);

            cells[sign * GCB_CELLS + k] = begin << 8 | code;
            if (begin < 1u << GCB_CELL_BITS)
                code += sign ? -1u : 1;
        }
    }
}

void gcb_block_init(struct gcb_block_fns *fns, unsigned cpu_flags)
{
    *fns = gcb_block_fns_c;
#if defined(__x86_64__)
    if (cpu_flags & GCB_CPU_AVX2)
        *fns = gcb_block_fns_avx2;
    if (cpu_flags & GCB_CPU_AVX512)
        *fns = gcb_block_fns_avx512;
#endif
}
